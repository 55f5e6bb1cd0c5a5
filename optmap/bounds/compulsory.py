"""Compulsory traffic: every word that is touched moves at least once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from math import gcd, prod
from types import MappingProxyType

from optmap.base.errors import InputError
from optmap.bounds.result import LowerBound
from optmap.workloads.padding import real_elements, real_projection
from optmap.workloads.workload import Padding, Semantics, Subscript, TensorAccess, Workload

LARGEST_UNION = 2**16
"""Index tuples, summed over the accesses of a tensor, up to which a union is enumerated."""

MOST_PARTS = 10
"""Accesses of one tensor whose parts are tried in every combination."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessPart:
    """Elements of one access that are counted without enumeration."""

    access: int
    """Index of the access in `workload.tensors`."""
    kind: str
    """"axes": values of some subscripts together (no common dim unless padding is implicit);
    "dims": an injective sub-box."""
    items: tuple[int, ...] | tuple[str, ...]
    """Axis positions or dims."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """A number of distinct elements, never too large, and why it is one."""

    elements: int
    """Distinct elements, at least."""
    parts: tuple[AccessPart, ...] = ()
    """Disjoint parts whose counts add up to it; empty if the elements were enumerated."""


@lru_cache(maxsize=256)
def tensor_counts(workload: Workload) -> Mapping[str, Count]:
    """Elements that the accesses of each tensor touch together, by tensor, the output first.

    A tensor read twice is one memory: its union counts.

    Raises:
        InputError: if two accesses of a tensor disagree on rank or element size.
    """
    groups: dict[str, list[int]] = {}
    for index, access in enumerate(workload.tensors):
        groups.setdefault(access.name, []).append(index)
    for name, group in groups.items():
        if len({(len(workload.tensors[i].axes), workload.tensors[i].bits) for i in group}) > 1:
            raise InputError(f"{workload.title}: the accesses of {name} differ in rank or bytes")
    return MappingProxyType({name: _count(workload, group) for name, group in groups.items()})


@lru_cache(maxsize=256)
def output_count(workload: Workload) -> Count:
    """Elements that the output access alone touches."""
    return _count(workload, [0])


def tensor_words(workload: Workload) -> dict[str, int]:
    """Words of each tensor that the workload touches, at least."""
    weights = {t.name: workload.weight(t) for t in workload.tensors}
    return {name: weights[name] * count.elements for name, count in tensor_counts(workload).items()}


def output_words(workload: Workload) -> int:
    """Words of the output that are written, at least."""
    return workload.weight(workload.output) * output_count(workload).elements


def output_words_at_most(workload: Workload) -> int:
    """Words of the output that can be created: never less than what is written."""
    return workload.weight(workload.output) * workload.output.footprint(workload.extents)


def created_words(workload: Workload) -> int:
    """Words of outputs that may be created instead of loaded, at most.

    A run that creates them becomes an accumulating one by one load per word, so that loads proved under `accumulate`,
    less these, hold under both semantics.
    """
    return output_words_at_most(workload) if workload.semantics is Semantics.ASSIGN else 0


def compulsory_loads(workload: Workload) -> int:
    """Words that must be loaded once: all inputs, and the output where it accumulates.

    Under `assign` the first touch of an output element may create it in fast memory, and no other
    access is of that tensor, so the output does not count.
    """
    words = tensor_words(workload)
    if workload.semantics is Semantics.ASSIGN:
        del words[workload.output.name]
    return sum(words.values())


def compulsory(workload: Workload, memory_words: int) -> LowerBound:
    """Every touched word is loaded once and every output word is stored once.

    Args:
        workload: the computation.
        memory_words: fast memory, in words; compulsory traffic does not depend on it.
    """
    names = list(tensor_counts(workload))
    loaded = names if workload.semantics is Semantics.ACCUMULATE else names[1:]
    return LowerBound(
        method="compulsory",
        loads_words=compulsory_loads(workload),
        stores_words=output_words(workload),
        expression=" + ".join(f"|{name}|" for name in loaded) or "0",
        assumptions=("the fast memory starts empty and results end in slow memory",),
    )


def _count(workload: Workload, group: list[int]) -> Count:
    """Exact for one access without a dim in two subscripts, and for small boxes; else disjoint parts.

    With implicit padding only elements count that an operation without padding touches.
    """
    if workload.padding is Padding.IMPLICIT:
        return _count_real(workload, group)
    extents = workload.extents
    unique = {tuple((axis.terms, axis.offset) for axis in workload.tensors[i].axes): i for i in reversed(group)}
    indices = sorted(unique.values())
    if len(indices) == 1 and _separate(workload.tensors[indices[0]].axes):
        access = workload.tensors[indices[0]]
        part = AccessPart(access=indices[0], kind="axes", items=tuple(range(len(access.axes))))
        return Count(elements=access.footprint(extents), parts=(part,))
    accesses = [workload.tensors[i] for i in indices]
    if sum(prod(extents[d] for d in a.dims) for a in accesses) <= LARGEST_UNION:
        return Count(elements=len(set().union(*(_elements(a, extents) for a in accesses))))
    return _disjoint(workload, [_single(workload.tensors[i], i, extents) for i in indices])


def _count_real(workload: Workload, group: list[int]) -> Count:
    """The same over the operations that are done."""
    unique = {workload.tensors[i].axes: i for i in reversed(group)}
    indices = sorted(unique.values())
    if len(indices) > 1:
        found = [real_elements(workload, workload.tensors[i]) for i in indices]
        sets = [elements for elements in found if elements is not None]
        if len(sets) == len(found):
            return Count(elements=len(set().union(*sets)))
    return _disjoint(workload, [_projected(workload, i) for i in indices])


def _disjoint(workload: Workload, sized: list[tuple[int, AccessPart]]) -> Count:
    """The most elements of parts that never meet: every choice is tried, the largest parts only if there are many."""
    most = sorted(sized, key=lambda pair: -pair[0])[:MOST_PARTS]
    accesses = [workload.tensors[part.access] for _, part in most]
    apart = {
        (i, j): _never_meet(accesses[i], accesses[j], workload.extents) for i, j in combinations(range(len(most)), 2)
    }
    choices = (c for r in range(1, len(most) + 1) for c in combinations(range(len(most)), r))
    valid = [c for c in choices if all(apart[pair] for pair in combinations(c, 2))]
    best = max(valid, key=lambda c: sum(most[i][0] for i in c))
    return Count(elements=sum(most[i][0] for i in best), parts=tuple(most[i][1] for i in best))


def _projected(workload: Workload, access: int) -> tuple[int, AccessPart]:
    items, size = real_projection(workload, workload.tensors[access])
    return size, AccessPart(access=access, kind="axes", items=items)


def _separate(axes: tuple[Subscript, ...]) -> bool:
    return not any(set(a.dims) & set(b.dims) for a, b in combinations(axes, 2))


def _single(access: TensorAccess, index: int, extents: Mapping[str, int]) -> tuple[int, AccessPart]:
    """Elements of one access, at least: the largest projection on axes without a common dim, or box."""
    positions = range(len(access.axes))
    options = [
        (prod(access.axes[x].count(extents) for x in subset), AccessPart(access=index, kind="axes", items=subset))
        for r in range(1, len(access.axes) + 1)
        for subset in combinations(positions, r)
        if _separate(tuple(access.axes[x] for x in subset))
    ]
    dims = _injective_dims(access, extents)
    options.append((prod(extents[d] for d in dims), AccessPart(access=index, kind="dims", items=dims)))
    return max(options, key=lambda pair: pair[0])


def _injective_dims(access: TensorAccess, extents: Mapping[str, int]) -> tuple[str, ...]:
    """Dims with linearly independent columns, greedily from the largest extent."""
    basis: list[list[Fraction]] = []
    chosen: list[str] = []
    for dim in sorted(access.dims, key=lambda d: (-extents[d], d)):
        column = [Fraction(dict(axis.terms).get(dim, 0)) for axis in access.axes]
        for row in basis:
            lead = next(i for i, v in enumerate(row) if v)
            column = [c - column[lead] / row[lead] * r for c, r in zip(column, row, strict=True)]
        if any(column):
            basis.append(column)
            chosen.append(dim)
    return tuple(chosen)


def _elements(access: TensorAccess, extents: Mapping[str, int]) -> set[tuple[int, ...]]:
    """Every index tuple of an access, offsets included."""
    found: set[tuple[int, ...]] = {tuple(axis.offset for axis in access.axes)}
    for dim in access.dims:
        step = tuple(dict(axis.terms).get(dim, 0) for axis in access.axes)
        found = {tuple(p + x * s for p, s in zip(e, step, strict=True)) for e in found for x in range(extents[dim])}
    return found


def _never_meet(a: TensorAccess, b: TensorAccess, extents: Mapping[str, int]) -> bool:
    """True if some subscript of the two accesses can never be equal: by residue or by range."""
    for left, right in zip(a.axes, b.axes, strict=True):
        if left.offset + left.span(extents) <= right.offset or right.offset + right.span(extents) <= left.offset:
            return True
        step = gcd(*(c for _, c in (*left.terms, *right.terms)))
        if step > 1 and (left.offset - right.offset) % step:
            return True
    return False
