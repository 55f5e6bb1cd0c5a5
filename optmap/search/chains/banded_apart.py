"""Mappings of a product by itself under a band of its rows and columns, priced under it.

The members are those of `streaming.py`: a tile of one of the three tensors stays while the other two stream past it.
What moves is counted under the band (`meeting.py`), and the pinned indices are the first or the last ones. The room is
that of the largest contents. Sizes are tried in even ratios, so the best found is not proved.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from optmap.search.chains.meeting import ROUNDS, BandMeeting, Ints, meeting_of, near_sizes, tried_sizes
from optmap.search.chains.streaming import Alone, Apart
from optmap.workloads.band import IndexBand

BAND = 2
"""Groups of dims that the band is about: the first ones, rows and columns."""
LOOKED = 12
"""Members with the fewest words of which pinned parts are looked for."""
REFINED = 6
"""Tensors that stay of which sizes near the best ones are tried."""
FAR = 2**62
"""More words than any member moves."""


def best_apart_banded(alone: Alone, band: IndexBand, memory: int, once: Collection[str] = ()) -> Apart | None:
    """The mapping of a product by itself that moves the fewest words under a band, among those that are tried.

    Args:
        alone: the product, its rows and its columns of one dim each.
        band: of these.
        memory: words that fit.
        once: tensors every element of which comes once, as something is done to it in place.
    """
    ways = [_Kept(alone, band, kept) for kept in range(2 * len(alone.tensors))]
    found = [(first, way) for way in ways if (first := way.first(memory, once)) is not None]
    found.sort(key=lambda each: each[0].words)
    return min(
        (way.near(first, memory, once) for first, way in found[:REFINED]), key=lambda each: each.words, default=None
    )


@dataclass(frozen=True, slots=True)
class _Kept:
    """Mappings in which a tile of the same tensor stays."""

    alone: Alone
    band: IndexBand
    kept: int

    def _meeting(self, group: int) -> BandMeeting:
        """How indices of rows or of columns meet those of the other ones."""
        sides = [(self.alone.groups[each][0], self.alone.extents[each]) for each in (group, 1 - group)]
        return meeting_of(sides[0], sides[1], self.band)

    def _visits(self, groups: Collection[int], tiled: int, tile: int) -> Ints:
        """Visits of the elements of a tensor, added up over one of its groups: a number for every index of the other.

        Args:
            groups: of the tensor, the one of which the indices are first.
            tiled: group of which a tensor has no dim: how often it comes.
            tile: of that group.
        """
        index, other = groups
        times = -(-self.alone.extents[tiled] // tile)
        if tiled < BAND:
            mine = self._meeting(1 - tiled).visits(tile)
            if index < BAND:
                return mine * self.alone.extents[other]
            return np.full(self.alone.extents[index], mine.sum())
        low, high = self._meeting(index).whole
        return (high - low) * times

    def _total(self, groups: Collection[int], tiled: int, tiles: Ints) -> Ints:
        """All visits of a tensor, for every size of tiles."""
        if tiled < BAND:
            (free,) = (self.alone.extents[each] for each in groups if each >= BAND)
            return np.array([self._meeting(1 - tiled).all_visits(each) for each in tiles.tolist()], np.int64) * free
        return self._meeting(0).points * -(-self.alone.extents[tiled] // tiles)

    def first(self, memory: int, once: Collection[str]) -> Apart | None:
        """The best one of the sizes that are tried first; None if none fits."""
        first, second, _ = self.alone.roles(self.kept)[3]
        return self._best(self._tiles(first), self._tiles(second), memory, once)

    def near(self, best: Apart, memory: int, once: Collection[str]) -> Apart:
        """The best one of sizes near those of one, and near those of what is better then."""
        first, second, _ = self.alone.roles(self.kept)[3]
        for _ in range(ROUNDS):
            near = [self._near(group, tile) for group, tile in zip((first, second), best.tiles, strict=True)]
            found = self._best(near[0], near[1], memory, once)
            if found is None or found.words >= best.words:
                break
            best = found
        return best

    def _near(self, group: int, tile: int) -> Ints:
        extent = self.alone.extents[group]
        return near_sizes(tile, extent) if len(self.alone.groups[group]) == 1 else np.array([extent], np.int64)

    def _best(self, tiles: Ints, others_tiles: Ints, memory: int, once: Collection[str]) -> Apart | None:
        """The best one of some sizes of tiles of the first group and of the second one."""
        own, near, far, (first, second, third) = self.alone.roles(self.kept)
        one, other = tiles[:, None], others_tiles[None, :]
        left = memory - self._room(one, other)
        ones, others = (-(-self.alone.extents[g] // each) for g, each in ((first, one), (second, other)))
        fits = left >= 0
        for operand, trips in ((near, others), (far, ones)):
            if operand.name in once:
                fits &= trips == 1
        if not fits.any():
            return None
        words = self._statistic(one, other)
        for operand, groups, tiled, many in (
            (near, (first, third), second, self._total((first, third), second, others_tiles)[None, :]),
            (far, (second, third), first, self._total((second, third), first, tiles)[:, None]),
            (own, (first, second), third, None),
        ):
            elements = int(self._visits(groups, tiled, self.alone.extents[tiled]).sum())
            visits = elements if many is None else many
            words = words + (visits * operand.moves - elements * operand.free) * operand.words
        words = np.where(fits, words, FAR)
        best: Apart | None = None
        order = np.argpartition(words, min(LOOKED, words.size - 1), axis=None)[: LOOKED + 1]
        for place in zip(*np.unravel_index(order, words.shape), strict=True):
            if fits[place]:
                pinned, saved, last = self._pinned(int(tiles[place[0]]), int(left[place]))
                found = int(words[place]) - saved
                if best is None or found < best.words:
                    sizes = int(tiles[place[0]]), int(others_tiles[place[1]])
                    best = Apart(kept=self.kept, tiles=sizes, pinned=pinned, words=found, last=last)
        return best

    def _tiles(self, group: int) -> Ints:
        extent = self.alone.extents[group]
        return tried_sizes(extent) if len(self.alone.groups[group]) == 1 else np.array([extent], np.int64)

    def _lines(self, one: Ints, other: Ints) -> tuple[Ints, Ints]:
        """Words of a line of what is near and a word of what is far, and the other way round."""
        _, near, far, _ = self.alone.roles(self.kept)
        return one * near.words + far.words, other * far.words + near.words

    def _room(self, one: Ints, other: Ints) -> Ints:
        """Words that members take at most, without pinned parts."""
        own, *_, (first, second, _) = self.alone.roles(self.kept)
        room = one * other * own.words
        if {first, second} == {0, 1}:
            rows, columns = (one, other) if first == 0 else (other, one)
            most = np.minimum(rows * self._meeting(0).most, columns * self._meeting(1).most)
            room = np.minimum(room, most * own.words)
        room = room + np.minimum(*self._lines(one, other))
        if self.alone.rows is not None:
            statistic, group = self.alone.rows
            room = room + statistic.words * (one if group == first else other if group == second else 1)
        return np.asarray(room)

    def _statistic(self, one: Ints, other: Ints) -> Ints:
        """Words of the statistic of rows that move, at most."""
        words = np.zeros_like(one * other)
        if self.alone.rows is None:
            return words
        (statistic, group), (first, second, _) = self.alone.rows, self.alone.roles(self.kept)[3]
        meeting = self._meeting(group)
        visits = words + meeting.touched
        for g, tile in ((first, one), (second, other)):
            if g < BAND and group not in (g, first):
                many = np.array([meeting.all_visits(each) for each in tile.ravel().tolist()], np.int64)
                visits = visits // meeting.touched * many.reshape(tile.shape)
            elif group not in (g, first):
                visits = visits * -(-self.alone.extents[g] // tile)
        if group == second:  # one tile of it: it is not left
            visits = np.where(other >= self.alone.extents[second], meeting.touched, visits)
        return np.asarray((visits * statistic.moves - meeting.touched * statistic.free) * statistic.words)

    def _pinned(self, one: int, left: int) -> tuple[int, int, bool]:
        """Indices of the second group of what is far that stay for good, the words that saves, and whether the last."""
        _, _, far, (first, second, third) = self.alone.roles(self.kept)
        cost = far.words * self.alone.extents[third]
        if len(self.alone.groups[second]) != 1 or not cost or second in self.alone.cut:
            return 0, 0, False
        every = self._visits((second, third), first, self.alone.extents[first])
        again = self._visits((second, third), first, one) - every
        many = min(left // cost, again.size)
        saves = [int(each[:many].sum()) * far.moves * far.words for each in (again, again[::-1])]
        if not max(saves):
            return 0, 0, False
        return many, max(saves), saves[1] > saves[0]
