"""Where the loops over one dim of a path may be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from optmap.count.trees.runs import Interval
from optmap.mappings.nodes import Loop

Place = tuple[Interval, ...]
"""What is left of a dim outside its loops and inside each of them."""


def place_count(loops: Sequence[Loop], extents: Mapping[str, int]) -> int:
    """How many places the loops over some dims have, with their extents, multiplied."""
    total = 1
    for dim, extent in extents.items():
        sizes = {extent: 1}
        for loop in (each for each in loops if each.dim == dim):
            inside = Counter[int]()
            for size, times in sizes.items():
                begin = min(loop.first, size)
                full, rest = divmod(size - begin, loop.tile)
                for some, many in ((begin, 1), (loop.tile, full), (rest, 1)):
                    inside[some] += times * many * (some > 0)
            sizes = +inside
        total *= sum(sizes.values())
    return total


def steps(step: Interval, loop: Loop, cuts: list[Interval]) -> list[Interval]:
    """The steps of a loop, of all that lie otherwise between some cuts the first one at least.

    Args:
        step: what the loop goes over.
        loop: with the size of its steps.
        cuts: intervals that end where the next one begins.
    """
    first, beyond = step
    grid, tile = first - loop.ahead, loop.tile
    trips = -(-(beyond - grid) // tile)
    near = {(end - grid) // tile + more for _, end in cuts for more in (0, 1)}  # the others are like the one before
    some = sorted({0, min(1, loop.first), trips - 1} | near)
    return [(max(first, grid + n * tile), min(grid + (n + 1) * tile, beyond)) for n in some if 0 <= n < trips]


def begin_of(loop: Loop, low: Any, place: Any) -> Any:
    """Where the step of a loop that has an iteration begins on its grid, of numbers or arrays of them.

    Args:
        loop: with the size of its steps.
        low: first of what it goes through.
        place: the iteration.
    """
    grid = low - loop.ahead
    return grid + (place - grid) // loop.tile * loop.tile


def trips_in(loop: Loop, low: Any, high: Any, *, less: int = 0) -> tuple[Any, Any]:
    """All trips of a loop through each of some parts of a dim: the number of the part, and of the trip in it.

    Args:
        loop: with the size of its steps.
        low: first of the parts, in arrays.
        high: beyond the last.
        less: trips that are left out at the end.
    """
    many = (-(-(high - low + loop.ahead) // loop.tile)).astype(np.int64) - less
    rows = np.repeat(np.arange(many.size), many)
    return rows, np.arange(rows.size) - np.repeat(np.cumsum(many) - many, many)


def trip_of(loop: Loop, low: Any, high: Any, trip: Any) -> tuple[Any, Any]:
    """First and beyond of trips of a loop, in arrays.

    Args:
        loop: with the size of its steps.
        low: first of what it goes through.
        high: beyond the last.
        trip: their numbers.
    """
    return step_from(loop, low + trip * loop.tile - loop.ahead, low, high)


def step_from(loop: Loop, begin: Any, low: Any, high: Any) -> tuple[Any, Any]:
    """First and beyond of steps of a loop, in arrays.

    Args:
        loop: with the size of its steps.
        begin: where they begin on its grid.
        low: first of what it goes through.
        high: beyond the last.
    """
    return np.maximum(low, begin), np.minimum(begin + loop.tile, high)


def common(interval: Interval, others: list[Interval]) -> tuple[int, ...]:
    """The iterations that an interval has in common with each of others."""
    first, beyond = interval
    return tuple(max(0, min(beyond, end) - max(first, start)) for start, end in others)
