"""How often what a Keep holds changes where a condition such as `l <= m` leaves out points: exact, tile by tile.

A band is `low <= second - first <= high` of two dims. In a box of iterations the values of one of the two dims with
which some value of the other one is in the band are an interval again, and the points of both are counted in closed
form. So what is touched in an iteration of the loops above a Keep is a box of a tensor with one of the two dims at
most, and what of a box is in the band for a tensor with both; what two of them have in common is of the same form.

Iterations without a point in the band are not visited, and change nothing. Trips of a loop whose points are all in the
band, in a row and of one size, are alike and counted once; trips that the edge of the band cuts one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from optmap.mappings.nodes import Loop
from optmap.workloads.domain import Comparator, Condition
from optmap.workloads.statement import Statement

Interval = tuple[int, int]
"""First index and the one beyond the last."""
Ranges = tuple[tuple[str, Interval], ...]
"""What is left of every dim."""
V = TypeVar("V", int, NDArray[np.int64])
"""A number or an array of numbers."""
FAR = 2**64
"""A difference that no two iterations have."""


@dataclass(frozen=True, slots=True)
class IndexBand:
    """Points of two dims with `low <= second - first <= high`."""

    first: str
    second: str
    low: int
    high: int

    def points(self, a: tuple[V, V], b: tuple[V, V]) -> V:
        """How many points of a box are in the band.

        Args:
            a: first and beyond of the first dim.
            b: of the second one.
        """
        sizes = _most(0, a[1] - a[0]), _most(0, b[1] - b[0])

        def up_to(difference: int) -> V:
            most = difference - b[0] + a[1]  # of u + v + 1, with u, v counted from the last and from the first
            corners = most, most - sizes[0], most - sizes[1], most - sizes[0] - sizes[1]
            one, two, three, four = (_most(0, each) * (_most(0, each) + 1) // 2 for each in corners)
            found: V = one - two - three + four
            return found

        return up_to(self.high) - up_to(self.low - 1)

    def left(self, dim: str, a: tuple[V, V], b: tuple[V, V]) -> tuple[V, V]:
        """Of one of the dims the values with which a point of a box is in the band, where the box has any."""
        if dim == self.first:
            low, high = _most(a[0], b[0] - self.high), -_most(-a[1], self.low - b[1])
        else:
            low, high = _most(b[0], a[0] + self.low), -_most(-b[1], -a[1] - self.high)
        return low, high

    def always(self, dim: str, other: Interval) -> Interval:
        """Values of one dim that are in the band with all values of the other one."""
        first, beyond = other
        if dim == self.first:
            return beyond - 1 - self.high, first - self.low + 1
        return beyond - 1 + self.low, first + self.high + 1


def _most(one: V | int, other: V | int) -> V:
    """The larger one, of arrays one by one."""
    most: Any = max if isinstance(one, int) and isinstance(other, int) else np.maximum
    return cast(V, most(one, other))


def band_of(conditions: Iterable[Condition]) -> IndexBand | None:
    """The band of the points that meet all conditions; None if they are of another form."""
    found: IndexBand | None = None
    for each in conditions:
        terms: dict[str, int] = {}
        for sign, side in ((1, each.left), (-1, each.right)):
            for dim, factor in side.terms:
                terms[dim] = terms.get(dim, 0) + sign * factor
        terms = {dim: factor for dim, factor in sorted(terms.items()) if factor}
        if sorted(terms.values()) != [-1, 1]:
            return None
        (first, factor), (second, _) = terms.items()
        offset = each.left.offset - each.right.offset  # -factor * (second - first) + offset REL 0
        at_most = each.relation in (Comparator.AT_MOST, Comparator.LESS)
        strict = each.relation in (Comparator.LESS, Comparator.MORE)
        edge = factor * offset
        if each.relation is Comparator.EQUAL:
            low, high = edge, edge
        elif at_most == (factor < 0):  # second - first <= edge
            low, high = -FAR, edge - strict
        else:
            low, high = edge + strict, FAR
        if found is None:
            found = IndexBand(first, second, low, high)
        elif (first, second) == (found.first, found.second):
            found = IndexBand(first, second, max(low, found.low), min(high, found.high))
        else:
            return None
    return found if found is None or found.low <= found.high else None


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
        if place == len(self.loops):
            content = self._content(left)
            return _Course(content, content, 0)
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


def band_of_statements(statements: Iterable[Statement], extents: Mapping[str, int]) -> IndexBand | None:
    """The band of all statements with conditions.

    Returns:
        None if two differ, one is of another form or met by no point, or another statement has one of the two dims.
        Its ends are differences that there are.
    """
    every = tuple(statements)
    bands = {band_of(each.domain) for each in every if each.domain}
    if len(bands) != 1:
        return None
    (band,) = bands
    if band is None or any(not each.domain and {band.first, band.second} & {*each.dims} for each in every):
        return None
    one, other = extents[band.first], extents[band.second]
    if not band.points((0, one), (0, other)):
        return None
    return replace(band, low=max(band.low, 1 - one), high=min(band.high, other - 1))  # small numbers in arrays


def beyond_64_bits(keeps: Sized, weights: Mapping[str, int], extents: Mapping[str, int]) -> bool:
    """Whether what Keeps hold together, or the pairs of two dims, may need numbers of more than 64 bits."""
    held = len(keeps) * sum(weights.values()) * prod(extents.values())
    return max(held, 4 * max(extents.values()) ** 2) >= 2**62


@dataclass(frozen=True, slots=True)
class BandPlaces:
    """The places of loops over the two dims of a band in which something is visited, as arrays.

    Args:
        band: of the statement.
        first: what is left of its first dim outside its loops and inside each of them, in every step.
        second: of the other one.
        exact: whether numbers may be beyond 64 bits, so that they are Python's.
    """

    band: IndexBand
    first: Sequence[tuple[Interval, ...]]
    second: Sequence[tuple[Interval, ...]]
    exact: bool = False

    def held(self, dims: Sequence[str], depths: tuple[int, int], cell: Mapping[str, Interval]) -> NDArray[np.int64]:
        """Values of the two dims of which elements of a tensor are held, together, in every place.

        Args:
            dims: of the tensor.
            depths: how many loops over each of the two there are outside the Keep.
            cell: what of the tensor is looked at.
        """
        a, b = self._sides(*depths)
        mine = [dim for dim in (self.band.first, self.band.second) if dim in dims]
        if not mine:
            return np.ones((1, 1), np.int64)
        if len(mine) == 1:
            low, high = self.band.left(mine[0], a, b)
            first, beyond = cell[mine[0]]
            return np.asarray(np.maximum(0, np.minimum(high, beyond) - np.maximum(low, first)))
        sides = [
            (np.maximum(low, cell[dim][0]), np.minimum(high, cell[dim][1]))
            for dim, (low, high) in zip(mine, (a, b), strict=True)
        ]
        return self.band.points(sides[0], sides[1])

    @property
    def visited(self) -> NDArray[np.bool_]:
        """Whether something is done in a place."""
        return np.asarray(self.band.points(*self._sides(-1, -1)) > 0)

    def _sides(self, *depths: int) -> tuple[tuple[NDArray[np.int64], NDArray[np.int64]], ...]:
        one, other = (
            np.array([place[depth] for place in places], object if self.exact else np.int64)
            for depth, places in zip(depths, (self.first, self.second), strict=True)
        )
        return (one[:, :1], one[:, 1:]), (other[:, 0][None], other[:, 1][None])
