"""The mapping trees of a gate that are looked at, by what each needs and moves.

*Together.* Outer tiles of one side of the intermediates, inner tiles of the other, blocks of the outer tile inside:

    for outer tile: for inner tile: for block: both results are made at once, then what they meet in

The last product uses the block of that up; or it goes word by word to the slow memory, or to where it stays whole, and
the last product is done by itself. Each operand stays (for an outer or an inner tile) or streams: the shared one past
those of both products, as a line of it and words of these, or lines of these and a word of it. Of operands of the inner
side as many of the first indices as there is room for are pinned.

*Apart.* Every product by itself, as of pairs, and both results stored, then loaded word by word where they meet: by
itself, or in the tile that stays of the last product; or only one of them, in the tile that stays of the other one.

Of every number of tiles the smallest tile is tried, and of blocks the largest that fits. What pinned parts save at most
(parts of an index among them) is found of all tiles at once, what they save in the order of that, until none can be
better.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import product

import numpy as np

from optmap.base.arrays import Ints
from optmap.base.clock import NO_LIMIT, Clock
from optmap.search.chains.family import even_blocks, smallest_tiles
from optmap.search.chains.gate import Gate, GateOperand
from optmap.search.chains.pins import pinned_parts, saved_at_most
from optmap.search.chains.streaming import Apart, best_apart, products_of

Lines = tuple[Ints, Ints]
"""Words for each index of a block, and words beside these."""
FAMILY = (
    "fused: outer tiles, inner tiles and blocks of the intermediates, both results made at once and used up, or what "
    "they meet in stored or kept whole, each operand staying or streaming; unfused: a tile of each product staying, "
    "both results stored, meeting in the tile of a product or word by word; of every number of tiles the smallest "
    "ones, the largest blocks, and pinned what then fits"
)
"""The mappings among which the best is found, in words."""
APART = (
    "every product by itself, a tile of one of its tensors staying; results stored, meeting word by word or in a tile "
    "of a product; of every number of tiles the smallest ones, and pinned what then fits"
)
"""Of these the mappings without anything fused."""
TILES_OF_RESULT = (0, 3)
"""Numbers of roles of a product by itself of which a tile of the intermediate stays."""


class Meeting(Enum):
    """Where both results of a gate meet, and how what comes of it goes on."""

    USED = "used"
    """Both are made together, and it is used up in the same block."""
    STORED = "stored"
    """Both are made together, and it is stored."""
    WHOLE = "whole"
    """Both are made together, and it stays whole in the fast memory."""
    ALONE = "alone"
    """Word by word; both are stored before, and it is stored."""
    FIRST = "first"
    """In the tile of the first product; the other result is stored before, and it is stored."""
    SECOND = "second"
    """In the tile of the second product, alike."""
    READER = "reader"
    """In the tile of the last product; both results are stored before."""


TOGETHER = (Meeting.USED, Meeting.STORED, Meeting.WHOLE)
"""Of these the places where both results are made together."""
APARTS = (Meeting.ALONE, Meeting.FIRST, Meeting.SECOND, Meeting.READER)
"""The others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Together:
    """Both products of a gate at once, and the last one, too, where it has all operands."""

    outer: int
    """Number of the side with the outer tiles."""
    tile: int
    block: int
    inner: int
    """Sizes of an outer tile, of a block of it, and of an inner tile."""
    stays: tuple[bool, ...]
    """Per operand of the gate."""
    pinned: tuple[int, ...]
    """Per operand, indices whose words stay for good; none of the outer side."""
    words: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GateMapping:
    """A mapping of a gate."""

    meeting: Meeting
    together: Together | None
    alone: tuple[Apart, ...]
    """Of the products that are done by themselves, in order."""
    words: int


def best_gate(gate: Gate, memory: int, clock: Clock = NO_LIMIT, *, apart: bool = False) -> GateMapping | None:
    """The mapping of a gate that moves the fewest words; None if none fits.

    Args:
        gate: the chain.
        memory: words that fit.
        clock: when it is late, the best so far is taken.
        apart: whether nothing is to be fused.
    """
    found = list(_apart(gate, memory))
    for meeting in () if apart else TOGETHER:
        if clock.late and found:
            break
        found += _together(gate, memory, meeting, clock)
    best = min(found, key=lambda each: each.words, default=None)
    return None if best is None else replace(best, words=best.words * gate.pairs[0].times)


def _together(gate: Gate, memory: int, meeting: Meeting, clock: Clock) -> Iterator[GateMapping]:
    """The best mapping of those that make both results together."""
    whole = meeting is Meeting.WHOLE
    room = memory - whole * gate.elements * gate.meeting.words
    last = None if meeting is Meeting.USED else best_apart(products_of(gate.reader, whole=whole)[1], room)
    if meeting is Meeting.USED or last is not None:
        both = best_together(gate, room, meeting, clock)
        if both is not None:
            words = both.words + (0 if last is None else last.words)
            words += gate.elements * gate.meeting.moved(1) * (meeting is Meeting.STORED)
            yield GateMapping(meeting=meeting, together=both, alone=() if last is None else (last,), words=words)


def _apart(gate: Gate, memory: int) -> Iterator[GateMapping]:
    """The best mapping of the products by themselves, for each place where both results may meet."""
    results, reader = [pair.shared for pair in gate.pairs], products_of(gate.reader)[1]
    makers, made = [products_of(pair)[0] for pair in gate.pairs], gate.meeting.moved(1)
    plain = [best_apart(each, memory) for each in (*makers, reader)]
    for meeting in APARTS:
        members, moves = list(plain), made
        loads = [each.words for each in results]
        if meeting is Meeting.ALONE:
            if sum(loads) + gate.meeting.words > memory:
                continue
        else:
            place = {Meeting.FIRST: 0, Meeting.SECOND: 1, Meeting.READER: 2}[meeting]
            beside = sum(loads) if place == 2 else loads[1 - place] + gate.meeting.words
            alone, own = ((*makers, reader)[place], (*results, gate.meeting)[place])
            members[place] = best_apart(alone, memory, (own.name,), kinds=TILES_OF_RESULT, beside=beside)
            if place == 2:
                moves = -gate.meeting.words  # it is not loaded there
            else:
                moves -= results[place].moved(1)  # which is not stored there
                loads[place] = 0
        done = [each for each in members if each is not None]
        if len(done) == len(members):
            words = sum(each.words for each in done) + gate.elements * (moves + sum(loads))
            yield GateMapping(meeting=meeting, together=None, alone=tuple(done), words=words)


def best_together(gate: Gate, memory: int, meeting: Meeting, clock: Clock = NO_LIMIT) -> Together | None:
    """The mapping of both products at once that moves the fewest words of their operands; None if none fits.

    Args:
        gate: the chain.
        memory: words that fit.
        meeting: how what they meet in goes on; where it is used up, the last product is done as well.
        clock: when it is late, the best so far is taken.
    """
    found: Together | None = None
    many = len(gate.operands) if meeting is Meeting.USED else 3
    for outer, stays in product((0, 1), product((False, True), repeat=many)):
        if clock.late and found is not None:
            break
        found = _Tiles(gate, meeting, outer, stays).best(memory, found)
    return found


class _Tiles:
    """All sizes of tiles, given the outer side and what stays."""

    def __init__(self, gate: Gate, meeting: Meeting, outer: int, stays: tuple[bool, ...]) -> None:
        self.gate, self.meeting, self.outer, self.stays = gate, meeting, outer, stays
        self.operands = gate.operands[: len(stays)]
        sides = gate.pairs[0].sides
        self.extent, self.indices = sides[outer].extent, sides[1 - outer].extent

    def best(self, memory: int, found: Together | None) -> Together | None:
        """The best of these and one that is found."""
        tile, inner = (a.ravel() for a in np.meshgrid(smallest_tiles(self.extent), smallest_tiles(self.indices)))
        room = np.full_like(tile, memory)
        for each, stays in zip(self.operands, self.stays, strict=True):
            room -= stays * each.cost * (tile if each.side == self.outer else inner)
        fits = room > 0
        tile, inner, room = tile[fits], inner[fits], room[fits]
        phases = self._phases(inner)
        block = np.minimum(tile, _least([_most([(room - b) // a for a, b in lines]) for lines in phases]))
        if all(stays for each, stays in zip(self.operands, self.stays, strict=True) if each.side != self.outer):
            block = np.minimum(block, 1)  # a larger one saves nothing
        fits = block > 0
        if not fits.any():
            return found
        tile, inner, block, room = tile[fits], inner[fits], block[fits], room[fits]
        block, blocks = even_blocks(self.extent, tile, block)
        left = room - _most([_least([a * block + b for a, b in lines]) for lines in self._phases(inner)])
        words, again = self._words(-(-self.extent // tile), -(-self.indices // inner), blocks)
        costs = [each.cost * (each.side != self.outer) for each in self.operands]
        least = words - saved_at_most(left, costs, again, self.indices)
        for row in np.argsort(least, kind="stable").tolist():
            if found is not None and least[row] >= found.words:
                break
            save = again[:, row].tolist()
            pinned = pinned_parts(int(left[row]), costs, save, self.indices)
            total = int(words[row]) - sum(c * s * p for c, s, p in zip(costs, save, pinned, strict=True))
            if found is None or total < found.words:
                found = Together(
                    outer=self.outer,
                    tile=int(tile[row]),
                    block=int(block[row]),
                    inner=int(inner[row]),
                    stays=self.stays,
                    pinned=pinned,
                    words=total,
                )
        return found

    def _words(self, tiles: Ints, inners: Ints, blocks: Ints) -> tuple[Ints, Ints]:
        """Words that move with nothing pinned, and per operand how often a word of an index that is pinned does not."""
        words, again = np.zeros_like(tiles), np.zeros((len(self.operands), len(tiles)), np.int64)
        for number, (each, stays) in enumerate(zip(self.operands, self.stays, strict=True)):
            if each.side == self.outer:
                visits = np.ones_like(tiles) if stays else inners
                words += self.extent * each.size * each.operand.moved(visits)
            else:
                visits = np.where(inners > 1, tiles, 1) if stays else blocks
                words += self.indices * each.size * each.operand.moved(visits)
                again[number] = each.operand.moves * (visits - 1)
        return words, again

    def _phases(self, inner: Ints) -> list[list[Lines]]:
        """What a block and what streams past it take while results are made, while they meet, and while it is used.

        Args:
            inner: sizes of inner tiles.

        Returns:
            Per phase the ways to stream; the one that takes less is taken.
        """
        results = sum(pair.shared.words for pair in self.gate.pairs)
        meeting = self.gate.meeting.words
        shared, *own = (None if stays else each for each, stays in zip(self.operands[:3], self.stays[:3], strict=True))
        phases = [[(results * inner + a, b) for a, b in self._past(shared, [each for each in own if each], inner)]]
        if self.meeting is Meeting.USED:
            one, other = (
                None if stays else each for each, stays in zip(self.operands[3:], self.stays[3:], strict=True)
            )
            phases.append([((results + meeting) * inner, np.zeros_like(inner))])
            phases.append([(meeting * inner + a, b) for a, b in self._past(one, [other] if other else [], inner)])
        elif self.meeting is Meeting.STORED:
            phases.append([(results * inner, np.full_like(inner, meeting))])
        return phases

    def _past(self, one: GateOperand | None, others: Sequence[GateOperand], inner: Ints) -> list[Lines]:
        """Ways in which an operand, if it streams, and those of the other side stream past each other."""
        word = max((each.operand.words for each in others), default=0)
        if one is None or not others:
            none = np.zeros_like(inner)
            return [(none, none + (word if one is None else one.operand.words))]
        return [
            self._line(one.side, one.operand.words, word, inner),
            self._line(1 - one.side, sum(each.operand.words for each in others), one.operand.words, inner),
        ]

    def _line(self, side: int, words: int, beside: int, inner: Ints) -> Lines:
        """A line of a block along a side, and words beside it."""
        none = np.zeros_like(inner)
        return (none + words, none + beside) if side == self.outer else (none, words * inner + beside)


def _least(some: Sequence[Ints]) -> Ints:
    return np.asarray(np.minimum.reduce(some))


def _most(some: Sequence[Ints]) -> Ints:
    return np.asarray(np.maximum.reduce(some))
