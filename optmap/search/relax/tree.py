"""The global optimum of the continuous min-max program, with a proof.

Minimise the largest traffic/bandwidth over the levels, over real tile sizes (filter-like extents
in integers), all loop orders and all levels at once (MOpt section 5, epigraph form). Enumerating
one convex program per combination is out of reach; instead:

1. per level, loop order and box: the optimum of that level alone, the next outer tile being the
   whole problem. The largest over levels of the smallest is a lower bound on everything.
2. best first over partial choices: a node fixes a loop order and a box for some levels, is bounded
   by the convex program of those levels, and grows by the next level or by splitting a box. Among
   equal bounds the deepest node whose levels do best on their own goes first, so the first dive
   usually attains the bound of step 1 and ends the search.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count, product
from math import inf, log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from optmap.base.arrays import Floats
from optmap.base.clock import NO_LIMIT, Clock
from optmap.base.errors import InfeasibleError
from optmap.base.shown import Concise
from optmap.programs.geometric import Box
from optmap.search.relax.layout import Node, Unit
from optmap.search.relax.level_programs import bounder_of
from optmap.search.relax.levels import level_bounds, nested, per_box
from optmap.search.relax.mirrors import Mirrors
from optmap.search.space.search_space import Setting
from optmap.solvers.batch import BatchSolution, Settled

TOLERANCE = 1e-6
"""Relative distance between bound and value at which an optimum counts as proved."""
NEGLIGIBLE = 0.5
"""Share of the largest level bound below which a level's own optimum need not be known exactly."""
GRACE = 0.5
"""Seconds beyond the deadline in which a first point is still looked for."""
ATTAINED = 0.1 * TOLERANCE
"""Relative distance at which a point attains a bound, so that its program need not be solved further."""
SAME = 1e-9
"""Relative distance of values that differ by rounding only."""
DIVES = 3
"""Units of every level that are combined to begin with."""
DIVED = 8
"""Nodes made of them that are tried."""
BATCH = 128
"""Programs solved at once when the tree is searched."""
COMPLETE = 16
"""Of them where every level is chosen: one of the first mostly attains the bound of all."""
EXPANDED = 8
"""Nodes whose children are solved at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RelaxedPoint(Concise):
    """A point of the relaxation: real tiles and loop orders of every level."""

    value: float
    """Largest traffic/bandwidth over the levels."""
    tiles: tuple[dict[str, float], ...]
    """Per level, inner first: real extent per dim."""
    permutations: tuple[tuple[str, ...], ...]
    """Per level: dims, outermost first."""
    node: Node
    """The choices this point belongs to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RelaxationResult(Concise):
    """What the continuous search proved and found."""

    bound: float
    """Proved lower bound on the cost of every mapping, integer or not."""
    best: RelaxedPoint
    """The best point found."""
    proved: bool
    """Whether `best` is within `TOLERANCE` of `bound`."""
    level_bounds: tuple[float, ...]
    """Per level, inner first: proved lower bound on its own cost."""
    box_bounds: tuple[dict[Box, float], ...]
    """Per level: proved lower bound on its own cost for every box looked at (the boxes cover all)."""
    programs: int
    """Convex programs solved."""
    unproved: int = 0
    """Of these, programs for which the solver gave no bound."""
    others: tuple[RelaxedPoint, ...] = ()
    """Further points found on the way, best first."""


class _Open(NamedTuple):
    """An entry of the search queue; the order of the fields is the order of the queue, and no number is there twice."""

    rank: int
    """The bound; bounds that differ by rounding only are equal."""
    depth: int
    """Less for nodes with more chosen, more exact and solved."""
    own: float
    """Sum of the logarithms of what the levels cost alone."""
    number: int
    bound: float
    node: Node
    solved: bool


def relax(setting: Setting, *, clock: Clock = NO_LIMIT, negligible: float = NEGLIGIBLE) -> RelaxationResult:
    """Solve the relaxation of a setting to global optimality.

    Args:
        setting: workload, machine and capacity rule.
        clock: when the best bound so far is returned.
        negligible: share of the largest level bound below which a level is not solved to its optimum;
            0 where every level counts.

    Raises:
        InfeasibleError: if no tile fits.
    """
    return _TreeSearch(setting, clock, negligible).run()


class _TreeSearch:
    def __init__(self, setting: Setting, clock: Clock, negligible: float) -> None:
        self.setting = setting
        self.space = setting.space
        self.bounder = bounder_of(setting)
        self.mirrors = Mirrors(setting)
        self.clock = clock
        # Without any point the search goes on a little: an answer late is better than none.
        self.last_call = Clock(clock.deadline + GRACE)
        self.depth = len(setting.machine.levels)
        self.programs = 0
        self.unproved = 0
        self.points: list[RelaxedPoint] = []
        self.incumbent = inf
        self.queue: list[_Open] = []
        self.numbers = count()
        self.floor = inf  # least bound of the nodes that were closed or dropped
        self.levels = level_bounds(setting, self._bound, clock=clock, negligible=negligible)
        self.lows: list[float] = []

    def run(self) -> RelaxationResult:
        levels = self.levels
        lows = [min(units.values()) for units in levels.own]
        if any(low == inf for low in lows):
            raise InfeasibleError("no tile fits the capacities; give the innermost levels more words")
        # A level solved only until it cannot matter may be left far below what every mapping moves.
        self.lows = lows = [max(low, least) for low, least in zip(lows, self.setting.least_costs, strict=True)]
        # The level that decides comes first, then the outer ones it depends on, then the inner.
        first = int(np.argmax(lows))
        self.sequence = [*range(first, self.depth), *range(first - 1, -1, -1)]
        if self.depth > 1:
            self._dive(max(lows))
        self._push((None,) * self.depth, max(lows), solved=True)
        bound = self._branch()
        # of equal ones the first that was found, whatever the processor makes of their last digits
        self.points.sort(key=lambda p: _rounded(p.value))
        if not self.points and self.clock.late:
            self.points.append(self._smallest())
        if not self.points:
            raise InfeasibleError("no chain of tiles fits the capacities of all levels")
        best = self.points[0]
        bound, own = min(bound, self.floor, best.value), levels.own
        if levels.cut or not self.setting.complete:
            # Loop orders that were not looked at could move less, but never less than every word once.
            lows = [min(low, least) for low, least in zip(lows, self.setting.least_costs, strict=True)]
            own = tuple({u: min(b, low) for u, b in units.items()} for units, low in zip(own, lows, strict=True))
            bound = min(bound, max(lows))
        return RelaxationResult(
            bound=bound,
            best=best,
            proved=not levels.cut and self.setting.complete and bound >= best.value * (1 - TOLERANCE),
            level_bounds=tuple(lows),
            box_bounds=tuple(per_box(units) for units in own),
            programs=self.programs,
            unproved=self.unproved,
            others=tuple(self.points[1:8]),
        )

    def _smallest(self) -> RelaxedPoint:
        """The smallest tiles everywhere: a point to start from when there was no time for a better one."""
        tiles = [{d: float(n) for d, n in self.setting.smallest(level).items()} for level in range(self.depth)]
        orders = (self.setting.orders_at(level)[0] for level in range(self.depth))
        return RelaxedPoint(value=inf, tiles=tuple(tiles), permutations=tuple(o.permutation for o in orders), node=())

    def _bound(self, nodes: Sequence[Node], settled: Settled | None) -> BatchSolution:
        solution = self.bounder.solve(nodes, settled=settled)
        self.programs += len(nodes)
        self.unproved += int(np.isneginf(solution.bound).sum())
        if self.depth == 1:  # a level alone is all there is
            self._keep_all(nodes, solution)
        return solution

    def _dive(self, target: float) -> None:
        """Solve nodes of the units that do best alone: one of them mostly attains the bound, which ends the search.

        Args:
            target: the largest bound of a level; a point that needs no more is an optimum.
        """
        best = []
        for rank in self.levels.rank:
            known = [unit for unit, cost in rank.items() if cost < inf and self.space.is_exact(unit.box)]
            best.append(heapq.nsmallest(DIVES, known, key=rank.__getitem__))
        nodes: list[Node] = [node for node in product(*best) if nested(self.setting, node)]
        nodes = heapq.nsmallest(DIVED, nodes, key=self._promise)
        if not nodes:
            return

        def settled(value: Floats, bound: Floats) -> NDArray[np.bool_]:
            del bound
            return np.full(len(value), bool((value <= target * (1 + ATTAINED)).any()))

        self._keep_all(nodes, self._bound(nodes, settled))

    def _promise(self, node: Node) -> tuple[int, float]:
        """How dear a node's dearest level is alone, and then all of its levels."""
        pairs = zip(self.levels.rank, node, self.lows, strict=True)
        alone = [max(rank[unit], low, 1e-300) for rank, unit, low in pairs if unit is not None]
        return _rounded(max(alone)), sum(map(log, alone))

    def _keep_all(self, nodes: Sequence[Node], solution: BatchSolution) -> None:
        for node, point, value in zip(nodes, solution.point, solution.value.tolist(), strict=True):
            self._keep(node, point, value)

    def _branch(self) -> float:
        """Best-first search; returns the proved bound."""
        while self.queue:
            entry = heapq.heappop(self.queue)
            late = self.clock.late and (self.points or self.last_call.late)
            if entry.bound >= self.incumbent * (1 - TOLERANCE) or late:
                return min(entry.bound, *(e.bound for e in self.queue)) if self.queue else entry.bound
            batch = self._alike(entry)
            if not entry.solved:
                self._solve(batch)
                continue
            for one in batch:
                # An inexact box keeps the bounds of all nodes below it too low: split it first.
                if not self._split(one):
                    self._expand(one)
        return inf

    def _alike(self, entry: _Open) -> list[_Open]:
        """An entry and the next best ones of the same shape: what is done at once takes hardly longer."""
        shape = [u is None for u in entry.node]
        batch, aside = [entry], list[_Open]()
        most = EXPANDED if entry.solved else COMPLETE if all(entry.node) else BATCH
        ceiling = self.incumbent * (1 - TOLERANCE)
        while self.queue and len(batch) < most and len(aside) < BATCH:
            other = heapq.heappop(self.queue)
            same = other.solved == entry.solved and [u is None for u in other.node] == shape and other.bound < ceiling
            (batch if same else aside).append(other)
        for other in aside:
            heapq.heappush(self.queue, other)
        return batch

    def _expand(self, entry: _Open) -> None:
        node = entry.node
        level = next((i for i in self.sequence if node[i] is None), None)
        if level is None:
            self.floor = min(self.floor, entry.bound)  # solved and exact: nothing is left to refine
            return
        reach, inner, outer = self.levels.reach[level], node[:level], node[level + 1 :]
        boxes = dict.fromkeys(unit.box for unit in reach)
        fits = {box: nested(self.setting, (*inner, Unit(None, box), *outer)) for box in boxes}
        for unit in self.mirrors.distinct(node, level, reach):
            if reach[unit] < inf and fits[unit.box]:
                # A level alone has been solved already.
                self._push((*inner, unit, *outer), max(entry.bound, reach[unit]), solved=not any(node))

    def _split(self, entry: _Open) -> bool:
        """Replace an entry by one for each part of its first inexact box; False if all are exact."""
        for level in self.sequence:
            unit = entry.node[level]
            if unit is None or level in self.setting.fixed or self.space.is_exact(unit.box):
                continue
            for part in self.space.split(unit.box):
                child = (*entry.node[:level], Unit(unit.order, part), *entry.node[level + 1 :])
                if nested(self.setting, child):
                    self._push(child, entry.bound, solved=False)
            return True
        return False

    def _solve(self, batch: Sequence[_Open]) -> None:
        """Solve entries of the same shape."""
        ceiling = self.incumbent * (1 - TOLERANCE)
        known = np.array([e.bound for e in batch])
        final = np.array([self._final(e.node) for e in batch])

        def settled(value: Floats, bound: Floats) -> NDArray[np.bool_]:
            least = min(ceiling, value[final].min(initial=inf) * (1 - SAME))
            return np.asarray((value <= known * (1 + ATTAINED)) | (np.maximum(bound, known) >= least))

        solution = self._bound([e.node for e in batch], settled)
        for i, item in enumerate(batch):
            bound, value = max(item.bound, float(solution.bound[i])), float(solution.value[i])
            if final[i]:
                self._keep(item.node, solution.point[i], value)
            if final[i] and value - bound <= TOLERANCE * abs(bound):
                self.floor = min(self.floor, bound)
            else:
                self._push(item.node, bound, solved=True)

    def _final(self, node: Node) -> bool:
        """Whether every level is chosen and its rows are exact: a point of the program is one of the relaxation."""
        return all(unit is not None and self.space.is_exact(unit.box) for unit in node)

    def _keep(self, node: Node, point: Floats, value: float) -> None:
        if value < inf and self._final(node):
            self.points.append(self.read_back(node, point, value))
            self.incumbent = min(self.incumbent, value)

    def read_back(self, node: Node, point: Floats, value: float) -> RelaxedPoint:
        """Tiles of a node from the logarithms of its program."""
        free = self.space.free
        layout = self.bounder.layout(node)
        tiles = []
        for level, unit in enumerate(node):
            if level in self.setting.fixed:
                tiles.append({d: float(n) for d, n in self.setting.fixed[level][0].items()})
                continue
            tile = dict.fromkeys(self.setting.workload.dims, 1.0)
            tile.update(zip(free, np.exp(point[layout.tile[level]]).tolist(), strict=True))
            if unit is not None:
                tile.update(
                    {d: float(b[1]) for d, b in zip(self.space.boxed, unit.box, strict=True) if d in self.space.branch}
                )
            tiles.append(tile)
        orders = tuple(u.order.permutation for u in node if u is not None and u.order is not None)
        return RelaxedPoint(value=value, tiles=tuple(tiles), permutations=orders, node=node)

    @cached_property
    def _logs(self) -> tuple[dict[Unit, float], ...]:
        """Logarithms of what units cost alone."""
        return tuple({unit: log(max(cost, 1e-300)) for unit, cost in rank.items()} for rank in self.levels.rank)

    def _push(self, node: Node, bound: float, *, solved: bool) -> None:
        if bound >= self.incumbent * (1 - TOLERANCE):
            self.floor = min(self.floor, bound)
            return
        chosen = [(level, unit) for level, unit in enumerate(node) if unit is not None]
        own = sum(self._logs[level].get(unit, log(self.lows[level])) for level, unit in chosen)
        exact = sum(self.space.is_exact(unit.box) for _, unit in chosen)
        heapq.heappush(
            self.queue,
            _Open(
                rank=_rounded(bound),  # of equal bounds depth and the levels' own bounds decide
                depth=-2 * (len(chosen) + exact) - solved,
                own=own,
                number=next(self.numbers),
                bound=bound,
                node=node,
                solved=solved,
            ),
        )


def _rounded(bound: float) -> int:
    """Bounds that differ by rounding only are equal."""
    return round(log(max(bound, 1e-300)) / (0.1 * TOLERANCE))
