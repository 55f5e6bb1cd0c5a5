"""Which indices of two dims meet under a band, and how often tiles of one meet an index of the other: exact counts.

An index of one dim meets an interval of the other one, and the intervals of consecutive indices move on together. So
what a tile meets is an interval as well, and how many tiles meet an index follows from the two ends of its interval.

Where tiles do not divide a dim, the first one or the last one is shorter, whichever way all tiles meet less together:
with causal attention a strip of queries meets all keys up to its end, so that the first strip is the short one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TypeVar

import numpy as np

from optmap.base.arrays import Ints
from optmap.workloads.band import IndexBand

N = TypeVar("N", int, Ints)
"""One number, or several."""
FEW, MANY = 10, 24
"""Numbers of tiles of which the smallest and the largest tile is tried, and sizes beside them, in even ratios."""
ROUNDS = 4
"""How often sizes near the best ones are tried, as long as a better one is among them."""
LEAST = 4
"""Sizes below and above the best one that are tried in the end, at least."""
KEPT = 32
"""Arrays with a number per index that are kept of each kind: few of them are asked for again."""


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

    @cached_property
    def firsts(self) -> Ints:
        """By size of tiles of the own dim, from 0 on: iterations of the first one where that is shorter.

        They are 0 where the last one is shorter, or none.
        """
        tiles = np.arange(1, self.extents[0] + 1, dtype=np.int64)
        rest = self.extents[0] % tiles
        met = []
        for first in (np.zeros_like(rest), rest):
            tile, start, beyond = self._tiles(tiles, first)
            low, high = self.met(start, beyond)
            met.append(np.add.reduceat(high - low, np.searchsorted(tile, np.arange(tiles.size))))
        return np.append(0, np.where(met[1] < met[0], rest, 0))

    def first(self, tile: int) -> int:
        """Iterations of the first tile of the own dim where it is shorter; 0 where the last one is, or none."""
        return int(self.firsts[tile])

    def _tiles(self, tiles: Ints, first: Ints) -> tuple[Ints, Ints, Ints]:
        """Tiles of the own dim of several sizes, the first ones of which may be shorter.

        Returns:
            Of each tile the number of its size, its first index and the one beyond, in order.
        """
        ahead = _ahead(first, tiles)
        many = -(-(self.extents[0] + ahead) // tiles)
        size = np.repeat(np.arange(tiles.size), many)
        start = (np.arange(size.size) - (np.cumsum(many) - many)[size]) * tiles[size] - ahead[size]
        return size, np.maximum(start, 0), np.minimum(start + tiles[size], self.extents[0])

    @lru_cache(maxsize=KEPT)  # noqa: B019  (meetings are few, and kept)
    def visits(self, tile: int, block: int | None = None) -> Ints:
        """How many tiles of the other dim each index meets; if a block is given, blocks of these tiles."""
        (low, high), begin = self.whole, self.turned.first(tile)
        first, last = (_place(each, tile, tile if block is None else block, begin) for each in (low, high - 1))
        return np.where(high > low, last - first + 1, 0)

    def all_visits(self, tiles: Ints) -> Ints:
        """How many tiles of the other dim all indices meet together, by size of these."""
        return self._all_visits[tiles]

    @cached_property
    def _all_visits(self) -> Ints:
        every = np.arange(1, self.extents[1] + 1, dtype=np.int64)
        return np.append(0, self.blocks_visited(every, every))

    def blocks_visited(self, tiles: Ints, blocks: Ints) -> Ints:
        """How many blocks of tiles of the other dim all indices meet together.

        Args:
            tiles: sizes of these.
            blocks: of each of them, the size of its blocks.
        """
        first = self.turned.firsts[tiles]
        low, last = self._ends
        found = np.full_like(tiles, sum(times * (beyond - begin) for begin, beyond, times in low))
        for sign, runs in ((1, last), (-1, low)):
            for begin, beyond, times in runs:
                places = [_places_before(index, tiles, blocks, first) for index in (begin, beyond)]
                found += sign * times * (places[1] - places[0])
        return found

    @cached_property
    def _ends(self) -> tuple[list[tuple[int, int, int]], list[tuple[int, int, int]]]:
        """First indices that are met, and last ones: runs of numbers, each as often, with how often that is."""
        low, high = self.whole
        some = high > low
        return _runs(low[some]), _runs(high[some] - 1)

    def most_visits(self, tiles: Ints) -> Ints:
        """How many tiles of the other dim one index meets at most.

        Args:
            tiles: sizes of these; what is known of some is not counted again.
        """
        (low, high), known = self.whole, self._most_visits
        missing = known[tiles] < 0
        for tile in np.unique(tiles[missing]).tolist() if missing.any() else ():
            ahead = _ahead(self.turned.first(tile), tile)
            known[tile] = np.where(high > low, (high - 1 + ahead) // tile - (low + ahead) // tile + 1, 0).max()
        return known[tiles]

    @cached_property
    def _most_visits(self) -> Ints:
        """By size of tiles; less than none where that was not asked for."""
        return np.full(self.extents[1] + 1, -1, np.int64)

    def _strips(self, tiles: Ints) -> tuple[Ints, Ints, Ints]:
        """First and beyond of what each tile of the own dim meets, of those that meet something.

        Args:
            tiles: sizes of these.

        Returns:
            The number of the size, and both.
        """
        size, start, beyond = self._tiles(tiles, self.firsts[tiles])
        low, high = self.met(start, beyond)
        some = high > low
        return size[some], low[some], high[some]

    def _overlaps(self, tiles: Ints, inner: Ints) -> tuple[Ints, Ints, Ints]:
        """What is there in the last inner tile of a tile and in the first one of the next: it does not come again.

        Args:
            tiles: sizes of tiles of the own dim.
            inner: sizes of tiles of the other dim.

        Returns:
            Of pairs of neighbours the number of the size; first and beyond, by pair and size of inner tiles.
        """
        size, low, high = self._strips(tiles)
        (before,) = np.nonzero(size[1:] == size[:-1])
        low, high = low[:, None], high[:, None]
        ahead = _ahead(self.turned.firsts[inner], inner)
        last, first = ((each + ahead) // inner * inner - ahead for each in (high[before] - 1, low[before + 1]))
        start = np.maximum(np.maximum(low[before], last), np.maximum(low[before + 1], first))
        end = np.minimum(np.minimum(high[before], last + inner), np.minimum(high[before + 1], first + inner))
        return size[before], start, np.maximum(start, end)

    def staying(self, tiles: Ints, inner: Ints) -> Ints:
        """Visits of all indices of the other dim together, where a tile of theirs stays inside a tile of the own dim.

        Args:
            tiles: sizes of tiles of the own dim.
            inner: sizes of tiles of the other dim.

        Returns:
            By both sizes.
        """
        size, start, end = self._overlaps(tiles, inner)
        found = np.repeat(self.turned.all_visits(tiles)[:, None], inner.size, axis=1)
        if size.size:
            some, begin = np.unique(size, return_index=True)
            found[some] -= np.add.reduceat(end - start, begin, axis=0)
        return found

    @lru_cache(maxsize=KEPT)  # noqa: B019  (meetings are few, and kept)
    def staying_each(self, tile: int, inner: int) -> Ints:
        """The same for one size of each, index by index."""
        _, start, end = self._overlaps(np.array([tile]), np.array([inner]))
        steps = np.zeros(self.extents[1] + 1, np.int64)
        np.add.at(steps, start[:, 0], 1)
        np.add.at(steps, end[:, 0], -1)
        return np.asarray(self.turned.visits(tile) - np.cumsum(steps)[:-1])

    def longest(self, tiles: Ints) -> Ints:
        """The most that a tile of the own dim meets, by size of tiles."""
        size, low, high = self._strips(tiles)
        return np.asarray(np.maximum.reduceat(high - low, np.searchsorted(size, np.arange(tiles.size))))


def _runs(some: Ints) -> list[tuple[int, int, int]]:
    """Numbers that follow each other, each as often among some: first, beyond, and how often."""
    values, times = np.unique(some, return_counts=True)
    (new,) = np.nonzero(np.append(True, (np.diff(values) != 1) | (np.diff(times) != 0)))
    last = np.append(new[1:], values.size) - 1
    return list(zip(values[new].tolist(), (values[last] + 1).tolist(), times[new].tolist(), strict=True))


def _parts_before(index: Ints, size: Ints) -> Ints:
    """The sum of the numbers of the parts of one size in which all indices before one are."""
    whole = index // size
    return np.asarray(size * (whole * (whole - 1) // 2) + whole * (index - whole * size))


def _places_before(index: int, tile: Ints, block: Ints, first: Ints) -> Ints:
    """The sum of `_place` over all indices before one, but for a number that every index adds.

    Source: the sum of n // s over n < x is s*q*(q-1)/2 + q*r for x = q*s + r.
    """
    early = np.minimum(index, first)
    inside = index - early
    whole = inside // tile
    return np.asarray(
        _parts_before(early, block)
        - early * -(-first // block)
        + -(-tile // block) * _parts_before(inside, tile)
        + whole * _parts_before(tile, block)
        + _parts_before(inside - whole * tile, block)
    )


def _ahead(first: N, tile: N) -> N:
    """So far ahead of the first index the grid of the tiles begins, as that of the steps of a `Loop` does."""
    return -first % tile


def _place(index: Ints, tile: int, block: int, first: int) -> Ints:
    """The number of the block of a tile in which an index is, where the first tile may be shorter."""
    if block == tile:
        return np.asarray((index + _ahead(first, tile)) // tile)
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
