"""Which indices of two dims meet under a band, and how often tiles of one meet an index of the other: exact counts.

An index of one dim meets an interval of the other one, and the intervals of consecutive indices move on together. So
what a tile meets is an interval as well, and how many tiles meet an index follows from the two ends of its interval.

Where tiles do not divide a dim, the first one or the last one is shorter, whichever way all tiles meet less together:
with causal attention a strip of queries meets all keys up to its end, so that the first strip is the short one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from optmap.workloads.band import IndexBand

Ints = NDArray[np.int64]
FEW, MANY = 10, 24
"""Numbers of tiles of which the smallest and the largest tile is tried, and sizes beside them, in even ratios."""

ROUNDS = 4
"""How often sizes near the best ones are tried, as long as a better one is among them."""
LEAST = 4
"""Sizes below and above the best one that are tried in the end, at least."""


@dataclass(frozen=True, eq=False)
class BandMeeting:
    """What indices of an own dim meet of another one."""

    own: str
    other: str
    extents: tuple[int, int]
    """Iterations of the own dim, and of the other one."""
    band: IndexBand

    @cached_property
    def turned(self) -> BandMeeting:
        """The same, seen from the other dim."""
        return _meeting(self.other, self.own, self.extents[::-1], self.band)

    @cached_property
    def whole(self) -> tuple[Ints, Ints]:
        """First and beyond of what each index meets; the same twice where that is nothing."""
        every = np.arange(self.extents[0], dtype=np.int64)
        return self.met(every, every + 1)

    def met(self, first: Ints, beyond: Ints) -> tuple[Ints, Ints]:
        """First and beyond of what intervals of indices meet; the same twice where that is nothing."""
        others = np.zeros_like(first), np.full_like(first, self.extents[1])
        mine = (first, beyond)
        sides = (mine, others) if self.own == self.band.first else (others, mine)
        low, high = self.band.left(self.other, *sides)
        return np.asarray(low), np.asarray(np.maximum(low, high))

    @cached_property
    def touched(self) -> int:
        """Indices that meet something."""
        low, high = self.whole
        return int((high > low).sum())

    @cached_property
    def points(self) -> int:
        """Pairs that meet."""
        low, high = self.whole
        return int((high - low).sum())

    @cached_property
    def most(self) -> int:
        """The most that one index meets."""
        low, high = self.whole
        return int((high - low).max())

    @lru_cache(maxsize=4096)  # noqa: B019  (meetings are few, and kept)
    def first(self, tile: int) -> int:
        """Iterations of the first tile of the own dim where it is shorter; 0 where the last one is, or none."""
        rest = self.extents[0] % tile
        if not rest:
            return 0
        met = [(high - low).sum() for low, high in (self.met(*self._tiles(tile, first)) for first in (0, rest))]
        return rest if met[1] < met[0] else 0

    def _tiles(self, tile: int, first: int) -> tuple[Ints, Ints]:
        """First and beyond of tiles of the own dim, the first one of which may be shorter."""
        start = np.arange(first - tile if first else 0, self.extents[0], tile, dtype=np.int64)
        return np.maximum(start, 0), np.minimum(start + tile, self.extents[0])

    @lru_cache(maxsize=1024)  # noqa: B019
    def visits(self, tile: int, block: int | None = None) -> Ints:
        """How many tiles of the other dim each index meets; if a block is given, blocks of these tiles."""
        (low, high), begin = self.whole, self.turned.first(tile)
        first, last = (_place(each, tile, tile if block is None else block, begin) for each in (low, high - 1))
        return np.where(high > low, last - first + 1, 0)

    def all_visits(self, tiles: Ints) -> Ints:
        """How many tiles of the other dim all indices meet together.

        Args:
            tiles: sizes of these; what is known of some is not counted again.
        """
        return np.asarray(self._counted(tiles)[0][tiles])

    def most_visits(self, tiles: Ints) -> Ints:
        """How many tiles of the other dim one index meets at most, by size of these."""
        return np.asarray(self._counted(tiles)[1][tiles])

    def _counted(self, tiles: Ints) -> Ints:
        """What is known of all sizes of tiles, of some of them at least."""
        (low, high), known = self.whole, self._known
        for tile in np.unique(tiles[known[1, tiles] < 0]).tolist():
            ahead = -self.turned.first(tile) % tile
            visits = np.where(high > low, (high - 1 + ahead) // tile - (low + ahead) // tile + 1, 0)
            known[:, tile] = visits.sum(), visits.max()
        return known

    @cached_property
    def _known(self) -> Ints:
        """`all_visits` and `most_visits` by size of tiles; less than none where that was not asked for."""
        return np.full((2, self.extents[1] + 1), -1, np.int64)

    @lru_cache(maxsize=256)  # noqa: B019
    def strips(self, tile: int) -> tuple[Ints, Ints]:
        """First and beyond of what each tile of the own dim meets, of those that meet something."""
        low, high = self.met(*self._tiles(tile, self.first(tile)))
        some = high > low
        return low[some], high[some]

    def overlaps(self, tile: int, inner: Ints) -> tuple[Ints, Ints]:
        """What is there in the last inner tile of a tile and in the first one of the next: it does not come again.

        Args:
            tile: of the own dim.
            inner: sizes of tiles of the other dim.

        Returns:
            First and beyond, by pair of neighbours and size.
        """
        low, high = (each[:, None] for each in self.strips(tile))
        ahead = np.array([-self.turned.first(size) % size for size in inner.tolist()])
        last, first = ((each + ahead) // inner * inner - ahead for each in (high[:-1] - 1, low[1:]))
        start = np.maximum(np.maximum(low[:-1], last), np.maximum(low[1:], first))
        end = np.minimum(np.minimum(high[:-1], last + inner), np.minimum(high[1:], first + inner))
        return start, np.maximum(start, end)

    def staying(self, tile: int, inner: Ints) -> Ints:
        """Visits of all indices of the other dim together, where a tile of theirs stays inside a tile of the own dim.

        Args:
            tile: of the own dim.
            inner: sizes of tiles of the other dim.
        """
        low, high = self.strips(tile)
        start, end = self.overlaps(tile, inner)
        return np.asarray((high - low).sum() - (end - start).sum(axis=0))

    @lru_cache(maxsize=1024)  # noqa: B019
    def staying_each(self, tile: int, inner: int) -> Ints:
        """The same for one size, index by index."""
        start, end = (each[:, 0] for each in self.overlaps(tile, np.array([inner])))
        steps = np.zeros(self.extents[1] + 1, np.int64)
        np.add.at(steps, start, 1)
        np.add.at(steps, end, -1)
        return np.asarray(self.turned.visits(tile) - np.cumsum(steps)[:-1])

    def longest(self, tile: int) -> int:
        """The most that a tile of the own dim meets."""
        low, high = self.strips(tile)
        return int((high - low).max())


def _place(index: Ints, tile: int, block: int, first: int) -> Ints:
    """The number of the block of a tile in which an index is, where the first tile may be shorter."""
    if block == tile:
        return np.asarray((index + -first % tile) // tile)
    inside = index - first
    place = inside // tile * -(-tile // block) + inside % tile // block
    return np.asarray(np.where(inside < 0, (index // block) - -(-first // block), place) if first else place)


@lru_cache(maxsize=64)
def _meeting(own: str, other: str, extents: tuple[int, int], band: IndexBand) -> BandMeeting:
    return BandMeeting(own, other, extents, band)


def meeting_of(own: tuple[str, int], other: tuple[str, int], band: IndexBand) -> BandMeeting:
    """How indices of one dim meet those of another one; known ones are not made again.

    Args:
        own: a dim and its iterations.
        other: the other one.
        band: of both.
    """
    return _meeting(own[0], other[0], (own[1], other[1]), band)


def near_sizes(size: int, extent: int) -> Ints:
    """Sizes within some eighth of one, and a few at least."""
    most = max(LEAST, size // 8)
    return np.arange(max(1, size - most), min(extent, size + most) + 1, dtype=np.int64)


@lru_cache(maxsize=256)
def tried_sizes(extent: int) -> Ints:
    """Sizes of tiles that are tried first: of few tiles the smallest and the largest, and some in even ratios."""
    few = [-(-extent // number) for number in range(1, min(FEW, extent) + 1)]
    found = np.unique([*few, *(each - 1 for each in few), *np.geomspace(1, extent, MANY).astype(np.int64)])
    return np.asarray(found[found > 0], np.int64)
