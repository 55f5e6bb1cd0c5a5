"""Sizes of outer tiles, inner tiles and blocks under a band of two dims, with what they visit, exactly."""

from __future__ import annotations

from dataclasses import dataclass, replace
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
    place: Ints
    """Rows of `gains` for outer tiles, and for blocks."""
    place_blocks: Ints
    gains: Ints
    """Visits that pinned indices save, by tile or block and number of indices."""

    def of(self, some: Ints) -> MemberSizes:
        """Some of them."""
        arrays: dict[str, Ints] = {name: getattr(self, name)[some] for name in self.__slots__ if name != "gains"}
        return replace(self, **arrays)


def sizes_of(meeting: BandMeeting, tile: Ints, inner: Ints, block: Ints) -> MemberSizes:
    """What members of some sizes visit.

    Args:
        meeting: of the outer side and the inner side.
        tile: sizes of outer tiles.
        inner: of inner tiles.
        block: of blocks of the outer tiles.
    """
    staying, rows, held, blocked, *places = (np.zeros_like(tile) for _ in range(6))
    gains: dict[tuple[int, int], Ints] = {}
    for size in np.unique(inner).tolist():
        rows[inner == size] = meeting.visits(size).sum()
    for size in np.unique(tile).tolist():
        (mine,) = np.nonzero(tile == size)
        sizes, place = np.unique(inner[mine], return_inverse=True)
        staying[mine] = meeting.staying(size, sizes)[place]
        held[mine] = np.minimum(inner[mine], meeting.longest(size))
        places[0][mine] = _row(gains, meeting, size, size)
        for some in np.unique(block[mine]).tolist():
            these = mine[block[mine] == some]
            blocked[these] = meeting.turned.visits(size, some).sum()
            places[1][these] = _row(gains, meeting, size, some)
    every = np.array(list(gains.values()), np.int64)
    return MemberSizes(tile, inner, block, staying, blocked, rows, held, places[0], places[1], every)


def _row(gains: dict[tuple[int, int], Ints], meeting: BandMeeting, tile: int, block: int) -> int:
    """The place of what pinned indices save at most with some blocks, which is looked for where it is not known."""
    if (tile, block) not in gains:
        again = np.maximum(meeting.turned.visits(tile, block) - 1, 0)
        gains[tile, block] = np.maximum(sums(again), sums(again[::-1]))
    return list(gains).index((tile, block))


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
