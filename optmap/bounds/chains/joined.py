"""Two products of which the second reads what the first makes are one product with a longer reduction.

    S[h,m,l] = sum over k of A[h,m,k] * B[h,l,k]        C[h,m,n] = sum over l of S[h,m,l] * D[h,l,n]

Symbols, theorem and proof: `docs/chain-floors.md`, Two products as one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import prod

from optmap.base.values import LARGEST
from optmap.bounds.chains.counts import is_whole
from optmap.bounds.chains.groups import StatementGroup, appearing, claimed_by, group_of
from optmap.workloads.parser import parse_workload
from optmap.workloads.statement import Statement
from optmap.workloads.workload import Semantics, TensorAccess, Workload, bytes_of

PRODUCT = "G[h,m,l] += X[h,m,j] * Y[h,l,j]"
"""How the one product is written, whatever the dims of the two are called."""
Side = tuple[TensorAccess, TensorAccess]
"""What is joined to one tensor: of the first statement, of the second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """Two products as one."""

    product: Workload
    unit: int
    """Words of the chain in a word of the product."""
    free_words: int
    """Words of the chain that may appear without a load, as heavy as in the product, at most."""
    free_elements: int
    """How many of its elements these are."""
    less: tuple[str, ...]
    """The tensors that these belong to."""


def joined(workload: Workload, memory_words: int, known: Sequence[StatementGroup]) -> list[StatementGroup]:
    """Every two products that are one, as a group.

    Args:
        workload: the chain.
        memory_words: fast memory, in words.
        known: groups by other arguments; where one of the same statements proves more, there is none.
    """
    from optmap.bounds.best import best, best_above

    found = []
    for first, second in combinations(workload.statements, 2):
        pair = join(workload, first, second)
        if pair is None or memory_words < pair.unit:
            continue
        names, claimed = (first.name, second.name), claimed_by(workload, (first, second))
        alike = [each.loads_words for each in known if each.statements == names and each.claimed == claimed]
        room = memory_words // pair.unit
        if alike:
            bound = best_above(pair.product, room, (max(alike) - 1 + pair.free_words) // pair.unit)
        else:
            bound = best(pair.product, room)
        if bound is None:
            continue
        group = group_of(
            workload,
            "joined",
            [first, second],
            loads_words=pair.unit * bound.loads_words - pair.free_words,
            proof={"certificate": bound.certificate},
            expression=f"{first.name} and {second.name} as one product: {bound.expression}",
            less=pair.less,
        )
        found.append(group)
    return found


@lru_cache(maxsize=64)
def join(workload: Workload, first: Statement, second: Statement) -> Joined | None:
    """Two products of a chain as one product; None if they are none."""
    if not (first.multiplies and second.multiplies and len(first.inputs) == len(second.inputs) == 2):
        return None
    shared = [access for access in second.inputs if made_by(workload, access.name) == first.name]
    tensors = {workload.stored_as[access.name] for access in (*first.accesses, *second.accesses)}
    same = renaming(workload, first.output, shared[0]) if len(shared) == 1 else None
    if len(tensors) != 5 or same is None or first.domain or second.domain:
        return None
    if not all(is_whole(workload, access.name) for access in (*first.inputs, *second.inputs)):
        return None
    (other,) = (access for access in second.inputs if access != shared[0])
    live = live_dims(workload, (*first.accesses, *second.accesses))
    if live is None:
        return None
    at = [live[access] for access in first.inputs]
    to = [frozenset(same.get(d, f"{d}'") for d in live[access]) for access in (second.output, other)]
    inner = set(same.values())
    if [at[0] - inner, to[0] - inner] != [at[1] - inner, to[1] - inner] or not all(inner <= a | b for a, b in (at, to)):
        return None
    if at[0] & inner == to[0] & inner and at[1] & inner == to[1] & inner:
        sides: tuple[Side, Side] = ((first.inputs[0], second.output), (first.inputs[1], other))
    elif at[0] & inner == to[1] & inner and at[1] & inner == to[0] & inner:
        sides = ((first.inputs[0], other), (first.inputs[1], second.output))
    else:
        return None
    extents = workload.extents
    sizes = {
        "h": prod(extents[d] for d in inner & at[0] & at[1]),
        "m": prod(extents[d] for d in inner & at[0] - at[1]),
        "l": prod(extents[d] for d in inner & at[1] - at[0]),
        "j": prod(extents[d] for d in at[0] - inner) + prod(extents[d.removesuffix("'")] for d in to[0] - inner),
    }
    if max(sizes.values()) > LARGEST:
        return None  # no workload has such dims, so that nothing proves a bound of the product
    return _joined(workload, (first, second), sides, sizes)


def _joined(
    workload: Workload, pair: tuple[Statement, Statement], sides: tuple[Side, Side], sizes: dict[str, int]
) -> Joined:
    kept = pair[0].output
    bits = {"G": kept.bits, "X": min(a.bits for a in sides[0]), "Y": min(a.bits for a in sides[1])}
    product = parse_workload(
        PRODUCT, sizes, semantics=Semantics.ACCUMULATE, bytes={name: bytes_of(n) for name, n in bits.items()}
    )
    roles = [(kept, "G"), *((access, "X") for access in sides[0]), *((access, "Y") for access in sides[1])]
    free = {
        access.name: (access.footprint(workload.extents), bits[name] // workload.word_bits)
        for access, name in roles
        if access.name in appearing(workload, pair)
    }
    return Joined(
        product=product,
        unit=product.word_bits // workload.word_bits,
        free_words=sum(elements * words for elements, words in free.values()),
        free_elements=sum(elements for elements, _ in free.values()),
        less=tuple(free),
    )


def made_by(workload: Workload, tensor: str) -> str:
    """The statement that makes the elements that a tensor holds: before functions that are done in place."""
    statements: Mapping[str, Statement] = {each.name: each for each in workload.statements}
    held = workload.stored_as
    while tensor in statements:
        source = statements[tensor].inputs[0].name
        if held[source] != held[tensor] or statements[tensor].domain:
            return tensor
        tensor = source
    return tensor


def renaming(workload: Workload, made: TensorAccess, read: TensorAccess) -> dict[str, str] | None:
    """The dims by which a tensor is written, by those by which it is read; None if not the same elements are."""
    extents, names = workload.extents, {}
    for one, other in zip(made.axes, read.axes, strict=True):
        live = [[(d, c) for d, c in axis.terms if extents[d] > 1] for axis in (one, other)]
        if max(map(len, live)) > 1 or one.offset != other.offset or one.real or other.real:
            return None
        if [(extents[d], c) for d, c in live[0]] != [(extents[d], c) for d, c in live[1]]:
            return None
        names.update({d: e for (d, _), (e, _) in zip(live[1], live[0], strict=True)})
    return names


def live_dims(workload: Workload, accesses: Iterable[TensorAccess]) -> dict[TensorAccess, frozenset[str]] | None:
    """The dims of more than one iteration of each, one per subscript at most, in one; None if one has others."""
    found = {}
    for access in accesses:
        live = [[d for d in axis.dims if workload.extents[d] > 1] for axis in access.axes]
        dims = [d for axis in live for d in axis]
        if any(axis.real is not None for axis in access.axes) or any(len(axis) > 1 for axis in live):
            return None
        if len(set(dims)) < len(dims):
            return None
        found[access] = frozenset(dims)
    return found
