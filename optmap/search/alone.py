"""The exact integer optimum of one level on its own: a lower bound on every integer mapping.

With the whole problem as the next outer tile, a level's cost is as low as any chain can make it:
cutting an extent once makes no more pieces than cutting it in stages. Its optimum over all integer
tiles is found by enumeration: sizes that cut an extent into the same number of pieces differ in
footprint only, so the smallest of each number suffices where footprints are linear, and of one dim
only the largest size that fits, since larger tiles never move more.
"""

from __future__ import annotations

from math import inf, prod

import numpy as np

from optmap.problem.dataflow import window
from optmap.programs.geometric import Box
from optmap.search.chains import BATCH, FEW_CUTS, ChainCosts, IntArray, even_cuts, grid_of
from optmap.search.setting import Setting

LARGEST_GRID = 400_000
"""Tiles beyond which a level is not enumerated."""
LARGEST_BRANCH = 64
"""Extent of a filter-like dim beyond which its sizes are not enumerated."""


def level_optimum(
    setting: Setting, costs: ChainCosts, level: int, box_bounds: dict[Box, float], ceiling: float
) -> tuple[float, IntArray | None]:
    """Exact integer optimum of one level alone.

    Args:
        setting: what is searched.
        costs: its exact costs.
        level: the level; it must not have an imposed tile.
        box_bounds: lower bound of every box of the boxed dims, to skip hopeless ones.
        ceiling: a known bottleneck; tiles that cannot undercut it are skipped.

    Returns:
        the least cost below the ceiling and its tile (D,); (ceiling, None) if there is none. The
        relaxed bound and None if the enumeration is too large.
    """
    relaxed = min(box_bounds.values())
    lists = _candidates(setting)
    if lists is None or setting.safe(level):
        return relaxed, None
    dims = setting.workload.dims
    boxed = [dims.index(d) for d in setting.space.boxed]
    open_boxes = [box for box, bound in box_bounds.items() if bound < ceiling]
    last = max(range(len(dims)), key=lambda d: (d not in boxed, len(lists[d])))
    size = prod(len(v) for d, v in enumerate(lists) if d != last)
    if size > LARGEST_GRID:
        return relaxed, None
    shortened = [values if d != last else [1] for d, values in enumerate(lists)]
    tiles = grid_of(shortened)
    if boxed:
        kept = np.zeros(len(tiles), dtype=bool)
        for box in open_boxes:
            inside = np.ones(len(tiles), dtype=bool)
            for column, (low, high) in zip(boxed, box, strict=True):
                if column != last:
                    inside &= (tiles[:, column] >= low) & (tiles[:, column] <= high)
            kept |= inside
        tiles = tiles[kept]
    tiles = _grow(costs, level, tiles, last, np.array(lists[last], dtype=np.int64))
    return _cheapest(costs, level, tiles, ceiling)


def imposed_optimum(setting: Setting, costs: ChainCosts, level: int) -> tuple[float, IntArray | None]:
    """Exact lower bound on the cost of a level with an imposed tile, over all outer tiles that fit.

    Only dims at or inside a reuse position profit from a larger outer tile; they are enumerated.
    The others need room for the imposed tile only, and make the fewest pieces in the whole extent.

    Args:
        setting: what is searched.
        costs: its exact costs.
        level: a level with an imposed tile.

    Returns:
        the bound, and the smallest next outer tile (D,) that could attain it.
    """
    tile, order = setting.fixed[level]
    whole = np.repeat(costs.extents[None, None], 1, axis=0).repeat(costs.depth, axis=1)
    whole[:, level] = [tile[d] for d in costs.dims]
    if level + 1 == costs.depth:
        return float(costs.evaluate(whole, levels=[level])[0][0, level]), None
    reusing = frozenset(
        d
        for tensor, flow in zip(setting.workload.tensors, order.flow, strict=True)
        for d in (flow.inside | {flow.at} if flow.at is not None and window(tensor, flow.at) else flow.inside)
    )
    lists = []
    for dim, extent in setting.workload.sizes:
        if dim not in reusing:
            lists.append([tile[dim]])
        elif tile[dim] == 1 and dim not in setting.space.boxed and extent <= FEW_CUTS:
            lists.append(list(even_cuts(extent)))
        elif extent <= LARGEST_BRANCH:
            lists.append(list(range(tile[dim], extent + 1)))
        else:
            lists.append([extent])  # as if it fitted whole: lower still, and always valid below
    sizes = grid_of([v if len(v) > 1 else [tile[d]] for v, d in zip(lists, costs.dims, strict=True)])
    sizes = sizes[costs.fits(sizes, level + 1).any(axis=1)]
    columns = np.array([len(v) > 1 for v in lists])
    chains = np.repeat(whole, len(sizes), axis=0)
    chains[:, level + 1] = np.where(columns, sizes, costs.extents)
    if not len(sizes):
        return inf, None
    cost = costs.evaluate(chains, levels=[level])[0][:, level]
    row = int(cost.argmin())
    return float(cost[row]), sizes[row]


def _candidates(setting: Setting) -> list[list[int]] | None:
    """Sizes per dim that suffice; None if a dim would need too many."""
    lists = []
    for dim, extent in setting.workload.sizes:
        if extent > FEW_CUTS:
            return None
        if dim in setting.space.boxed:
            if extent > LARGEST_BRANCH:
                return None
            lists.append(list(range(1, extent + 1)))
        else:
            lists.append(list(even_cuts(extent)))
    return lists


def _grow(costs: ChainCosts, level: int, tiles: IntArray, last: int, values: IntArray) -> IntArray:
    """The largest candidate of one dim that fits, by bisection for all tiles at once."""
    tiles = tiles.copy()
    low = np.zeros(len(tiles), dtype=np.int64)
    high = np.full(len(tiles), len(values), dtype=np.int64)
    tiles[:, last] = values[0]
    alive = costs.fits(tiles, level).any(axis=1)
    tiles, low, high = tiles[alive], low[alive], high[alive]
    while len(tiles) and (high - low > 1).any():
        middle = (low + high) // 2
        tiles[:, last] = values[middle]
        good = costs.fits(tiles, level).any(axis=1)
        low, high = np.where(good, middle, low), np.where(good, high, middle)
    tiles[:, last] = values[low]
    return tiles


def _cheapest(costs: ChainCosts, level: int, tiles: IntArray, ceiling: float) -> tuple[float, IntArray | None]:
    best, found = ceiling, None
    for start in range(0, len(tiles), BATCH):
        part = tiles[start : start + BATCH]
        chains = np.repeat(costs.extents[None, None], len(part), axis=0).repeat(costs.depth, axis=1)
        chains[:, level] = part
        cost = costs.evaluate(chains, levels=[level])[0][:, level]
        row = int(cost.argmin())
        if cost[row] < min(best, inf):
            best, found = float(cost[row]), part[row]
    return best, found
