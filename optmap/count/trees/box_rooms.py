"""The most that a mapping tree holds, where what is kept are boxes, what of them is in a band, or unions of boxes.

What is held is largest in the first iteration, but where parts are pinned or loops begin with a shorter step: then all
kinds of places along these dims are tried. Of a union of boxes it depends on where these meet: all places of the dims
of subscripts in which accesses to a tensor differ are gone over, in arrays, if not at some of them already as much is
held as by boxes that do not meet.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping
from collections.abc import Sequence as Ordered
from itertools import pairwise, product
from math import inf, prod
from typing import Any

import numpy as np

from optmap.count.trees import windows
from optmap.count.trees.band_rooms import BandHolding, BandRooms
from optmap.count.trees.box_paths import BoxPath, BoxPaths
from optmap.count.trees.placed import Placed
from optmap.count.trees.results import LevelRoom
from optmap.count.trees.rooms import Occupancy
from optmap.count.trees.runs import size
from optmap.count.trees.steps import Place, common, steps, trip_of, trips_in
from optmap.count.trees.views import UnboxedError
from optmap.mappings.nodes import Loop
from optmap.workloads.band import IndexBand

MOST_MET = 2**25
"""Places of dims of several accesses that are gone over."""
AT_ONCE = 2**18
"""Of them in one array."""
Held = tuple[Placed, str]
"""A Keep and a tensor that it holds."""
Places = list[tuple[Any, Any]]
"""First and beyond of what is left of a dim outside its loops and inside each of them: arrays, an entry per place."""


def rooms_of(paths: BoxPaths) -> tuple[LevelRoom, ...]:
    """The most that is held at any visit.

    Raises:
        UnboxedError: for more places than are looked at.
    """
    occupancy = Occupancy(paths.tree)
    for path in paths.leaves:
        _Rooms(paths, path, occupancy).take()
    return occupancy.rooms()


class _Rooms:
    """What the Keeps above one leaf hold."""

    def __init__(self, paths: BoxPaths, path: BoxPath, occupancy: Occupancy) -> None:
        self.paths, self.path, self.occupancy = paths, path, occupancy
        self.extents, self.weights = paths.extents, paths.tree.kept.weights
        self.pinned = {d for keep in path.keeps for d in keep.of}
        self.held = [
            (keep, tensor)
            for keep in path.keeps
            if keep.level != paths.tree.machine.memory
            for tensor in sorted(keep.tensors)
        ]

    def take(self) -> None:
        """Take in the most that is held at any visit."""
        if self.paths.band is not None:
            self._take_banded(self.paths.band)
            return
        meeting = self._meeting()
        if meeting:
            self._take_meeting(meeting)
            return
        for at in self._each_place(()):
            held: dict[str, Counter[str]] = {}
            for keep, tensor in self.held:
                held.setdefault(keep.level, Counter())[tensor] += self._content(keep, tensor, at)
            for level, elements in held.items():
                self.occupancy.take(level, elements, self.path.leaf.statement)

    def _each_place(self, but: Container[str]) -> Iterator[dict[str, Place]]:
        """The places of all dims but some that may differ."""
        dims = [d for d in self.extents if d not in but]
        for place in product(*(self._places(dim, every=dim in self.pinned) for dim in dims)):
            yield dict(zip(dims, place, strict=True))

    def _take_banded(self, band: IndexBand) -> None:
        """As `take`, in a band."""
        loops, sides = self.path.loops(self.path.leaf.address), (band.first, band.second)
        banded = [loop for loop in loops if loop.dim in sides]
        for at in self._each_place(sides):
            for part in self.occupancy.parts:
                keeps = [each for each in self.held if each[0].level == part.level and each[1] in part.tensors]
                holdings = [self._held(*each, band, at) for each in keeps]
                found = BandRooms(band, banded, holdings).find({d: (0, self.extents[d]) for d in sides})
                if found is None:
                    raise UnboxedError(f"{self.path.leaf.statement} is visited in too many places of its band")
                self.occupancy.take_words(part, found, self.path.leaf.statement)

    def _held(self, keep: Placed, tensor: str, band: IndexBand, at: Mapping[str, Place]) -> BandHolding:
        """What a Keep holds of a tensor in a band, where loops over other dims are somewhere."""
        loops, view = self.path.loops(keep.address), self.paths.view_below(keep, tensor)
        weight, cells = self.weights[tensor], []
        now = {d: at[d][sum(loop.dim == d for loop in loops)] for d in view.dims if d in at}
        for cell in self.paths.cells(view):
            times = size((max(cell[d][0], a), min(cell[d][1], b)) for d, (a, b) in now.items())
            if keep in self.paths.holding(self.path, tensor, cell) and times:
                cells.append((weight * times, cell))
        sides = tuple(d for d in (band.first, band.second) if d in view.dims)
        return BandHolding(
            depth=sum(loop.dim in (band.first, band.second) for loop in loops),
            words=lambda left: sum(times * band.held(sides, left, cell) for times, cell in cells),
            index=weight * size(now.values()),
            dims=sides,
        )

    def _meeting(self) -> list[str]:
        """Dims of subscripts in which accesses to what is held differ."""
        found = set[str]()
        for keep, tensor in self.held:
            accesses = self.paths.view_below(keep, tensor).windows
            for axes in zip(*(access.axes for access in accesses), strict=True) if accesses[1:] else ():
                found |= {d for axis in axes for d in axis.dims if any(other != axes[0] for other in axes)}
        return [d for d in self.extents if d in found]

    def _take_meeting(self, dims: list[str]) -> None:
        """As `take`, over all places of some dims.

        Raises:
            UnboxedError: if they are too many.
        """
        loops = self.path.loops(self.path.leaf.address)
        views = [(self.weights[tensor], self.paths.view_below(keep, tensor)) for keep, tensor in self.held]
        most = sum(weight * max(1, len(v.windows)) * prod(self.extents[d] for d in v.dims) for weight, v in views)
        kind = np.int64 if most < windows.BEYOND else object
        places = {d: _every_place([loop for loop in loops if loop.dim == d], self.extents[d], kind) for d in dims}
        every = {d: range(len(own[0][0])) for d, own in places.items()}
        some = {d: sorted({*each[:2], each[len(each) // 2], *each[-2:]}) for d, each in every.items()}
        few = {d: [(low[some[d]], high[some[d]]) for low, high in own] for d, own in places.items()}
        for at in self._each_place(dims):
            for part in self.occupancy.parts:
                mine = [each for each in self.held if each[0].level == part.level and each[1] in part.tensors]
                found = self._words(mine, at, few)
                if found < self._at_most(mine, at, places):
                    found = max(self._words(mine, at, each) for each in self._in_turn(places))
                self.occupancy.take_words(part, found, self.path.leaf.statement)

    def _in_turn(self, places: Mapping[str, Places]) -> Iterator[dict[str, Places]]:
        """Some of all places at a time.

        Raises:
            UnboxedError: if they are too many.
        """
        counts = {d: len(own[0][0]) for d, own in places.items()}
        if prod(counts.values()) > MOST_MET:
            raise UnboxedError(f"{self.path.leaf.statement} is visited in too many places of {', '.join(counts)}")
        longest = max(counts, key=lambda d: counts[d])
        step = max(1, AT_ONCE * counts[longest] // prod(counts.values()))
        for start in range(0, counts[longest], step):
            part = [(low[start : start + step], high[start : start + step]) for low, high in places[longest]]
            yield {**places, longest: part}

    def _words(self, held: Ordered[Held], at: Mapping[str, Place], places: Mapping[str, Places]) -> int:
        """The most words that some Keeps hold together.

        Args:
            held: Keeps and tensors.
            at: where the loops over other dims are.
            places: per dim that accesses differ in, where its loops may be.
        """
        now = {d: [windows.along(each, n, len(places)) for each in own] for n, (d, own) in enumerate(places.items())}
        words = sum(self.weights[tensor] * self._contents(keep, tensor, {**at, **now}) for keep, tensor in held)
        return int(np.max(words))

    def _at_most(self, held: Ordered[Held], at: Mapping[str, Place], places: Mapping[str, Places]) -> float:
        """Words that they do not hold more than: those of boxes of the largest sizes that do not meet."""
        if not self.pinned.isdisjoint(places):
            return inf
        now: dict[str, Any] = {
            d: [(each[0][:1] * 0, (each[1] - each[0]).max()) for each in own] for d, own in places.items()
        }
        found: Any = 0
        for keep, tensor in held:
            view, left = self.paths.view_below(keep, tensor), self._now(keep, tensor, {**at, **now})
            alone = [windows.held((access,), left) for access in view.windows]
            found = found + self.weights[tensor] * (
                sum(alone) if alone else self._contents(keep, tensor, {**at, **now})
            )
        return int(np.max(found))

    def _content(self, keep: Placed, tensor: str, at: Mapping[str, Place]) -> int:
        """Elements of a tensor that a Keep holds while the loops of its path are where they are."""
        view, now = self.paths.view_below(keep, tensor), self._now(keep, tensor, at)
        if view.windows:
            exact = {d: (np.array([first], object), np.array([beyond], object)) for d, (first, beyond) in now.items()}
            return int(np.sum(windows.held(view.windows, exact)))
        return sum(
            size((max(first, now[d][0]), min(beyond, now[d][1])) for d, (first, beyond) in cell.items())
            for cell in self.paths.cells(view)
            if keep in self.paths.holding(self.path, tensor, cell)
        )

    def _contents(self, keep: Placed, tensor: str, at: Mapping[str, Any]) -> Any:
        """The same for arrays of places."""
        view, now, found = self.paths.view_below(keep, tensor), self._now(keep, tensor, at), np.asarray(0)
        if view.windows:
            return windows.held(view.windows, now)
        for cell in self.paths.cells(view):
            if keep in self.paths.holding(self.path, tensor, cell):
                sides = (np.minimum(now[d][1], end) - np.maximum(now[d][0], begin) for d, (begin, end) in cell.items())
                found = found + prod((np.maximum(0, side) for side in sides), start=np.asarray(1))
        return found

    def _now(self, keep: Placed, tensor: str, at: Mapping[str, Any]) -> dict[str, Any]:
        """What is left of the dims of a tensor inside the loops above a Keep."""
        loops, view = self.path.loops(keep.address), self.paths.view_below(keep, tensor)
        return {d: at[d][sum(loop.dim == d for loop in loops)] for d in view.dims}

    def _places(self, dim: str, *, every: bool) -> list[Place]:
        """What is left of a dim outside its loops and inside each of them, of all steps that differ.

        Args:
            dim: whose.
            every: whether all places of the steps are wanted, and not only the first, which is largest where no loop
                begins with a shorter one.
        """
        loops = [loop for loop in self.path.loops(self.path.leaf.address) if loop.dim == dim]
        every = every or any(loop.first for loop in loops)
        keeps = self.path.keeps
        ends = {end for keep in keeps if dim in keep.of for end in (keep.of[dim].start, keep.of[dim].stop)}
        cuts = list(pairwise(sorted({0, self.extents[dim], *ends})))
        found: list[Place] = [((0, self.extents[dim]),)]
        for loop in loops:
            inside = [
                (*before, step) for before in found for step in steps(before[-1], loop, cuts)[: None if every else 1]
            ]
            kinds = {tuple(common(each, cuts) for each in place): place for place in reversed(inside)}
            found = list(kinds.values())
        return found


def _every_place(loops: Ordered[Loop], extent: int, kind: Any) -> Places:
    """All places of the loops over a dim.

    Args:
        loops: over it, outermost first.
        extent: of the dim.
        kind: of numbers in arrays.
    """
    found: Places = [(np.zeros(1, kind), np.full(1, extent, kind))]
    for loop in loops:
        rows, trip = trips_in(loop, *found[-1])
        found = [(first[rows], beyond[rows]) for first, beyond in found]
        found.append(trip_of(loop, *found[-1], trip.astype(kind)))
    return found
