"""What a Keep takes in of an input that is read by windows, or through several accesses: unions of boxes.

Contents of two iterations may share elements there, as `I[c,y+r]` does for neighbouring tiles of `y`, and `A[m,k]` and
`A[l,k]` wherever a tile of `m` and one of `l` meet, so that sizes of steps do not say how many words enter. What enters
is every content without what it shares with the one before. By inclusion and exclusion both are signed sums over boxes
that some accesses have in common, now and before; and each of these is a product over *parts*: sets of subscripts that
no dim links to others, and dims that no subscript has.

From one iteration to the next one loop steps on, those inside it begin again, and those outside it stay where they are.
So for every loop that may step on, a part is summed over the places of its own dims. A dim that is one subscript by
itself, wherever it occurs, is not laid out with others: of the elements along that subscript it is known at how many of
its places they are touched. The other dims, as those of windows, are laid out together, in arrays.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations
from math import prod
from typing import Any

import numpy as np

from optmap.count.trees.steps import trip_of, trips_in
from optmap.mappings.nodes import Loop
from optmap.workloads.access import Subscript, TensorAccess

Whole = Any
"""Whole numbers, one or an array of them: of Python where those of 64 bits are too small."""
MOST = 2**22
"""Places that are laid out at once."""
MOST_ACCESSES = 4
"""To one tensor, in one statement."""
BEYOND = 2**62
"""What is counted with numbers of 64 bits is below."""


class GapsError(Exception):
    """A content that is no union of boxes, or with more places than are laid out."""


def entered(
    accesses: Sequence[TensorAccess], loops: Sequence[Loop], outside: int, extents: Mapping[str, int]
) -> int | None:
    """Elements of an input that enter a Keep, all iterations together.

    None where a content is no union of boxes, or where there are more places, or accesses, than are looked at.

    Args:
        accesses: of a statement to the input, no two of them alike; no dim is in two subscripts of one.
        loops: above the Keep.
        outside: how many of them are outside the innermost sequence around it: there it starts empty every time.
        extents: iterations per dim.
    """
    if len(accesses) > MOST_ACCESSES:
        return None
    some, parts = _subsets(len(accesses)), _parts(tuple(accesses), loops, extents)
    try:
        found = sum(sign * _common(parts, None, now, ()) for sign, now in some)
        for carry in range(outside, len(loops)):
            found -= sum(
                sign * other * _common(parts, carry, now, before) for sign, now in some for other, before in some
            )
    except GapsError:
        return None
    finally:
        for part, _ in parts:
            part.places.clear()
    return found


def held(accesses: Sequence[TensorAccess], places: Mapping[str, tuple[Whole, Whole]]) -> Whole:
    """Elements of an input that a Keep holds.

    Args:
        accesses: to it.
        places: first and beyond of what is left of every dim; arrays of them that fit together.
    """
    found: Whole = 0
    for sign, which in _subsets(len(accesses)):
        total: Whole = 1
        for axes in zip(*(accesses[number].axes for number in which), strict=True):
            low, high = _shared(_values(axis, places) for axis in axes)
            total = total * np.maximum(0, high - low)
        found = found + sign * total
    return found


@lru_cache(maxsize=MOST_ACCESSES)
def _subsets(count: int) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """Numbers of accesses, one at least, with the sign that what they have in common has in the size of a union."""
    sizes = range(1, count + 1)
    return tuple((1 if size % 2 else -1, some) for size in sizes for some in combinations(range(count), size))


def _common(parts: Sequence[_LoopedPart], carry: int | None, now: tuple[int, ...], before: tuple[int, ...]) -> int:
    """Elements that accesses have in common with others of the iteration before, where a loop steps on.

    Args:
        parts: all subscripts.
        carry: number of the loop; None for what accesses have in common in any iteration.
        now: numbers of accesses.
        before: numbers of those of the iteration before.
    """
    found = 1
    for part, loops in parts:
        outer = len(loops) if carry is None else bisect_left(loops, carry)
        found *= part.common(outer, now, before, stepping=carry in loops)
        if not found:
            break
    return found


@lru_cache(maxsize=256)
def _linked(accesses: tuple[TensorAccess, ...]) -> tuple[tuple[frozenset[int], frozenset[str]], ...]:
    """The subscripts that dims link, by number, set by set, with these dims."""
    found: list[tuple[frozenset[int], frozenset[str]]] = []
    for number, axes in enumerate(zip(*(access.axes for access in accesses), strict=True)):
        numbers, dims = frozenset({number}), frozenset(d for axis in axes for d in axis.dims)
        for other in [each for each in found if each[1] & dims]:
            found.remove(other)
            numbers, dims = numbers | other[0], dims | other[1]
        found.append((numbers, dims))
    return tuple(found)


def _parts(accesses: tuple[TensorAccess, ...], loops: Sequence[Loop], extents: Mapping[str, int]) -> list[_LoopedPart]:
    """The parts of some accesses, and what loops go over besides, with the numbers of the loops of each."""
    linked = _linked(accesses)
    named = {d for _, dims in linked for d in dims}
    others = dict.fromkeys(loop.dim for loop in loops if loop.dim not in named)
    found = []
    for numbers, dims in (*linked, *((frozenset[int](), frozenset({dim})) for dim in others)):
        part = _part(
            tuple(tuple(access.axes[n] for n in sorted(numbers)) for access in accesses),
            tuple(loop for loop in loops if loop.dim in dims),
            tuple((d, extents[d]) for d in sorted(dims)),
        )
        found.append((part, [n for n, loop in enumerate(loops) if loop.dim in dims]))
    return found


@dataclass(frozen=True, slots=True)
class _LoopPlaces:
    """Places of the loops over one dim, in arrays, where one of all loops steps on."""

    now: tuple[Whole, Whole]
    """First and beyond of what is left of the dim."""
    before: tuple[Whole, Whole]
    """The same in the iteration before."""


@dataclass(slots=True)
class _Part:
    """Subscripts that dims link, with these dims and the loops over them."""

    subscripts: tuple[tuple[Subscript, ...], ...]
    """Per access."""
    loops: tuple[Loop, ...]
    """Outermost first."""
    extents: Mapping[str, int]
    known: dict[tuple[Any, ...], int] = field(default_factory=dict)
    """What they have in common, by what was asked."""
    places: dict[tuple[str, int, bool], _LoopPlaces] = field(default_factory=dict)
    """Those that are laid out, while the elements of one Keep are counted: they may be large."""
    together: frozenset[str] = field(init=False)
    """Dims that are laid out together: not by themselves wherever they occur, or in several subscripts."""
    kind: Any = field(init=False)
    """Of numbers in arrays."""

    def __post_init__(self) -> None:
        axes = [(number, axis) for own in self.subscripts for number, axis in enumerate(own)]
        linked = {d for _, axis in axes for d, factor in axis.terms if len(axis.terms) > 1 or factor != 1}
        where = {d: {number for number, axis in axes if d in axis.dims} for d in self.extents}
        self.together = frozenset(linked | {d for d, numbers in where.items() if len(numbers) > 1})
        most = prod(self._count(d, len(self.loops), stepping=False) for d in self.extents)
        along = zip(*self.subscripts, strict=True)
        spans = (max(axis.offset + axis.span(self.extents) for axis in each) for each in along)
        self.kind = np.int64 if most * prod(spans) < BEYOND else object

    def common(self, outer: int, now: tuple[int, ...], before: tuple[int, ...], *, stepping: bool) -> int:
        """Elements along the subscripts that accesses have in common, over all places of the loops.

        Args:
            outer: how many of the loops are outside the one that steps on.
            now: numbers of accesses.
            before: numbers of those that are looked at in the iteration before.
            stepping: whether the loop that steps on is one of these.
        """
        mine = tuple(dict.fromkeys((self.subscripts[n], True) for n in now))
        mine += tuple(dict.fromkeys((self.subscripts[n], False) for n in before))
        if (asked := (outer, stepping, mine)) not in self.known:
            self.known[asked] = self._common(outer, mine, stepping=stepping)
        return self.known[asked]

    def _common(self, outer: int, mine: tuple[tuple[tuple[Subscript, ...], bool], ...], *, stepping: bool) -> int:
        """The same: what subscripts, now or in the iteration before, have in common.

        Args:
            outer: how many of the loops are outside the one that steps on.
            mine: subscripts, and whether they are those of now.
            stepping: whether the loop that steps on is one of this part.
        """
        wanted = {d for own, _ in mine for axis in own for d in axis.dims}
        found = prod(self._count(d, outer, stepping=stepping) for d in self.extents if d not in wanted)
        if not found or not self.subscripts[0]:
            return found
        places = {d: self._places(d, outer, stepping=stepping) for d in self.extents if d in wanted}
        laid = [d for d in places if d in self.together]
        if prod(len(places[d].now[0]) for d in laid) > MOST:
            raise GapsError
        shaped = [
            {d: along(getattr(places[d], "now" if is_now else "before"), n, len(laid)) for n, d in enumerate(laid)}
            for _, is_now in mine
        ]
        total: Whole = np.ones((1,) * len(laid), self.kind)
        for number in range(len(self.subscripts[0])):
            axes = [(own[number], is_now, shape) for (own, is_now), shape in zip(mine, shaped, strict=True)]
            low, high = _shared(
                [_values(axis, shape) for axis, _, shape in axes if self.together.issuperset(axis.dims)]
            )
            alone: dict[str, list[tuple[Whole, Whole]]] = {}
            for axis, is_now, _ in axes:
                for dim in (d for d in axis.dims if d not in self.together):
                    first, beyond = places[dim].now if is_now else places[dim].before
                    alone.setdefault(dim, []).append((axis.offset + first, axis.offset + beyond))
            total = total * _elements(low, high, [_shared(each) for each in alone.values()], self.kind)
        return found * int(total.sum())

    def _count(self, dim: str, outer: int, *, stepping: bool) -> int:
        """How many places there are of the loops over a dim; as `_places`."""
        sizes = Counter({self.extents[dim]: 1})
        for number, loop in enumerate(self.loops[: outer + stepping]):
            if loop.dim == dim:
                inside = Counter[int]()
                for size, times in sizes.items():
                    begin = min(loop.first, size)
                    full, rest = divmod(size - begin, loop.tile)
                    steps = [(begin, 1), (loop.tile, full), (rest, 1)]
                    trips = sum(many for some, many in steps if some)
                    if number == outer:  # from each trip to the next one
                        inside[size] += times * (trips - 1)
                        continue
                    for some, many in steps:
                        inside[some] += times * many * (some > 0)
                sizes = +inside
        return sum(sizes.values())

    def _places(self, dim: str, outer: int, *, stepping: bool) -> _LoopPlaces:
        """The places of the loops over a dim, where one of all loops steps on.

        Args:
            dim: whose.
            outer: how many loops of this part are outside the one that steps on: these are anywhere.
            stepping: whether that is the next one; those inside it are at their first trips, before at their last.

        Raises:
            GapsError: if they are too many.
        """
        if (asked := (dim, outer, stepping)) in self.places:
            return self.places[asked]
        if self._count(dim, outer, stepping=stepping) > MOST:
            raise GapsError
        low, high = np.zeros(1, self.kind), np.full(1, self.extents[dim], self.kind)
        now, before = (low, high), (low, high)
        for number, loop in enumerate(self.loops):
            if loop.dim != dim:
                continue
            if number > outer or (number == outer and not stepping):
                last = -(-(before[1] - before[0] + loop.ahead) // loop.tile) - 1
                now, before = trip_of(loop, *now, 0), trip_of(loop, *before, last)
                continue
            on = int(number == outer)
            rows, trip = trips_in(loop, *now, less=on)
            now, trip = (now[0][rows], now[1][rows]), trip.astype(self.kind)
            now, before = trip_of(loop, *now, trip + on), trip_of(loop, *now, trip)
        self.places[asked] = _LoopPlaces(now, before)
        return self.places[asked]


_LoopedPart = tuple[_Part, list[int]]
"""A part, and the numbers of its loops among all."""


@lru_cache(maxsize=4096)
def _part(
    subscripts: tuple[tuple[Subscript, ...], ...], loops: tuple[Loop, ...], extents: tuple[tuple[str, int], ...]
) -> _Part:
    """A part, made once: tiles of one dim come with many of the others."""
    return _Part(subscripts=subscripts, loops=loops, extents=dict(extents))


def along(each: tuple[Whole, Whole], place: int, dims: int) -> tuple[Whole, Whole]:
    """First ones and those beyond the last, as arrays along one of several dims."""
    shape = tuple(-1 if n == place else 1 for n in range(dims))
    return each[0].reshape(shape), each[1].reshape(shape)


def _values(axis: Subscript, places: Mapping[str, tuple[Whole, Whole]]) -> tuple[Whole, Whole]:
    """First value of a subscript and the one beyond the last.

    Raises:
        GapsError: if there are gaps in between.
    """
    first: Whole = axis.offset
    span: Whole = 1
    for dim, factor in sorted(axis.terms, key=lambda term: term[1]):
        low, high = places[dim]
        if factor > 1 and np.any((high - low > 1) & (span < factor)):
            raise GapsError
        first, span = first + factor * low, span + factor * (high - low - 1)
    return first, first + span


def _shared(ranges: Any) -> tuple[Whole, Whole]:
    """What some ranges have in common; without any, no ends."""
    low, high = None, None
    for first, beyond in ranges:
        low = first if low is None else np.maximum(low, first)
        high = beyond if high is None else np.minimum(high, beyond)
    return low, high


def _elements(low: Whole, high: Whole, alone: Sequence[tuple[Whole, Whole]], kind: Any) -> Whole:
    """Elements along a subscript in some ranges, each as often as places of dims by themselves touch it.

    Args:
        low: first of the ranges; None for all that there is.
        high: beyond the last.
        alone: per dim by itself the ranges of its places.
        kind: of numbers.
    """
    if not alone:
        return np.maximum(0, high - low)
    if low is None and len(alone) == 1:
        return np.maximum(0, alone[0][1] - alone[0][0]).sum()
    ends = [(first[first < beyond], beyond[first < beyond]) for first, beyond in alone]
    points = np.unique(np.concatenate([each for pair in ends for each in pair]))
    if not points.size:
        return np.asarray(0)
    height = np.ones(points.size, kind)
    for first, beyond in ends:
        change = np.zeros(points.size, kind)
        for each, sign in ((first, 1), (beyond, -1)):
            where, times = np.unique(np.searchsorted(points, each), return_counts=True)
            change[where] += sign * times
        height = height * np.cumsum(change)
    until = np.append(np.zeros(1, kind), np.cumsum(height[:-1] * np.diff(points)))
    if low is None:
        return until[-1]

    def below(end: Whole) -> Whole:
        place = np.maximum(np.searchsorted(points, end, side="right") - 1, 0)
        return until[place] + height[place] * np.maximum(0, end - points[place])

    return below(np.maximum(low, high)) - below(np.asarray(low))
