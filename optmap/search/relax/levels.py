"""Bounds of single levels: the least cost of a level alone, for every loop order and box."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from math import inf

import numpy as np
from numpy.typing import NDArray

from optmap.base.arrays import Floats
from optmap.base.clock import Clock
from optmap.programs.geometric import Box
from optmap.search.relax.boxes import compatible, first_boxes
from optmap.search.relax.layout import Node, Unit
from optmap.search.space.search_space import Setting
from optmap.solvers.batch import BatchSolution, Settled

CHUNK = 128
"""Programs of a level between two looks at the clock."""
SPLIT = 4
"""Boxes of a level split at once."""
DEARER = 1.2
"""A unit proved this many times as dear as the best of its level need not be known exactly."""

Solve = Callable[[Sequence[Node], Settled | None], BatchSolution]
"""Solves the programs of nodes of the same shape."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelBounds:
    """Every level alone, the next outer tile being the whole problem. All levels inner first."""

    own: tuple[dict[Unit, float], ...]
    """Per level and unit: proved lower bound on the level's cost; infinite where no tile fits."""
    reach: tuple[dict[Unit, float], ...]
    """As `own`, or what a level just inside whose tile is imposed costs at least, if that is more."""
    rank: tuple[dict[Unit, float], ...]
    """Per level and unit: about the least cost of these two."""
    cut: bool
    """Whether the time ran out before every unit was bounded."""


def level_bounds(setting: Setting, solve: Solve, *, clock: Clock, negligible: float) -> LevelBounds:
    """Bound every level alone, box by box, as far as levels can matter beside the dearest.

    Args:
        setting: what is searched.
        solve: solves the programs of nodes.
        clock: when only the first units of a level are looked at.
        negligible: share of the largest level bound below which a level need not be known exactly.
    """
    return _LevelSearch(setting, solve, clock, negligible).run()


class _LevelSearch:
    def __init__(self, setting: Setting, solve: Solve, clock: Clock, negligible: float) -> None:
        self.setting = setting
        self.space = setting.space
        self.solve = solve
        self.clock = clock
        self.negligible = negligible
        self.depth = len(setting.machine.levels)
        self.own: list[dict[Unit, float]] = [{} for _ in range(self.depth)]
        self.rank: list[dict[Unit, float]] = [{} for _ in range(self.depth)]
        self.cut = False
        self.inside: dict[int, dict[Box, float]] = {}

    def run(self) -> LevelBounds:
        setting = self.setting
        for level, (tile, order) in setting.fixed.items():
            unit = Unit(order, self.space.single(tile))
            self.own[level][unit] = self.rank[level][unit] = self._imposed(level, unit)
        free = [level for level in range(self.depth) if level not in setting.fixed]
        split = setting.split_level or 0
        for levels in ([n for n in free if n < split], [n for n in free if n >= split]):  # alike in shape
            units = {level: self._units(level) for level in levels}
            self._pass_over(units)
            self._evaluate([[(level, unit) for unit in units[level]] for level in levels if not self.own[level]])
        for level in free:
            self._refine(level)
        reach = (self._reaching(level, own) for level, own in enumerate(self.own))
        return LevelBounds(own=tuple(self.own), reach=tuple(reach), rank=tuple(self.rank), cut=self.cut)

    def _enough(self) -> float:
        """Cost of a level that cannot matter beside the dearest, as far as levels are known."""
        return self.negligible * max([*self.setting.least_costs, *(min(own.values()) for own in self.own if own)])

    def _alone(self, level: int, unit: Unit) -> Node:
        return tuple(unit if i == level else None for i in range(self.depth))

    def _units(self, level: int) -> list[Unit]:
        boxes = self._boxes(level)
        return [Unit(order, box) for order in self.setting.orders_at(level) for box in boxes]

    def _boxes(self, level: int) -> list[Box]:
        """Boxes to begin with at a level, cut to the sizes that are allowed there."""
        dims, sizes = self.setting.workload.dims, self.setting.allowed.sizes[level]
        limits = [sizes[dims.index(dim)] for dim in self.space.boxed]
        cut = dict.fromkeys(
            tuple((max(a, s.low), min(b, s.high)) for (a, b), s in zip(box, limits, strict=True))
            for box in first_boxes(self.space)
        )
        return [box for box in cut if all(a <= b for a, b in box)]

    def _pass_over(self, units: Mapping[int, Sequence[Unit]]) -> None:
        """Look at the largest box alone of levels that cannot matter: what every mapping moves bounds the others."""
        least, enough = self.setting.least_costs, self._enough()
        small = [
            level
            for level, own in units.items()
            if own and least[level] <= enough and all(self.space.is_exact(unit.box) for unit in own)
        ]
        probes = [(level, u) for level in small for u in units[level] if u.box == units[level][-1].box]
        if not probes:
            return

        def settled(value: Floats, bound: Floats) -> NDArray[np.bool_]:
            return np.asarray((value <= enough) | (bound > enough))

        values = self.solve([self._alone(*one) for one in probes], settled).value.tolist()
        for level in small:
            seen = {u: value for (at, u), value in zip(probes, values, strict=True) if at == level}
            if min(seen.values()) <= enough:
                self.own[level] = dict.fromkeys(units[level], least[level])
                self.rank[level] = self._reaching(level, dict.fromkeys(units[level], enough) | seen)

    def _evaluate(self, units: Sequence[Sequence[tuple[int, Unit]]]) -> None:
        """Bound units of several levels, as long as there is time; the first few of each always."""
        chunks = [[own[k : k + CHUNK] for k in range(0, len(own), CHUNK)] for own in units]
        for number, together in enumerate(zip_longest(*chunks, fillvalue=[])):
            if number and self.clock.late:
                self.cut = True
                return
            self._evaluate_some([one for chunk in together for one in chunk])

    def _evaluate_some(self, units: Sequence[tuple[int, Unit]]) -> None:
        levels = np.array([level for level, _ in units])
        found = self.solve([self._alone(*one) for one in units], self._settled(levels))
        values: dict[int, dict[Unit, float]] = {}
        for (level, unit), bound, value in zip(units, found.bound.tolist(), found.value.tolist(), strict=True):
            self.own[level][unit] = bound
            values.setdefault(level, {})[unit] = value
        for level, seen in values.items():
            self.rank[level] |= self._reaching(level, seen)

    def _reaching(self, level: int, costs: dict[Unit, float]) -> dict[Unit, float]:
        """Costs of units, or what the level just inside costs at least in their tiles, if its own tile is imposed."""
        inside = self.inside.get(level)
        if inside is None:
            return costs
        boxes = dict.fromkeys(unit.box for unit in costs)
        least = {box: min((bound for part, bound in inside.items() if _meet(part, box)), default=inf) for box in boxes}
        return {unit: max(cost, least[unit.box]) for unit, cost in costs.items()}

    def _settled(self, levels: NDArray[np.intp]) -> Settled:
        """Enough is known of levels that cannot matter beside the dearest, and of units far from the best."""
        members = [np.flatnonzero(levels == level) for level in range(self.depth)]
        known = [min(own.values(), default=-inf) for own in self.own]
        floor = max(self.setting.least_costs)

        def settled(value: Floats, bound: Floats) -> NDArray[np.bool_]:
            done = np.zeros(len(value), dtype=bool)
            lows = [float(bound[m].min()) if m.size else low for m, low in zip(members, known, strict=True)]
            enough = self.negligible * max(floor, *lows)
            for m in members:
                if m.size:
                    done[m] = bound[m] >= DEARER * value[m].min()
            return np.asarray(done | (value <= enough))

        return settled

    def _refine(self, level: int) -> None:
        """Split the best unit of a level until its rows are exact; of a level that cannot matter some good one."""
        own, rank = self.own[level], self.rank[level]
        enough = self._enough()
        pool: Iterable[Unit] = own
        while not self.clock.late:
            # The next best are split along with the best: several are bounded in hardly more time than one.
            best = heapq.nsmallest(SPLIT, pool, key=lambda u: own[u] if own[u] > enough else rank[u])
            split = {u: boxes for u in best if own[u] < inf and (boxes := self.space.split(u.box))}
            if best[0] not in split:
                return
            for unit in split:
                del own[unit]
            parts = [Unit(unit.order, part) for unit, boxes in split.items() for part in boxes]
            self._evaluate([[(level, part) for part in parts]])
            pool = parts if min(own.values()) <= enough else own

    def _imposed(self, level: int, unit: Unit) -> float:
        """A level with an imposed tile depends on the next outer tile alone."""
        if level + 1 == self.depth:
            return float(self.solve([self._alone(level, unit)], None).bound[0])
        inside: dict[Box, float] = {}

        def settled(value: Floats, bound: Floats) -> NDArray[np.bool_]:
            return np.asarray(bound >= DEARER * value.min())

        boxes: Sequence[Box] = self._boxes(level + 1)
        while boxes:
            boxes = [box for box in boxes if compatible(self.space, unit.box, box)]
            outer = [Unit(None, box) for box in boxes]
            nodes: list[Node] = [(*(None,) * level, unit, u, *(None,) * (self.depth - level - 2)) for u in outer]
            inside |= zip(boxes, self.solve(nodes, settled).bound.tolist(), strict=True)
            best = heapq.nsmallest(SPLIT, inside, key=inside.__getitem__)
            split = {b: parts for b in best if inside[b] < inf and (parts := self.space.split(b))}
            if best[0] not in split or self.clock.late:
                break
            for box in split:
                del inside[box]
            boxes = [part for parts in split.values() for part in parts]
        self.inside[level + 1] = inside
        return min(inside.values())


def _meet(box: Box, other: Box) -> bool:
    return all(low <= end and begin <= high for (low, high), (begin, end) in zip(box, other, strict=True))


def per_box(units: dict[Unit, float]) -> dict[Box, float]:
    """The least bound of every box."""
    bounds: dict[Box, float] = {}
    for unit, bound in units.items():
        bounds[unit.box] = min(bound, bounds.get(unit.box, inf))
    return bounds


def nested(setting: Setting, node: Node) -> bool:
    """Whether the tiles of a node's boxes can nest."""
    chosen = [unit for unit in node if unit is not None]
    return all(compatible(setting.space, a.box, b.box) for a, b in pairwise(chosen))
