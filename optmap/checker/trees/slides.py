"""What enters a Keep of a tensor that is read through other subscripts than dims, or several, one iteration at a time.

In an iteration of the loops above the Keep the operations below touch, along every subscript, the index values
`sum(factor * i) + offset` of a product of ranges. There are no gaps between them if every factor is at most the number
of values that dims with smaller factors give without gaps; a dim by itself with a larger factor has gaps as soon as two
values of it are there. Subscripts of an access have no dim in common, so that it touches a box; several accesses touch
the union of their boxes. What two contents share is the union of what every box of the one shares with every box of the
other; it stays from one iteration to the next, unless a branch ended in between.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..core.tools import need
from .regions import either, size, without
from .runs import EVERY
from .stated_tree import StatedKeep
from .stated_views import Axes, Places, window_box


def slid(keep: StatedKeep, view: list[Axes], extents: dict[str, int]) -> int:
    """Elements that enter a Keep, all iterations of the loops above it together.

    Args:
        keep: which holds all that the operations below touch.
        view: the subscripts of their accesses.
        extents: iterations per dim.
    """
    loops = keep.above.loops
    left, iterations = dict(extents), 1
    for loop in loops:
        iterations *= -(-(left[loop.dim] + loop.ahead) // loop.tile)
        left[loop.dim] = min(left[loop.dim], loop.tile)
    need(iterations <= EVERY, f"not counted: more than {EVERY} iterations in which a content slides")
    found, before = 0, None
    for fresh, places in _iterations(keep, 0, {d: (0, n) for d, n in extents.items()}, fresh=True):
        now = either(window_box(axes, places) for axes in view)
        found += size(now if fresh or before is None else without(now, before))
        before = now
    return found


def _iterations(keep: StatedKeep, place: int, places: Places, *, fresh: bool) -> Iterator[tuple[bool, Places]]:
    """Every iteration of the loops from one inwards, and whether the Keep is empty before it."""
    if place == len(keep.above.loops):
        yield fresh, places
        return
    loop = keep.above.loops[place]
    whole = places[loop.dim]
    for step in loop.steps(whole, *whole):
        empty = place < keep.above.ended or (fresh and step[0] == whole[0])
        yield from _iterations(keep, place + 1, {**places, loop.dim: step}, fresh=empty)
