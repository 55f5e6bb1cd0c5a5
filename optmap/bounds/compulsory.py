"""Compulsory traffic: every word that is touched moves at least once."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import combinations
from math import gcd, prod

from optmap.bounds.result import LowerBound
from optmap.errors import InputError
from optmap.problem.workload import Axis, Semantics, TensorAccess, Workload

LARGEST_UNION = 2**16
"""Elements per access up to which the union of repeated accesses is enumerated."""


def distinct_tensors(workload: Workload) -> dict[str, tuple[TensorAccess, ...]]:
    """The accesses of each tensor by name, output first: a tensor read twice is one memory.

    Raises:
        InputError: if two accesses of a tensor disagree on rank or element size.
    """
    groups: dict[str, list[TensorAccess]] = {}
    for access in workload.tensors:
        groups.setdefault(access.name, []).append(access)
    for name, group in groups.items():
        if len({(len(a.axes), a.bytes) for a in group}) > 1:
            raise InputError(f"{workload.name or workload.expression}: the accesses of {name} differ in rank or bytes")
    return {name: tuple(group) for name, group in groups.items()}


def touched_elements(accesses: tuple[TensorAccess, ...], extents: Mapping[str, int]) -> int:
    """Distinct elements that the accesses of one tensor touch together, or a lower count of them.

    Args:
        accesses: all accesses of one tensor.
        extents: iterations per dim.

    Returns:
        The exact count for one access, for boxes whose values can be enumerated and for two
        accesses that provably meet nowhere; otherwise the largest single footprint, which the
        union cannot undercut.
    """
    unique = tuple(dict.fromkeys(tuple((axis.terms, axis.offset) for axis in a.axes) for a in accesses))
    by_key = {tuple((axis.terms, axis.offset) for axis in a.axes): a for a in accesses}
    sizes = {key: access_elements(by_key[key], extents) for key in unique}
    if len(unique) == 1:
        return sizes[unique[0]]
    if sum(sizes.values()) <= LARGEST_UNION:
        return len(set().union(*(_elements(by_key[key], extents) for key in unique)))
    disjoint: list[tuple[tuple[tuple[tuple[str, int], ...], int], ...]] = []
    for key in sorted(unique, key=lambda k: -sizes[k]):
        if all(_never_meet(by_key[key], by_key[other], extents) for other in disjoint):
            disjoint.append(key)
    return sum(sizes[key] for key in disjoint)


def access_elements(access: TensorAccess, extents: Mapping[str, int]) -> int:
    """Distinct elements of one access, exactly where its subscripts share no dim, else at least.

    With a dim in two subscripts (`A[i,i]`) the product over the axes counts too many: small boxes
    are enumerated; in large ones the largest product over subscripts without a common dim is a
    projection of the touched set, and the extents of dims whose columns are linearly independent
    span a box on which the access is injective. Both are lower counts.
    """
    if not any(set(a.dims) & set(b.dims) for a, b in combinations(access.axes, 2)):
        return access.footprint(extents)
    if prod(extents[d] for d in access.dims) <= LARGEST_UNION:
        return len(_elements(access, extents))
    subsets = (axes for r in range(1, len(access.axes) + 1) for axes in combinations(access.axes, r))
    projected = max(
        prod(axis.count(extents) for axis in axes)
        for axes in subsets
        if all(not set(a.dims) & set(b.dims) for a, b in combinations(axes, 2))
    )
    return max(projected, _injective_box(access, extents))


def tensor_words(workload: Workload) -> dict[str, int]:
    """Words of each tensor that the workload touches (a sound lower count for repeated tensors)."""
    extents = workload.extents
    return {
        name: workload.weight(group[0]) * touched_elements(group, extents)
        for name, group in distinct_tensors(workload).items()
    }


def output_words(workload: Workload) -> int:
    """Words of the output that are written (its own footprint, whatever else reads the tensor)."""
    return workload.weight(workload.output) * access_elements(workload.output, workload.extents)


def compulsory_loads(workload: Workload) -> int:
    """Words that must be loaded once: all inputs, and the output where it accumulates.

    Under `assign` the first touch of an output element may create it in fast memory, so the
    words of the output count only as far as another access of the same tensor exceeds them.
    """
    words = tensor_words(workload)
    total = sum(words.values())
    if workload.semantics is Semantics.ASSIGN:
        total -= output_words(workload)
    return max(total, 0)


def compulsory(workload: Workload, memory_words: int) -> LowerBound:
    """Every touched word is loaded once and every output word is stored once.

    Args:
        workload: the computation.
        memory_words: fast memory, in words; compulsory traffic does not depend on it.
    """
    stored = output_words(workload)
    names = list(distinct_tensors(workload))
    loaded = names if workload.semantics is Semantics.ACCUMULATE else names[1:] or names
    return LowerBound(
        method="compulsory",
        loads_words=compulsory_loads(workload),
        stores_words=stored,
        expression=" + ".join(f"|{name}|" for name in loaded),
        assumptions=("the fast memory starts empty and results end in slow memory",),
    )


def _elements(access: TensorAccess, extents: Mapping[str, int]) -> set[tuple[int, ...]]:
    elements: set[tuple[int, ...]] = {()}
    dims = sorted(access.dims)
    if len(dims) == sum(len(axis.dims) for axis in access.axes):
        for axis in access.axes:
            elements = {(*e, v) for e in elements for v in _axis_values(axis, extents)}
        return elements
    partial: set[tuple[int, ...]] = {tuple(axis.offset for axis in access.axes)}
    for dim in dims:
        step = tuple(dict(axis.terms).get(dim, 0) for axis in access.axes)
        partial = {tuple(p + x * s for p, s in zip(e, step, strict=True)) for e in partial for x in range(extents[dim])}
    return partial


def _axis_values(axis: Axis, extents: Mapping[str, int]) -> set[int]:
    values = {axis.offset}
    for dim, c in axis.terms:
        values = {v + c * x for v in values for x in range(extents[dim])}
    return values


def _never_meet(a: TensorAccess, b: TensorAccess, extents: Mapping[str, int]) -> bool:
    """True if some subscript of the two accesses can never be equal: by residue or by range."""
    for left, right in zip(a.axes, b.axes, strict=True):
        if left.offset + _span(left, extents) < right.offset or right.offset + _span(right, extents) < left.offset:
            return True
        step = gcd(*(c for _, c in (*left.terms, *right.terms)))
        if step > 1 and (left.offset - right.offset) % step:
            return True
    return False


def _span(axis: Axis, extents: Mapping[str, int]) -> int:
    return sum(c * (extents[d] - 1) for d, c in axis.terms)


def _injective_box(access: TensorAccess, extents: Mapping[str, int]) -> int:
    """Product of the extents of independent columns, greedily from the largest extent."""
    basis: list[list[Fraction]] = []
    size = 1
    for dim in sorted(access.dims, key=lambda d: (-extents[d], d)):
        column = [Fraction(dict(axis.terms).get(dim, 0)) for axis in access.axes]
        for row in basis:
            lead = next(i for i, v in enumerate(row) if v)
            column = [c - column[lead] / row[lead] * r for c, r in zip(column, row, strict=True)]
        if any(column):
            basis.append(column)
            size *= extents[dim]
    return size
