"""Sizes of outer tiles, inner tiles and blocks under a band of two dims, with what they visit, exactly."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product

import numpy as np

from optmap.base.arrays import Ints
from optmap.search.chains.meeting import BandMeeting, tried_sizes

PARTS = (1, 2, 3, 4, 6, 10, 16, 32)
"""Blocks of an outer tile that are tried first."""


@dataclass(frozen=True, slots=True)
class PinnedGains:
    """Visits that pinned indices of the inner side save at most, the first or the last ones, of members one by one."""

    by_tile: Ints
    """Rows of `saves` where indices come with every outer tile."""
    by_block: Ints
    """Those where they come with every block."""
    saves: Ints
    """By row and number of indices."""

    def of(self, some: Ints) -> PinnedGains:
        """Those of some members."""
        return PinnedGains(self.by_tile[some], self.by_block[some], self.saves)


@dataclass(frozen=True, slots=True)
class MemberSizes:
    """Sizes of members, one by one, with what they visit."""

    tile: Ints
    inner: Ints
    block: Ints
    staying: Ints
    """Visits of indices of the inner side by outer tiles, all together."""
    blocked: Ints
    """The same by blocks."""
    rows: Ints
    """Visits of indices of the outer side by inner tiles."""
    held: Ints
    """The most indices of the inner side that an outer tile meets in an inner tile."""
    gains: PinnedGains | None = None
    """Where they are known of all these members."""

    def of(self, some: Ints) -> MemberSizes:
        """Some of them."""
        arrays: dict[str, Ints] = {name: getattr(self, name)[some] for name in self.__slots__ if name != "gains"}
        return MemberSizes(**arrays, gains=None if self.gains is None else self.gains.of(some))


def sizes_of(meeting: BandMeeting, tile: Ints, inner: Ints, block: Ints) -> MemberSizes:
    """What members of some sizes visit.

    Args:
        meeting: of the outer side and the inner side.
        tile: sizes of outer tiles.
        inner: of inner tiles.
        block: of blocks of the outer tiles.
    """
    (tiles, tile_at), (inners, inner_at) = (np.unique(each, return_inverse=True) for each in (tile, inner))
    pairs, pair_at = np.unique(tile * (meeting.extents[0] + 1) + block, return_inverse=True)
    blocked = meeting.turned.blocks_visited(*np.divmod(pairs, meeting.extents[0] + 1))
    return MemberSizes(
        tile=tile,
        inner=inner,
        block=block,
        staying=meeting.staying(tiles, inners)[tile_at, inner_at],
        blocked=blocked[pair_at],
        rows=meeting.all_visits(inner),
        held=np.minimum(inner, meeting.longest(tiles)[tile_at]),
    )


def pinned_gains(meeting: BandMeeting, sizes: MemberSizes) -> PinnedGains:
    """What pinned indices of the inner side save of some members.

    Args:
        meeting: of the outer side and the inner side.
        sizes: of the members.
    """
    beyond = meeting.extents[0] + 1
    pairs = np.concatenate([sizes.tile * beyond + each for each in (sizes.tile, sizes.block)])
    different, rows = np.unique(pairs, return_inverse=True)
    saves = [_pinned_gains(meeting, *divmod(pair, beyond)) for pair in different.tolist()]
    by_tile, by_block = np.split(rows, 2)
    return PinnedGains(by_tile, by_block, np.array(saves, np.int64))


def _pinned_gains(meeting: BandMeeting, tile: int, block: int) -> Ints:
    again = np.maximum(meeting.turned.visits(tile, block) - 1, 0)
    return np.maximum(sums(again), sums(again[::-1]))


def sums(some: Ints) -> Ints:
    """The sum of the first ones of some, from none of them to all."""
    found = np.zeros(some.size + 1, np.int64)
    np.cumsum(some, out=found[1:])
    return found


@lru_cache(maxsize=2)
def first_sizes(meeting: BandMeeting) -> MemberSizes:
    """What is tried first; that of both sides is kept, as gains by pinned indices take some hundred megabytes."""
    found = [
        (tile, inner, block)
        for tile, inner in product(*(tried_sizes(extent).tolist() for extent in meeting.extents))
        for block in sorted({-(-tile // part) for part in PARTS} | {1})
    ]
    tile, inner, block = np.array(found, np.int64).T
    sizes = sizes_of(meeting, tile, inner, block)
    return replace(sizes, gains=pinned_gains(meeting, sizes))
