"""Which orders of one memory's loops can differ in what they reuse: equi-reuse and equi-dataflow (section IV-B).

Orders are tuples of dims, outermost first. An operand stays while the loops that it does not depend on turn, the
innermost ones up to the first that it depends on; if that one moves a window (a subscript of several dims), what
overlaps stays, too. Nothing else about an order can be reused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from optmap.base.clock import current
from optmap.machines.operands import Operand

Order = tuple[int, ...]
"""Dims, outermost loop first."""
Pattern = tuple[tuple[int, ...] | None, ...]
"""As `Memory.order`."""
Reuse = tuple[frozenset[int], int | None]
"""Of one operand: the innermost dims that it does not depend on, and the next one if that moves a window."""


def reuse_of(order: Order, operand: Operand) -> Reuse:
    """What an order lets an operand reuse.

    Two orders are equi-reuse if this is equal for every operand, with every dim in the order, and equi-dataflow if it
    is with the dims that have two trips or more.
    """
    inside: list[int] = []
    for dim in reversed(order):
        if dim in operand.dims:
            return frozenset(inside), dim if dim in operand.window_dims else None
        inside.append(dim)
    return frozenset(inside), None


def follows(order: Order, pattern: Pattern) -> bool:
    """Whether an order is as a memory asks for; any is where the pattern is empty."""
    place: int | None = len(pattern) - 1
    for dim in reversed(order) if pattern else ():
        place = None if place is None else _outwards(pattern, place, dim)
    return place is not None


def _outwards(pattern: Pattern, place: int, dim: int) -> int | None:
    """The innermost entry of a pattern, at a place or outside it, that takes a dim."""
    named = any(entry is not None and dim in entry for entry in pattern)
    for found in range(place, -1, -1):
        entry = pattern[found]
        if (not named) if entry is None else dim in entry:
            return found
    return None


@lru_cache(maxsize=4096)
def reuse_classes(operands: tuple[Operand, ...], dims: Order, pattern: Pattern = ()) -> tuple[Order, ...]:
    """One order of every equi-reuse class.

    Args:
        operands: whose reuse counts.
        dims: to order.
        pattern: what the order must keep to.

    Returns:
        Orders of all the dims, none if the pattern has no place for one of them.

    Raises:
        LimitError: if the time of the answer is over before all are known.
    """
    found: dict[tuple[Reuse, ...], Order] = {}
    for order in _distinct(operands, dims, pattern):
        found.setdefault(tuple(reuse_of(order, operand) for operand in operands), order)
    return tuple(found.values())


def _distinct(operands: Sequence[Operand], dims: Order, pattern: Pattern) -> Iterator[Order]:
    """Orders of every class, some of them of the same one, built from the innermost loop outwards.

    Once every operand has met a loop that it depends on, the loops outside may stand in any order.
    """
    waiting: list[tuple[Order, int]] = [((), len(pattern) - 1)]
    met = set()
    clock = current()
    while waiting:
        clock.check()
        inner, place = waiting.pop()
        key = (
            frozenset(inner),
            place,
            tuple(reuse_of(inner, o) if o.dims.intersection(inner) else None for o in operands),
        )
        if key in met:
            continue
        met.add(key)
        left = [dim for dim in dims if dim not in inner]
        if not left or None not in key[2]:
            order = (*_completed(left, pattern, place), *inner)
            if follows(order, pattern):
                yield order
            continue
        for dim in reversed(left):
            further = _outwards(pattern, place, dim) if pattern else place
            if further is not None:
                waiting.append(((dim, *inner), further))


def _completed(dims: list[int], pattern: Pattern, place: int) -> list[int]:
    """Dims as a pattern wants them, outermost first, outside those that stand at a place of it."""
    places = {dim: (_outwards(pattern, place, dim) if pattern else 0) for dim in dims}
    return sorted(dims, key=lambda dim: -1 if places[dim] is None else places[dim] or 0)


@lru_cache(maxsize=65536)
def dataflow_classes(
    orders: tuple[Order, ...], operands: tuple[Operand, ...], turning: frozenset[int]
) -> tuple[tuple[Order, ...], tuple[tuple[Reuse, ...], ...]]:
    """One order of every equi-dataflow class among some.

    Args:
        orders: to choose from.
        operands: whose reuse counts.
        turning: dims of two trips or more.

    Returns:
        Orders, and for each what every operand reuses.
    """
    found: dict[tuple[Reuse, ...], Order] = {}
    for order in orders:
        own = tuple(dim for dim in order if dim in turning)
        found.setdefault(tuple(reuse_of(own, operand) for operand in operands), order)
    return tuple(found.values()), tuple(found)
