"""The mapping trees of a pair of products that are looked at, by what each needs and moves.

*Fused.* Outer tiles of one side of the intermediate, inner tiles of the other, blocks of the outer tile inside:

    for outer tile: for inner tile: for block: a block of the intermediate is made, then used up

Each of the four operands stays (those of the outer side for an outer tile, those of the inner side for an inner tile)
or streams through the phase that needs it: alone as a word, beside another one as a line of one and a word of the
other. Of operands of the inner side as many of the first indices as there is room for are pinned: they stay for good.

*Unfused.* The first product, then the second one, the intermediate stored and loaded in between, or kept whole. Of each
product a tile of one of its tensors stays while the other two stream past it; of one of these indices are pinned.

Words depend on tiles through their numbers only; so of every number of tiles the smallest tile is tried, and of blocks
the largest that fits: fewer blocks move less. Exact whole numbers, as arrays over all tiles.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import gcd, isqrt

import numpy as np

from optmap.base.arrays import Ints
from optmap.base.clock import NO_LIMIT, Clock
from optmap.search.chains.least import STAYS, least_words
from optmap.search.chains.pair import PairOperand, ProductPair, Side
from optmap.search.chains.pins import pinned_parts, saved_at_most

FAMILY = (
    "fused: outer tiles, inner tiles and blocks of the intermediate, each operand staying or streaming; unfused: a "
    "tile of each product staying, the intermediate stored or kept whole; of every number of tiles the smallest ones, "
    "the largest blocks, and pinned what then fits"
)
"""The mappings among which the best is found, in words."""
ROWS_APART = "unfused, the statistic of rows stays whole or comes with the rows of a tile"
"""How the statistic of a function of rows is kept in those that are unfused."""
ROWS = (
    "fused, the statistic of rows on the outer side stays with an outer tile or comes with every block, on the inner "
    f"side it comes with every inner tile and is pinned as operands are; {ROWS_APART}"
)
"""How it is kept in all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fused:
    """One fused mapping."""

    outer: int
    """Number of the side with the outer tiles."""
    tile: int
    block: int
    inner: int
    """Sizes of an outer tile, of a block of it, and of an inner tile."""
    stays: tuple[bool, bool, bool, bool]
    """Operands of the outer side, then of the inner side: that of the first statement first."""
    pinned: tuple[int, int]
    """Indices of the inner side whose words stay for good, of the operand of each statement."""
    words: int
    rows_stay: bool = False
    """Whether the statistic of rows of the outer side stays for an outer tile, and does not come with every block."""
    pinned_rows: int = 0
    """Rows of the inner side whose statistic stays for good."""
    last: bool = False
    """Whether the last indices are pinned, and not the first ones."""
    firsts: tuple[int, int] = (0, 0)
    """Sizes of the first outer tile and of the first inner tile where these are shorter; else 0."""


@lru_cache(maxsize=256)
def smallest_tiles(extent: int) -> Ints:
    """Of every number of tiles the smallest tile, in increasing order; nothing may be written into it."""
    few = np.arange(1, isqrt(extent) + 2, dtype=np.int64)
    numbers = np.concatenate([few, -(-extent // few)])  # of tiles: few, or as many as tiles of a small size are
    tiles = np.unique(-(-extent // numbers))
    tiles.setflags(write=False)
    return tiles


def even_blocks(extent: int, tile: Ints, most: Ints) -> tuple[Ints, Ints]:
    """The smallest blocks of which there are as few as of the largest ones, and how many there are in all tiles.

    Args:
        extent: of the side with the tiles.
        tile: sizes of tiles.
        most: sizes of the largest blocks, one at least.
    """
    tiles = -(-extent // tile)
    last = extent - (tiles - 1) * tile
    full, rest = -(-tile // most), -(-last // most)
    return np.maximum(-(-tile // full), -(-last // rest)), (tiles - 1) * full + rest


def best_fused(pair: ProductPair, memory: int, clock: Clock = NO_LIMIT) -> Fused | None:
    """The fused mapping that moves the fewest words; None if none fits. What moves more by `least_words` is not made.

    Args:
        pair: two products.
        memory: words that fit.
        clock: when it is late, the best so far is taken.
    """
    inner = [smallest_tiles(side.extent) for side in reversed(pair.sides)]
    least = [row for outer in (0, 1) for row in least_words(pair, memory, outer, inner[outer])]
    found: Fused | None = None
    best: tuple[float, int] = np.inf, len(least)
    for bound, number in sorted((float(row.min()), number) for number, row in enumerate(least)):
        if np.isinf(bound) or (bound, number) > best or (clock.late and found):
            break
        outer, stays = divmod(number, len(STAYS))
        promising = inner[outer][least[number] <= best[0]]
        options = (True, False) if pair.rows is not None and pair.rows.side == outer else (False,)
        for each in (
            one for rows in options for one in _fused(pair, memory, outer, STAYS[stays], promising, rows_stay=rows)
        ):
            if (each.words // pair.times, number) < best:  # the first one of several as good
                best, found = (each.words // pair.times, number), each
    return found


def _fused(
    pair: ProductPair, memory: int, outer: int, stays: tuple[bool, ...], inner_tiles: Ints, *, rows_stay: bool = False
) -> Iterator[Fused]:
    out, inn = pair.sides[outer], pair.sides[1 - outer]
    tile, inner = (each.ravel() for each in np.meshgrid(smallest_tiles(out.extent), inner_tiles))
    depths = (pair.depth, pair.width)
    a = [each.words * size for each, size in zip((out.first, out.second), depths, strict=True)]
    c = [each.words * size for each, size in zip((inn.first, inn.second), depths, strict=True)]
    tile_rows, inner_rows, line_rows = _row_words(pair, outer, stays=rows_stay)
    room = memory - sum(tile * a[i] * stays[i] + inner * c[i] * stays[2 + i] for i in (0, 1))
    room = np.asarray(room - tile * tile_rows - inner * inner_rows)
    phases = (
        _Phase(out.first, inn.first, stays[0], stays[2]),
        _Phase(out.second, inn.second, stays[1], stays[3]),
    )
    line = inner * pair.shared.words + line_rows
    block = np.ones_like(tile)
    if not (stays[2] and stays[3]):  # else a larger block saves nothing
        block = np.minimum(tile, np.minimum(*(each.largest_blocks(room, line, inner) for each in phases)))
    block, blocks = even_blocks(out.extent, tile, np.maximum(block, 1))
    left = room - block * line - np.maximum(*(each.room(block, inner) for each in phases))
    fits = left >= 0
    if not fits.any():
        return
    tile, inner, block, blocks, left = tile[fits], inner[fits], block[fits], blocks[fits], left[fits]
    tiles, inners = -(-out.extent // tile), -(-inn.extent // inner)
    turns = np.where(inners > 1, tiles, 1)
    visits = [np.where(stays[2 + i], turns, blocks) for i in (0, 1)]
    words = np.zeros_like(tile)
    for i, (each, size) in enumerate(zip((out.first, out.second), depths, strict=True)):
        words += out.extent * size * each.moved(np.where(stays[i], 1, inners))
    if line_rows and pair.rows is not None:
        words += out.extent * pair.rows.both.moved(inners)
    if inner_rows:
        row, pinned, total = _pinned_with_rows(pair, 1 - outer, words, [*visits, turns], left)
    else:
        pins = _pinned(inn, visits, c, left)
        for number, (each, size) in enumerate(zip((inn.first, inn.second), depths, strict=True)):
            once, other = pins[number], inn.extent - pins[number]
            words += size * (once * each.moved(np.ones_like(tile)) + other * each.moved(visits[number]))
        row = int(np.argmin(words))
        pinned, total = (int(pins[0][row]), int(pins[1][row]), 0), int(words[row])
    yield Fused(
        outer=outer,
        tile=int(tile[row]),
        block=int(block[row]),
        inner=int(inner[row]),
        stays=(stays[0], stays[1], stays[2], stays[3]),
        pinned=pinned[:2],
        words=total * pair.times,
        rows_stay=rows_stay,
        pinned_rows=pinned[2],
    )


def _row_words(pair: ProductPair, outer: int, *, stays: bool) -> tuple[int, int, int]:
    """Words of the statistic of rows that are there per index of an outer tile, of an inner tile, and of a block.

    Args:
        pair: the products.
        outer: number of the side with the outer tiles.
        stays: whether that of rows of the outer side stays for an outer tile.
    """
    if pair.rows is None:
        return 0, 0, 0
    if pair.rows.side != outer:
        return 0, pair.rows.words, 0
    return (pair.rows.words, 0, 0) if stays else (0, 0, pair.rows.words)


def _pinned_with_rows(
    pair: ProductPair, number: int, words: Ints, visits: list[Ints], left: Ints
) -> tuple[int, tuple[int, int, int], int]:
    """The best of some mappings with the statistic of rows on the inner side, pinned beside its operands.

    Args:
        pair: the products.
        number: of the inner side.
        words: that operands of the outer side move.
        visits: of the operands of the inner side, and of the statistic, of what is not pinned.
        left: words that are free.

    Returns:
        Its number, what is pinned of both operands and of the statistic, and all words that it moves.
    """
    side, rows = pair.sides[number], pair.rows
    parts = [(side.first, pair.depth), (side.second, pair.width), *([(rows.both, 1)] if rows else [])]
    costs = [0 if side.cut else each.words * size for each, size in parts]
    again = np.array([each.moves * (many - 1) for (each, _), many in zip(parts, visits, strict=True)])
    words = words + sum(side.extent * size * each.moved(many) for (each, size), many in zip(parts, visits, strict=True))
    least = words - saved_at_most(left, costs, again, side.extent)
    best: tuple[int, tuple[int, int, int], int] | None = None
    for row in np.argsort(least, kind="stable").tolist():
        if best is not None and least[row] >= best[2]:
            break
        save = again[:, row].tolist()
        pinned = pinned_parts(int(left[row]), costs, save, side.extent)
        total = int(words[row]) - sum(c * s * p for c, s, p in zip(costs, save, pinned, strict=True))
        if best is None or total < best[2]:
            best = row, (pinned[0], pinned[1], pinned[2]), total
    return best or (0, (0, 0, 0), int(words[0]))


def _pinned(side: Side, visits: list[Ints], costs: list[int], left: Ints) -> list[Ints]:
    """Indices of the inner side that are pinned, per operand: those that save most.

    As many as fit of the operand that saves more per word, then of the other. It may be better to give up some of the
    first for more of the other, but of no more than make up whole indices of both: beyond that they change back.

    Args:
        side: with the operands.
        visits: per operand, of what is not pinned.
        costs: words of an index, per operand.
        left: words that are free.
    """
    none = np.zeros_like(left)
    if side.cut:
        return [none, none]
    saves = [
        each.moves * (many - 1) * bool(each.words) for each, many in zip((side.first, side.second), visits, strict=True)
    ]
    swap = saves[1] > saves[0]
    save, rest = np.maximum(*saves), np.minimum(*saves)
    cost, other = np.where(swap, costs[1], costs[0]), np.where(swap, costs[0], costs[1])
    most = np.where(save > 0, np.minimum(left // np.maximum(cost, 1), side.extent), 0)
    trades = min(int(most.max()), max(costs) // max(gcd(*costs), 1)) if rest.any() else 0
    best, mine, theirs = np.full_like(left, -1), none, none
    for fewer in range(trades + 1):
        one = np.maximum(most - fewer, 0)
        two = np.where(rest > 0, np.minimum((left - one * cost) // np.maximum(other, 1), side.extent), 0)
        saved = one * cost * save + two * other * rest
        better = saved > best
        best, mine, theirs = (np.where(better, *each) for each in ((saved, best), (one, mine), (two, theirs)))
    return [np.where(swap, theirs, mine), np.where(swap, mine, theirs)]


@dataclass(frozen=True, slots=True)
class _Phase:
    """What of a statement stays while a block of the intermediate is made or used, and what streams past it."""

    outer: PairOperand
    inner: PairOperand
    outer_stays: bool
    inner_stays: bool

    def room(self, block: Ints, inner: Ints) -> Ints:
        """Words for what streams: none, a word, or a line of one operand and a word of the other."""
        if self.outer_stays and self.inner_stays:
            return np.zeros_like(block)
        if self.outer_stays or self.inner_stays:
            return np.full_like(block, self.inner.words if self.outer_stays else self.outer.words)
        ours, theirs = self.outer.words, self.inner.words
        return np.minimum(block * ours + theirs, inner * theirs + ours)

    def largest_blocks(self, room: Ints, line: Ints, inner: Ints) -> Ints:
        """The largest blocks that fit, 0 or less where none does.

        Args:
            room: words for the block and what streams.
            line: words of the intermediate per index of a block.
            inner: sizes of inner tiles.
        """
        ours, theirs = self.outer.words, self.inner.words
        if self.outer_stays or self.inner_stays:
            return np.asarray((room - self.room(np.zeros_like(inner), inner)) // line)
        return np.asarray(np.maximum((room - theirs) // (line + ours), (room - inner * theirs - ours) // line))
