"""Implicit padding: the operations that are done and the elements they touch, counted exactly.

An operation is done if every subscript with a range (`Subscript.real`) is inside it. Ranges tie the dims of
their subscripts together; dims tied in this way form a group, and the iteration space that is done is
the product of what each group leaves and of the extents of all free dims. Within a group every range
is an interval of the longest dim once the others are fixed, so that the others alone are enumerated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from math import prod

from optmap.base.errors import LimitError
from optmap.workloads.halo import LARGEST_SPAN, value_mask
from optmap.workloads.workload import LARGEST_EXTENT, Padding, Subscript, TensorAccess, Workload

LARGEST_BOX = 2**16
"""Points that are enumerated."""
LARGEST_WORK = 2**32
"""Bits that are combined to count the values of one subscript."""

Element = tuple[int, ...]


def real_operations(workload: Workload) -> int:
    """Points of the iteration space that are done: all of it unless padding is implicit.

    Raises:
        LimitError: if a range ties so many dims together that they cannot be enumerated.
    """
    total = workload.operations
    for dims in _groups(workload):
        lines = _lines(workload, dims)
        if lines is None:
            raise LimitError(
                f"{workload.title}: the padding of {', '.join(dims)} ties more than {LARGEST_BOX:,} points together; "
                "use padding stored"
            )
        total = total // prod(workload.extents[d] for d in dims) * sum(last - first + 1 for _, first, last in lines)
    return total


def real_projection(workload: Workload, tensor: TensorAccess) -> tuple[tuple[int, ...], int]:
    """Elements of one access that are touched by what is done, on the subscripts that can be counted.

    Returns:
        Positions of subscripts (all of them unless their dims are too many to enumerate) and the
        number of different values they have together: a projection, so never too large; 0 if the
        ranges of other subscripts leave nothing to do.

    Raises:
        LimitError: as `real_operations`.
    """
    if not real_operations(workload):
        return tuple(range(len(tensor.axes))), 0
    kept: list[int] = []
    total = 1
    for block in _blocks(workload, tensor.axes):
        count = _block_values(workload, [tensor.axes[x] for x in block])
        if count is not None:
            kept += block
            total *= count
    return tuple(sorted(kept)), total


def real_values(workload: Workload, axis: Subscript) -> int | None:
    """Different values of one subscript over what is done; None if they are too many to count."""
    if not axis.terms:
        return 1
    return _block_values(workload, [axis])


def real_elements(workload: Workload, tensor: TensorAccess) -> set[Element] | None:
    """Index tuples of an access over what is done, offsets included; None for too many points.

    Raises:
        LimitError: as `real_operations`.
    """
    if not real_operations(workload):
        return set()
    dims = sorted(_scope(workload, tensor.axes))
    if prod(workload.extents[d] for d in dims) > LARGEST_BOX:
        return None
    return set(_tuples(workload, dims, tensor.axes))


def _groups(workload: Workload) -> list[frozenset[str]]:
    """Dims that ranges tie together, directly or through others."""
    groups: list[frozenset[str]] = []
    for axis in _ranged(workload):
        mine = frozenset(axis.dims)
        groups = [*(g for g in groups if not g & mine), mine.union(*(g for g in groups if g & mine))]
    return groups


def _ranged(workload: Workload) -> list[Subscript]:
    return [axis for tensor in workload.tensors for axis in tensor.axes if axis.real is not None]


def _scope(workload: Workload, axes: Iterable[Subscript]) -> frozenset[str]:
    """The dims of some subscripts and all that are tied to them."""
    dims = frozenset(d for axis in axes for d in axis.dims)
    return dims.union(*(group for group in _groups(workload) if group & dims))


def _blocks(workload: Workload, axes: tuple[Subscript, ...]) -> list[list[int]]:
    """Positions of subscripts that depend on common or tied dims, together; constant ones alone."""
    blocks: list[tuple[list[int], frozenset[str]]] = []
    for position, axis in enumerate(axes):
        scope = _scope(workload, [axis])
        joined = [b for b in blocks if b[1] & scope]
        blocks = [b for b in blocks if not b[1] & scope]
        blocks.append(([*(x for b in joined for x in b[0]), position], scope.union(*(b[1] for b in joined))))
    return [block for block, _ in blocks]


def _block_values(workload: Workload, axes: list[Subscript]) -> int | None:
    scope = _scope(workload, axes)
    if len(axes) > 1:
        if prod(workload.extents[d] for d in scope) > LARGEST_BOX:
            return None
        return len(set(_tuples(workload, sorted(scope), axes)))
    (axis,) = axes
    if not any(group & scope for group in _groups(workload)):
        try:
            return axis.count(workload.extents)
        except LimitError:
            return None
    return _axis_values(workload, axis, scope)


def _axis_values(workload: Workload, axis: Subscript, scope: frozenset[str]) -> int | None:
    """Different values of a subscript of tied dims: a union of runs along the longest dim, as bits."""
    extents, coefficients = workload.extents, dict(axis.terms)
    span = axis.span(extents)
    if [a for a in _ranged(workload) if set(a.dims) & scope] == [axis] and axis.count(extents) == span:
        return _run(axis, span)
    lines = _lines(workload, scope)
    others = prod(extents[d] for d in scope) // max(extents[d] for d in scope)
    if lines is None or span > LARGEST_SPAN or others * span > LARGEST_WORK:
        return None
    along = coefficients.get(_longest(scope, extents), 0)
    values = 0
    for point, first, last in lines:
        start = sum(c * point[d] for d, c in axis.terms if d in point) + along * first
        values |= (value_mask((along,), (last - first + 1,)) if along else 1) << start
    return values.bit_count()


def _run(axis: Subscript, span: int) -> int:
    """Real values of a subscript without gaps."""
    first, last = axis.real or (0, LARGEST_EXTENT)
    return max(0, min(last, axis.offset + span - 1) - max(first, axis.offset) + 1)


def _longest(dims: Iterable[str], extents: Mapping[str, int]) -> str:
    return max(sorted(dims), key=lambda d: extents[d])


def _lines(workload: Workload, scope: frozenset[str]) -> list[tuple[dict[str, int], int, int]] | None:
    """What is done of some tied dims: first and last value of the longest one for all values of the others.

    None if the others have too many values to enumerate.
    """
    extents = workload.extents
    longest = _longest(scope, extents)
    others = [d for d in sorted(scope) if d != longest]
    if prod(extents[d] for d in others) > LARGEST_BOX:
        return None
    ranged = [axis for axis in _ranged(workload) if set(axis.dims) <= scope]
    lines = []
    for values in product(*(range(extents[d]) for d in others)):
        point = dict(zip(others, values, strict=True))
        first, last = 0, extents[longest] - 1
        for axis in ranged:
            low, high = _limits(axis, point, longest)
            first, last = max(first, low), min(last, high)
        if first <= last:
            lines.append((point, first, last))
    return lines


def _limits(axis: Subscript, point: Mapping[str, int], longest: str) -> tuple[int, int]:
    """First and last value of the longest dim at which a subscript is in its range."""
    if axis.real is None:
        return 0, LARGEST_EXTENT
    rest = axis.offset + sum(c * point[d] for d, c in axis.terms if d != longest)
    first, last = axis.real[0] - rest, axis.real[1] - rest
    c = dict(axis.terms).get(longest)
    if c is None:
        return (0, LARGEST_EXTENT) if first <= 0 <= last else (1, 0)
    return -(-first // c), last // c


def _tuples(workload: Workload, dims: list[str], axes: Iterable[Subscript]) -> Iterator[Element]:
    """The values of some subscripts at every point of a box that is done."""
    ranged = [axis for axis in _ranged(workload) if set(axis.dims) <= set(dims)]
    axes = tuple(axes)
    for values in product(*(range(workload.extents[d]) for d in dims)):
        point = dict(zip(dims, values, strict=True))
        if all(_inside(axis, _at(axis, point)) for axis in ranged):
            yield tuple(_at(axis, point) for axis in axes)


def _at(axis: Subscript, point: Mapping[str, int]) -> int:
    return axis.offset + sum(c * point[d] for d, c in axis.terms)


def _inside(axis: Subscript, value: int) -> bool:
    return axis.real is None or axis.real[0] <= value <= axis.real[1]


def padding_text(workload: Workload) -> str | None:
    """What an answer says about padding; None for a workload that is not known to have any."""
    if workload.padding is Padding.IMPLICIT:
        return (
            "implicit: zero outside the ranges, never stored or moved; cost, occupancy, held tensors and split "
            "dims count it as stored (never too little)"
        )
    for statement in workload.statements:
        for tensor, ranges in zip(statement.accesses, statement.image, strict=False):
            pairs = zip(tensor.axes, ranges, strict=True)
            if any(axis.is_padded(real, workload.extents) for axis, real in pairs):
                return f"stored: it counts as elements of {tensor.name}"
    return None
