"""The exact integer optimum of one level on its own: a lower bound on every integer mapping.

With the whole problem as the next outer tile, a level's cost is as low as any chain can make it:
cutting an extent once makes no more tiles than cutting it in stages. Its optimum over all integer
tiles is found by enumeration: sizes that cut an extent into the same number of tiles differ in
footprint only, so the smallest of each number suffices where footprints are linear, and of one dim
only the largest size that fits, since larger tiles never move more. (They do where a dim stands in
two subscripts of a tensor: the tile is the box around a diagonal. Such levels are not enumerated.)
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, prod

import numpy as np

from optmap.base.arrays import Ints
from optmap.base.clock import Clock
from optmap.programs.geometric import Box
from optmap.search.space.search_space import Setting
from optmap.search.space.sizes import FEW_CUTS, even_cuts
from optmap.search.whole.chain_costs import BATCH, ChainCosts, grid_of
from optmap.workloads.axes import window
from optmap.workloads.workload import TensorAccess

LARGEST_GRID = 400_000
"""Tiles beyond which a level is not enumerated, and outer tiles that an imposed one is priced in, at most."""
LARGEST_BRANCH = 64
"""Extent of a filter-like dim beyond which its sizes are not enumerated."""


def level_optimum(
    setting: Setting, costs: ChainCosts, level: int, box_bounds: dict[Box, float], ceiling: float, *, clock: Clock
) -> tuple[float, Ints | None]:
    """Exact integer optimum of one level alone.

    Args:
        setting: what is searched.
        costs: its exact costs.
        level: the level; it must not have an imposed tile.
        box_bounds: lower bound of every box of the boxed dims, to skip hopeless ones.
        ceiling: a known bottleneck; tiles that cannot undercut it are skipped.
        clock: when to give up.

    Returns:
        the least cost below the ceiling and its tile (D,); (ceiling, None) if there is none. The
        relaxed bound and None if the enumeration is too large.

    Raises:
        LimitError: if the time is over before every tile was looked at.
    """
    relaxed = min(box_bounds.values())
    lists = candidates(setting, level)
    if lists is None or not all(lists) or setting.safe(level) or any(map(is_diagonal, setting.workload.tensors)):
        return relaxed, None
    dims = setting.workload.dims
    boxed = [dims.index(d) for d in setting.space.boxed]
    open_boxes = [box for box, bound in box_bounds.items() if bound < ceiling]
    last = max(range(len(dims)), key=lambda d: (d not in boxed, len(lists[d])))
    size = prod(len(v) for d, v in enumerate(lists) if d != last)
    if size > LARGEST_GRID:
        return relaxed, None
    shortened = [values if d != last else values[:1] for d, values in enumerate(lists)]
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
    tiles = grow(costs, level, tiles, last, np.array(lists[last], dtype=np.int64), clock=clock)
    cost, row = _cheapest(
        costs, level, costs.extents[None].repeat(costs.depth, axis=0), level, tiles, ceiling=ceiling, clock=clock
    )
    return cost, None if row is None else tiles[row]


def imposed_optimum(setting: Setting, costs: ChainCosts, level: int, *, clock: Clock) -> tuple[float, Ints | None]:
    """Exact lower bound on the cost of a level with an imposed tile, over all outer tiles that fit.

    Only dims at or inside a reuse position profit from a larger outer tile; they are enumerated.
    The others need room for the imposed tile only, and make the fewest tiles in the whole extent;
    so do the longest of the enumerated ones where there would be too many outer tiles.

    Args:
        setting: what is searched.
        costs: its exact costs.
        level: a level with an imposed tile.
        clock: when to give up.

    Returns:
        the bound, and the smallest next outer tile (D,) that could attain it.

    Raises:
        LimitError: if the time is over before every outer tile was looked at.
    """
    tile, order = setting.fixed[level]
    whole = costs.extents[None].repeat(costs.depth, axis=0)
    whole[level] = [tile[d] for d in costs.dims]
    if level + 1 == costs.depth:
        return float(costs.evaluate(whole[None], levels=[level])[0][0, level]), None
    reusing = frozenset(
        d
        for tensor, flow in zip(setting.workload.tensors, order.flow, strict=True)
        for d in (flow.free | {flow.at} if flow.at is not None and window(tensor, flow.at) else flow.free)
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
    lists = _shortened(lists, costs.extents.tolist())
    sizes = grid_of([v if len(v) > 1 else [tile[d]] for v, d in zip(lists, costs.dims, strict=True)])
    sizes = sizes[costs.fits_somehow(sizes, level + 1)]
    columns = np.array([len(v) > 1 for v in lists])
    outer = np.where(columns, sizes, costs.extents)
    cost, row = _cheapest(costs, level, whole, level + 1, outer, ceiling=inf, clock=clock)
    return cost, None if row is None else sizes[row]


def _shortened(lists: Sequence[list[int]], extents: Sequence[int]) -> list[list[int]]:
    """Sizes per dim whose grid is not too large: dims left out, the longest first, count as if they fitted whole."""
    kept = list(lists)
    while prod(len(values) for values in kept) > LARGEST_GRID:
        longest = max(range(len(kept)), key=lambda d: len(kept[d]))
        kept[longest] = [extents[longest]]
    return kept


def is_diagonal(tensor: TensorAccess) -> bool:
    """Whether a dim stands in two subscripts."""
    dims = [dim for axis in tensor.axes for dim in axis.dims]
    return len(set(dims)) < len(dims)


def candidates(setting: Setting, level: int) -> list[list[int]] | None:
    """Sizes per dim that suffice; None if a dim would need too many.

    Of the sizes that are allowed the least one at or above each even cut: any other one that makes
    as few tiles is larger.
    """
    lists, allowed = list[list[int]](), setting.allowed
    for d, (dim, extent) in enumerate(setting.workload.sizes):
        if extent > FEW_CUTS:
            return None
        if dim in setting.space.boxed:
            if extent > LARGEST_BRANCH:
                return None
            lists.append(allowed.among(range(1, extent + 1), level, d))
        else:
            lists.append(allowed.least_each(even_cuts(extent), level, d))
    return lists


def grow(costs: ChainCosts, level: int, tiles: Ints, last: int, values: Ints, *, clock: Clock) -> Ints:
    """The largest candidates of one dim that fit, for those tiles for which some does.

    A level must not need room for two adjacent tiles, and no dim stand in two subscripts of a tensor.
    """
    clock.check()
    tiles = np.array(tiles, order="F")  # read dim by dim
    tiles[:, last] = values[0]
    tiles = tiles[costs.fits_somehow(tiles, level)]
    if len(tiles) and last in costs.boxed:
        return _bisected(costs, level, tiles, last, values, clock=clock)
    held = costs.model.occupancy(tiles)
    tiles[:, last] = values[0] + 1
    slope = costs.model.occupancy(tiles) - held  # of a dim that is not boxed words are affine in the size
    most = values[0] + (costs.setting.capacities[level] - held) // np.maximum(slope, 1)
    most = np.minimum(most, values[-1]).astype(np.int64)  # what was too large for int64 no longer is
    tiles[:, last] = values[np.searchsorted(values, most, side="right") - 1]
    return np.ascontiguousarray(tiles)


def _bisected(costs: ChainCosts, level: int, tiles: Ints, last: int, values: Ints, *, clock: Clock) -> Ints:
    """`grow` for any dim, of tiles that fit with the least candidate."""
    low, high = np.zeros(len(tiles), dtype=np.int64), np.full(len(tiles), len(values))
    while (high - low > 1).any():
        clock.check()
        middle = (low + high) // 2
        tiles[:, last] = values[middle]
        good = costs.fits_somehow(tiles, level)
        low, high = np.where(good, middle, low), np.where(good, high, middle)
    tiles[:, last] = values[low]
    return np.ascontiguousarray(tiles)


def _cheapest(
    costs: ChainCosts, level: int, chain: Ints, at: int, tiles: Ints, *, ceiling: float, clock: Clock
) -> tuple[float, int | None]:
    """Least cost of a level below a ceiling, and the row of the tile that, put into a chain at `at`, attains it."""
    best, found = ceiling, None
    for start in range(0, len(tiles), BATCH):
        clock.check()
        part = tiles[start : start + BATCH]
        chains = np.repeat(chain[None], len(part), axis=0)
        chains[:, at] = part
        cost = costs.evaluate(chains, levels=[level])[0][:, level]
        row = int(cost.argmin())
        if cost[row] < best:
            best, found = float(cost[row]), start + row
    return best, found
