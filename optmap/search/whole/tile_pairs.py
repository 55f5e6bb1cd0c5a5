"""Chains from pairs of tiles: exact over divisors, a beam over evenly cut tiles.

If every tile cuts the next outer one into equal pieces, the cost of level l depends on its own tile
and the next outer one only, and each tensor's traffic is a sum of products (a factor of the own
tile) x (a factor of the outer tile). So the costs of all pairs of tiles are matrix products of the
posynomial rows. Outer level first, `reach` of a tile is the least bottleneck of any chain from the
whole problem down to it; tiles that cannot stay below the incumbent are dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf, prod

import numpy as np
from numpy.typing import NDArray

from optmap.clock import Clock
from optmap.errors import LimitError
from optmap.problem.workload import Semantics
from optmap.programs.geometric import Box, whole_count
from optmap.search.search_space import Order, Setting
from optmap.search.sizes import even_cuts
from optmap.search.whole.chain_costs import ChainCosts, FloatArray, IntArray, grid_of, thin
from optmap.symbolic.numbers import divisors_of

LARGEST_TILES = 60_000
"""Divisor tiles beyond which the exact program is not tried."""
LARGEST_PAIRS = 4_000_000
"""Pairs of tiles priced at once."""
LARGEST_BOXES = 64
"""Combinations of filter-like sizes beyond which pairs are not worth their many small products."""
BEAM_GRID = 40_000
"""Evenly cut tiles per level that the beam looks at."""
BEAM_OWN = 2500
"""Tiles per level that the beam pairs with outer ones."""
BEAM_OUTER = 800
"""Outer tiles that the beam keeps per level."""
BEAM_CHAINS = 200
"""Chains that the beam returns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stage:
    """Tiles of one level that some chain from the whole problem reaches."""

    tiles: IntArray
    """(n, D)."""
    reach: FloatArray
    """(n,): least bottleneck of a chain down to each tile."""
    via: NDArray[np.intp]
    """(n,): which tile of the next outer stage that chain goes through."""


def divisor_optimum(
    setting: Setting, costs: ChainCosts, ceiling: float, *, clock: Clock
) -> tuple[IntArray | None, float]:
    """The chain of divisor tiles with the least bottleneck below a ceiling.

    Costs are those of the posynomial rows: exact, or lower where a dim stands in two subscripts of a tensor
    or a window has gaps. So the least of them is a bound, and an optimum where the chain attains it.

    Args:
        setting: what is searched.
        costs: its exact costs.
        ceiling: bottleneck that must be undercut.
        clock: when to give up.

    Returns:
        (L, D) chain or None if none is below the ceiling; and a bottleneck that no chain of divisor tiles
        is below, 0 if not all of them were looked at.
    """
    allowed = setting.allowed
    lists = [
        [allowed.among(divisors_of(int(n)), level, d) for d, n in enumerate(costs.extents)]
        for level in range(costs.depth)
    ]
    if max(prod(float(len(v)) for v in level) for level in lists) > LARGEST_TILES:
        return None, 0.0
    if max(_boxes(setting, level) for level in lists) > LARGEST_BOXES:
        return None, 0.0
    tiles = [grid_of(level) for level in lists]
    try:
        pairing = _Pairing(setting, costs, even=True, clock=clock)
        chains, reach = pairing.run(tiles, ceiling, floor=0.0, keep=1)
    except LimitError:
        return None, 0.0
    return (chains[0], float(reach[0])) if len(chains) else (None, ceiling)


def beam(
    setting: Setting, costs: ChainCosts, centre: IntArray, ceiling: float, floor: float, *, clock: Clock
) -> IntArray:
    """Promising chains of evenly cut tiles: a heuristic, to be re-evaluated exactly.

    Args:
        setting: what is searched.
        costs: its exact costs.
        centre: (L, D) tiles around which candidates are kept if there are too many.
        ceiling: estimated bottleneck that must be undercut.
        floor: bottlenecks below it count as equal.
        clock: when to give up.

    Returns:
        (n, L, D) chains, best estimate first; none if the time is over.
    """
    allowed = setting.allowed
    lists = [
        thin([allowed.near(even_cuts(int(n)), level, d) for d, n in enumerate(costs.extents)], row, BEAM_GRID)
        for level, row in enumerate(centre)
    ]
    nothing = np.zeros((0, *centre.shape), dtype=np.int64)
    if max(_boxes(setting, level) for level in lists) > LARGEST_BOXES:
        return nothing
    tiles = [grid_of(level) for level in lists]
    try:
        return _Pairing(setting, costs, even=False, clock=clock).run(tiles, ceiling, floor=floor, keep=BEAM_CHAINS)[0]
    except LimitError:
        return nothing


def _boxes(setting: Setting, lists: Sequence[Sequence[int]]) -> int:
    """Combinations of the boxed dims' candidates: each takes matrix products of its own."""
    dims = setting.workload.dims
    return prod(len(lists[dims.index(d)]) for d in setting.space.boxed)


class _Pairing:
    """Stages of tiles from the outermost level inwards; raises `LimitError` where the clock says so."""

    def __init__(self, setting: Setting, costs: ChainCosts, *, even: bool, clock: Clock) -> None:
        self.clock = clock
        self.setting = setting
        self.space = setting.space
        self.costs = costs
        self.even = even
        self.dims = setting.workload.dims
        assign = setting.workload.semantics is Semantics.ASSIGN
        self.first_touches = whole_count(setting.workload) if assign else 0
        self.free = [self.dims.index(d) for d in self.space.free]
        self.boxed = [self.dims.index(d) for d in self.space.boxed]

    def run(self, tiles: Sequence[IntArray], ceiling: float, *, floor: float, keep: int) -> tuple[IntArray, FloatArray]:
        """Chains below the ceiling, (n, L, D), best first, with their bottlenecks."""
        nothing = np.zeros((0, self.costs.depth, len(self.dims)), dtype=np.int64), np.zeros(0)
        stages = [_Stage(tiles=self.costs.extents[None, :], reach=np.zeros(1), via=np.zeros(1, dtype=np.intp))]
        for level in range(self.costs.depth - 1, -1, -1):
            outer = self._useful_outer(stages[-1], floor)
            if level in self.setting.fixed:
                stage = self._fixed_stage(level, stages[-1], outer)
            else:
                own = self._useful_own(tiles[level], level, ceiling, floor)
                if len(own) == 0:
                    return nothing
                stage = self._stage(level, own, stages[-1], outer)
            kept = stage.reach < ceiling
            if not kept.any():
                return nothing
            stages.append(_Stage(tiles=stage.tiles[kept], reach=stage.reach[kept], via=stage.via[kept]))
        index = np.argsort(stages[-1].reach, kind="stable")[:keep]
        chains = np.zeros((len(index), self.costs.depth, len(self.dims)), dtype=np.int64)
        reach = stages[-1].reach[index]
        for level, stage in enumerate(reversed(stages[1:])):
            chains[:, level] = stage.tiles[index]
            index = stage.via[index]
        return chains, reach

    def _useful_own(self, tiles: IntArray, level: int, ceiling: float, floor: float) -> IntArray:
        """Tiles that fit and could stay below the ceiling inside the largest outer tile."""
        fitting = tiles[self.costs.fits(tiles, level).any(axis=1)]
        if len(fitting) == 0:
            return fitting
        alone = self._pairs(fitting, self.costs.extents[None, :], level)[:, 0]
        fitting, alone = fitting[alone < ceiling], alone[alone < ceiling]
        if self.even:
            return fitting
        order = np.lexsort((-fitting.astype(float).prod(axis=1), np.maximum(alone, floor)))
        return fitting[order[:BEAM_OWN]]

    def _useful_outer(self, stage: _Stage, floor: float) -> NDArray[np.intp]:
        """Outer tiles worth pairing: exact dominance for divisors, the best few for the beam."""
        volume = -stage.tiles.astype(float).prod(axis=1)
        if not self.even:
            return np.lexsort((volume, np.maximum(stage.reach, floor)))[:BEAM_OUTER]
        kept: list[int] = []
        for i in np.lexsort((volume, stage.reach)):
            self.clock.check()
            # A multiple that reaches as cheaply serves every level inside at least as well.
            if not kept or not (stage.tiles[kept] % stage.tiles[i] == 0).all(axis=1).any():
                kept.append(int(i))
        return np.array(kept, dtype=np.intp)

    def _stage(self, level: int, own: IntArray, before: _Stage, outer: NDArray[np.intp]) -> _Stage:
        best = np.full(len(own), inf)
        via = np.zeros(len(own), dtype=np.intp)
        beyond, reach = before.tiles[outer], before.reach[outer]
        step = max(1, LARGEST_PAIRS // len(outer))
        for start in range(0, len(own), step):
            part = own[start : start + step]
            cost = np.where(
                self._nests(part, beyond), np.maximum(self._pairs(part, beyond, level), reach[None, :]), inf
            )
            choice = cost.argmin(axis=1)
            best[start : start + step] = cost[np.arange(len(part)), choice]
            via[start : start + step] = outer[choice]
        return _Stage(tiles=own, reach=best, via=via)

    def _fixed_stage(self, level: int, before: _Stage, outer: NDArray[np.intp]) -> _Stage:
        """An imposed tile is priced exactly inside every outer tile."""
        imposed = np.array([self.setting.fixed[level][0][d] for d in self.dims], dtype=np.int64)
        fitting = outer[(before.tiles[outer] >= imposed).all(axis=1)]
        chains = np.repeat(self.costs.extents[None, None], len(fitting), axis=0).repeat(self.costs.depth, axis=1)
        chains[:, level] = imposed
        if level + 1 < self.costs.depth:
            chains[:, level + 1] = before.tiles[fitting]
        cost = self.costs.evaluate(chains, levels=[level])[0][:, level]
        cost = np.maximum(cost, before.reach[fitting])
        return _Stage(tiles=np.repeat(imposed[None], len(fitting), axis=0), reach=cost, via=fitting)

    def _nests(self, own: IntArray, outer: IntArray) -> NDArray[np.bool_]:
        """Which own tiles cut which outer tiles without extra pieces."""
        nests = np.ones((len(own), len(outer)), dtype=bool)
        for d, extent in enumerate(self.costs.extents):
            inner_values, inner_index = np.unique(own[:, d], return_inverse=True)
            outer_values, outer_index = np.unique(outer[:, d], return_inverse=True)
            table = np.array(
                [
                    [b % a == 0 if self.even else aligned(int(extent), b, a) for b in outer_values.tolist()]
                    for a in inner_values.tolist()
                ]
            )
            nests &= table[inner_index][:, outer_index]
        return nests

    def _pairs(self, own: IntArray, outer: IntArray, level: int) -> FloatArray:
        """(own, outer) costs of a level, the best loop order of each pair."""
        result = np.full((len(own), len(outer)), inf)
        fits = self.costs.fits(own, level)
        for box, rows in self._by_box(own).items():
            for beyond, columns in self._by_box(outer).items():
                if any(a[0] > b[0] for a, b in zip(box, beyond, strict=True)):
                    continue
                block = np.full((len(rows), len(columns)), inf)
                for k, order in enumerate(self.costs.orders(level)):
                    self.clock.check()
                    words = self._words(order, box, own[rows], beyond, outer[columns])
                    block = np.minimum(block, np.where(fits[rows, k][:, None], words, inf))
                result[np.ix_(rows, columns)] = block
        return (result - self.first_touches) / self.setting.bandwidths[level]

    def _words(self, order: Order, box: Box, own: IntArray, beyond: Box, outer: IntArray) -> FloatArray:
        rows = self.space.traffic(order.flow, box, beyond)
        extents = self.costs.extents[self.free]
        # Pieces count with their average size: exact where they are equal.
        own_size = extents / -(-extents // own[:, self.free])
        outer_size = extents / -(-extents // outer[:, self.free])
        left = np.exp(rows.logs[None, :] + np.log(own_size) @ rows.own.T)
        return np.asarray(left @ np.exp(np.log(outer_size) @ rows.next.T).T)

    def _by_box(self, tiles: IntArray) -> dict[Box, NDArray[np.intp]]:
        """Indices of the tiles that share the values of the boxed dims."""
        if not self.boxed:
            return {(): np.arange(len(tiles))}
        keys, inverse = np.unique(tiles[:, self.boxed], axis=0, return_inverse=True)
        return {
            tuple((int(v), int(v)) for v in key): np.flatnonzero(inverse.reshape(-1) == i) for i, key in enumerate(keys)
        }


@lru_cache(maxsize=65536)
def aligned(extent: int, outer: int, inner: int) -> bool:
    """Whether tiles of `inner` inside tiles of `outer` make no more pieces than `inner` alone."""
    if inner > outer:
        return False
    whole, rest = divmod(extent, outer)
    return whole * -(-outer // inner) + -(-rest // inner) == -(-extent // inner)
