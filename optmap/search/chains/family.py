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

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import gcd, isqrt

import numpy as np
from numpy.typing import NDArray

from optmap.base.clock import NO_LIMIT, Clock
from optmap.search.chains.least import STAYS, least_alone, least_words
from optmap.search.chains.pair import PairOperand, ProductPair, Side

Ints = NDArray[np.int64]
FAMILY = (
    "fused: outer tiles, inner tiles and blocks of the intermediate, each operand staying or streaming; unfused: a "
    "tile of each product staying, the intermediate stored or kept whole; of every number of tiles the smallest ones, "
    "the largest blocks, and pinned what then fits"
)
"""The mappings among which the best is found, in words."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Apart:
    """A product by itself."""

    kept: int
    """Of which tensor a tile stays, see `Alone.roles`."""
    tiles: tuple[int, int]
    """Of its two groups of dims."""
    pinned: int
    """Indices of the second one of which the third tensor's words stay for good."""
    words: int


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
        for each in _fused(pair, memory, outer, STAYS[stays], inner[outer][least[number] <= best[0]]):
            if (each.words // pair.times, number) < best:  # the first one of several as good
                best, found = (each.words // pair.times, number), each
    return found


def _fused(pair: ProductPair, memory: int, outer: int, stays: tuple[bool, ...], inner_tiles: Ints) -> Iterator[Fused]:
    out, inn = pair.sides[outer], pair.sides[1 - outer]
    tile, inner = (each.ravel() for each in np.meshgrid(smallest_tiles(out.extent), inner_tiles))
    depths = (pair.depth, pair.width)
    a = [each.words * size for each, size in zip((out.first, out.second), depths, strict=True)]
    c = [each.words * size for each, size in zip((inn.first, inn.second), depths, strict=True)]
    room = np.asarray(memory - sum(tile * a[i] * stays[i] + inner * c[i] * stays[2 + i] for i in (0, 1)))
    phases = (
        _Phase(out.first, inn.first, stays[0], stays[2]),
        _Phase(out.second, inn.second, stays[1], stays[3]),
    )
    line = inner * pair.shared.words
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
    visits = [np.where(stays[2 + i], np.where(inners > 1, tiles, 1), blocks) for i in (0, 1)]
    words = np.zeros_like(tile)
    for i, (each, size) in enumerate(zip((out.first, out.second), depths, strict=True)):
        words += out.extent * size * each.moved(np.where(stays[i], 1, inners))
    pins = _pinned(inn, visits, c, left)
    for number, (each, size) in enumerate(zip((inn.first, inn.second), depths, strict=True)):
        once, other = pins[number], inn.extent - pins[number]
        words += size * (once * each.moved(np.ones_like(tile)) + other * each.moved(visits[number]))
    row = int(np.argmin(words))
    yield Fused(
        outer=outer,
        tile=int(tile[row]),
        block=int(block[row]),
        inner=int(inner[row]),
        stays=(stays[0], stays[1], stays[2], stays[3]),
        pinned=(int(pins[0][row]), int(pins[1][row])),
        words=int(words[row]) * pair.times,
    )


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


@dataclass(frozen=True, slots=True)
class Alone:
    """A product by itself: three tensors over three groups of dims, two groups each."""

    tensors: tuple[tuple[PairOperand, int, int], ...]
    """With the numbers of their groups."""
    groups: tuple[tuple[str, ...], ...]
    """Rows, columns, and the dims that the intermediate has not."""
    extents: tuple[int, ...]
    cut: tuple[int, ...]
    """Numbers of the groups that loops outside cut: no part of these stays for good."""

    def roles(self, kept: int) -> tuple[PairOperand, PairOperand, PairOperand, tuple[int, int, int]]:
        """The tensor of which a tile stays, and the two that stream past it.

        Args:
            kept: number of the tensor, and 3 more if its groups change places.

        Returns:
            That tensor, the one that shares its first group, the one that shares its second one; and the numbers of
            the groups: these two, and the third.
        """
        operand, first, second = self.tensors[kept % 3]
        first, second = (second, first) if kept >= len(self.tensors) else (first, second)
        others = {frozenset(each[1:]): each[0] for each in self.tensors}
        third = 3 - first - second
        return operand, others[frozenset((first, third))], others[frozenset((second, third))], (first, second, third)

    def tiles(self, group: int) -> Ints:
        """Sizes of tiles: of a group of several dims, or of none, it is whole."""
        extent = self.extents[group]
        return smallest_tiles(extent) if len(self.groups[group]) == 1 else np.array([extent], np.int64)


def products_of(pair: ProductPair, *, whole: bool = False) -> tuple[Alone, Alone]:
    """The two products by themselves.

    Args:
        pair: the chain.
        whole: whether the intermediate stays whole between them, so that it moves nothing.
    """
    rows, columns = pair.sides
    words = 0 if whole else pair.shared.words
    stored = replace(pair.shared, words=words)
    loaded = replace(stored, moves=1, free=0)

    def product_of(
        shared: PairOperand, row: PairOperand, column: PairOperand, dims: tuple[str, ...], extent: int
    ) -> Alone:
        return Alone(
            tensors=((shared, 0, 1), (row, 0, 2), (column, 1, 2)),
            groups=((rows.dim,), (columns.dim,), dims),
            extents=(rows.extent, columns.extent, extent),
            cut=tuple(number for number, side in enumerate(pair.sides) if side.cut),
        )

    return (
        product_of(stored, rows.first, columns.first, pair.summed, pair.depth),
        product_of(loaded, rows.second, columns.second, pair.beyond, pair.width),
    )


def best_apart(
    alone: Alone, memory: int, once: Collection[str] = (), *, kinds: Sequence[int] = range(6), beside: int = 0
) -> Apart | None:
    """The mapping of a product by itself that moves the fewest words; None if none fits.

    Of what streams, a line, and a word of a single one, are still there when the same is needed again next: where the
    third group has one iteration, and nothing is done in place outside of it, which ends what is kept inside.

    Args:
        alone: the product.
        memory: words that fit.
        once: tensors every element of which comes once, as something is done to it in place.
        kinds: of which tensor a tile may stay, see `Alone.roles`.
        beside: words that are needed beside that tile while nothing streams past it.
    """
    ones, least = [], []
    for kept in kinds:
        *operands, groups = alone.roles(kept)
        ones.append(alone.tiles(groups[0]))
        least.append(least_alone(operands, [alone.extents[group] for group in groups], memory, ones[-1]))
    found: Apart | None = None
    best: tuple[float, int] = np.inf, len(least)
    for bound, number in sorted((float(each.min()), number) for number, each in enumerate(least)):
        if np.isinf(bound) or (bound, number) > best:
            break
        member = _apart(alone, memory, kinds[number], once, ones[number][least[number] <= best[0]], beside=beside)
        if member is not None and (member.words, number) < best:  # the first one of several as good
            best, found = (member.words, number), member
    return found


def _apart(
    alone: Alone, memory: int, kept: int, once: Collection[str], first_tiles: Ints, *, beside: int = 0
) -> Apart | None:
    own, near, far, (first, second, third) = alone.roles(kept)
    one, other = (each.ravel() for each in np.meshgrid(first_tiles, alone.tiles(second)))
    near_line, far_line = one * near.words + far.words, other * far.words + near.words
    lines = np.minimum(near_line, far_line)
    left = memory - one * other * own.words - np.maximum(lines, beside)
    length, breadth, depth = (alone.extents[group] for group in (first, second, third))
    ones, others = -(-length // one), -(-breadth // other)
    fits = left >= 0
    for operand, trips in ((near, others), (far, ones)):
        if operand.name in once:
            fits &= trips == 1
    if not fits.any():
        return None
    steady, again = np.zeros_like(one), ones
    if depth == 1 and own.name not in once:
        first_line, last = near_line <= far_line, length - (ones - 1) * one
        words_stay = np.where(one == 1, length, last == 1) * (far.name not in once)
        steady = np.where(first_line, length, words_stay)
        far_stays = np.where(first_line, (other == 1) & (near.name not in once), True) & (others == 1)
        again = np.where(far_stays, 1, ones)
    one, other, others, left, steady, again = (each[fits] for each in (one, other, others, left, steady, again))
    pinned = np.zeros_like(one)
    if len(alone.groups[second]) == 1 and far.words and second not in alone.cut:
        pinned = np.minimum(left // (far.words * depth), breadth) * (again > 1)
    words = (
        length * breadth * own.moved(np.ones_like(one))
        + depth * (steady * near.moved(np.ones_like(one)) + (length - steady) * near.moved(others))
        + depth * (pinned * far.moved(np.ones_like(one)) + (breadth - pinned) * far.moved(again))
    )
    row = int(np.argmin(words))
    return Apart(kept=kept, tiles=(int(one[row]), int(other[row])), pinned=int(pinned[row]), words=int(words[row]))
