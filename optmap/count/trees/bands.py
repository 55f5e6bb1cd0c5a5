"""How often what a Keep holds changes where a condition such as `l <= m` leaves out points: exact, tile by tile.

A band is `low <= second - first <= high` of two dims. In a box of iterations the values of one of the two dims with
which some value of the other one is in the band are an interval again, and the points of both are counted in closed
form. So what is touched in an iteration of the loops above a Keep is a box of a tensor with one of the two dims at
most, and what of a box is in the band for a tensor with both; what two of them have in common is of the same form.

Iterations without a point in the band are not visited, and change nothing. Trips of a loop whose points are all in the
band, in a row and of one size, are alike and counted once; trips that the edge of the band cuts one by one, in arrays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optmap.base.arrays import Ints
from optmap.count.trees.steps import begin_of, step_from
from optmap.mappings.nodes import Loop
from optmap.workloads.band import IndexBand, Interval

Whole = NDArray[Any]
"""Whole numbers: of 64 bits where none is larger, else of any size."""
Ranges = Mapping[str, tuple[Whole, Whole]]
"""First and beyond of what is left of dims, one entry for each of several boxes of iterations."""
AT_ONCE = 2**16
"""Boxes that are looked at at once."""


def entered_in_band(
    band: IndexBand, loops: tuple[Loop, ...], outside: int, cell: Mapping[str, Interval], extents: Mapping[str, int]
) -> int:
    """Elements of a cell of a tensor that enter a Keep, all together; without loops those that are touched at all.

    Args:
        band: of two dims.
        loops: above the Keep.
        outside: how many of them are outside the innermost sequence around it.
        cell: what of the tensor is looked at, by dim.
        extents: of all dims.
    """
    cut = {band.first, band.second, *(loop.dim for loop in loops)}
    sides = tuple((d, side) for d, side in cell.items() if d in cut)
    sizes = tuple((d, n) for d, n in extents.items() if d in cut)
    free = prod(max(0, beyond - first) for d, (first, beyond) in cell.items() if d not in cut)
    return _entered(band, loops, outside, sides, sizes) * free


@lru_cache(maxsize=256)
def _entered(
    band: IndexBand,
    loops: tuple[Loop, ...],
    outside: int,
    sides: tuple[tuple[str, Interval], ...],
    sizes: tuple[tuple[str, int], ...],
) -> int:
    """The same of dims of the band and of loops: several tensors are alike in these, and so are trees that follow."""
    return BandRuns(band, loops, outside, tuple(d for d, _ in sides), dict(sides)).entered(dict(sizes))


@dataclass(frozen=True, slots=True)
class _Courses:
    """What a Keep holds in the visited iterations of some loops, one after the other, in each of several boxes."""

    begins: Ranges
    ends: Ranges
    """What is held in the first and in the last of them, of the dims of the tensor."""
    entered: Whole
    """Elements that enter after the first content."""


@dataclass(slots=True)
class BandRuns:
    """How often what a Keep holds of a cell of a tensor changes."""

    band: IndexBand
    loops: Sequence[Loop]
    """Above it."""
    outside: int
    """How many of them are outside the innermost sequence around it: in every iteration of theirs it starts empty."""
    dims: tuple[str, ...]
    """Of the tensor."""
    cell: Mapping[str, Interval]
    """What of the tensor is looked at."""

    def entered(self, extents: Mapping[str, int]) -> int:
        """Elements that enter, all together."""
        left = self._all_of(extents)
        if not self.band.points(left[self.band.first], left[self.band.second])[0]:
            return 0
        courses = self._courses(0, left)
        return int((self._size(courses.begins) + courses.entered)[0])

    def _all_of(self, extents: Mapping[str, int]) -> Ranges:
        """One box with everything, in numbers of a type for which none is too large."""
        moved = prod(n for d, n in extents.items() if d in self.dims or any(loop.dim == d for loop in self.loops))
        pairs = (extents[self.band.first] + extents[self.band.second]) ** 2
        kind: Any = np.int64 if 2 ** (len(self.loops) + 6) * max(moved, pairs) < 2**62 else object
        return {d: (np.array([0], kind), np.array([n], kind)) for d, n in extents.items()}

    def _courses(self, place: int, left: Ranges) -> _Courses:
        """From one loop inwards.

        Args:
            place: number of the loop.
            left: what is left outside of it, in boxes each of which has a point in the band.
        """
        many = left[self.band.first][0].size
        if many > AT_ONCE:
            halves = [
                {d: (a[part], b[part]) for d, (a, b) in left.items()} for part in np.array_split(np.arange(many), 2)
            ]
            return _joined(*(self._courses(place, half) for half in halves))
        if all(loop.dim in self.dims for loop in self.loops[place:]):  # no element is in the contents of two trips
            begins, ends = (self._content(self._inmost(place, left, last=last)) for last in (False, True))
            return _Courses(begins, ends, self._size(self._content(left)) - self._size(begins))
        return self._trip_by_trip(place, left)

    def _trip_by_trip(self, place: int, left: Ranges) -> _Courses:
        """As `_courses`, of the trips of the loop one after the other."""
        loop = self.loops[place]
        box, start, many = self._trips(loop, left)
        inside = _some(left, box)
        inside = {**inside, loop.dim: step_from(loop, start, *inside[loop.dim])}
        (visited,) = np.nonzero(self.band.points(inside[self.band.first], inside[self.band.second]))
        box, many, inside = box[visited], many[visited], _some(inside, visited)
        courses = self._courses(place + 1, inside)
        ends = courses.ends
        if loop.dim in self.dims:  # of alike trips the last one is the first one, moved on
            moved = (many - 1) * loop.tile
            low, high = ends[loop.dim]
            ends = {**ends, loop.dim: (low + moved, high + moved)}
        size = self._size(courses.begins)
        apart = place < self.outside
        next_one = size if apart or loop.dim in self.dims else size - self._common(courses.ends, courses.begins)
        entered = many * courses.entered + (many - 1) * next_one
        if not apart:
            behind, ahead = (np.arange(n, n + box.size - 1) for n in (0, 1))
            size[1:] -= self._common(_some(ends, behind), _some(courses.begins, ahead))
        new = np.append(True, box[1:] != box[:-1])
        size[new] = 0
        (first,) = np.nonzero(new)
        last = np.append(first[1:], box.size) - 1
        return _Courses(_some(courses.begins, first), _some(ends, last), np.add.reduceat(entered + size, first))

    def _trips(self, loop: Loop, left: Ranges) -> tuple[Ints, Whole, Whole]:
        """The trips of a loop in each of some boxes, alike ones in a row together.

        Returns:
            The number of the box, where the first of the trips starts on the grid, and how many they are, in order.
        """
        (low, high), tile = left[loop.dim], loop.tile
        low = low - loop.ahead
        beyond = -((low - high) // tile)
        begin, every = np.zeros_like(beyond), np.arange(beyond.size)
        ragged = (high - low) % tile != 0
        alone = [(every[ragged], beyond[ragged] - 1)]
        if loop.first:
            alone += [(every, np.zeros_like(beyond))]
        if loop.dim in self.dims:
            alone += [(every, (end - low) // tile) for end in self.cell[loop.dim]]
        if loop.dim in (self.band.first, self.band.second):
            a, b = left[self.band.first], left[self.band.second]
            touched = self.band.left(loop.dim, a, b)
            begin, beyond = (touched[0] - low) // tile, np.minimum(beyond, -((low - touched[1]) // tile))
            fine = self.band.always(loop.dim, b if loop.dim == self.band.first else a)
            whole, cut = np.maximum(begin, -((low - fine[0]) // tile)), np.minimum(beyond, (fine[1] - low) // tile)
            whole, cut = (np.where(whole < cut, each, beyond) for each in (whole, cut))
            alone += [_one_by_one(begin, whole), _one_by_one(cut, beyond)]
        box, trip = (np.concatenate(each) for each in zip(*alone, strict=True))
        fine_ones = (trip >= begin[box]) & (trip < beyond[box])
        box, trip = (
            np.append(box[fine_ones], every),
            np.append(trip[fine_ones], beyond),
        )  # one beyond the last at the end
        order = np.lexsort((trip.astype(np.int64), box))
        box, trip = box[order], trip[order]
        new = np.append(True, (box[1:] != box[:-1]) | (trip[1:] != trip[:-1]))
        box, trip = box[new], trip[new]
        before = np.where(np.append(True, box[1:] != box[:-1]), begin[box], np.append(0, trip[:-1]) + 1)
        alike, single = trip > before, trip < beyond[box]
        boxes = np.append(box[alike], box[single])
        firsts, many = (
            np.append(before[alike], trip[single]),
            np.append((trip - before)[alike], np.ones_like(trip[single])),
        )
        order = np.lexsort((firsts.astype(np.int64), boxes))
        boxes = boxes[order]
        return boxes, low[boxes] + firsts[order] * tile, many[order]

    def _inmost(self, place: int, left: Ranges, *, last: bool) -> Ranges:
        """What is left of every dim in the first or the last trip that is visited of the loops from one inwards."""
        now = dict(left)
        for loop in self.loops[place:]:
            low, high = first, beyond = now[loop.dim]
            if loop.dim in (self.band.first, self.band.second):
                first, beyond = self.band.left(loop.dim, now[self.band.first], now[self.band.second])
            begin = begin_of(loop, low, beyond - 1 if last else first)
            now[loop.dim] = step_from(loop, begin, low, high)
        return now

    def _content(self, left: Ranges) -> Ranges:
        """What is held: of a tensor with both dims of the band, what of a box is in it."""
        a, b = left[self.band.first], left[self.band.second]
        both = self.band.first in self.dims and self.band.second in self.dims
        found = {}
        for dim in self.dims:
            low, high = left[dim]
            if not both and dim in (self.band.first, self.band.second):
                low, high = self.band.left(dim, a, b)
            found[dim] = np.maximum(low, self.cell[dim][0]), np.minimum(high, self.cell[dim][1])
        return found or {"": (np.zeros_like(a[0]), np.ones_like(a[0]))}  # of a single element

    def _size(self, content: Ranges) -> Whole:
        sides = dict(content)
        total: Any = 1
        if self.band.first in sides and self.band.second in sides:
            total = self.band.points(sides.pop(self.band.first), sides.pop(self.band.second))
        return np.asarray(total * prod(np.maximum(0, beyond - first) for first, beyond in sides.values()))

    def _common(self, one: Ranges, other: Ranges) -> Whole:
        shared = {d: (np.maximum(a, other[d][0]), np.minimum(b, other[d][1])) for d, (a, b) in one.items()}
        return self._size(shared)


def _some(ranges: Ranges, which: Ints) -> Ranges:
    """Some of the boxes."""
    return {d: (low[which], high[which]) for d, (low, high) in ranges.items()}


def _joined(one: _Courses, other: _Courses) -> _Courses:
    """Courses in some boxes and then in others."""

    def both(mine: Ranges, theirs: Ranges) -> Ranges:
        return {d: (np.append(low, theirs[d][0]), np.append(high, theirs[d][1])) for d, (low, high) in mine.items()}

    return _Courses(both(one.begins, other.begins), both(one.ends, other.ends), np.append(one.entered, other.entered))


def _one_by_one(first: Whole, beyond: Whole) -> tuple[Ints, Whole]:
    """All numbers of some intervals, each with the number of its interval."""
    sizes = np.maximum(0, beyond - first).astype(np.int64)
    which = np.repeat(np.arange(sizes.size), sizes)
    return which, first[which] + np.arange(which.size) - (np.cumsum(sizes) - sizes)[which]
