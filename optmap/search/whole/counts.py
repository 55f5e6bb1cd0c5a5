"""The least bottleneck over numbers of tiles, whatever their sizes: a proved bound, often attained.

What whole tiles cost beyond real ones is that an extent is cut into a whole number of tiles. A chain is therefore
described by the number of tiles that each level cuts each extent into (filter-like dims by their sizes). Its cost is
at least that of equal tiles (`PairCosts`), a tile of which there are n holds at least the least size that does, and
fewer tiles never cost more, neither of the own tile nor of the next outer one. So, outer level first:

- of one dim, the same at all levels, only the fewest tiles that fit beside the others matter;
- `reach` of a choice is the least bottleneck of any chain from the whole problem down to it; what does not stay below
  the incumbent is dropped, and so is what another choice beats at every dim at no higher reach.

The least reach at the innermost level is a bound on all whole tiles, and the optimum if its chain attains it. If it
does not, all that is left near it is looked at size by size (`SizesLeft`).
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from optmap.base.arrays import Ints
from optmap.base.clock import Clock
from optmap.base.errors import LimitError
from optmap.base.rows import concatenated
from optmap.search.space.search_space import Setting
from optmap.search.whole.chain_costs import ChainCosts, IntegerPoint
from optmap.search.whole.choices import ChoiceLists, Choices
from optmap.search.whole.one_level import candidates, is_diagonal
from optmap.search.whole.pair_costs import PairCosts
from optmap.search.whole.sizes_left import AT_ONCE_PAIRS, SizesLeft
from optmap.search.whole.tile_pairs import TileStage, aligned, chains_through

NEAR = 0.01
"""How far above a bound chains are looked for first, as a share of it."""
NEARER = 0.0025
"""How far above what numbers of tiles leave sizes are looked at first, as a share of it."""
FEW_PAIRS = 200_000
"""Pairs of choices of neighbouring levels that are listed one by one, at most, before those that cost too much go."""
MOST_CHAINS = 500
"""Chains that are handed back, at most."""
FEW_CHAINS = 1_000
"""Chains of choices up to which sizes are looked at for all that is listed, rather than step by step."""
EQUAL = 1e-9
"""Relative distance below which a cost counts as having reached a bound."""
LARGEST_SIEVE = 6_000
"""Choices beyond which those that another one beats are not looked for."""


def count_optimum(
    setting: Setting, costs: ChainCosts, floor: float, ceiling: float, *, clock: Clock
) -> tuple[Ints, float] | None:
    """The least bottleneck over numbers of tiles, between two others.

    Args:
        setting: what is searched, on one core.
        costs: its exact costs.
        floor: a proved bound.
        ceiling: the cost of a known mapping.
        clock: when to give up.

    Returns:
        (n, L, D) chains that may stay below the ceiling, the most promising first (their tiles need neither fit nor
        cost what is promised, unless what is left was looked at size by size: then the first one is the best), and a
        bottleneck that no whole tiles are below: the ceiling if there are none. None where numbers do not decide
        (two adjacent tiles must fit, dilated windows, a dim in two subscripts), there are too many choices, or the time
        is over.
    """
    workload, depth = setting.workload, costs.depth
    if setting.space.concave or any(setting.safe(i) for i in range(depth)) or any(map(is_diagonal, workload.tensors)):
        return None
    lists = [candidates(setting, level) for level in range(depth)]
    if any(values is None or not all(values) for values in lists):
        return None
    nothing, proved, share = np.zeros((0, depth, len(costs.dims)), dtype=np.int64), floor, NEAR
    left: tuple[Ints, float] | None = None
    try:
        counting = _Counting(setting, costs, [v for v in lists if v is not None], ceiling, clock)
        while proved < ceiling:
            # What is below a low threshold is little; what is not, is proved.
            threshold = min(ceiling, proved * (1 + share)) if proved > 0 else ceiling
            if left is None:
                left = chains, least = counting.below(threshold)
                if len(chains):
                    if counting.attained(chains, least):
                        return left
                    threshold, share = min(threshold, max(proved, least) * (1 + NEARER)), NEARER
            if len(left[0]):
                best, threshold = counting.sizes_below(threshold)
                if best is not None:
                    return np.array([best.chain]), best.value
            else:
                left = None
            proved, share = threshold, 2 * share
    except LimitError:
        if left is not None and len(left[0]):
            return left[0], max(left[1], proved)
        if proved <= floor:
            return None
    return nothing, proved


class _Counting:
    def __init__(
        self, setting: Setting, costs: ChainCosts, lists: list[list[list[int]]], ceiling: float, clock: Clock
    ) -> None:
        self.setting, self.costs, self.clock = setting, costs, clock
        self.pairs = PairCosts(setting, costs, clock=clock)
        self.choices = ChoiceLists(costs, self.pairs, lists, ceiling, clock)
        self.sizes = SizesLeft(costs, self.pairs, lists, self.choices.last)
        self.last = self.choices.last

    def below(self, ceiling: float) -> tuple[Ints, float]:
        """Chains (n, L, D) below a ceiling, best first, and the least bottleneck of any; the ceiling if there is none.

        Raises:
            LimitError: for too many choices, or when the time is over.
        """
        nothing = np.zeros((0, self.costs.depth, len(self.costs.dims)), dtype=np.int64), ceiling
        stages = [TileStage.whole(self.costs.extents)]
        left = self.choices.below(ceiling)
        for level in range(self.costs.depth - 1, -1, -1):
            if not len(left[level].tiles):
                return nothing
            stages.append(self._stage(level, left[level], stages[-1], ceiling))
            if not len(stages[-1].tiles):
                return nothing
        chains, reach = chains_through(stages, MOST_CHAINS)
        return np.maximum.accumulate(chains, axis=1), float(reach[0])

    def attained(self, chains: Ints, least: float) -> bool:
        """Whether one of some chains of `below`, or its aligned one, costs no more than a bound."""
        both = np.concatenate([chains, aligned_chains(self.costs.extents, chains)])
        point = self.costs.best(both[self.setting.allowed.hold(both)])
        return point is not None and point.value <= least * (1 + EQUAL)

    def sizes_below(self, ceiling: float) -> tuple[IntegerPoint | None, float]:
        """The best of all whole tiles below a ceiling, None if there are none; and the ceiling.

        That is the highest one up to which choices are known, if it is near and leaves few chains.

        Raises:
            LimitError: as `below`.
        """
        highest = self.choices.upto
        if ceiling < highest <= ceiling * (1 + NEAR):
            with suppress(LimitError):
                return self.sizes.best([own.tiles for own in self.choices.below(highest)], highest, FEW_CHAINS), highest
        return self.sizes.best([own.tiles for own in self.choices.below(ceiling)], ceiling), ceiling

    def _stage(self, level: int, own: Choices, before: TileStage, ceiling: float) -> TileStage:
        """Own choices inside outer ones, the last dim cut to what the outer one leaves."""
        step = max(1, AT_ONCE_PAIRS // len(before.tiles))
        parts = (own[start : start + step] for start in range(0, len(own.tiles), step))
        return self._sieved(concatenated([self._inside(level, part, before, ceiling) for part in parts]))

    def _inside(self, level: int, own: Choices, before: TileStage, ceiling: float) -> TileStage:
        """The own tiles that reach something below the ceiling through some of the outer ones."""
        cut = None if level in self.setting.fixed else self.last
        nests = self.pairs.nests(own.tiles, before.tiles, but=cut)
        if nests.size > FEW_PAIRS:  # a table costs less than a list of so many, and uncut they cost no more than cut
            nests &= self.pairs(own.tiles, before.tiles, level) < ceiling
        rows, via = np.nonzero(nests)
        tiles, outer = own.tiles[rows], before.tiles[via]
        if cut is not None:
            tiles[:, cut] = np.minimum(tiles[:, cut], outer[:, cut])
        numbers, around = -(-self.costs.extents // tiles), -(-self.costs.extents // outer)
        reach = np.maximum(self.pairs.of_numbers(tiles, numbers, outer, around, level), before.reach[via])
        reach = np.maximum(reach, own.alone[rows])
        below = np.flatnonzero(reach < ceiling)
        order = below[np.lexsort((reach[below], tiles[below, self.last], rows[below]))]
        same = (np.diff(rows[order], prepend=-1) == 0) & (np.diff(tiles[order, self.last], prepend=-1) == 0)
        best = order[~same]
        return TileStage(tiles=tiles[best], reach=reach[best], via=via[best])

    def _sieved(self, stage: TileStage) -> TileStage:
        """Without choices that another one with the same filter sizes beats or equals."""
        numbers = np.where(
            np.isin(np.arange(stage.tiles.shape[1]), self.pairs.boxed), 0, -(-self.costs.extents // stage.tiles)
        )
        order = np.lexsort((numbers.sum(axis=1), stage.reach))
        stage, numbers = stage[order], numbers[order]
        if len(order) > LARGEST_SIEVE:
            return stage
        filters = stage.tiles[:, self.pairs.boxed]
        kept = np.ones(len(order), dtype=bool)
        for i in range(len(order)):
            if kept[i]:
                beaten = (numbers[i + 1 :] >= numbers[i]).all(axis=1) & (filters[i + 1 :] == filters[i]).all(axis=1)
                kept[i + 1 :] &= ~beaten
        return stage[kept]


def aligned_chains(extents: Ints, chains: Ints) -> Ints:
    """Chains with as many tiles, their outer tiles enlarged so that inner ones make no more tiles within them.

    Args:
        extents: (D,) of the whole problem.
        chains: (n, L, D) least tiles of numbers of tiles.

    Returns:
        (n, L, D); where no size serves, the tiles are as they were.
    """
    found = chains.copy()
    for d, extent in enumerate(extents.tolist()):
        for level in range(1, chains.shape[1]):
            pairs = np.stack([found[:, level - 1, d], found[:, level, d]], axis=1)
            sizes = {
                (inner, outer): _aligned(extent, inner, outer) for inner, outer in {tuple(p) for p in pairs.tolist()}
            }
            found[:, level, d] = [sizes[inner, outer] for inner, outer in pairs.tolist()]
    return found


def _aligned(extent: int, inner: int, outer: int) -> int:
    """The least tile that makes as many tiles as `outer` and in which `inner` makes no more than alone."""
    number = -(-extent // outer)
    largest = extent if number == 1 else -(-extent // (number - 1)) - 1
    sizes = range(max(inner, -(-extent // number)), largest + 1)
    return next((size for size in sizes if aligned(extent, size, inner)), outer)
