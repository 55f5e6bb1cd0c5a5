"""Chains from the costs of pairs of tiles: exact over divisors, a beam over evenly cut tiles.

Outer level first, `reach` of a tile is the least bottleneck of any chain from the
whole problem down to it; tiles that cannot stay below the incumbent are dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf, prod

import numpy as np
from numpy.typing import NDArray

from optmap.base.arrays import Floats, Ints
from optmap.base.clock import Clock
from optmap.base.errors import LimitError
from optmap.base.rows import Rows
from optmap.search.space.search_space import Setting
from optmap.search.space.sizes import even_cuts
from optmap.search.whole.chain_costs import ChainCosts, thin
from optmap.search.whole.pair_costs import LARGEST_PAIRS, PairCosts
from optmap.symbolic.numbers import divisors_of

LARGEST_TILES = 400_000
"""Divisor tiles beyond which the exact program is not tried."""
MOST_PAIRS = 30_000_000
"""Pairs of tiles of neighbouring levels beyond which the program gives up."""
LARGEST_BOXES = 64
"""Combinations of filter-like sizes beyond which pairs are not worth their many small products."""
FEW_PAIRS = 300_000
"""Pairs of tiles of neighbouring levels up to which outer ones that serve none inside are sought beforehand."""
BEAM_GRID = 40_000
"""Evenly cut tiles per level that the beam looks at."""
BEAM_OWN = 2500
"""Tiles per level that the beam pairs with outer ones."""
BEAM_OUTER = 800
"""Outer tiles that the beam keeps per level."""
BEAM_CHAINS = 200
"""Chains that the beam returns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TileStage(Rows):
    """Tiles of one level that some chain from the whole problem reaches."""

    tiles: Ints
    """(n, D): of numbers of tiles the least of each."""
    reach: Floats
    """(n,): least bottleneck of a chain down to each tile."""
    via: NDArray[np.intp]
    """(n,): which tile of the next outer stage that chain goes through."""

    @classmethod
    def whole(cls, extents: Ints) -> TileStage:
        """The whole problem (D,), where every chain begins."""
        return cls(tiles=extents[None, :], reach=np.zeros(1), via=np.zeros(1, dtype=np.intp))


def chains_through(stages: Sequence[TileStage], most: int) -> tuple[Ints, Floats]:
    """Chains (n, L, D) with their bottlenecks (n,), the best first, some at most.

    Args:
        stages: the whole problem, then a stage per level, the outermost first.
        most: chains at most.
    """
    index = np.argsort(stages[-1].reach, kind="stable")[:most]
    reach, found = stages[-1].reach[index], list[Ints]()
    for stage in reversed(stages[1:]):
        found.append(stage.tiles[index])
        index = stage.via[index]
    return np.stack(found, axis=1), reach


def divisor_optimum(setting: Setting, costs: ChainCosts, ceiling: float, *, clock: Clock) -> tuple[Ints | None, float]:
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
    lists = [_divisors(setting, costs, level) for level in range(costs.depth)]
    if max(map(_count, lists)) > LARGEST_TILES or max(_boxes(setting, level) for level in lists) > LARGEST_BOXES:
        return None, 0.0
    try:
        pairing = _Pairing(setting, costs, even=True, clock=clock)
        chains, reach = pairing.run(lists, ceiling, floor=0.0, keep=1)
    except LimitError:
        return None, 0.0
    return (chains[0], float(reach[0])) if len(chains) else (None, ceiling)


def divisors_around(
    setting: Setting, costs: ChainCosts, level: int, *, clock: Clock
) -> tuple[float, Ints | None] | None:
    """What a level with an imposed tile costs at least where the next outer tile divides the extents.

    Args:
        setting: what is searched.
        costs: its exact costs.
        level: a level with an imposed tile.
        clock: when to give up.

    Returns:
        the bound, infinite if no outer tile fits, and the smallest next outer tile (D,) that attains it; None where
        outer tiles are too many, or there is none.

    Raises:
        LimitError: if the time is over.
    """
    if level + 1 == costs.depth:
        return None
    lists = _divisors(setting, costs, level + 1)
    if _count(lists) > LARGEST_TILES:
        return None
    clock.check()
    outer = _fitting(costs, lists, level + 1)
    if not len(outer):
        return inf, None
    cost = _imposed_costs(setting, costs, level, outer)
    best = outer[cost == cost.min()]
    return float(cost.min()), best[best.astype(float).prod(axis=1).argmin()]


def beam(setting: Setting, costs: ChainCosts, centre: Ints, ceiling: float, floor: float, *, clock: Clock) -> Ints:
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
    try:
        return _Pairing(setting, costs, even=False, clock=clock).run(lists, ceiling, floor=floor, keep=BEAM_CHAINS)[0]
    except LimitError:
        return nothing


def _divisors(setting: Setting, costs: ChainCosts, level: int) -> list[list[int]]:
    """The allowed divisors per dim at a level."""
    return [setting.allowed.among(divisors_of(int(n)), level, d) for d, n in enumerate(costs.extents)]


def _count(lists: Sequence[Sequence[int]]) -> float:
    """How many tiles sizes make."""
    return prod(float(len(values)) for values in lists)


def _fitting(costs: ChainCosts, lists: Sequence[Sequence[int]], level: int) -> Ints:
    """(n, D) the tiles of given sizes per dim that fit a level."""
    sizes = [np.array(values, dtype=np.int64) for values in lists]
    chosen = np.nonzero(costs.grid_fits(sizes, level))
    return np.stack([values[index] for values, index in zip(sizes, chosen, strict=True)], axis=-1)


def _imposed_costs(setting: Setting, costs: ChainCosts, level: int, outer: Ints) -> Floats:
    """(n,) exact costs of a level's imposed tile inside outer tiles (n, D) that cut the extents evenly."""
    chains = np.repeat(costs.extents[None, None], len(outer), axis=0).repeat(costs.depth, axis=1)
    chains[:, level] = [setting.fixed[level][0][d] for d in costs.dims]
    chains[:, level + 1 : level + 2] = outer[:, None]  # none of the outermost level
    return costs.evaluate(chains, levels=[level])[0][:, level]


def _boxes(setting: Setting, lists: Sequence[Sequence[int]]) -> int:
    """Combinations of the boxed dims' candidates: each takes matrix products of its own."""
    dims = setting.workload.dims
    return prod(len(lists[dims.index(d)]) for d in setting.space.boxed)


class _Pairing:
    """Stages of tiles from the outermost level inwards; raises `LimitError` for too many pairs, or out of time."""

    def __init__(self, setting: Setting, costs: ChainCosts, *, even: bool, clock: Clock) -> None:
        self.clock = clock
        self.setting = setting
        self.costs = costs
        self.pairs = PairCosts(setting, costs, clock=clock)
        self.even = even
        self.dims = setting.workload.dims

    def run(
        self, lists: Sequence[Sequence[Sequence[int]]], ceiling: float, *, floor: float, keep: int
    ) -> tuple[Ints, Floats]:
        """Chains of given sizes per level and dim below the ceiling, (n, L, D), best first, with their bottlenecks."""
        nothing = np.zeros((0, self.costs.depth, len(self.dims)), dtype=np.int64), np.zeros(0)
        useful = self._useful(lists, ceiling, floor)
        if useful is None:
            return nothing
        stages = [TileStage.whole(self.costs.extents)]
        for level in range(self.costs.depth - 1, -1, -1):
            outer = self._useful_outer(stages[-1], floor)
            fixed = level in self.setting.fixed
            stage = (self._fixed_stage if fixed else self._stage)(level, useful[level], stages[-1], outer)
            kept = stage.reach < ceiling
            if not kept.any():
                return nothing
            stages.append(stage[kept])
        return chains_through(stages, keep)

    def _useful(self, lists: Sequence[Sequence[Sequence[int]]], ceiling: float, floor: float) -> list[Ints] | None:
        """Per level the tiles that could stay below the ceiling with some inside them; None if a level has none."""
        found, reach = list[Ints](), np.zeros(0)
        for level, sizes in enumerate(lists):
            if level in self.setting.fixed:
                own = np.array([[self.setting.fixed[level][0][d] for d in self.dims]], dtype=np.int64)
                least = np.zeros(1)
            else:
                own = self._useful_own(sizes, level, ceiling, floor)
                least = self._within(level, own, found[-1], reach, ceiling) if level else np.zeros(len(own))
            found.append(own[least < ceiling])
            reach = least[least < ceiling]
            if not len(reach):
                return None
        return found

    def _within(self, level: int, own: Ints, inner: Ints, reach: Floats, ceiling: float) -> Floats:
        """(n,) what levels inside own tiles cost at least: infinite beyond the ceiling, 0 if the pairs are too many."""
        if level - 1 in self.setting.fixed:
            return _imposed_costs(self.setting, self.costs, level - 1, own)
        if len(own) * len(inner) > FEW_PAIRS:
            return np.zeros(len(own))
        return self.pairs.served(inner, reach, own, level - 1, ceiling)

    def _useful_own(self, sizes: Sequence[Sequence[int]], level: int, ceiling: float, floor: float) -> Ints:
        """Tiles that fit and could stay below the ceiling inside the largest outer tile."""
        fitting = _fitting(self.costs, sizes, level)
        if len(fitting) == 0:
            return fitting
        alone = self.pairs.alone(fitting, level, fitting=True)
        fitting, alone = fitting[alone < ceiling], alone[alone < ceiling]
        if self.even:
            return fitting
        order = np.lexsort((-fitting.astype(float).prod(axis=1), np.maximum(alone, floor)))
        return fitting[order[:BEAM_OWN]]

    def _useful_outer(self, stage: TileStage, floor: float) -> NDArray[np.intp]:
        """Outer tiles worth pairing: exact dominance for divisors, the best few for the beam."""
        volume = -stage.tiles.astype(float).prod(axis=1)
        if not self.even:
            return np.lexsort((volume, np.maximum(stage.reach, floor)))[:BEAM_OUTER]
        # A multiple that reaches as cheaply serves every level inside at least as well.
        order = np.lexsort((volume, stage.reach))
        first = _first_multiples(stage.tiles[order])
        return np.asarray(order[first == np.arange(len(order))])

    def _stage(self, level: int, own: Ints, before: TileStage, outer: NDArray[np.intp]) -> TileStage:
        if len(own) * len(outer) > MOST_PAIRS:
            raise LimitError("too many pairs of tiles")
        best = np.full(len(own), inf)
        via = np.zeros(len(own), dtype=np.intp)
        beyond, reach = before.tiles[outer], before.reach[outer]
        step = max(1, LARGEST_PAIRS // len(outer))
        for start in range(0, len(own), step):
            part = own[start : start + step]
            cost = np.where(self._nests(part, beyond), np.maximum(self.pairs(part, beyond, level), reach[None, :]), inf)
            choice = cost.argmin(axis=1)
            best[start : start + step] = cost[np.arange(len(part)), choice]
            via[start : start + step] = outer[choice]
        return TileStage(tiles=own, reach=best, via=via)

    def _fixed_stage(self, level: int, own: Ints, before: TileStage, outer: NDArray[np.intp]) -> TileStage:
        """An imposed tile is priced exactly inside every outer tile."""
        fitting = outer[(before.tiles[outer] >= own).all(axis=1)]
        cost = _imposed_costs(self.setting, self.costs, level, before.tiles[fitting])
        cost = np.maximum(cost, before.reach[fitting])
        return TileStage(tiles=np.repeat(own, len(fitting), axis=0), reach=cost, via=fitting)

    def _nests(self, own: Ints, outer: Ints) -> NDArray[np.bool_]:
        """Which own tiles cut which outer tiles without extra tiles."""
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


def _first_multiples(tiles: Ints) -> NDArray[np.intp]:
    """(n,) the row of the first tile that is a multiple of each tile (n, D), along every dim."""
    sizes, places = zip(*(np.unique(column, return_inverse=True) for column in tiles.T), strict=True)
    first = np.full([len(values) for values in sizes], len(tiles))
    first[places] = np.arange(len(tiles))
    for d, values in enumerate(sizes):
        along = np.moveaxis(first, d, 0)
        for place, size in enumerate(values):  # the smallest first: multiples still have their own
            along[place] = along[values % size == 0].min(axis=0)
    return first[places]


@lru_cache(maxsize=65536)
def aligned(extent: int, outer: int, inner: int) -> bool:
    """Whether tiles of `inner` inside tiles of `outer` make no more tiles than `inner` alone."""
    if inner > outer:
        return False
    whole, rest = divmod(extent, outer)
    return whole * -(-outer // inner) + -(-rest // inner) == -(-extent // inner)
