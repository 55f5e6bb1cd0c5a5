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

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from optmap.clock import Clock
from optmap.errors import LimitError
from optmap.search.search_space import Setting
from optmap.search.whole.chain_costs import BATCH, ChainCosts, FloatArray, IntArray, IntegerPoint, grid_of
from optmap.search.whole.one_level import candidates, grow, is_diagonal
from optmap.search.whole.pair_costs import LARGEST_PAIRS, PairCosts
from optmap.search.whole.sizes_left import SizesLeft
from optmap.search.whole.tile_pairs import aligned

NEAR = 0.01
"""How far above a bound chains are looked for first, as a share of it."""
NEARER = 0.0025
"""How far above what numbers of tiles leave sizes are looked at first, as a share of it."""
LARGEST_GRID = 1_500_000
"""Choices of one level beyond which they are not enumerated."""
MOST_PAIRS = 200_000_000
"""Pairs of choices of neighbouring levels beyond which they are not priced."""
FARTHER = 0.1
"""How far above what is asked for choices are looked at, as a share of it: the next threshold asks for them."""
FEW_PAIRS = 20_000_000
"""Pairs of choices of the two innermost levels up to which those farther above are looked at as well."""
MOST_CHAINS = 500
"""Chains that are handed back, at most."""
EQUAL = 1e-9
"""Relative distance below which a cost counts as having reached a bound."""
LARGEST_SIEVE = 6_000
"""Choices beyond which those that another one beats are not looked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stage:
    """Tiles of one level that some chain from the whole problem reaches."""

    tiles: IntArray
    """(n, D): the least tile of every choice."""
    reach: FloatArray
    """(n,): least bottleneck of a chain down to each."""
    via: NDArray[np.intp]
    """(n,): which tile of the next outer stage that chain goes through."""

    def take(self, index: NDArray[np.intp] | NDArray[np.bool_]) -> _Stage:
        """Some of the tiles."""
        return _Stage(tiles=self.tiles[index], reach=self.reach[index], via=self.via[index])


def count_optimum(
    setting: Setting, costs: ChainCosts, floor: float, ceiling: float, *, clock: Clock
) -> tuple[IntArray, float] | None:
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
    left: tuple[IntArray, float] | None = None
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
                best = counting.sizes_below(threshold)
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


@dataclass(frozen=True, slots=True)
class _Choices:
    """Tiles of one level, and what each costs at least."""

    tiles: IntArray
    """(n, D): the least tile of every choice."""
    alone: FloatArray
    """(n,): its cost in the whole problem."""
    least: FloatArray
    """(n,): the least ceiling above which it also serves some of the level inside; no less than `alone`."""

    def take(self, index: NDArray[np.intp] | NDArray[np.bool_] | slice) -> _Choices:
        """Some of the tiles."""
        return _Choices(self.tiles[index], self.alone[index], self.least[index])


class _Counting:
    def __init__(
        self, setting: Setting, costs: ChainCosts, lists: list[list[list[int]]], ceiling: float, clock: Clock
    ) -> None:
        self.setting, self.costs, self.lists, self.ceiling, self.clock = setting, costs, lists, ceiling, clock
        self.pairs = PairCosts(setting, costs, clock=clock)
        self.sizes = SizesLeft(costs, self.pairs, lists)
        boxed = self.pairs.boxed
        self.last = max(range(len(costs.dims)), key=lambda d: (d not in boxed, sum(len(v[d]) for v in lists)))
        self.choices: dict[int, _Choices] = {}
        self.left: tuple[float, list[_Choices]] | None = None

    def below(self, ceiling: float) -> tuple[IntArray, float]:
        """Chains (n, L, D) below a ceiling, best first, and the least bottleneck of any; the ceiling if there is none.

        Raises:
            LimitError: for too many choices, or when the time is over.
        """
        nothing = np.zeros((0, self.costs.depth, len(self.costs.dims)), dtype=np.int64), ceiling
        stages = [_Stage(tiles=self.costs.extents[None, :], reach=np.zeros(1), via=np.zeros(1, dtype=np.intp))]
        left = self._left(ceiling)
        for level in range(self.costs.depth - 1, -1, -1):
            if not len(left[level].tiles):
                return nothing
            stages.append(self._stage(level, left[level], stages[-1], ceiling))
            if not len(stages[-1].tiles):
                return nothing
        index = np.argsort(stages[-1].reach, kind="stable")[:MOST_CHAINS]
        least = float(stages[-1].reach[index[0]])
        chains = np.zeros((len(index), self.costs.depth, len(self.costs.dims)), dtype=np.int64)
        for level, stage in enumerate(reversed(stages[1:])):
            chains[:, level] = stage.tiles[index]
            index = stage.via[index]
        return np.maximum.accumulate(chains, axis=1), least

    def attained(self, chains: IntArray, least: float) -> bool:
        """Whether one of some chains of `below`, or its aligned one, costs no more than a bound."""
        both = np.concatenate([chains, aligned_chains(self.costs.extents, chains)])
        point = self.costs.best(both[self.setting.allowed.hold(both)])
        return point is not None and point.value <= least * (1 + EQUAL)

    def sizes_below(self, ceiling: float) -> IntegerPoint | None:
        """The best of all whole tiles below a ceiling; None if there are none.

        Raises:
            LimitError: as `below`.
        """
        uncut = self._left(ceiling)
        return self.sizes.best([self._cut(level, own, ceiling) for level, own in enumerate(uncut)], ceiling)

    def _cut(self, level: int, own: _Choices, ceiling: float) -> IntArray:
        """The choices of a level below a ceiling, the last dim cut into any number of tiles."""
        if level in self.setting.fixed:
            return own.tiles
        values = np.array(self.lists[level][self.last])
        rows, which = np.nonzero(own.tiles[:, self.last, None] >= values[None, :])
        if len(rows) > LARGEST_GRID:
            raise LimitError("too many numbers of tiles")
        tiles = own.tiles[rows]
        tiles[:, self.last] = values[which]
        tiles = tiles[self.pairs.alone(tiles, level) < ceiling]
        return tiles[self._ragged(level, tiles) < ceiling]

    def _left(self, ceiling: float) -> list[_Choices]:
        """The choices of every level that stay below a ceiling in the whole problem and serve some of the level inside.

        Raises:
            LimitError: as `below`.
        """
        if self.left is None or self.left[0] < ceiling:
            self.left = None
            own = [self._own(level) for level in range(self.costs.depth)]
            if prod(len(each.tiles) for each in own[:2]) <= FEW_PAIRS:
                farther = min(self.ceiling, ceiling * (1 + FARTHER))
                with suppress(LimitError):
                    self.left = farther, self._served(own, farther)
            if self.left is None:
                self.left = ceiling, self._served(own, ceiling)
        return [own.take(own.least < ceiling) for own in self.left[1]]

    def _served(self, choices: Sequence[_Choices], ceiling: float) -> list[_Choices]:
        """Those of some choices that stay below a ceiling and serve some of the level inside; `least` says so.

        Raises:
            LimitError: as `below`.
        """
        found = [own.take(own.least < ceiling) for own in choices]
        if all(len(own.tiles) for own in found):
            for level in range(1, self.costs.depth):
                serve = self._serve(level - 1, found[level - 1], found[level].tiles, ceiling)
                least = np.maximum(found[level].least, serve)
                found[level] = replace(found[level], least=least).take(least < ceiling)
        return found

    def _serve(self, level: int, own: _Choices, outer: IntArray, ceiling: float) -> FloatArray:
        """Above which ceiling some own choice stays below it in an outer one, even with its last dim uncut."""
        if len(own.tiles) * len(outer) > MOST_PAIRS:
            raise LimitError("too many pairs of numbers of tiles")
        return self.pairs.served(own.tiles, own.least, outer, level, ceiling, but=self.last)

    def _own(self, level: int) -> _Choices:
        """The choices of a level that stay below the highest ceiling, the last dim as large as fits."""
        if level not in self.choices:
            own = self._enumerated(level)
            alone = self.pairs.alone(own, level, fitting=level not in self.setting.fixed)
            own, alone = own[alone < self.ceiling], alone[alone < self.ceiling]
            if level not in self.setting.fixed:
                alone = np.maximum(alone, self._ragged(level, own))
            self.choices[level] = _Choices(own, alone, alone)
        return self.choices[level]

    def _ragged(self, level: int, own: IntArray) -> FloatArray:
        """What tiles that fit cost in the whole problem, their last tiles of filters counted as they are."""
        found = np.zeros(len(own))
        for start in range(0, len(own), BATCH):
            self.clock.check()
            part = own[start : start + BATCH]
            chains = np.repeat(self.costs.extents[None, None], len(part), axis=0).repeat(self.costs.depth, axis=1)
            chains[:, level] = part
            cost, _ = self.costs.evaluate(chains, levels=[level], fitting=True)
            found[start : start + BATCH] = cost[:, level]
        return found

    def _enumerated(self, level: int) -> IntArray:
        if level in self.setting.fixed:
            tile, _ = self.setting.fixed[level]
            return np.array([[tile[d] for d in self.costs.dims]], dtype=np.int64)
        lists = self.lists[level]
        if prod(float(len(values)) for d, values in enumerate(lists) if d != self.last) > LARGEST_GRID:
            raise LimitError("too many numbers of tiles")
        grid = grid_of([values if d != self.last else values[:1] for d, values in enumerate(lists)])
        return grow(self.costs, level, grid, self.last, np.array(lists[self.last], dtype=np.int64), clock=self.clock)

    def _stage(self, level: int, own: _Choices, before: _Stage, ceiling: float) -> _Stage:
        """Own choices inside outer ones, the last dim cut to what the outer one leaves."""
        found: list[_Stage] = []
        for value in np.unique(before.tiles[:, self.last]):
            columns = np.flatnonzero(before.tiles[:, self.last] == value)
            tiles = own.tiles.copy()
            if level not in self.setting.fixed:
                tiles[:, self.last] = np.minimum(tiles[:, self.last], value)
            step = max(1, LARGEST_PAIRS // len(columns))
            cut = replace(own, tiles=tiles)
            parts = (cut.take(slice(start, start + step)) for start in range(0, len(tiles), step))
            found += [self._inside(level, part, before, columns, ceiling) for part in parts]
        return self._sieved(
            _Stage(
                tiles=np.concatenate([s.tiles for s in found]),
                reach=np.concatenate([s.reach for s in found]),
                via=np.concatenate([s.via for s in found]),
            )
        )

    def _inside(self, level: int, own: _Choices, before: _Stage, columns: NDArray[np.intp], ceiling: float) -> _Stage:
        """The own tiles that reach something below the ceiling through some of the outer ones."""
        outer = before.tiles[columns]
        cost = np.maximum(self.pairs(own.tiles, outer, level), before.reach[columns][None, :])
        cost = np.maximum(cost, own.alone[:, None])
        cost[~self.pairs.nests(own.tiles, outer)] = np.inf
        choice = cost.argmin(axis=1)
        reach = cost[np.arange(len(cost)), choice]
        kept = reach < ceiling
        return _Stage(tiles=own.tiles[kept], reach=reach[kept], via=columns[choice[kept]])

    def _sieved(self, stage: _Stage) -> _Stage:
        """Without choices that another one with the same filter sizes beats or equals."""
        numbers = np.where(
            np.isin(np.arange(stage.tiles.shape[1]), self.pairs.boxed), 0, -(-self.costs.extents // stage.tiles)
        )
        order = np.lexsort((numbers.sum(axis=1), stage.reach))
        stage, numbers = stage.take(order), numbers[order]
        if len(order) > LARGEST_SIEVE:
            return stage
        filters = stage.tiles[:, self.pairs.boxed]
        kept = np.ones(len(order), dtype=bool)
        for i in range(len(order)):
            if kept[i]:
                beaten = (numbers[i + 1 :] >= numbers[i]).all(axis=1) & (filters[i + 1 :] == filters[i]).all(axis=1)
                kept[i + 1 :] &= ~beaten
        return stage.take(kept)


def aligned_chains(extents: IntArray, chains: IntArray) -> IntArray:
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
