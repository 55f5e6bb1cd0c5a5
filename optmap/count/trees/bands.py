"""How often what a Keep holds changes where a condition such as `l <= m` leaves out points: exact, tile by tile.

A band is `low <= second - first <= high` of two dims. In a box of iterations the values of one of the two dims with
which some value of the other one is in the band are an interval again, and the points of both are counted in closed
form. So what is touched in an iteration of the loops above a Keep is a box of a tensor with one of the two dims at
most, and what of a box is in the band for a tensor with both; what two of them have in common is of the same form.

Iterations without a point in the band are not visited, and change nothing. Trips of a loop whose points are all in the
band, in a row and of one size, are alike and counted once; trips that the edge of the band cuts one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from optmap.mappings.nodes import Loop
from optmap.workloads.band import IndexBand, Interval

Ranges = tuple[tuple[str, Interval], ...]
"""What is left of every dim."""


@dataclass(frozen=True, slots=True)
class _Course:
    """What a Keep holds in the visited iterations of some loops, one after the other."""

    begins: Ranges
    ends: Ranges
    """What is left in the first and in the last of them, of the dims of the tensor."""
    entered: int
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
    known: dict[tuple[int, Ranges], _Course | None] = field(default_factory=dict)
    fixed: set[str] = field(default_factory=set)
    """Dims of which it matters where the iterations begin; of the others all places are alike."""

    def entered(self, extents: Mapping[str, int]) -> int:
        """Elements that enter, all together."""
        whole = {d for d in self.dims if self.cell[d] == (0, extents[d])}
        self.fixed = {self.band.first, self.band.second, *self.dims} - (whole - {self.band.first, self.band.second})
        course = self._course(0, tuple((d, (0, n)) for d, n in extents.items()))
        return 0 if course is None else self._size(course.begins) + course.entered

    def _course(self, place: int, ranges: Ranges) -> _Course | None:
        """From one loop inwards; None where nothing is visited."""
        moved = {d: low for d, (low, _) in ranges if d not in self.fixed and low}
        key = (place, _shifted(ranges, {d: -low for d, low in moved.items()}))
        if key not in self.known:
            self.known[key] = self._find(*key)
        found = self.known[key]
        if found is None or not moved:
            return found
        return _Course(_shifted(found.begins, moved), _shifted(found.ends, moved), found.entered)

    def _find(self, place: int, ranges: Ranges) -> _Course | None:
        left = dict(ranges)
        if not self.band.points(left[self.band.first], left[self.band.second]):
            return None
        if all(loop.dim in self.dims for loop in self.loops[place:]):  # no element is in the contents of two trips
            begins, ends = (self._content(self._inmost(place, left, last=last)) for last in (False, True))
            return _Course(begins, ends, self._size(self._content(left)) - self._size(begins))
        loop, found = self.loops[place], None
        for start, beyond, many in self._trips(loop, left):
            size = (beyond - start) // many if many > 1 else beyond - start
            each = self._course(place + 1, _with(ranges, loop.dim, (start, start + size)))
            if each is None:
                continue
            inside, ends = each.entered, each.ends
            if many > 1:
                apart = place < self.outside or loop.dim in self.dims
                between = self._size(each.begins) - (0 if apart else self._common(each.ends, each.begins))
                inside = many * inside + (many - 1) * between
                last = self._course(place + 1, _with(ranges, loop.dim, (beyond - size, beyond)))
                ends = last.ends if last is not None else ends
            if found is None:
                found = _Course(each.begins, ends, inside)
                continue
            kept = 0 if place < self.outside else self._common(found.ends, each.begins)
            found = _Course(found.begins, ends, found.entered + self._size(each.begins) - kept + inside)
        return found

    def _inmost(self, place: int, left: Mapping[str, Interval], *, last: bool) -> dict[str, Interval]:
        """What is left of every dim in the first or the last trip that is visited of the loops from one inwards."""
        now = dict(left)
        for loop in self.loops[place:]:
            low, high = now[loop.dim]
            first, beyond = low, high
            if loop.dim in (self.band.first, self.band.second):
                first, beyond = self.band.left(loop.dim, now[self.band.first], now[self.band.second])
            start = low + ((beyond - 1 if last else first) - low) // loop.tile * loop.tile
            now[loop.dim] = start, min(start + loop.tile, high)
        return now

    def _trips(self, loop: Loop, left: Mapping[str, Interval]) -> Iterator[tuple[int, int, int]]:
        """The trips of a loop, alike ones in a row together: first and beyond of all, and how many."""
        band, dim, tile = self.band, loop.dim, loop.tile
        low, high = left[dim]
        trips = -(-(high - low) // tile)
        alone = {0, trips - 1}
        if dim in self.dims:
            ends = self.cell[dim]
            alone |= {(end - low) // tile + more for end in ends for more in (-1, 0, 1)}
        if dim in (band.first, band.second):
            a, b = left[band.first], left[band.second]
            first, beyond = band.left(dim, a, b)
            touched = range((first - low) // tile, min(trips, -(-(beyond - low) // tile)))
            fine = band.always(dim, b if dim == band.first else a)
            whole = range(max(touched.start, -(-(fine[0] - low) // tile)), min(touched.stop, (fine[1] - low) // tile))
            cut = touched if not whole else (*range(touched.start, whole.start), *range(whole.stop, touched.stop))
            alone |= set(cut) | ({whole.start, whole.stop - 1} if whole else set())
            alone &= set(touched)
        places = sorted(trip for trip in alone if 0 <= trip < trips)
        beyond_last: int | None = None
        for trip in places:
            start = low + trip * tile
            if beyond_last is not None and start > beyond_last:
                yield beyond_last, start, (start - beyond_last) // tile
            beyond_last = min(start + tile, high)
            yield start, beyond_last, 1

    def every(self, extents: Mapping[str, int]) -> int:
        """Elements that are touched at all."""
        return self._size(self._content({d: (0, n) for d, n in extents.items()}))

    def _content(self, left: Mapping[str, Interval]) -> Ranges:
        """What is held: of a tensor with both dims of the band, what of a box is in it."""
        a, b = left[self.band.first], left[self.band.second]
        both = self.band.first in self.dims and self.band.second in self.dims
        found = []
        for dim in self.dims:
            low, high = left[dim]
            if not both and dim in (self.band.first, self.band.second):
                low, high = self.band.left(dim, a, b)
            found.append((dim, (max(low, self.cell[dim][0]), min(high, self.cell[dim][1]))))
        return tuple(found)

    def _size(self, content: Ranges) -> int:
        sides = dict(content)
        total = 1
        if self.band.first in sides and self.band.second in sides:
            total = self.band.points(sides.pop(self.band.first), sides.pop(self.band.second))
        return total * prod(max(0, beyond - first) for first, beyond in sides.values())

    def _common(self, one: Ranges, other: Ranges) -> int:
        shared = [(dim, (max(a, c), min(b, d))) for (dim, (a, b)), (_, (c, d)) in zip(one, other, strict=True)]
        return self._size(tuple(shared))


def _shifted(ranges: Ranges, by: Mapping[str, int]) -> Ranges:
    return tuple((d, (low + by.get(d, 0), high + by.get(d, 0))) for d, (low, high) in ranges) if by else ranges


def _with(ranges: Ranges, dim: str, interval: Interval) -> Ranges:
    return tuple((d, interval if d == dim else each) for d, each in ranges)
