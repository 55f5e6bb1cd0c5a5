"""Mappings of a product by itself under a band of its rows and columns, priced under it.

The members are those of `streaming.py`: a tile of one of the three tensors stays while the other two stream past it.
What moves is counted under the band (`meeting.py`), and the pinned indices are the first or the last ones. The room is
that of the largest contents. Sizes are tried in even ratios, so the best found is not proved.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from optmap.base.arrays import Ints
from optmap.search.chains.banded_sizes import sums
from optmap.search.chains.meeting import KEPT, ROUNDS, BandMeeting, meeting_of, near_sizes, tried_sizes
from optmap.search.chains.pair import PairOperand
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


@lru_cache(maxsize=64)
def best_apart_banded(alone: Alone, band: IndexBand, memory: int, once: tuple[str, ...] = ()) -> Apart | None:
    """The mapping of a product by itself that moves the fewest words under a band, among those that are tried.

    Args:
        alone: the product, its rows and its columns of one dim each.
        band: of these.
        memory: words that fit.
        once: tensors every element of which comes once, as something is done to it in place.
    """
    ways = [_kept(alone, band, kept) for kept in range(2 * len(alone.tensors))]
    found = [(first, way) for way in ways if (first := way.first(memory, once)) is not None]
    found.sort(key=lambda each: each[0].words)
    return min(
        (way.near(first, memory, once) for first, way in found[:REFINED]), key=lambda each: each.words, default=None
    )


def least_apart_banded(alone: Alone, band: IndexBand) -> int:
    """Words that every mapping of a product by itself moves under a band.

    Args:
        alone: the product.
        band: of its rows and columns.
    """
    return _kept(alone, band, 0).once


@dataclass(frozen=True, slots=True)
class _TilePairs:
    """Sizes of tiles of two groups: all of the first with all of the second."""

    tiles: Ints
    """Of the first."""
    others: Ints
    """Of the second."""
    room: Ints
    """Words that are taken without pinned parts, by both sizes."""
    words: Ints
    """That move so, by both sizes."""
    again: Ints
    """Of them those of what can be pinned that come again, by both sizes."""
    index: Ints
    """Of these those of one such index, at most."""


@dataclass(frozen=True, eq=False)
class _Kept:
    """Mappings in which a tile of the same tensor stays: what they move and hold is known for every memory."""

    alone: Alone
    band: IndexBand
    kept: int

    @cached_property
    def _roles(self) -> tuple[PairOperand, PairOperand, PairOperand, tuple[int, int, int]]:
        return self.alone.roles(self.kept)

    @cached_property
    def _meetings(self) -> tuple[BandMeeting, BandMeeting]:
        """How indices of rows meet columns, and those of columns rows."""
        rows, columns = ((self.alone.groups[each][0], self.alone.extents[each]) for each in (0, 1))
        meeting = meeting_of(rows, columns, self.band)
        return meeting, meeting.turned

    def _total(self, groups: Collection[int], tiled: int, tiles: Ints) -> Ints:
        """All visits of a tensor, for every size of tiles."""
        if tiled < BAND:
            (free,) = (self.alone.extents[each] for each in groups if each >= BAND)
            return np.asarray(self._meetings[1 - tiled].all_visits(tiles) * free)
        return self._meetings[0].points * -(-self.alone.extents[tiled] // tiles)

    def _index(self, tiles: Ints) -> Ints:
        """Visits of what is far with one index of the second group, but for the first ones: at most, by size of tiles.

        Args:
            tiles: of the first group.
        """
        first, second, third = self._roles[3]
        if first >= BAND:
            return self._meetings[second].most * (-(-self.alone.extents[first] // tiles) - 1)
        meeting = self._meetings[1 - first]
        if second < BAND:
            return (meeting.most_visits(tiles) - 1) * self.alone.extents[third]
        return meeting.all_visits(tiles) - meeting.touched

    def first(self, memory: int, once: Collection[str]) -> Apart | None:
        """The best one of the sizes that are tried first; None if none fits."""
        return self._best(self._first, memory, once)

    @cached_property
    def _first(self) -> _TilePairs:
        first, second, _ = self._roles[3]
        return self._sizes(self._tiles(first), self._tiles(second))

    def near(self, best: Apart, memory: int, once: Collection[str]) -> Apart:
        """The best one of sizes near those of one, and near those of what is better then."""
        first, second, _ = self._roles[3]
        for _ in range(ROUNDS):
            near = [self._near(group, tile) for group, tile in zip((first, second), best.tiles, strict=True)]
            found = self._best(self._sizes(near[0], near[1]), memory, once, below=best.words)
            if found is None:
                break
            best = found
        return best

    def _near(self, group: int, tile: int) -> Ints:
        extent = self.alone.extents[group]
        return near_sizes(tile, extent) if len(self.alone.groups[group]) == 1 else np.array([extent], np.int64)

    def _sizes(self, tiles: Ints, others_tiles: Ints) -> _TilePairs:
        """Some sizes of tiles of the first group with some of the second one."""
        _, near, far, (first, second, third) = self._roles
        one, other = tiles[:, None], others_tiles[None, :]
        again = self._again(far, (second, third), first, one)
        words = self.once + again + self._again(near, (first, third), second, other) + self._statistic(one, other)
        index = self._index(one) * far.moves * far.words
        return _TilePairs(tiles, others_tiles, self._room(one, other), words, again, index)

    def _again(self, operand: PairOperand, groups: Collection[int], tiled: int, tiles: Ints) -> Ints:
        """Words of a tensor that come again, for every size of tiles of the group that it has no dim of."""
        visits = self._total(groups, tiled, tiles) - self._elements(groups, tiled)
        return np.asarray(visits * operand.moves * operand.words)

    @cached_property
    def once(self) -> int:
        """Words that move where every element comes once, without the statistic of rows."""
        own, near, far, (first, second, third) = self._roles
        return sum(
            self._elements(groups, tiled) * (operand.moves - operand.free) * operand.words
            for operand, groups, tiled in (
                (own, (first, second), third),
                (near, (first, third), second),
                (far, (second, third), first),
            )
        )

    def _elements(self, groups: Collection[int], tiled: int) -> int:
        """Elements of a tensor that are touched."""
        return int(self._total(groups, tiled, np.array([self.alone.extents[tiled]]))[0])

    def _best(self, sizes: _TilePairs, memory: int, once: Collection[str], below: int = FAR) -> Apart | None:
        """The best one of some sizes, if it moves less than so many words."""
        _, near, far, (first, second, third) = self._roles
        left = memory - sizes.room
        fits = left >= 0
        for operand, trips in (
            (near, -(-self.alone.extents[second] // sizes.others[None, :])),
            (far, -(-self.alone.extents[first] // sizes.tiles[:, None])),
        ):
            if operand.name in once:
                fits &= trips == 1
        cost = far.words * self.alone.extents[third]
        least = sizes.words - np.minimum(sizes.again, left // max(1, cost) * sizes.index)  # with pinned indices
        fits &= least < below
        if not fits.any():
            return None
        words = np.where(fits, sizes.words, FAR)
        best: Apart | None = None
        order = np.argpartition(words, min(LOOKED, words.size - 1), axis=None)[: LOOKED + 1]
        for place in zip(*np.unravel_index(order, words.shape), strict=True):
            if fits[place] and least[place] < below:
                pinned, saved, last = self._pinned(int(sizes.tiles[place[0]]), int(left[place]))
                found = int(words[place]) - saved
                if found < below:
                    tiles = int(sizes.tiles[place[0]]), int(sizes.others[place[1]])
                    best = Apart(
                        kept=self.kept, tiles=tiles, pinned=pinned, words=found, last=last, firsts=self._firsts(tiles)
                    )
                    below = found
        return best

    def _firsts(self, tiles: tuple[int, int]) -> tuple[int, int]:
        """Sizes of the first tiles of both groups where these are shorter."""
        one, other = (
            self._meetings[group].first(tile) if group < BAND else 0
            for group, tile in zip(self._roles[3], tiles, strict=False)
        )
        return one, other

    def _tiles(self, group: int) -> Ints:
        extent = self.alone.extents[group]
        return tried_sizes(extent) if len(self.alone.groups[group]) == 1 else np.array([extent], np.int64)

    def _lines(self, one: Ints, other: Ints) -> tuple[Ints, Ints]:
        """Words of a line of what is near and a word of what is far, and the other way round."""
        _, near, far, _ = self._roles
        return one * near.words + far.words, other * far.words + near.words

    def _room(self, one: Ints, other: Ints) -> Ints:
        """Words that members take at most, without pinned parts."""
        own, *_, (first, second, _) = self._roles
        room = one * other * own.words
        if {first, second} == {0, 1}:
            rows, columns = (one, other) if first == 0 else (other, one)
            most = np.minimum(rows * self._meetings[0].most, columns * self._meetings[1].most)
            room = np.minimum(room, most * own.words)
        room = room + np.minimum(*self._lines(one, other))
        if self.alone.rows is not None:
            statistic, group = self.alone.rows
            room = room + statistic.words * (one if group == first else other if group == second else 1)
        return np.asarray(room)

    def _statistic(self, one: Ints, other: Ints) -> Ints:
        """Words of the statistic of rows that move, at most."""
        if self.alone.rows is None:
            return np.zeros((1, 1), np.int64)
        (statistic, group), (first, second, _) = self.alone.rows, self._roles[3]
        meeting = self._meetings[group]
        visits = np.full((1, 1), meeting.touched)
        for g, tile in ((first, one), (second, other)):
            if g < BAND and group not in (g, first):
                visits = visits // meeting.touched * meeting.all_visits(tile)
            elif group not in (g, first):
                visits = visits * -(-self.alone.extents[g] // tile)
        if group == second:  # one tile of it: it is not left
            visits = np.where(other >= self.alone.extents[second], meeting.touched, visits)
        return np.asarray((visits * statistic.moves - meeting.touched * statistic.free) * statistic.words)

    def _pinned(self, one: int, left: int) -> tuple[int, int, bool]:
        """Indices of the second group of what is far that stay for good, the words that saves, and whether the last."""
        *_, far, (_, second, third) = self._roles
        cost = far.words * self.alone.extents[third]
        if len(self.alone.groups[second]) != 1 or not cost or second in self.alone.cut:
            return 0, 0, False
        gains = self._gains(one)
        many = min(left // cost, gains[0].size - 1)
        saves = [int(each[many]) for each in gains]
        if not max(saves):
            return 0, 0, False
        return many, max(saves), saves[1] > saves[0]

    @lru_cache(maxsize=KEPT)  # noqa: B019  (these are few, and kept)
    def _gains(self, one: int) -> tuple[Ints, Ints]:
        """Words that are saved by pinning so many of the first indices of the second group, and of the last ones.

        Args:
            one: size of tiles of the first group.
        """
        _, _, far, (first, second, third) = self._roles
        if first >= BAND:
            low, high = self._meetings[second].whole
            again = (high - low) * (-(-self.alone.extents[first] // one) - 1)
        else:
            every = np.maximum(self._meetings[1 - first].visits(one) - 1, 0)
            extents = self.alone.extents
            again = every * extents[third] if second < BAND else np.full(extents[second], every.sum())
        one_way, other_way = (sums(each) * (far.moves * far.words) for each in (again, again[::-1]))
        return one_way, other_way


@lru_cache(maxsize=256)
def _kept(alone: Alone, band: IndexBand, kept: int) -> _Kept:
    return _Kept(alone, band, kept)
