"""What enters a Keep of an input whose subscripts have several dims or strides, one iteration after the other.

In an iteration of the loops above the Keep the operations below touch, along every subscript, the index values
`sum(factor * i) + offset` of a product of ranges. There are no gaps between them if every factor is at most the number
of values that dims with smaller factors give without gaps; a dim by itself with a larger factor has gaps as soon as two
values of it are there. Subscripts have no dim in common, so that what two contents share is the box of what their
ranges share; it stays from one iteration to the next, unless a branch ended in between.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

from ..core.tools import need
from .regions import Box
from .stated_tree import StatedKeep

MOST = 2**20
"""Iterations that are gone over."""
Places = dict[str, tuple[int, int]]
"""Per dim the first iteration and the one beyond the last."""


def slid(keep: StatedKeep, axes: Any, extents: dict[str, int]) -> int:
    """Elements that enter a Keep, all iterations of the loops above it together.

    Args:
        keep: which holds all that the operations below touch.
        axes: of the access.
        extents: iterations per dim.
    """
    loops = keep.above.loops
    left, iterations = dict(extents), 1
    for loop in loops:
        iterations *= -(-(left[loop.dim] + loop.ahead) // loop.tile)
        left[loop.dim] = min(left[loop.dim], loop.tile)
    need(iterations <= MOST, f"not counted: more than {MOST} iterations in which a content slides")
    found, before = 0, None
    for fresh, places in _iterations(keep, 0, {d: (0, n) for d, n in extents.items()}, fresh=True):
        now = window_box(axes, places)
        found += _size(now)
        if before is not None and not fresh:
            found -= _size(tuple((max(a, c), min(b, d)) for (a, b), (c, d) in zip(before, now, strict=True)))
        before = now
    return found


def window_box(axes: Any, places: Places) -> Box:
    """The index values that a product of ranges touches along every subscript, without gaps."""
    found = []
    for axis in axes:
        first, span = axis["offset"], 1
        for dim, factor in sorted(axis["terms"], key=lambda term: int(term[1])):
            low, high = places[dim]
            need(high - low == 1 or factor <= span, f"not counted: a content with gaps along {dim}")
            first += factor * low
            span += factor * (high - low - 1)
        found.append((first, first + span))
    return tuple(found)


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


def _size(box: Box) -> int:
    return prod(max(0, high - low) for low, high in box)
