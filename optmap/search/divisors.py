"""The exact optimum over divisor tiles: a bottleneck dynamic program over pairs of tiles.

With tiles that divide, the cost of level l depends on its own tile and the next outer one only, and
each tensor's traffic is a sum of products (a factor of the own tile) x (a factor of the outer
tile). So the costs of all pairs are matrix products of the posynomial rows. Outer level first:
`reach[T]` is the least bottleneck over the levels outside of any chain that ends in T; tiles that
cannot beat the incumbent on their own level, or whose `reach` cannot, are dropped.
"""

from __future__ import annotations

from math import inf

import numpy as np
from numpy.typing import NDArray

from optmap.programs.geometric import Box, whole_count
from optmap.problem.workload import Semantics
from functools import lru_cache
from optmap.search.integers import ChainCosts, divisors_of, even_cuts, thin
from optmap.search.setting import Order, Setting

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

LARGEST_TILES = 60_000
"""Divisor tiles beyond which the dynamic program is not tried."""
LARGEST_PAIRS = 4_000_000
"""Pairs of tiles priced at once."""


class DivisorProgram:
    """Tiles per level, and the costs of pairs of them."""

    def __init__(self, setting: Setting, costs: ChainCosts) -> None:
        self.setting = setting
        self.space = setting.space
        self.costs = costs
        self.dims = setting.workload.dims
        self.first = whole_count(setting.workload) if setting.workload.semantics is Semantics.ASSIGN else 0

    def beam(self, ceiling: float, floor: float, centres: IntArray, own_limit: int = 2500, beam: int = 800) -> IntArray:
        """EXPERIMENT any integers."""
        depth = self.costs.depth
        stages = []
        outer = self.costs.extents[None, :]
        reach = np.zeros(1)
        for level in range(depth - 1, -1, -1):
            if level in self.setting.fixed:
                own = np.array([[self.setting.fixed[level][0][d] for d in self.dims]], dtype=np.int64)
            else:
                lists = thin([list(even_cuts(int(n))) for n in self.costs.extents], centres[level], 40000)
                tiles = np.stack(np.meshgrid(*lists, indexing="ij"), axis=-1).reshape(-1, len(lists))
                tiles = tiles[self.costs.fits(tiles, level).any(axis=1)]
                alone = self._pairs(tiles, self.costs.extents[None, :], level)[:, 0]
                ok = alone < ceiling
                tiles, alone = tiles[ok], alone[ok]
                if len(tiles) == 0:
                    return np.zeros((0, depth, len(self.dims)), dtype=np.int64)
                order = np.lexsort((-tiles.astype(float).prod(axis=1), np.maximum(alone, floor)))[:own_limit]
                own = tiles[order]
            order = np.lexsort((-outer.astype(float).prod(axis=1), np.maximum(reach, floor)))[:beam]
            o, r = outer[order], reach[order]
            nests = np.ones((len(own), len(o)), dtype=bool)
            for d in range(len(self.dims)):
                n = int(self.costs.extents[d])
                a, ai = np.unique(own[:, d], return_inverse=True)
                b, bi = np.unique(o[:, d], return_inverse=True)
                table = np.array([[aligned(n, int(y), int(x)) for y in b] for x in a])
                nests &= table[ai][:, bi]
            cost = np.where(nests, np.maximum(self._pairs(own, o, level), r[None, :]), inf)
            choice = cost.argmin(axis=1)
            best = cost[np.arange(len(own)), choice]
            kept = best < ceiling
            if not kept.any():
                return np.zeros((0, depth, len(self.dims)), dtype=np.int64)
            stages.append((own[kept], best[kept], order[choice][kept]))
            outer, reach = own[kept], best[kept]
        first = np.argsort(stages[-1][1])[:200]
        chains = np.zeros((len(first), depth, len(self.dims)), dtype=np.int64)
        index = first
        for level, (tiles, _, via) in enumerate(reversed(stages)):
            chains[:, level] = tiles[index]
            index = via[index]
        return chains

    def solve(self, ceiling: float) -> IntArray | None:
        """The best chain whose bottleneck is below `ceiling`, (L, D); None if there is none."""
        tiles = self._all_tiles()
        if tiles is None:
            return None
        depth = self.costs.depth
        stages: list[tuple[IntArray, FloatArray, IntArray]] = []
        outer = self.costs.extents[None, :]
        reach = np.zeros(1)
        for level in range(depth - 1, -1, -1):
            own = self._useful(tiles, level, ceiling)
            if len(own) == 0:
                return None
            best, via = self._stage(own, outer, reach, level)
            kept = best < ceiling
            if not kept.any():
                return None
            stages.append((own[kept], best[kept], via[kept]))
            outer, reach = own[kept], best[kept]
        return _trace(stages)

    def _all_tiles(self) -> IntArray | None:
        lists = [divisors_of(int(n)) for n in self.costs.extents]
        if np.prod([float(len(v)) for v in lists]) > LARGEST_TILES:
            return None
        return np.stack(np.meshgrid(*lists, indexing="ij"), axis=-1).reshape(-1, len(lists))

    def _useful(self, tiles: IntArray, level: int, ceiling: float) -> IntArray:
        """Tiles that fit a level and could stay below the ceiling with the largest outer tile."""
        if level in self.setting.fixed:
            return np.array([[self.setting.fixed[level][0][d] for d in self.dims]], dtype=np.int64)
        fitting = tiles[self.costs.fits(tiles, level).any(axis=1)]
        if len(fitting) == 0:
            return fitting
        alone = self._pairs(fitting, self.costs.extents[None, :], level)[:, 0]
        return fitting[alone < ceiling]

    def _stage(self, own: IntArray, outer: IntArray, reach: FloatArray, level: int) -> tuple[FloatArray, IntArray]:
        """Least bottleneck of a chain ending in each own tile, and the outer tile it goes through."""
        outer_index = _undominated(outer, reach)
        outer, reach = outer[outer_index], reach[outer_index]
        best = np.full(len(own), inf)
        via = np.zeros(len(own), dtype=np.int64)
        step = max(1, LARGEST_PAIRS // max(1, len(outer)))
        for start in range(0, len(own), step):
            part = own[start : start + step]
            nests = np.ones((len(part), len(outer)), dtype=bool)
            for d in range(len(self.dims)):
                nests &= outer[None, :, d] % part[:, None, d] == 0
            cost = np.where(nests, np.maximum(self._pairs(part, outer, level), reach[None, :]), inf)
            choice = cost.argmin(axis=1)
            best[start : start + step] = cost[np.arange(len(part)), choice]
            via[start : start + step] = outer_index[choice]
        return best, via

    def _pairs(self, own: IntArray, outer: IntArray, level: int) -> FloatArray:
        """(own, outer) costs of a level, the best loop order of each pair."""
        result = np.full((len(own), len(outer)), inf)
        orders = self.costs.orders(level)
        fits = self.costs.fits(own, level)
        own_groups, outer_groups = self._by_box(own), self._by_box(outer)
        for box, rows in own_groups.items():
            for beyond, columns in outer_groups.items():
                if any(b[0] < a[0] for a, b in zip(box, beyond, strict=True)):
                    continue
                block = np.full((len(rows), len(columns)), inf)
                for k, order in enumerate(orders):
                    words = self._words(order, box, own[rows], beyond, outer[columns])
                    block = np.minimum(block, np.where(fits[rows, k][:, None], words, inf))
                result[np.ix_(rows, columns)] = block
        return (result - self.first) / self.setting.bandwidths[level]

    def _words(self, order: Order, box: Box, own: IntArray, beyond: Box, outer: IntArray) -> FloatArray:
        rows = self.space.traffic(order.flow, box, beyond)
        free = [self.dims.index(d) for d in self.space.free]
        n = self.costs.extents[free]
        left = np.exp(rows.logs[None, :] + np.log(n / -(-n // own[:, free])) @ rows.own.T)
        right = np.exp(np.log(n / -(-n // outer[:, free])) @ rows.next.T)
        return left @ right.T

    def _by_box(self, tiles: IntArray) -> dict[Box, NDArray[np.intp]]:
        """Indices of the tiles that share the values of the boxed dims."""
        columns = [self.dims.index(d) for d in self.space.boxed]
        if not columns:
            return {(): np.arange(len(tiles))}
        keys, inverse = np.unique(tiles[:, columns], axis=0, return_inverse=True)
        return {
            tuple((int(v), int(v)) for v in key): np.flatnonzero(inverse.reshape(-1) == i) for i, key in enumerate(keys)
        }


def _undominated(tiles: IntArray, reach: FloatArray) -> NDArray[np.intp]:
    """Tiles of which no multiple reaches as far as cheaply: the others never help the level inside."""
    order = np.lexsort((-tiles.astype(float).prod(axis=1), reach))
    kept: list[int] = []
    for i in order:
        if kept and ((tiles[kept] % tiles[i] == 0).all(axis=1)).any():
            continue
        kept.append(int(i))
        if len(kept) > 3000:
            return order
    return np.array(kept, dtype=np.intp)


def _trace(stages: list[tuple[IntArray, FloatArray, IntArray]]) -> IntArray:
    """The chain behind the best innermost tile, inner level first."""
    chain = []
    index = int(stages[-1][1].argmin())
    for tiles, _, via in reversed(stages):
        chain.append(tiles[index])
        index = int(via[index])
    return np.array(chain)


@lru_cache(maxsize=65536)
def aligned(extent: int, outer: int, inner: int) -> bool:
    """Whether tiles of `inner` inside tiles of `outer` make no more pieces than `inner` alone."""
    if inner > outer:
        return False
    whole, rest = divmod(extent, outer)
    pieces = whole * -(-outer // inner) + -(-rest // inner)
    return pieces == -(-extent // inner)
