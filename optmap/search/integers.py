"""Integer mappings: from real tiles to the best whole ones that the search can find or prove.

Costs are exact integers (ragged tiles included) divided by bandwidths; candidates are compared by
their largest level cost, then the second largest, and so on, then by their sum: where one level
dominates, the others are still pushed down.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import inf

import numpy as np
from numpy.typing import NDArray

from optmap.evaluate.levels import level_model
from optmap.problem.machine import CapacityRule
from optmap.search.setting import Order, Setting

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

GRID = 40_000
"""Candidate tiles of one level looked at in one move."""
BATCH = 20_000
"""Chains evaluated at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IntegerPoint:
    """Integer tiles and loop orders of every level with their exact costs."""

    chain: tuple[tuple[int, ...], ...]
    """Per level, inner first: extent per dim in canonical order."""
    spatial: tuple[int, ...]
    """Ways in which the split level's tile is divided, per dim (all 1 for one core)."""
    orders: tuple[Order, ...]
    """Per level."""
    costs: tuple[float, ...]
    """Per level: traffic/bandwidth."""

    @property
    def key(self) -> tuple[float, ...]:
        """What points are compared by: costs from the largest down, then their sum."""
        return (*sorted(self.costs, reverse=True), sum(self.costs))


class ChainCosts:
    """Exact costs of many chains of integer tiles at once."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.model = level_model(setting.workload)
        self.dims = setting.workload.dims
        self.extents = np.array([n for _, n in setting.workload.sizes], dtype=np.int64)
        self.depth = len(setting.machine.levels)

    def orders(self, level: int) -> tuple[Order, ...]:
        """Loop orders to choose from at a level."""
        imposed = self.setting.fixed.get(level)
        return self.setting.orders if imposed is None else (imposed[1],)

    def fits(self, tiles: IntArray, level: int) -> NDArray[np.bool_]:
        """(B, orders): whether each tile fits the level under each loop order."""
        capacity = self.setting.capacities[level]
        orders = self.orders(level)
        if self.setting.rule is CapacityRule.TILE:
            one = np.asarray(self.model.occupancy(tiles) <= capacity)
            return np.repeat(one[:, None], len(orders), axis=1)
        return np.stack([self.model.safe_occupancy(tiles, o.working) <= capacity for o in orders], axis=1)

    def evaluate(
        self, chains: IntArray, spatial: IntArray | None = None, levels: Sequence[int] | None = None
    ) -> tuple[FloatArray, IntArray]:
        """Cost and best loop order of every level.

        Args:
            chains: (B, L, D) tiles, inner level first.
            spatial: (B, D) ways at the split level, or None.
            levels: which levels to price; the others cost 0. None for all.

        Returns:
            (B, L) costs (infinite where a tile does not fit) and (B, L) indices into `orders`.
        """
        size = len(chains)
        costs = np.zeros((size, self.depth))
        chosen = np.zeros((size, self.depth), dtype=np.int64)
        ways = self._ways(chains, spatial)
        for level in range(self.depth) if levels is None else levels:
            orders = self.orders(level)
            traffic = np.asarray(
                self.model.traffic_all(chains, level, [o.flow for o in orders], ways), dtype=np.float64
            )
            traffic = np.where(self.fits(chains[:, level], level), traffic, inf)
            chosen[:, level] = traffic.argmin(axis=1)
            costs[:, level] = traffic[np.arange(size), chosen[:, level]] / self.setting.bandwidths[level]
        return costs, chosen

    def _ways(self, chains: IntArray, spatial: IntArray | None) -> IntArray | None:
        level = self.setting.split_level
        if level is None or spatial is None:
            return None
        ways = np.ones_like(chains)
        ways[:, level] = spatial
        return ways

    def point(self, chain: IntArray, spatial: IntArray | None, costs: FloatArray, chosen: IntArray) -> IntegerPoint:
        """One evaluated chain as a value."""
        return IntegerPoint(
            chain=tuple(tuple(int(x) for x in row) for row in chain),
            spatial=tuple(int(x) for x in spatial) if spatial is not None else (1,) * len(self.dims),
            orders=tuple(self.orders(level)[int(chosen[level])] for level in range(self.depth)),
            costs=tuple(float(c) for c in costs),
        )

    def best(self, chains: IntArray, spatial: IntArray | None = None) -> IntegerPoint | None:
        """The best of many chains; None if none fits."""
        found: IntegerPoint | None = None
        for start in range(0, len(chains), BATCH):
            part = chains[start : start + BATCH]
            ways = None if spatial is None else spatial[start : start + BATCH]
            costs, chosen = self.evaluate(part, ways)
            row = _first(costs)
            if costs[row].max() < inf:
                point = self.point(part[row], None if ways is None else ways[row], costs[row], chosen[row])
                if found is None or point.key < found.key:
                    found = point
        return found


def _first(costs: FloatArray) -> int:
    """Row with the least sorted costs, ties by their sum."""
    descending = -np.sort(-costs, axis=1)
    keys = (costs.sum(axis=1), *descending.T[::-1])
    return int(np.lexsort(keys)[0])


class Descent:
    """Block descent: one level's whole tile at a time, the others held or clipped to it."""

    def __init__(self, costs: ChainCosts, *, divisors: bool, deadline: float) -> None:
        self.costs = costs
        self.setting = costs.setting
        self.divisors = divisors
        self.deadline = deadline

    def start(self, tiles: Sequence[dict[str, float]]) -> IntArray:
        """Whole tiles at or below real ones: floors, or the largest divisors."""
        chain = np.ones((self.costs.depth, len(self.costs.dims)), dtype=np.int64)
        outer = self.costs.extents
        for level in range(self.costs.depth - 1, -1, -1):
            for d, dim in enumerate(self.costs.dims):
                limit = int(tiles[level][dim] + 1e-6)
                if self.divisors:
                    limit = max(v for v in divisors_of(int(outer[d])) if v <= max(1, limit))
                chain[level, d] = max(1, min(limit, int(outer[d])))
            if level in self.setting.fixed:
                chain[level] = [self.setting.fixed[level][0][dim] for dim in self.costs.dims]
            outer = chain[level]
        for level in self.setting.fixed:
            for above in range(level + 1, self.costs.depth):
                chain[above] = np.maximum(chain[above], chain[level])
        return chain

    def run(self, chain: IntArray, spatial: IntArray | None, *, goal: float = 0.0) -> IntegerPoint | None:
        """Improve a chain until no level's move does; stops early once the largest cost is `goal`
        and a full round brought nothing."""
        ways = None if spatial is None else spatial[None, :]
        best = self.costs.best(chain[None], ways)
        for _ in range(12):
            before = best.key if best is not None else (inf,)
            current = np.array(best.chain) if best is not None else chain
            levels = [i for i in range(self.costs.depth) if i not in self.setting.fixed]
            if best is not None:
                levels.sort(key=lambda i: -best.costs[i])  # type: ignore[union-attr]
            for level in levels:
                for tied in (True, False):
                    found = self._move(current, level, spatial, tied=tied)
                    if found is not None and (best is None or found.key < best.key):
                        best = found
                        current = np.array(best.chain)
            after = best.key if best is not None else (inf,)
            small = best is not None and best.costs and max(best.costs) <= goal
            if after >= before or time.monotonic() > self.deadline:
                break
            if small and after[0] >= before[0] * (1 - 1e-3) and after[-1] >= before[-1] * 0.99:
                break
        return best

    def _move(self, chain: IntArray, level: int, spatial: IntArray | None, *, tied: bool) -> IntegerPoint | None:
        """The best tile of one level; the other levels follow.

        Args:
            chain: (L, D) current tiles.
            level: the level whose tile changes.
            spatial: (D,) ways at the split level, or None.
            tied: let extents that equal this level's now move along with it; otherwise inner
                tiles are only clipped to it and outer ones only raised.
        """
        costs = self.costs
        free = tied and level + 1 < costs.depth
        outer = costs.extents if level + 1 == costs.depth or free else chain[level + 1]
        lists = [
            self._values(int(chain[level, d]), int(outer[d]), int(chain[level - 1, d]) if level else 1)
            for d in range(len(costs.dims))
        ]
        lists = thin(lists, chain[level], GRID)
        grid = np.stack(np.meshgrid(*lists, indexing="ij"), axis=-1)
        shape = grid.shape[:-1]
        tiles = grid.reshape(-1, len(lists))
        near = costs.fits(tiles, level).any(axis=1)
        chains = self._follow(chain, level, tiles[near], tied)
        fits = np.ones(len(chains), dtype=bool)
        for other in range(costs.depth):
            if other != level and other not in self.setting.fixed:
                fits &= costs.fits(chains[:, other], other).any(axis=1)
        keep = np.zeros(len(tiles), dtype=bool)
        keep[np.flatnonzero(near)[fits]] = True
        maximal = _maximal(keep.reshape(shape)).reshape(-1)
        chains = chains[maximal[near]]
        if len(chains) == 0:
            return None
        return costs.best(chains, None if spatial is None else np.repeat(spatial[None], len(chains), axis=0))

    def _follow(self, chain: IntArray, level: int, tiles: IntArray, tied: bool) -> IntArray:
        """Chains in which one level has new tiles and the others are made to nest."""
        chains = np.repeat(chain[None], len(tiles), axis=0)
        chains[:, level] = tiles
        for inner in range(level - 1, -1, -1):
            if inner in self.setting.fixed:
                break
            if tied:
                chains[:, inner] = np.where(chain[inner] == chain[level], tiles, chains[:, inner])
            chains[:, inner] = (np.gcd if self.divisors else np.minimum)(chains[:, inner], chains[:, inner + 1])
        for outer in range(level + 1, len(chain)):
            if tied:
                chains[:, outer] = np.where(chain[outer] == chain[level], tiles, chains[:, outer])
            chains[:, outer] = (np.lcm if self.divisors else np.maximum)(chains[:, outer], chains[:, outer - 1])
        return chains

    def _values(self, now: int, outer: int, inner: int) -> list[int]:
        """Candidate extents of one dim at one level."""
        if self.divisors:
            return [v for v in divisors_of(outer)]
        values = set(even_cuts(outer))
        values.update((now, min(now + 1, outer), max(now - 1, 1)))
        if inner > 1:
            values.update(range(inner, outer + 1, max(inner, (outer - inner) // 24 // inner * inner or inner)))
        return sorted(v for v in values if 1 <= v <= outer)


def _maximal(keep: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Grid points kept of which no next larger neighbour is: larger tiles never move more."""
    grows = np.zeros_like(keep)
    for d in range(keep.ndim):
        here, ahead = [slice(None)] * keep.ndim, [slice(None)] * keep.ndim
        here[d], ahead[d] = slice(0, -1), slice(1, None)
        grows[tuple(here)] |= keep[tuple(ahead)]
    return keep & ~grows


def thin(lists: Sequence[list[int]], now: IntArray, budget: int) -> list[list[int]]:
    """Keep the candidates nearest to the current values until the grid fits the budget."""
    kept = [list(values) for values in lists]
    while np.prod([float(len(v)) for v in kept]) > budget:
        widest = max(range(len(kept)), key=lambda d: len(kept[d]))
        values, centre = kept[widest], float(now[widest])
        ends = {values[0], values[-1]}
        far = max((v for v in values if v not in ends or len(values) <= 2), key=lambda v: abs(np.log(v / centre)))
        values.remove(far)
    return kept


@lru_cache(maxsize=4096)
def even_cuts(extent: int) -> tuple[int, ...]:
    """The smallest tile for every possible number of tiles: ceil(extent / m) for all m."""
    values = []
    m = 1
    while True:
        size = -(-extent // m)
        values.append(size)
        if size == 1:
            return tuple(reversed(values))
        m = -(-extent // (size - 1))


@lru_cache(maxsize=4096)
def divisors_of(number: int) -> tuple[int, ...]:
    """All divisors, increasing."""
    small = [k for k in range(1, int(number**0.5) + 1) if number % k == 0]
    return tuple(sorted({*small, *(number // k for k in small)}))


def factorizations(number: int, limits: Sequence[int]) -> list[tuple[int, ...]]:
    """All ways to write `number` as an ordered product with each factor within its limit."""
    if not limits:
        return [()] if number == 1 else []
    return [
        (f, *rest) for f in divisors_of(number) if f <= limits[0] for rest in factorizations(number // f, limits[1:])
    ]


def all_chains(extents: Sequence[int], depth: int, *, divisors: bool) -> IntArray:
    """Every chain of nested tiles, (B, depth, D): for exhaustive search on small problems."""
    per_dim = []
    for extent in extents:
        sizes = divisors_of(extent) if divisors else tuple(range(1, extent + 1))
        chains = [
            c
            for c in product(sizes, repeat=depth)
            if all((b % a == 0 if divisors else a <= b) for a, b in zip(c, c[1:]))
        ]
        per_dim.append(np.array(chains, dtype=np.int64))
    index = np.stack(np.meshgrid(*[np.arange(len(c)) for c in per_dim], indexing="ij"), axis=-1).reshape(
        -1, len(extents)
    )
    return np.stack([per_dim[d][index[:, d]] for d in range(len(extents))], axis=-1)


def chain_count(extents: Sequence[int], depth: int, *, divisors: bool) -> float:
    """How many chains `all_chains` would return."""
    total = 1.0
    for extent in extents:
        if divisors:
            ways = {v: 1.0 for v in divisors_of(extent)}
            for _ in range(depth - 1):
                ways = {v: sum(ways[u] for u in ways if v % u == 0) for v in ways}
            total *= sum(ways.values())
        else:
            count = 1.0
            for i in range(depth):
                count = count * (extent + i) / (i + 1)
            total *= count
    return total
