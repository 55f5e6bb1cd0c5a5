"""That no whole tiles of a node keep all limits: every number of tiles is looked at, and then what sizes are left.

Tiles of a level are put into *choices*: of a fixed dim a choice is one size, of a variable one the sizes T with the
same ceil(N/T), as far as they are allowed. A choice has a least size, a largest one h, and a cut into ceil(N/h) tiles
or more, none larger than h (`tile_cuts.py`): what tiles move does not fall with smaller choices, and what they hold is
least for the least sizes. Therefore, inner level first,

1. of each level the choices of all dims are listed that fit and keep the limit under some flow in the whole problem,
   and that some choice of the level inside may nest in and keeps its own limit there. Dim by dim, the largest sizes
   first: those that do not fit beside the least sizes of the dims to come are first, and from one on that moves too
   much, or serves nothing inside, with the largest sizes of the dims to come, all others do;
2. of a chain of such choices the sizes of one dim are listed that nest, are allowed, and fit beside the least sizes of
   the other dims. How many tiles each chain of sizes makes, one inside the other, is counted (of fixed dims: with
   their sizes). One that is beaten or equalled by another in all sizes and in all numbers of tiles need not be looked
   at; the others are, in all combinations.

All numbers are whole: nothing is rounded. What is asked is counted, and refused where it is too much.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache, partial
from itertools import product
from operator import le
from typing import NamedTuple

from ..core.tools import need
from .rows import MappingSet, Model, Parts, cut_up
from .tile_cuts import CutWords, DimCut, Sizes

MOST_WORK = 500_000
"""Sets of tiles that are looked at in one step, at most."""
MOST_CHOICES = 4_000
"""Choices of a dim at a level, at most."""


class TileSizes(NamedTuple):
    """Sizes of a dim's tile at a level."""

    low: int
    high: int
    cut: int
    """Number of the cut among those of the dim."""


Key = tuple[int, Sizes, Sizes]
"""A dim, and per level the least and the largest sizes of its choices."""


class SizeRow(NamedTuple):
    """Sizes of a dim's tiles, inner level first."""

    sizes: Sizes
    cuts: Sizes
    """Number of the cut of every level."""


class Tile(NamedTuple):
    """A choice per dim."""

    cuts: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]


def nothing_left(model: Model, node: MappingSet, limits: dict[int, Fraction], most: int = MOST_WORK) -> bool:
    """Whether no whole tiles of a node keep all limits.

    Args:
        model: what the mappings are of.
        node: the mappings.
        limits: words that may move outside a level, of some levels.
        most: sets of tiles that are looked at.

    Raises:
        RefusedError: if that is too much work.
    """
    return _Every(model, node, CutWords(model, node, limits, most)).nothing_left()


class _Every:
    def __init__(self, model: Model, node: MappingSet, words: CutWords) -> None:
        self.model, self.node, self.words = model, node, words
        self.extents = [model.extents[d] for d in model.dims]
        self.choices = [[self._choices(q, i) for i in range(len(model.dims))] for q in range(model.depth)]

    def nothing_left(self) -> bool:
        nothing = Tile((), (0,) * len(self.extents), ())
        tiles, inside = [[nothing]], list[dict[Tile, int]]()
        for q in range(self.model.depth):
            inside.append(self._listed(q, tiles[-1]))
            tiles.append(list(inside[-1]))
        chains: list[tuple[Tile, ...]] = [(tile,) for tile in tiles[-1]]
        for q in reversed(range(self.model.depth - 1)):
            served = {chain[0] for chain in chains}
            pairs = {outer: self._inside(q, outer, tiles[q + 1][inside[q + 1][outer] :]) for outer in served}
            self.words.worked(sum(len(pairs[chain[0]]) for chain in chains))
            chains = [(own, *chain) for chain in chains for own in pairs[chain[0]]]
        return not any(self._survive(chains))

    def _choices(self, q: int, i: int) -> list[TileSizes]:
        """The choices of a dim at a level, the largest sizes first."""
        dim, whole = self.model.dims[i], self.extents[i]
        low, high = self.model.range(self.node, q, dim)
        found = list[TileSizes]()
        while high >= low:
            need(len(found) < MOST_CHOICES, "there are too many numbers of tiles of a dim")
            fixed = dim in self.model.fixed
            least = high if fixed else max(low, -(-whole // -(-whole // high)))
            sizes = self.model.snapped(q, dim, (least, high), whole)
            if sizes is not None:
                parts = cut_up(((whole, 1),), high) if fixed else ()
                found.append(TileSizes(*sizes, self.words.number(i, DimCut(-(-whole // sizes[1]), sizes[1], parts))))
            high = least - 1
        return found

    def _listed(self, q: int, inner: list[Tile]) -> dict[Tile, int]:
        """The choices of a level that fit, keep its limit in the whole problem, and have one inside.

        Args:
            q: the level.
            inner: choices of the level inside.

        Returns:
            for each how many of the inner choices, the first ones, do not nest in it, or do not keep their limit there.
        """
        mine = self.choices[q]
        order = sorted(range(len(mine)), key=lambda i: (self.model.dims[i] not in self.model.fixed, len(mine[i])))
        if not all(mine):
            return {}
        chosen, low = [known[0] for known in mine], [known[-1].low for known in mine]
        found = dict[Tile, int]()

        def fits(i: int, choice: TileSizes) -> bool:
            low[i] = choice.low
            return self.words.fits(q, low)

        def choose(position: int, start: int) -> None:
            if position == len(order):
                cuts, least, largest = (tuple([choice[k] for choice in chosen]) for k in (2, 0, 1))
                found[Tile(cuts, least, largest)] = start
                return
            i = order[position]
            for choice in mine[i][bisect_left(mine[i], True, key=partial(fits, i)) :]:
                chosen[i], low[i] = choice, choice.low
                cuts, high = (tuple([known[k] for known in chosen]) for k in (2, 1))
                if not self.words.keeps(q, cuts + self.words.whole):
                    break
                places = range(start, len(inner))
                first = next((n for n in places if self._nests(q, inner[n], high, cuts)), len(inner))
                self.words.worked((first - start) // 8)
                if first == len(inner):
                    break
                start = first  # what serves nothing here serves nothing smaller
                choose(position + 1, start)
            chosen[i], low[i] = mine[i][0], mine[i][-1].low

        choose(0, 0)
        return found

    def _inside(self, q: int, outer: Tile, inner: list[Tile]) -> list[Tile]:
        """Which of some choices of a level may nest in one of the next outer level and keep their limit."""
        self.words.worked(len(inner) // 8)
        nested = (own for own in inner if all(map(le, own.low, outer.high)))
        return [own for own in nested if self.words.keeps(q, own.cuts + outer.cuts)]

    def _nests(self, q: int, own: Tile, high: Sizes, cuts: Sizes) -> bool:
        """Whether a choice of the level inside may nest in sizes and keeps its limit in their cuts."""
        return all(map(le, own.low, high)) and (q == 0 or self.words.keeps(q - 1, own.cuts + cuts))

    def _survive(self, chains: list[tuple[Tile, ...]]) -> Iterator[bool]:
        """Per chain of choices: whether some sizes keep all limits."""
        room = cache(self._room)
        most, keys = dict[Key, Sizes](), list[list[Key]]()
        for chain in chains:
            low, high = (list(zip(*(tile[k] for tile in chain), strict=True)) for k in (1, 2))
            rooms = list(zip(*(room(q, tile) for q, tile in enumerate(chain)), strict=True))
            keys.append(list(zip(range(len(low)), low, high, strict=True)))
            for key, own in zip(keys[-1], rooms, strict=True):
                most[key] = tuple(map(max, own, most.get(key, own)))
        columns = cache(lambda key: self._column(key, most[key]))
        for mine in keys:
            lists = [columns(key) for key in mine]
            hopeful = all(known for known, _ in lists) and self._kept([least for _, least in lists])
            yield hopeful and any(self._kept(rows) for rows in product(*(known for known, _ in lists)))

    def _room(self, q: int, tile: Tile) -> tuple[int, ...]:
        """Per dim: the largest size of a choice that fits beside the least ones of the others."""
        found = []
        for i, (low, high) in enumerate(zip(tile.low, tile.high, strict=True)):
            sizes = range(low, high + 1)
            least = list(tile.low)

            def too_large(size: int, i: int = i, least: list[int] = least) -> bool:
                least[i] = size
                return not self.words.fits(q, least)

            found.append(low + bisect_left(sizes, True, key=too_large) - 1)
        return tuple(found)

    def _column(self, key: Key, most: Sizes) -> tuple[list[SizeRow], SizeRow]:
        """Nested sizes of one dim that no others beat, with how they cut it; and what none of them is below."""
        i, low, high = key
        dim, whole = self.model.dims[i], self.extents[i]
        fixed = dim in self.model.fixed
        open_: list[tuple[SizeRow, Parts]] = [(SizeRow((), ()), ((whole, 1),))]
        for q in reversed(range(self.model.depth)):
            following: list[tuple[SizeRow, Parts]] = []
            for (sizes, cuts), parts in open_:
                around = sizes[0] if sizes else whole
                self.words.worked(1 + max(0, most[q] - low[q]) // 4)
                for size in range(low[q], min(most[q], around) + 1):
                    if self.model.snapped(q, dim, (size, size), around) is not None:
                        cut = cut_up(parts, size)
                        own = DimCut(sum(n for _, n in cut), high[q], cut if fixed else ())
                        following.append((SizeRow((size, *sizes), (self.words.number(i, own), *cuts)), cut))
            open_ = following
        rows = self._unbeaten(i, [row for row, _ in open_])
        sizes = tuple(map(min, zip(*(row.sizes for row in rows), strict=True)))
        cuts = tuple(
            min(level, key=lambda n: self.words.numbers[i][n]) for level in zip(*(r.cuts for r in rows), strict=True)
        )
        return rows, SizeRow(sizes, cuts)

    def _unbeaten(self, i: int, rows: list[SizeRow]) -> list[SizeRow]:
        """Those that no other one beats or equals in all sizes and all numbers of tiles."""
        known = {row: (*row.sizes, *(self.words.numbers[i][n] for n in row.cuts)) for row in rows}
        kept = list[SizeRow]()
        for row in sorted(rows, key=lambda row: sum(known[row])):
            self.words.worked(len(kept) // 8)
            if not any(all(map(le, known[other], known[row])) for other in kept):
                kept.append(row)
        return kept

    def _kept(self, rows: Sequence[SizeRow]) -> bool:
        """Whether sizes of all dims keep all limits."""
        cuts = [*zip(*(row.cuts for row in rows), strict=True), self.words.whole]
        sizes = zip(*(row.sizes for row in rows), strict=True)
        return all(
            self.words.fits(q, own) and self.words.keeps(q, cuts[q] + cuts[q + 1]) for q, own in enumerate(sizes)
        )
