"""Where the loops over one dim of a path may be."""

from __future__ import annotations

from optmap.count.trees.runs import Interval

Place = tuple[Interval, ...]
"""What is left of a dim outside its loops and inside each of them."""


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
