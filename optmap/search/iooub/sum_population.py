"""Chains of tiles that are varied at random, the best kept: what goes on where a descent level by level stops.

A chain is varied in a few extents, of any dims and levels at once, and those of the other levels follow; loop orders
are the best of every level, so that only tiles are drawn. Sums are exact. The seed is fixed: the same question has the
same answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from optmap.base.arrays import Floats, Ints
from optmap.base.clock import Clock
from optmap.search.whole.chain_costs import ChainCosts
from optmap.search.whole.descent import BlockDescent
from optmap.symbolic.numbers import divisors_of

Chain = tuple[float, Ints]
"""A sum in cycles, and (L, D) tiles."""
KEPT = 100
"""Chains of a generation that are varied; no two of one sum."""
DRAWN = 2_000
"""Variations of a generation."""
IDLE = 15
"""Generations in a row without a better chain, after which no more are drawn."""
CHANGED = 3
"""Extents of a chain that are varied together at most."""
RATIOS = np.array([1 / 3, 1 / 2, 2 / 3, 3 / 4, 5 / 6, 7 / 8, 1, 8 / 7, 6 / 5, 4 / 3, 3 / 2, 2, 3])
"""By which an extent, or a number of tiles, is varied."""
STEPS = np.array([-2, -1, 1, 2])


@dataclass(frozen=True, kw_only=True)
class SumPopulation:
    """Varies chains of one setting."""

    costs: ChainCosts
    blocks: BlockDescent
    """Knows which chains nest, and whether they must divide."""
    value: Callable[[Ints], Floats]
    """Of chains (B, L, D); infinite where one does not fit."""
    clock: Clock

    def improve(self, found: Sequence[Chain], *, least: float) -> Chain:
        """The best chain that is met from some on.

        Args:
            found: one or more that fit.
            least: a proved bound, at which nothing is left to gain.
        """
        rng = np.random.default_rng(0)
        chains, values = _best(np.array([chain for _, chain in found]), np.array([value for value, _ in found]))
        idle = 0
        while idle < IDLE and values[0] > least and not self.clock.late:
            best = values[0]
            drawn = self._fitting(self._varied(chains, rng))
            chains, values = _best(
                np.concatenate([chains, drawn]), np.concatenate([values, self.value(drawn)]) if len(drawn) else values
            )
            idle = 0 if values[0] < best else idle + 1
        return float(values[0]), chains[0]

    def _fitting(self, chains: Ints) -> Ints:
        """Those that nest and whose tiles fit their levels, each once."""
        chains = np.unique(chains, axis=0)
        chains = chains[self.blocks.nests(chains, None)]
        for level in range(self.costs.depth):
            chains = chains[self.costs.fits_somehow(chains[:, level], level)]
        return chains

    def _varied(self, parents: Ints, rng: np.random.Generator) -> Ints:
        """Variations of chains, (`DRAWN`, L, D)."""
        chains = parents[rng.integers(len(parents), size=DRAWN)]
        changes = rng.integers(1, CHANGED + 1, size=DRAWN)
        dims = np.flatnonzero(self.costs.extents > 1)
        for change in range(CHANGED if len(dims) else 0):
            rows = np.flatnonzero(changes > change)
            level, dim = rng.integers(self.costs.depth, size=len(rows)), rng.choice(dims, size=len(rows))
            sizes = self._divisors if self.blocks.divisors else self._sizes
            chains[rows, :, dim] = _followed(chains[rows, :, dim], level, sizes(chains[rows], level, dim, rng), rng)
        return chains

    def _sizes(self, chains: Ints, level: Ints, dim: Ints, rng: np.random.Generator) -> Ints:
        """New extents: near the old ones, whole numbers of the tile inside, or even cuts of what is outside."""
        rows = np.arange(len(chains))
        now, extent = chains[rows, level, dim], self.costs.extents[dim]
        inner = np.where(level > 0, chains[rows, np.maximum(level - 1, 0), dim], 1)
        last = self.costs.depth - 1
        outer = np.where(level < last, chains[rows, np.minimum(level + 1, last), dim], extent)
        ratio, step = rng.choice(RATIOS, len(rows)), rng.choice(STEPS, len(rows))
        choices = [
            np.rint(now * ratio).astype(np.int64),
            now + step,
            inner * _several(now / inner * ratio),
            -(-outer // _several(outer / now * ratio)),
            -(-extent // _several(-(-extent // now) + step)),
        ]
        chosen = np.choose(rng.integers(len(choices), size=len(rows)), choices)
        return np.asarray(np.clip(chosen, 1, extent), np.int64)

    def _divisors(self, _chains: Ints, _level: Ints, dim: Ints, rng: np.random.Generator) -> Ints:
        """New extents: any divisors of those of the problem."""
        found = np.ones(len(dim), np.int64)
        for each in np.unique(dim).tolist():
            own = np.flatnonzero(dim == each)
            found[own] = rng.choice(divisors_of(int(self.costs.extents[each])), len(own))
        return found


def _several(numbers: Floats | Ints) -> Ints:
    """Rounded to whole numbers of tiles."""
    return np.asarray(np.maximum(1, np.rint(numbers)), np.int64)


def _followed(sizes: Ints, level: Ints, new: Ints, rng: np.random.Generator) -> Ints:
    """(n, L) sizes of one dim with a new one at a level each, inner ones clipped and outer ones raised to it.

    Those that equal the old one move along with it, half of the time.
    """
    rows, levels = np.arange(len(sizes)), np.arange(sizes.shape[1])
    tied = (sizes == sizes[rows, level][:, None]) & (rng.random(len(sizes)) < 0.5)[:, None]
    moved = np.where(tied | (levels == level[:, None]), new[:, None], sizes)
    inside = levels < level[:, None]
    return np.where(inside, np.minimum(moved, new[:, None]), np.maximum(moved, np.where(inside, 0, new[:, None])))


def _best(chains: Ints, values: Floats) -> tuple[Ints, Floats]:
    """The best chains with their sums, best first, one for each sum."""
    kept, first = np.unique(values, return_index=True)
    return chains[first[:KEPT]], kept[:KEPT]
