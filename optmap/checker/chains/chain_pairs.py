"""Two products of a chain as one product (theorem: `docs/chain-floors.md`)."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from ..core.tools import need
from .chain import Access, StatedChain

MISSING = "a group reads elements that may not be there"
PRODUCT = "G[h,m,l] += X[h,m,j] * Y[h,l,j]"


@dataclass(frozen=True)
class Pair:
    """What joins two statements."""

    product: dict[str, Any]
    """What a certificate of the product has to say of it."""
    free_words: int
    """Words that may appear without a load, as heavy as in the product."""
    free_elements: int
    """How many elements of the product these are."""
    extents: dict[str, int]
    """Of h, m, l, and those of k and n, multiplied."""
    bits: dict[str, int]
    """Of an element of G, X and Y."""
    sides: tuple[frozenset[str], frozenset[str]]
    """Dims of m and of l, as the first statement makes them."""


def join(chain: StatedChain, names: list[str]) -> Pair:
    """Two statements as one product.

    Raises:
        RefusedError: if they are not of the form that the theorem needs.
    """
    need(len(names) == 2, "two statements are needed")
    first, second = (chain.names.index(each) for each in names)
    need(all(chain.said[n].multiplies and not chain.said[n].conditions for n in (first, second)), "no plain product")
    need(all(chain.is_whole(access["tensor"]) for n in (first, second) for access in chain.accesses[n][1:]), MISSING)
    kept, *factors = chain.accesses[first]
    out, *read = chain.accesses[second]
    need(len(factors) == 2 and len(read) == 2, "a product of two tensors is needed")
    through = [access for access in read if chain.comes_from(access["tensor"]) == names[0]]
    need(len(through) == 1, "the second statement must read what the first one makes, once")
    (other,) = (access for access in read if access is not through[0])
    held = {chain.held[access["tensor"]] for access in (kept, *factors, out, *read)}
    need(len(held) == 5, "the five tensors of two products must be different ones")
    same = _same_elements(kept, through[0], chain.extents)
    inner = set(same.values())
    left = [live(access, chain.extents) for access in factors]
    right = [{same.get(d, f"{d}'") for d in live(access, chain.extents)} for access in (out, other)]
    need(set(live(kept, chain.extents)) == inner, "the dims of what is made are not those of what is read")
    for one, two in (left, right):
        need(one - inner == two - inner, "a dim is in one tensor only")
        need(inner <= one | two, "a dim of what is kept is in no other tensor")
    partners = (out, other) if left[0] & inner == right[0] & inner else (other, out)
    shares = right if partners[0] is out else right[::-1]
    need(all(a & inner == b & inner for a, b in zip(left, shares, strict=True)), "the products split rows unlike")
    extents = chain.extents | {f"{d}'": n for d, n in chain.extents.items()}
    sizes = {
        "h": prod(extents[d] for d in inner & left[0] & left[1]),
        "m": prod(extents[d] for d in inner & left[0] - left[1]),
        "l": prod(extents[d] for d in inner & left[1] - left[0]),
        "k": prod(extents[d] for d in left[0] - inner),
        "n": prod(extents[d] for d in right[0] - inner),
    }
    sides = {"G": (kept,), "X": (factors[0], partners[0]), "Y": (factors[1], partners[1])}
    return _pair(
        chain, names, sides, sizes, (frozenset(inner & left[0] - left[1]), frozenset(inner & left[1] - left[0]))
    )


def _pair(
    chain: StatedChain,
    names: list[str],
    sides: dict[str, tuple[Access, ...]],
    sizes: dict[str, int],
    dims: tuple[frozenset[str], frozenset[str]],
) -> Pair:
    bits = {name: min(chain.bits[access["tensor"]] for access in side) for name, side in sides.items()}
    appearing = chain.appearing(names)
    free = {
        name: sum(chain.elements(access) for access in side if access["tensor"] in appearing)
        for name, side in sides.items()
    }
    words = sum(bits[name] // chain.word_bits * elements for name, elements in free.items())
    product = {
        "expression": PRODUCT,
        "extents": {"h": sizes["h"], "m": sizes["m"], "l": sizes["l"], "j": sizes["k"] + sizes["n"]},
        "bytes": {name: n / 8 for name, n in bits.items()},
        "semantics": "accumulate",
    }
    return Pair(product, words, sum(free.values()), sizes, bits, dims)


def live(access: Access, extents: dict[str, int]) -> set[str]:
    """The dims of more than one iteration, one per subscript at most, each in one subscript."""
    need(all("real" not in axis for axis in access["axes"]), "there is padding")
    axes = [[d for d, _ in axis["terms"] if extents[d] > 1] for axis in access["axes"]]
    found = {d for axis in axes for d in axis}
    need(all(len(axis) < 2 for axis in axes) and len(found) == sum(map(len, axes)), "a subscript is no plain dim")
    return found


def _same_elements(made: Access, read: Access, extents: dict[str, int]) -> dict[str, str]:
    """The dims by which a tensor is written, by those by which it is read: the same elements are."""
    names: dict[str, str] = {}
    for one, two in zip(made["axes"], read["axes"], strict=True):
        terms = [[(d, c) for d, c in axis["terms"] if extents[d] > 1] for axis in (one, two)]
        need(one["offset"] == two["offset"] and max(map(len, terms)) < 2, "not the same elements are read as made")
        shapes = [[(extents[d], c) for d, c in each] for each in terms]
        need(shapes[0] == shapes[1], "not the same elements are read as made")
        names |= {d: e for (d, _), (e, _) in zip(terms[1], terms[0], strict=True)}
    return names
