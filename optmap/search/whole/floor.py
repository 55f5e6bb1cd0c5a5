"""MOpt's own way to integers: round every tile down, then balance (Algorithm 1, lines 23-24)."""

from __future__ import annotations

import numpy as np

from optmap.base.arrays import Ints
from optmap.base.clock import NO_LIMIT
from optmap.base.errors import InfeasibleError
from optmap.search.relax.tree import RelaxedPoint
from optmap.search.space.search_space import Order, Setting
from optmap.search.space.sizes import factorizations
from optmap.search.whole.chain_costs import ChainCosts, IntegerPoint
from optmap.search.whole.descent import BlockDescent


def floor_and_balance(setting: Setting, relaxed: RelaxedPoint) -> IntegerPoint:
    """Round the tiles of a relaxed point down and even them out.

    Balancing gives every tile the smallest size that cuts its outer tile into the same number of
    tiles: no tile is left much smaller than the others, so that no core idles on it. With
    several cores the split with the least cost is taken.

    Args:
        setting: what was relaxed.
        relaxed: its point; the loop orders are kept.

    Raises:
        InfeasibleError: if the rounded tiles cannot be split among the cores.
    """
    costs = ChainCosts(setting)
    chain = BlockDescent(costs, divisors=False, clock=NO_LIMIT).start(relaxed.tiles, None)
    outer = costs.extents
    for level in range(costs.depth - 1, -1, -1):
        if level not in setting.fixed:
            chain[level] = -(-outer // -(-outer // chain[level]))
            chain[level] = np.maximum(chain[level], setting.allowed.low[level])
        outer = chain[level]
    orders = tuple(setting.order(permutation) for permutation in relaxed.permutations)
    return price_and_split(setting, chain, orders)


def price_and_split(setting: Setting, chain: Ints, orders: tuple[Order, ...]) -> IntegerPoint:
    """A chain under given loop orders, with the cheapest split among the cores.

    Args:
        setting: workload, machine and cores.
        chain: (L, D) whole tiles, inner level first.
        orders: loop order per level.

    Raises:
        InfeasibleError: if the tiles do not fit, or cannot be split among the cores.
    """
    costs = ChainCosts(setting)
    if setting.split_level is None:
        if not _fits(costs, chain, orders):  # gaps between values: a smaller tile may touch more words
            raise InfeasibleError("the rounded tiles do not fit; use --integers exact")
        return costs.priced(chain, None, orders)
    reduction = set(setting.workload.reduction_dims)
    limits = [1 if d in reduction else n for d, n in setting.workload.sizes]
    points = []
    descent = BlockDescent(costs, divisors=False, clock=NO_LIMIT)
    for ways in factorizations(setting.cores, limits):
        spatial = np.array(ways, dtype=np.int64)
        split = descent.raise_to(chain, spatial)
        if descent.nests(split[None], spatial)[0] and _fits(costs, split, orders):
            points.append(costs.priced(split, spatial, orders))
    if not points:
        raise InfeasibleError(f"the rounded tiles cannot be split among {setting.cores} cores; use --integers exact")
    return min(points, key=lambda point: point.key)


def _fits(costs: ChainCosts, chain: Ints, orders: tuple[Order, ...]) -> bool:
    """Whether every level still holds its tile: raising the split tile may have made it too large."""
    dims = costs.dims
    return all(
        costs.setting.occupancy(dict(zip(dims, chain[level].tolist(), strict=True)), orders[level], level) <= capacity
        for level, capacity in enumerate(costs.setting.capacities)
    )
