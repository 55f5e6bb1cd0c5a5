"""Where the loops over one dim of a path may be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

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
                inside[loop.tile] += size // loop.tile * times
                inside[size % loop.tile] += times * (size % loop.tile > 0)
            sizes = +inside
        total *= sum(sizes.values())
    return total


def starts(step: Interval, tile: int, cuts: list[Interval]) -> list[int]:
    """Where the steps of a loop begin, of all that lie otherwise between some cuts the first one at least.

    Args:
        step: what the loop goes over.
        tile: iterations of its steps.
        cuts: intervals that end where the next one begins.
    """
    first, beyond = step
    trips = -(-(beyond - first) // tile)
    near = {(end - first) // tile + more for _, end in cuts for more in (0, 1)}  # the others are like the one before
    return [first + trip * tile for trip in sorted({0, trips - 1} | near) if 0 <= trip < trips]


def common(interval: Interval, others: list[Interval]) -> tuple[int, ...]:
    """The iterations that an interval has in common with each of others."""
    first, beyond = interval
    return tuple(max(0, min(beyond, end) - max(first, start)) for start, end in others)
