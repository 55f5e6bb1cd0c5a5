"""Sizes of outer tiles, inner tiles and blocks under a band of two dims, with what they visit, exactly."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np

from optmap.search.chains.meeting import BandMeeting, Ints, tried_sizes

PARTS = (1, 2, 3, 4, 6, 10, 16, 32)
"""Blocks of an outer tile that are tried first."""


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

    def of(self, some: Ints) -> MemberSizes:
        """Some of them."""
        arrays: dict[str, Ints] = {name: getattr(self, name)[some] for name in self.__slots__}
        return MemberSizes(**arrays)


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


def pinned_gains(meeting: BandMeeting, tile: Ints, block: Ints) -> tuple[Ints, Ints]:
    """Visits that pinned indices of the inner side save at most, the first or the last ones.

    Args:
        meeting: of the outer side and the inner side.
        tile: sizes of outer tiles.
        block: of blocks of these by which indices come.

    Returns:
        A number for each of them, and by that number and the number of indices what these save.
    """
    beyond = meeting.extents[0] + 1
    pairs, place = np.unique(tile * beyond + block, return_inverse=True)
    rows = [_pinned_gains(meeting, *divmod(pair, beyond)) for pair in pairs.tolist()]
    return place, np.array(rows, np.int64)


@lru_cache(maxsize=1024)
def _pinned_gains(meeting: BandMeeting, tile: int, block: int) -> Ints:
    again = np.maximum(meeting.turned.visits(tile, block) - 1, 0)
    return np.maximum(sums(again), sums(again[::-1]))


def sums(some: Ints) -> Ints:
    """The sum of the first ones of some, from none of them to all."""
    found = np.zeros(some.size + 1, np.int64)
    np.cumsum(some, out=found[1:])
    return found


@lru_cache(maxsize=16)
def first_sizes(meeting: BandMeeting) -> MemberSizes:
    """What is tried first."""
    found = [
        (tile, inner, block)
        for tile, inner in product(*(tried_sizes(extent).tolist() for extent in meeting.extents))
        for block in sorted({-(-tile // part) for part in PARTS} | {1})
    ]
    tile, inner, block = np.array(found, np.int64).T
    return sizes_of(meeting, tile, inner, block)
