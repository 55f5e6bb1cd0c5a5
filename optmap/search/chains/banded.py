"""Fused mappings of a pair of products under a band of the two dims of their intermediate, priced under it.

The members are those of `family.py`, and the indices of the inner side that are pinned are its first or its last ones.
What moves is counted under the band, index by index of the inner side (`meeting.py`): with causal attention the first
keys are met by every strip of queries, the last ones by one, and of strips that do not divide the queries the first one
is shorter. The room is that of the largest contents, added up, so that no mapping takes more. Sizes are tried in even
ratios and then near the best, so the best found is not proved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from heapq import nsmallest
from itertools import product

import numpy as np

from optmap.base.arrays import Ints
from optmap.search.chains.banded_sizes import MemberSizes, first_sizes, pinned_gains, sizes_of, sums
from optmap.search.chains.family import Fused
from optmap.search.chains.least import STAYS
from optmap.search.chains.meeting import ROUNDS, BandMeeting, meeting_of, near_sizes
from optmap.search.chains.pair import PairOperand, ProductPair
from optmap.workloads.band import IndexBand

LOOKED = 32
"""Members with the most promise of which pinned parts are looked for."""
PLACES = 2**20
"""Of blocks in all inner tiles, at most where blocks change nothing but the room: so many are counted fast."""
FAR = 2**62
"""More words than any member moves."""
SHARES = 4
"""Of what is free, as it is shared out to pinned parts of two operands at first."""


@dataclass(frozen=True, slots=True)
class FittingMembers:
    """Members that fit, of them those that are likely to move the fewest words."""

    sizes: MemberSizes
    left: Ints
    """Words that are free."""
    words: Ints
    """That move without pinned parts."""
    likely: Ints
    """That move with them, about."""
    least: Ints
    """That move with them, at least."""


@dataclass(frozen=True, slots=True)
class PricedMembers:
    """Members with the room and the words of each, whatever memory there is."""

    sizes: MemberSizes
    room: Ints
    """Words that are taken at most, without pinned parts."""
    words: Ints
    """That move without pinned parts, in one iteration of what goes through everything."""
    again: Ints
    """Of these, those of the inner side that come again."""
    often: Ints
    """How often one of these comes again, at most."""


@dataclass(frozen=True, slots=True)
class _FirstMembers:
    """What is tried first of a way."""

    members: PricedMembers
    rooms: Ints
    """Of the members, in order."""
    words: Ints
    """The fewest words that one of so much room or less moves without pinned parts."""

    def least(self, memory: int) -> int:
        """The fewest words without pinned parts where so many fit."""
        many = int(np.searchsorted(self.rooms, memory, side="right"))
        return int(self.words[many - 1]) if many else FAR


def best_fused_banded(pair: ProductPair, band: IndexBand, memory: int) -> Fused | None:
    """The fused mapping that moves the fewest words under a band, among those that are tried; None if none fits.

    Args:
        pair: two products.
        band: of the two dims of their intermediate, met by some point.
        memory: words that fit.
    """
    ways = [
        BandedWay(pair, band, outer, stays, rows_stay=rows_stay)
        for outer, stays in product((0, 1), STAYS)
        for rows_stay in ((True, False) if pair.rows is not None and pair.rows.side == outer else (False,))
    ]
    every = [(way, _first_members(way)) for way in ways]
    least = [each.least(memory) for _, each in every]
    way, first = every.pop(least.index(min(least)))
    best = _best([(way, way.fitting(first.members, memory, min(least) + 1))], None)  # what is above it is none
    if best is not None:
        below = best.words // pair.times
        best = _best([(way, way.fitting(first.members, memory, below)) for way, first in every], best)
    for _ in range(ROUNDS):
        if best is None:
            break
        way = BandedWay(pair, band, best.outer, best.stays, rows_stay=best.rows_stay)
        found = _best([(way, way.fitting(way.priced(way.near(best)), memory, best.words // pair.times))], best)
        if found is best:
            break
        best = found
    return best


def _best(tried: Sequence[tuple[BandedWay, FittingMembers | None]], known: Fused | None) -> Fused | None:
    """The member that moves the fewest words; the known one, if there is one, unless it moves fewer.

    Args:
        tried: members that fit, by their way; those with the most promise of all ways are looked at.
        known: the best one so far.
    """
    promising = [
        (likely, number, place)
        for number, (_, fitting) in enumerate(tried)
        if fitting is not None
        for place, likely in enumerate(fitting.likely.tolist())
    ]
    for _, number, place in nsmallest(LOOKED, promising):
        way, fitting = tried[number]
        if fitting is None or (known is not None and int(fitting.least[place]) * way.pair.times >= known.words):
            continue
        member = way.pinned(fitting, place)
        if known is None or member.words < known.words:
            known = member
    return known


@lru_cache(maxsize=128)
def _first_members(way: BandedWay) -> _FirstMembers:
    members = way.priced(first_sizes(way.meeting))
    order = np.argsort(members.room)
    return _FirstMembers(members, members.room[order], np.minimum.accumulate(members.words[order]))


@dataclass(frozen=True, slots=True)
class BandedWay:
    """Fused mappings of a pair with the same outer side and the same operands staying."""

    pair: ProductPair
    band: IndexBand
    outer: int
    """Number of the side with the outer tiles."""
    stays: tuple[bool, ...]
    """Operands of the outer side, then of the inner side."""
    rows_stay: bool
    """Whether the statistic of rows of the outer side stays for an outer tile."""

    @property
    def meeting(self) -> BandMeeting:
        """How indices of the outer side meet those of the inner side."""
        out, inn = self.pair.sides[self.outer], self.pair.sides[1 - self.outer]
        return meeting_of((out.dim, out.extent), (inn.dim, inn.extent), self.band)

    @property
    def _phases(self) -> tuple[tuple[PairOperand, PairOperand, int, bool, bool], ...]:
        """Of each statement the operands of both sides, elements of an index of each, and whether they stay."""
        out, inn = self.pair.sides[self.outer], self.pair.sides[1 - self.outer]
        return (
            (out.first, inn.first, self.pair.depth, self.stays[0], self.stays[2]),
            (out.second, inn.second, self.pair.width, self.stays[1], self.stays[3]),
        )

    @property
    def _statistic(self) -> tuple[PairOperand | None, bool]:
        """The statistic of rows, if there is one, and whether it is of the inner side."""
        rows = self.pair.rows
        return (None, False) if rows is None else (rows.both, rows.side != self.outer)

    @property
    def _any_block(self) -> bool:
        """Whether blocks change nothing but the room."""
        return self.stays[2] and self.stays[3]

    def near(self, best: Fused) -> MemberSizes:
        """What visits sizes near those of a member."""
        tiles, inners = (
            near_sizes(size, extent) for size, extent in zip((best.tile, best.inner), self.meeting.extents, strict=True)
        )
        parts = -(-best.tile // best.block)
        near = np.maximum(1, [FAR] if self._any_block else [parts - 1, parts, parts + 1])
        tile, inner, part = np.meshgrid(tiles, inners, near, indexing="ij")
        beyond = max(self.meeting.extents) + 1
        found, block = np.divmod(np.unique((tile * beyond + inner) * beyond + -(-tile // part)), beyond)
        return sizes_of(self.meeting, *np.divmod(found, beyond), block)

    def room(self, sizes: MemberSizes) -> Ints:
        """Words that members take at most, without pinned parts."""
        rows, columns = self.meeting.most, self.meeting.turned.most
        tile, inner, block = sizes.tile, sizes.inner, sizes.block
        made = np.minimum(block * np.minimum(inner, rows), inner * np.minimum(block, columns))
        taken, streaming = made * self.pair.shared.words, np.zeros_like(tile)
        for ours, theirs, size, ours_stay, theirs_stay in self._phases:
            taken = taken + tile * ours.words * size * ours_stay + sizes.held * theirs.words * size * theirs_stay
            if not (ours_stay or theirs_stay):
                lines = np.minimum(block * ours.words + theirs.words, inner * theirs.words + ours.words)
            else:
                lines = np.full_like(tile, ours.words * (not ours_stay) + theirs.words * (not theirs_stay))
            streaming = np.maximum(streaming, lines)
        statistic, inside = self._statistic
        if statistic is not None:
            taken = taken + statistic.words * (sizes.held if inside else tile if self.rows_stay else block)
        return np.asarray(taken + streaming)

    def words(self, sizes: MemberSizes) -> Ints:
        """Words that members move without pinned parts, in one iteration of what goes through everything.

        No more is moved; less where the statistic of rows that comes with every block is there already.
        """
        mine, other = self.meeting.touched, self.meeting.turned.touched
        total = np.zeros_like(sizes.tile)
        for ours, theirs, size, ours_stay, theirs_stay in self._phases:
            total = total + size * ours.words * ((mine if ours_stay else sizes.rows) * ours.moves - mine * ours.free)
            visits = sizes.staying if theirs_stay else sizes.blocked
            total = total + size * theirs.words * (visits * theirs.moves - other * theirs.free)
        statistic, inside = self._statistic
        if statistic is not None and not self.rows_stay:
            visits, once = (sizes.staying, other) if inside else (sizes.rows, mine)
            total = total + statistic.words * (visits * statistic.moves - once * statistic.free)
        return np.asarray(total)

    def priced(self, sizes: MemberSizes) -> PricedMembers:
        """The room and the words of members of some sizes."""
        if self._any_block:  # small ones are enough, but for the places in which a mapping is counted
            _, same = np.unique(sizes.tile * (self.meeting.extents[1] + 1) + sizes.inner, return_index=True)
            sizes = sizes.of(same)
            places = self.meeting.extents[0] * -(-self.meeting.extents[1] // sizes.inner)
            sizes = replace(sizes, block=np.minimum(sizes.tile, -(-places // PLACES)))
        words = self.words(sizes)
        return PricedMembers(sizes, self.room(sizes), words, self._again(sizes), self._often(sizes))

    def fitting(self, members: PricedMembers, memory: int, below: int) -> FittingMembers | None:
        """Members that fit, those that are likely to move the fewest words; None if none fits.

        Args:
            members: of which.
            memory: words that fit.
            below: words in one iteration of what goes through everything: those that move as many, however much is
                pinned of the inner side, are left out.
        """
        left = memory - members.room
        least = members.words - np.minimum(members.again, left * members.often)
        (fits,) = np.nonzero((left >= 0) & (least < below))
        if not fits.size:
            return None
        sizes, left, words = members.sizes.of(fits), left[fits], members.words[fits]
        likely = words - self._saved(sizes, left)
        order = np.argpartition(likely, min(LOOKED, likely.size - 1))[:LOOKED]
        return FittingMembers(sizes.of(order), left[order], words[order], likely[order], least[fits[order]])

    def _again(self, sizes: MemberSizes) -> Ints:
        """Words of the inner side that come again without pinned parts."""
        found, touched = np.zeros_like(sizes.tile), self.meeting.turned.touched
        for _, theirs, size, _, theirs_stay in self._phases:
            visits = sizes.staying if theirs_stay else sizes.blocked
            found += (visits - touched) * theirs.moves * theirs.words * size
        statistic, inside = self._statistic
        if statistic is not None and inside:
            found += (sizes.staying - touched) * statistic.moves * statistic.words
        return found

    def _often(self, sizes: MemberSizes) -> Ints:
        """How often a word of the inner side comes again without pinned parts, at most."""
        tiles = -(-self.meeting.extents[0] // sizes.tile)
        blocks = tiles * -(-sizes.tile // sizes.block)
        often = [
            ((tiles if theirs_stay else blocks) - 1) * theirs.moves for _, theirs, _, _, theirs_stay in self._phases
        ]
        statistic, inside = self._statistic
        if statistic is not None and inside:
            often.append((tiles - 1) * statistic.moves)
        return np.asarray(np.maximum.reduce(often))

    def _saved(self, sizes: MemberSizes, left: Ints) -> Ints:
        """About what pinned parts save: what is free is shared out to the two operands in some even parts."""
        found = np.zeros_like(left)
        indices, touched = self.meeting.extents[1], self.meeting.turned.touched
        gains = sizes.gains or pinned_gains(self.meeting, sizes)
        for share in range(SHARES + 1):
            saved = np.zeros_like(left)
            for (_, theirs, size, _, theirs_stay), part in zip(self._phases, (share, SHARES - share), strict=True):
                many = np.minimum(left * part // (SHARES * max(1, theirs.words * size)), indices)
                rows, all_of = (gains.by_tile, sizes.staying) if theirs_stay else (gains.by_block, sizes.blocked)
                again = np.minimum(gains.saves[rows, many], all_of - touched)
                saved += again * theirs.moves * theirs.words * size
            found = np.maximum(found, saved)
        return found

    def pinned(self, fitting: FittingMembers, place: int) -> Fused:
        """One member, with the pinned parts that save most."""
        sizes, left, words = fitting.sizes, int(fitting.left[place]), int(fitting.words[place])
        tile, inner, block = (int(each[place]) for each in (sizes.tile, sizes.inner, sizes.block))
        member = Fused(
            outer=self.outer,
            tile=tile,
            block=block,
            inner=inner,
            stays=(self.stays[0], self.stays[1], self.stays[2], self.stays[3]),
            pinned=(0, 0),
            words=words * self.pair.times,
            rows_stay=self.rows_stay,
            firsts=(self.meeting.first(tile), self.meeting.turned.first(inner)),
        )
        if self.pair.sides[1 - self.outer].cut:
            return self._grown(member, sizes, place, left)
        again = [
            np.maximum(self._visits(tile, inner, block, stays=theirs_stay) - 1, 0) * theirs.moves * theirs.words * size
            for _, theirs, size, _, theirs_stay in self._phases
        ]
        costs = [theirs.words * size for _, theirs, size, *_ in self._phases]
        statistic, inside = self._statistic
        best, free = member, left
        for last in (False, True):
            gains = [sums(each[::-1] if last else each) for each in again]
            one = np.arange(min(left // costs[0], len(gains[0]) - 1) + 1 if costs[0] else 1)
            rest = left - one * costs[0]
            two = np.minimum(rest // costs[1], len(gains[1]) - 1) if costs[1] else np.zeros_like(one)
            saved = gains[0][one] + gains[1][two]
            chosen = int(np.argmax(saved))
            pinned = int(one[chosen]), int(two[chosen])
            rows, gain, spare = 0, int(saved[chosen]), int(rest[chosen]) - pinned[1] * costs[1]
            if statistic is not None and inside and statistic.words:
                visits = np.maximum(self._visits(tile, inner, block, stays=True) - 1, 0) * statistic.moves
                rows = min(spare // statistic.words, visits.size)
                gain += int((visits[::-1] if last else visits)[:rows].sum()) * statistic.words
                spare -= rows * statistic.words
            total = (words - gain) * self.pair.times
            if total < best.words:
                best, free = replace(member, pinned=pinned, pinned_rows=rows, words=total, last=last), spare
        return self._grown(best, sizes, place, free)

    def _grown(self, member: Fused, sizes: MemberSizes, place: int, free: int) -> Fused:
        """A member with the largest blocks for which there is room, where they change nothing else: it has fewer parts.

        Args:
            member: of these sizes.
            sizes: of members.
            place: of this one.
            free: words that it leaves.
        """
        if not self._any_block:
            return member
        blocks = np.arange(member.block, member.tile + 1)
        rooms = self.room(replace(sizes.of(np.full(blocks.size, place)), block=blocks))
        return replace(member, block=member.block + int(np.searchsorted(rooms - rooms[0], free, side="right")) - 1)

    def _visits(self, tile: int, inner: int, block: int, *, stays: bool) -> Ints:
        """Visits of each index of the inner side."""
        return self.meeting.staying_each(tile, inner) if stays else self.meeting.turned.visits(tile, block)
