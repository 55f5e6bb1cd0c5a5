"""The numbers of tiles of every level that chains below a ceiling may have, listed dim by dim.

A choice is the least tile that cuts every extent into as many tiles (filter-like dims: into tiles of that size); of one
dim, the same at all levels, it is the one with the fewest tiles that fit beside the others. Larger tiles cost no more,
neither the level itself nor the one inside. So where only some dims are chosen, both cost at least what they do at the
corner: every other dim as large as fits if all the rest are as small as can be. What does not stay below the ceiling
there is dropped before the next dim multiplies it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from optmap.base.arrays import Floats, Ints
from optmap.base.clock import Clock
from optmap.base.errors import LimitError
from optmap.base.rows import Rows
from optmap.search.whole.chain_costs import ChainCosts
from optmap.search.whole.one_level import grow
from optmap.search.whole.pair_costs import PairCosts

LARGEST_GRID = 1_500_000
"""Choices of one level beyond which they are not listed."""
FEW = 400
"""Choices of some dims up to which the next dim is chosen before their corners are looked at."""
MOST_PAIRS = 200_000_000
"""Pairs of choices of neighbouring levels beyond which they are not priced."""
FARTHER = 0.1
"""How far above what is asked for choices are looked at, as a share of it: the next threshold asks for them."""
FEW_PAIRS = 20_000_000
"""Pairs of choices of neighbouring levels up to which those farther above are looked at as well."""


@dataclass(frozen=True, slots=True)
class Choices(Rows):
    """Tiles of one level, and what each costs at least."""

    tiles: Ints
    """(n, D): the least tile of every choice."""
    alone: Floats
    """(n,): its cost in the whole problem."""
    least: Floats
    """(n,): the least ceiling above which it also serves some of the level inside; no less than `alone`."""


class ChoiceLists:
    """Lists the choices of all levels.

    Args:
        costs: exact costs.
        pairs: costs of numbers of tiles.
        lists: per level and dim the least size of every number of tiles, increasing.
        ceiling: the highest one that will be asked for.
    """

    def __init__(
        self,
        costs: ChainCosts,
        pairs: PairCosts,
        lists: Sequence[Sequence[Sequence[int]]],
        ceiling: float,
        clock: Clock,
    ) -> None:
        self.costs, self.pairs, self.lists, self.ceiling, self.clock = costs, pairs, lists, ceiling, clock
        self.fixed = costs.setting.fixed
        lengths = [sum(len(values[d]) for values in lists) for d in range(len(costs.dims))]
        self.last = max(range(len(lengths)), key=lambda d: (d not in costs.boxed, lengths[d]))
        """The dim that is as large as fits: the longest that is not boxed."""
        others = (d for d in range(len(lengths)) if d != self.last)
        self.others = sorted(others, key=lambda d: lengths[d])
        self.upto = 0.0
        """The ceiling up to which choices are known."""
        self._known: list[Choices] = []

    def below(self, ceiling: float) -> list[Choices]:
        """Per level the choices that stay below a ceiling in the whole problem and serve some of the level inside.

        Raises:
            LimitError: for too many choices, or when the time is over.
        """
        if self.upto < ceiling:
            farther = min(self.ceiling, ceiling * (1 + FARTHER))
            with suppress(LimitError):
                self._known, self.upto = self._served(farther, FEW_PAIRS), farther
        if self.upto < ceiling:
            self._known, self.upto = self._served(ceiling, MOST_PAIRS), ceiling
        return [own[own.least < ceiling] for own in self._known]

    def _served(self, ceiling: float, most: int) -> list[Choices]:
        found: list[Choices] = []
        for level in range(self.costs.depth):
            inner = found[-1] if found else None
            tiles = self._listed(level, inner, ceiling, most)
            alone, least = self._least(level, tiles, inner, ceiling, most)
            own = Choices(tiles, alone, least)[least < ceiling]
            if level not in self.fixed:
                alone = np.maximum(own.alone, self.costs.in_whole(own.tiles, level, clock=self.clock))
                own = Choices(own.tiles, alone, np.maximum(own.least, alone))
            found.append(own[own.least < ceiling])
        return found

    def _listed(self, level: int, inner: Choices | None, ceiling: float, most: int) -> Ints:
        """(n, D): tiles of a level among which are all choices below the ceiling."""
        if level in self.fixed:
            tile, _ = self.fixed[level]
            return np.array([[tile[d] for d in self.costs.dims]], dtype=np.int64)
        lists = self.lists[level]
        tiles = np.array([[values[0] for values in lists]], dtype=np.int64)
        for number, d in enumerate(self.others):
            if len(tiles) * len(lists[d]) > LARGEST_GRID:
                raise LimitError("too many numbers of tiles")
            if len(tiles) > FEW:
                tiles, corners = self._corners(level, tiles, self.others[number:])
                tiles = tiles[self._least(level, corners, inner, ceiling, most)[1] < ceiling]
            tiles = np.repeat(tiles, len(lists[d]), axis=0)
            tiles[:, d] = np.tile(lists[d], len(tiles) // len(lists[d]))
        return self._corners(level, tiles, ())[1]

    def _corners(self, level: int, tiles: Ints, open_dims: Sequence[int]) -> tuple[Ints, Ints]:
        """The tiles that fit, and their corners: the last dim and others still open as large as fits."""
        tiles = tiles[self.costs.fits_somehow(tiles, level)]
        corners = tiles.copy()
        for d in (*open_dims, self.last):
            values = np.array(self.lists[level][d], dtype=np.int64)
            if len(values) > 1:
                corners[:, d] = grow(self.costs, level, tiles, d, values, clock=self.clock)[:, d]
        return tiles, corners

    def _least(
        self, level: int, tiles: Ints, inner: Choices | None, ceiling: float, most: int
    ) -> tuple[Floats, Floats]:
        """What tiles cost at least in the whole problem, and with what they serve; infinite beyond the ceiling."""
        alone = self.pairs.alone(tiles, level, fitting=level not in self.fixed)
        least = np.where(alone < ceiling, alone, np.inf)
        if inner is not None:
            kept = np.flatnonzero(alone < ceiling)
            if len(inner.tiles) * len(kept) > most:
                raise LimitError("too many pairs of numbers of tiles")
            serve = self.pairs.served(inner.tiles, inner.least, tiles[kept], level - 1, ceiling, but=self.last)
            least[kept] = np.maximum(alone[kept], serve)
        return alone, least
