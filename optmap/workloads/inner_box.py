"""A box of points of a statement under conditions, all of which meet them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from math import prod

from optmap.base.errors import InputError
from optmap.workloads.domain import Comparator, Condition
from optmap.workloads.statement import Statement

CUTS = 64
"""Places at which a range of values is cut to see how large a box gets."""
Box = dict[str, range]
"""Values per dim."""


def inner_box(statement: Statement, extents: Mapping[str, int]) -> Box:
    """A box of a statement's dims all of whose points meet its conditions; no other one that was tried has more points.

    Args:
        statement: with conditions or not.
        extents: iterations per dim.

    Raises:
        InputError: if none is found.
    """
    box = {dim: range(extents[dim]) for dim in statement.dims}
    for condition in statement.domain:
        tried = [each for each in _boxes(condition, box) if _size(each) and holds(condition, each)]
        if not tried:
            raise InputError(f"{statement}: no box of its points that all meet {condition} was found")
        box = max(tried, key=_size)
    return box


def holds(condition: Condition, box: Box) -> bool:
    """Whether all points of a box meet a condition: an affine function is largest and least at corners."""
    ends = [[(dim, values[0]), (dim, values[-1])] for dim, values in box.items() if dim in condition.dims]
    return all(_meets(condition, dict(corner)) for corner in product(*ends))


def _meets(condition: Condition, point: Mapping[str, int]) -> bool:
    left, right = (
        side.offset + sum(factor * point[dim] for dim, factor in side.terms)
        for side in (condition.left, condition.right)
    )
    return {
        Comparator.AT_MOST: left <= right,
        Comparator.LESS: left < right,
        Comparator.AT_LEAST: left >= right,
        Comparator.MORE: left > right,
        Comparator.EQUAL: left == right,
    }[condition.relation]


def _size(box: Box) -> int:
    return prod(len(values) for values in box.values())


def _boxes(condition: Condition, box: Box) -> Iterator[Box]:
    """The box itself, and boxes with one dim cut and the values of another one that then meet a condition."""
    yield box
    for last in sorted(condition.dims):
        others = [dim for dim in sorted(condition.dims) if dim != last]
        for cut in others or [last]:
            for part in _parts(box[cut]) if others else [box[last]]:
                own = {**box, cut: part}
                yield {**own, last: _left(condition, last, own)}


def _parts(values: range) -> Iterator[range]:
    """Beginnings and ends of a range, and single values."""
    for number in sorted({len(values) * place // CUTS for place in range(CUTS)}):
        yield values[number:]
        yield values[: number + 1]
        yield values[number : number + 1]


def _left(condition: Condition, last: str, box: Box) -> range:
    """Values of a dim that meet a condition with all values of the others."""
    ends = [[(dim, box[dim][0]), (dim, box[dim][-1])] for dim in sorted(condition.dims) if dim != last]
    first, final = box[last][0], box[last][-1]
    for corner in product(*ends):
        low, high = condition.interval(last, dict(corner), final + 1)
        first, final = max(first, low), min(final, high)
    return range(first, final + 1)
