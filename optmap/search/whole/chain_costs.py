"""Chains of integer tiles: candidates for them and their exact costs, many at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import islice, product
from math import ceil, inf, prod

import numpy as np
from numpy.typing import NDArray

from optmap.base.arrays import Floats, Ints
from optmap.base.clock import Clock
from optmap.count.levels.factors import Flows
from optmap.count.levels.per_level import level_model
from optmap.mappings.constraints import Sizes
from optmap.mappings.reuse import TensorRoom
from optmap.search.space.allowed import Allowed
from optmap.search.space.search_space import Order, Setting
from optmap.search.space.sizes import FEW_CUTS
from optmap.search.whole.tops import Tops
from optmap.symbolic.numbers import divisors_of

BATCH = 20_000
"""Chains evaluated at once."""
LONGEST = 80
"""Candidate sizes per dim that are looked at in one grid."""
ROUNDING = 1e-12
"""Relative distance by which a bound in floats may be too high."""


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
    def value(self) -> float:
        """The bottleneck: the largest cost."""
        return max(self.costs)

    @property
    def rest(self) -> float:
        """The costs of all levels but the bottleneck, added up."""
        return sum(self.costs) - self.value

    @property
    def key(self) -> tuple[float, ...]:
        """What points are compared by: costs from the largest down, then their sum.

        Where one level dominates, the others are still pushed down.
        """
        return (*sorted(self.costs, reverse=True), sum(self.costs))


class ChainCosts:
    """Exact costs of many chains of integer tiles at once."""

    def __init__(self, setting: Setting, tops: Tops[IntegerPoint] | None = None) -> None:
        self.setting = setting
        self.tops = tops
        """Where the best few of all chains that are priced at every level are kept; None for nowhere."""
        self.model = level_model(setting.workload)
        self.dims = setting.workload.dims
        self.extents: Ints = np.array([n for _, n in setting.workload.sizes], dtype=np.int64)
        self.depth = len(setting.machine.levels)
        self.boxed = [self.dims.index(d) for d in setting.space.boxed]
        self._flows = dict[int, Flows]()

    def orders(self, level: int) -> tuple[Order, ...]:
        """Loop orders to choose from at a level."""
        return self.setting.orders_at(level)

    def fits(self, tiles: Ints, level: int) -> NDArray[np.bool_]:
        """(B, orders): whether each tile fits the level under each loop order."""
        capacity = self.setting.capacities[level]
        orders = self.orders(level)
        if not self.setting.safe(level):
            one = np.asarray(self.model.occupancy(tiles) <= capacity)
            return np.broadcast_to(one[:, None], (len(tiles), len(orders)))
        return np.stack([self.model.safe_occupancy(tiles, o.working) <= capacity for o in orders], axis=1)

    def fits_somehow(self, tiles: Ints, level: int) -> NDArray[np.bool_]:
        """(B,): whether each tile fits the level under some loop order."""
        held = (self.model.safe_occupancy(tiles, room) for room in self._rooms(level))
        return np.asarray(np.logical_or.reduce([words <= self.setting.capacities[level] for words in held]))

    def grid_fits(self, sizes: Sequence[Ints], level: int) -> NDArray[np.bool_]:
        """Which combinations of sizes, some per dim, fit a level under some loop order: (n_0, n_1, …)."""
        held = (self.model.grid_occupancy(sizes, room) for room in self._rooms(level))
        return np.asarray(np.logical_or.reduce([words <= self.setting.capacities[level] for words in held]))

    def _rooms(self, level: int) -> set[tuple[TensorRoom, ...]]:
        """What the loop orders of a level need room for."""
        return {o.working for o in self.orders(level)} if self.setting.safe(level) else {self.setting.least_working}

    def flows(self, level: int) -> Flows:
        """The dataflows of the loop orders of a level."""
        if level not in self._flows:
            self._flows[level] = self.model.flows([order.flow for order in self.orders(level)])
        return self._flows[level]

    def evaluate(
        self,
        chains: Ints,
        spatial: Ints | None = None,
        levels: Sequence[int] | None = None,
        ceiling: float = inf,
        *,
        fitting: bool = False,
    ) -> tuple[Floats, Ints]:
        """Cost and best loop order of every level.

        Args:
            chains: (B, L, D) tiles, inner level first.
            spatial: (B, D) ways at the split level, or None.
            levels: which levels to price, in this order; the others cost 0. None for all.
            ceiling: levels after one at which all chains cost more need not be priced.
            fitting: whether every tile is known to fit its level under some loop order.

        Returns:
            (B, L) costs (infinite where a tile does not fit, and above the ceiling) and (B, L) indices into `orders`.
        """
        costs = np.zeros((len(chains), self.depth))
        chosen = np.zeros((len(chains), self.depth), dtype=np.int64)
        levels = range(self.depth) if levels is None else levels
        rows = np.arange(len(chains))
        traffics = self.model.traffic_at(chains, levels, map(self.flows, levels), self._ways(chains, spatial))
        for level, words in zip(levels, traffics, strict=True):
            traffic = np.asarray(words, dtype=np.float64)
            if self.setting.safe(level) or not fitting:
                traffic = np.where(self.fits(chains[:, level], level), traffic, inf)
            chosen[:, level] = order = traffic.argmin(axis=1)
            cost = traffic[rows, order] / self.setting.bandwidths[level]
            costs[:, level] = np.where(cost > ceiling, inf, cost)
            if ceiling < inf and not (cost <= ceiling).any():
                break
        return costs, chosen

    def in_whole(self, tiles: Ints, level: int, *, clock: Clock) -> Floats:
        """(n,) what tiles that fit a level (n, D) cost in the whole problem, their last tiles counted as they are.

        Raises:
            LimitError: if the time is over.
        """
        found = np.zeros(len(tiles))
        for start in range(0, len(tiles), BATCH):
            clock.check()
            part = tiles[start : start + BATCH]
            chains = np.repeat(self.extents[None, None], len(part), axis=0).repeat(self.depth, axis=1)
            chains[:, level] = part
            found[start : start + BATCH] = self.evaluate(chains, levels=[level], fitting=True)[0][:, level]
        return found

    def priced(self, chain: Ints, spatial: Ints | None, orders: tuple[Order, ...]) -> IntegerPoint:
        """One chain (L, D) under given loop orders."""
        ways = self._ways(chain[None], None if spatial is None else spatial[None])
        costs = (
            float(self.model.traffic(chain[None], level, order.flow, ways)[0]) / self.setting.bandwidths[level]
            for level, order in enumerate(orders)
        )
        return self._point(chain, spatial, orders, costs)

    def best(
        self,
        chains: Ints,
        spatial: Ints | None = None,
        *,
        ceiling: float = inf,
        levels: Sequence[int] | None = None,
        others: IntegerPoint | None = None,
        fitting: bool = False,
    ) -> IntegerPoint | None:
        """The best of many chains; None if none fits, or all cost more than a ceiling.

        Args:
            chains: (B, L, D) tiles, inner level first.
            spatial: (B, D) ways at the split level, or None.
            ceiling: chains whose bottleneck is above it are left out.
            levels: which levels to price, those first that cost too much most often; None for all.
            others: a point in which the other levels have the same tiles, and so the same costs.
            fitting: whether every tile is known to fit its level under some loop order.
        """
        found: IntegerPoint | None = None
        for start in range(0, len(chains), BATCH):
            part = chains[start : start + BATCH]
            ways = None if spatial is None else spatial[start : start + BATCH]
            costs, chosen = self.evaluate(part, ways, levels, ceiling, fitting=fitting)
            if others is not None:
                for level in set(range(self.depth)).difference(levels or ()):
                    costs[:, level] = others.costs[level]
                    chosen[:, level] = self.orders(level).index(others.orders[level])
            row = _first(costs)
            if costs[row].max() < inf:
                point = self._row(part, ways, costs, chosen, row)
                if found is None or point.key < found.key:
                    found = point
            if self.tops is not None and (levels is None or others is not None):
                self._show(self.tops, part, ways, costs, chosen)
        return found

    def _row(self, chains: Ints, spatial: Ints | None, costs: Floats, chosen: Ints, row: int) -> IntegerPoint:
        """One of many chains that were priced, as a point."""
        orders = tuple(self.orders(level)[number] for level, number in enumerate(chosen[row].tolist()))
        return self._point(chains[row], None if spatial is None else spatial[row], orders, costs[row].tolist())

    def _show(self, tops: Tops[IntegerPoint], chains: Ints, spatial: Ints | None, costs: Floats, chosen: Ints) -> None:
        """Show the best of many chains that were priced to those that are kept: of equal costs the first."""
        _, firsts = np.unique(costs, axis=0, return_index=True)
        largest = costs[firsts].max(axis=1)
        for number in np.argsort(largest, kind="stable")[: tops.count].tolist():
            if largest[number] < inf and largest[number] <= tops.worst:
                tops.show(self._row(chains, spatial, costs, chosen, int(firsts[number])))

    def reachable(self, bound: float) -> float:
        """The least cost that a whole number of words makes at some level, no less than a bound: a bound as well."""
        if bound == inf:
            return inf
        return min(ceil(bound * rate * (1 - ROUNDING)) / rate for rate in self.setting.bandwidths)

    def _ways(self, chains: Ints, spatial: Ints | None) -> Ints | None:
        level = self.setting.split_level
        if level is None or spatial is None:
            return None
        ways = np.ones_like(chains)
        ways[:, level] = spatial
        return ways

    def _point(
        self, chain: Ints, spatial: Ints | None, orders: tuple[Order, ...], costs: Iterable[float]
    ) -> IntegerPoint:
        return IntegerPoint(
            chain=tuple(map(tuple, chain.tolist())),
            spatial=(1,) * len(self.dims) if spatial is None else tuple(spatial.tolist()),
            orders=orders,
            costs=tuple(costs),
        )


def _first(costs: Floats) -> int:
    """Row with the least sorted costs, ties by their sum."""
    descending = -np.sort(-costs, axis=1)
    return int(np.lexsort((costs.sum(axis=1), *descending.T[::-1]))[0])


def grid_of(lists: Sequence[Sequence[int]]) -> Ints:
    """Every combination of candidates, one per dim: (n, D)."""
    arrays = [np.array(values, dtype=np.int64) for values in lists]
    return np.stack(np.meshgrid(*arrays, indexing="ij"), axis=-1).reshape(-1, len(lists))


def thin(lists: Sequence[list[int]], now: Ints, budget: int) -> list[list[int]]:
    """Drop the candidates farthest from the current values until the grid fits the budget."""
    kept = [list(values) for values in lists]
    for d, values in enumerate(kept):
        if len(values) > LONGEST:
            near = sorted(values[1:-1], key=partial(_ratio, centre=float(max(1, int(now[d])))))[: LONGEST - 2]
            kept[d] = sorted([values[0], *near, values[-1]])
    lengths = [len(values) for values in kept]
    size = prod(lengths)
    while size > budget:  # of the longest list the farthest value goes, of others none yet
        longest = max(lengths)
        lengths[lengths.index(longest)] = longest - 1
        size = size // longest * (longest - 1)
    for d, (values, length) in enumerate(zip(kept, lengths, strict=True)):
        if length < len(values):
            far = sorted(values[1:-1], key=partial(_ratio, centre=float(now[d])), reverse=True)
            kept[d] = sorted({*values}.difference([*far, values[0]][: len(values) - length]))
    return kept


def _ratio(value: int, centre: float) -> float:
    return max(value / centre, centre / value)


def chain_count(extents: Sequence[int], depth: int, *, divisors: bool = False, allowed: Allowed | None = None) -> float:
    """Number of chains of nested integer tiles; with `divisors`, of those that divide each other and the extents.

    Divisors of extents beyond `FEW_CUTS` are not counted: infinitely many. Where sizes are constrained it is at
    least the number of chains that are left.
    """
    if allowed is not None and not allowed.free:
        left = (prod(float(row[d].count) for row in allowed.sizes) for d in range(len(extents)))
        return prod(map(min, left, (chain_count([n], depth, divisors=divisors) for n in extents)))
    if divisors:
        return inf if max(extents) > FEW_CUTS else prod(float(_divisor_chains(n, depth)) for n in extents)
    return prod(prod((extent + i) / (i + 1) for i in range(depth)) for extent in extents)


@lru_cache(maxsize=4096)
def _divisor_chains(extent: int, depth: int) -> int:
    return sum(_divisor_chains(size, depth - 1) for size in divisors_of(extent)) if depth else 1


def all_chains(extents: Sequence[int], depth: int, *, divisors: bool = False, allowed: Allowed | None = None) -> Ints:
    """Every chain that `chain_count` counts, (B, depth, D): for exhaustive search on small problems."""
    anything = [[Sizes(low=1, high=extent)] * depth for extent in extents]
    left = anything if allowed is None else [[row[d] for row in allowed.sizes] for d in range(len(extents))]
    per_dim = [
        np.array(_nested(extent, sizes, divisors=divisors), dtype=np.int64).reshape(-1, depth)
        for extent, sizes in zip(extents, left, strict=True)
    ]
    index = grid_of([range(len(chains)) for chains in per_dim])
    return np.stack([per_dim[d][index[:, d]] for d in range(len(per_dim))], axis=-1)


def _nested(extent: int, left: Sequence[Sizes], *, divisors: bool) -> list[tuple[int, ...]]:
    """The tiles of one dim, inner level first, of the sizes that are left per level."""
    if not left:
        return [()]
    own = left[-1]
    some = range(own.low, min(extent, own.high) + 1, own.step)
    sizes = [n for n in divisors_of(extent) if own.admits(n)] if divisors else some
    return [(*inner, size) for size in sizes for inner in _nested(size, left[:-1], divisors=divisors)]


def least_chains(
    setting: Setting, spatial: Ints | None = None, *, divisors: bool = False, most: int = BATCH
) -> tuple[Ints, bool]:
    """Chains such that some chain fits if one of these does: no other one has smaller tiles everywhere.

    Args:
        setting: extents and allowed sizes.
        spatial: (D,) ways at the split level, or None.
        divisors: whether tiles must divide the next outer part.
        most: chains at most.

    Returns:
        (n, L, D) chains, and whether these are all of them.
    """
    depth, allowed = len(setting.machine.levels), setting.allowed
    per_dim = []
    for d, (_, extent) in enumerate(setting.workload.sizes):
        ways = [1] * depth
        if spatial is not None and setting.split_level is not None:
            ways[setting.split_level] = int(spatial[d])
        per_dim.append(allowed.chains(d, extent, ways, divisors=divisors, imposed=tuple(setting.fixed)))
    count = prod(len(chains) for chains in per_dim)
    chosen = [list(choice) for choice in islice(product(*per_dim), most)]
    return np.array(chosen, dtype=np.int64).reshape(-1, len(per_dim), depth).transpose(0, 2, 1), count <= most
