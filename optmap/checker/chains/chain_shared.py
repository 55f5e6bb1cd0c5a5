"""Products that share a tensor, cut by its loads (theorem: `docs/chain-floors.md`)."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import ceil, prod
from typing import Any

from ..core.shapes import Shape, name, positive
from ..core.tools import need
from .chain import Access, StatedChain, dims_of
from .chain_masks import Inequality, rules_of, values
from .chain_pairs import MISSING, live
from .chain_touching import price

SHARED: dict[str, Shape] = {"kept": name, "most": positive}


def shared_loads(doc: Any, chain: StatedChain, memory: int) -> int:
    """Words that products around a tensor load at least, less those that may be free."""
    kept, most, names = doc["kept"], doc["most"], doc["statements"]
    need(len(set(names)) == len(names), "a statement is twice in a group")
    numbers = [chain.names.index(each) for each in names]
    tensors = {access["tensor"] for number in numbers for access in chain.accesses[number]}
    lightest = min(chain.weights[tensor] for tensor in tensors)
    room = memory // lightest
    need(room >= 3 and most >= room, "three elements must fit, and as many be cut by as fit")
    rest = [access for number in numbers for access in chain.accesses[number] if chain.held[access["tensor"]] != kept]
    held = [chain.held[access["tensor"]] for access in rest]
    need(len(set(held)) == len(held) == 2 * len(names), "the other tensors of products must be two different ones each")
    writers = [n for n, made in enumerate(chain.names) if chain.held[made] == kept]
    cores = [_core(chain, number, kept) for number in numbers]
    ways = {way_of(chain, *each) for each in [*cores, *((n, chain.accesses[n][0]) for n in writers)]}
    need(len(ways) == 1, "the shared tensor is touched in two ways")
    proved = sum((_touched(chain, *each, most - 1) for each in cores), Fraction(0))
    elements = values(dims_of(cores[0][1]), rules_of(chain.said[numbers[0]]), chain.extents)
    read = {access["tensor"] for number in numbers for access in chain.accesses[number][1:]}
    need(all(chain.is_whole(t) for t in read if chain.held[t] != kept), MISSING)
    appearing = chain.appearing(names)
    free = elements if any(chain.names[n] in appearing for n in writers[:1]) else 0
    free += sum(chain.elements(access) for access in rest if access["tensor"] in appearing)
    proved += (1 - Fraction(room, most)) * elements
    return lightest * (ceil(proved) - free)


def _core(chain: StatedChain, number: int, kept: str) -> tuple[int, Access]:
    """A statement and its access to what is shared."""
    product = chain.said[number].multiplies and len(chain.accesses[number]) == 3
    need(product, "a statement is no product of two tensors")
    found = [access for access in chain.accesses[number] if chain.held[access["tensor"]] == kept]
    need(len(found) == 1, "a statement must touch the shared tensor once")
    return number, found[0]


def way_of(chain: StatedChain, number: int, core: Access) -> tuple[tuple[int, ...], frozenset[Inequality]]:
    """Values per subscript of an access, and the conditions of its statement by position of its subscripts."""
    need(not chain.padded(number), "there is padding")
    dims = dims_of(core)
    alone = all(axis["offset"] == 0 and [c for _, c in axis["terms"]] in ([], [1]) for axis in core["axes"])
    need(alone and len(set(dims)) == len(dims), "a subscript of the shared tensor is no dim alone")
    place = {d: f"{n}" for n, axis in enumerate(core["axes"]) for d, _ in axis["terms"]}
    rules = rules_of(chain.said[number])
    need(all(rule.dims <= place.keys() for rule in rules), "a condition is of other dims")
    moved = frozenset(replace(r, factors=tuple(sorted((place[d], c) for d, c in r.factors))) for r in rules)
    return tuple(prod(chain.extents[d] for d, _ in axis["terms"]) for axis in core["axes"]), moved


def _touched(chain: StatedChain, number: int, core: Access, most: int) -> Fraction:
    """Elements of the other two tensors that segments touch at least, added up, each with so many of the shared one."""
    one, other = (live(access, chain.extents) for access in chain.accesses[number] if access is not core)
    inner, places = live(core, chain.extents), one & other
    need(one ^ other <= inner <= one | other, "a dim is in one tensor only")
    rules = rules_of(chain.said[number])
    need(all(chain.extents[d] == 1 for rule in rules for d in rule.dims & places), "a condition is about places")
    operations = values(inner - places, rules, chain.extents)
    need(operations > 0, "nothing is done")
    sides = [prod(chain.extents[d] for d in side - places) for side in (one, other)]
    times = prod(chain.extents[d] for d in places)
    return price([(times, operations, (sides[0], sides[1]))], most, Fraction(1))
