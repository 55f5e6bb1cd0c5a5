"""Mappings of a product by itself: a tile of one of its tensors stays while the other two stream past it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from optmap.base.arrays import Ints
from optmap.search.chains.family import smallest_tiles
from optmap.search.chains.least import least_alone
from optmap.search.chains.pair import PairOperand, ProductPair


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
    last: bool = False
    """Whether the last indices are pinned, and not the first ones."""
    firsts: tuple[int, int] = (0, 0)
    """Sizes of the first tile of both where it is shorter; else 0."""


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
    rows: tuple[PairOperand, int] | None = None
    """The statistic of rows, if it comes with the rows of a tile, and the number of their group."""

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


def products_of(pair: ProductPair, *, whole: bool = False, second: bool | None = None) -> tuple[Alone, Alone]:
    """The two products by themselves.

    Args:
        pair: the chain.
        whole: whether the intermediate stays whole between them, so that it moves nothing.
        second: whether a function of rows is done by the second product and not by the first one; None if its
            statistic stays whole.
    """
    rows, columns = pair.sides
    statistics: list[PairOperand | None] = [None, None]
    if pair.rows is not None and second is not None:
        statistics = [None, pair.rows.both] if second else [pair.rows.made, pair.rows.read]
    words = 0 if whole else pair.shared.words
    stored = replace(pair.shared, words=words)
    loaded = replace(stored, moves=1, free=0)

    def product_of(
        shared: PairOperand,
        row: PairOperand,
        column: PairOperand,
        third: tuple[tuple[str, ...], int],
        statistic: PairOperand | None,
    ) -> Alone:
        dims, extent = third
        return Alone(
            rows=None if statistic is None or pair.rows is None else (statistic, pair.rows.side),
            tensors=((shared, 0, 1), (row, 0, 2), (column, 1, 2)),
            groups=((rows.dim,), (columns.dim,), dims),
            extents=(rows.extent, columns.extent, extent),
            cut=tuple(number for number, side in enumerate(pair.sides) if side.cut),
        )

    return (
        product_of(stored, rows.first, columns.first, (pair.summed, pair.depth), statistics[0]),
        product_of(loaded, rows.second, columns.second, (pair.beyond, pair.width), statistics[1]),
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
    statistic, visits = None, ones
    if alone.rows is not None:
        statistic, group = alone.rows
        held = one if group == first else other if group == second else np.ones_like(one)
        left = left - statistic.words * held
        turns = np.where(others > 1, ones, 1) if group == second else ones * others * (depth > 1) + (depth == 1)
        visits = np.ones_like(ones) if group == first else np.asarray(turns)
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
    if alone.rows is not None and statistic is not None:
        words = words + alone.extents[alone.rows[1]] * statistic.moved(visits[fits])
    row = int(np.argmin(words))
    return Apart(kept=kept, tiles=(int(one[row]), int(other[row])), pinned=int(pinned[row]), words=int(words[row]))
