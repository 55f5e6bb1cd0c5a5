"""The batches of convex programs that bound the nodes of the relaxation's search tree."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import log

import numpy as np
from numpy.typing import NDArray

from optmap.problem.workload import Semantics
from optmap.programs.geometric import Rows, whole_count
from optmap.search.relax.layout import Array, Layout, Node, layout_of
from optmap.search.search_space import Setting
from optmap.solvers.batch import BatchSolution, solve_batch
from optmap.solvers.iterates import NO_TERM, Batch

START_FRACTIONS = (0.45, 0.25, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-6, 1e-9)
"""How far from the lower corner of the box a start point is tried, largest first."""
SLACK = 1e-7
"""Relative enlargement of every capacity: gives single-point programs an interior; the bound of a
relaxed program is still a bound."""
SLIVER = 1e-8
"""Room given to a variable whose range is a single point."""
SINGLE = 1e-6
"""A smaller range is one of a single point."""


class Bounder:
    """Turns nodes into convex programs and solves them in batches."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.space = setting.space
        assign = setting.workload.semantics is Semantics.ASSIGN
        self.first_touches = float(whole_count(setting.workload)) if assign else 0.0
        columns = [setting.workload.dims.index(d) for d in self.space.free]
        allowed = setting.allowed
        self._limits = np.log(allowed.low[:, columns]), np.log(allowed.high[:, columns])

    def solve(self, nodes: Sequence[Node], *, enough: float = 0.0) -> BatchSolution:
        """Solve the programs of nodes that all have units at the same levels.

        Args:
            nodes: at least one.
            enough: cost at or below which an optimum need not be known exactly.
        """
        batch, layout = self.assemble(nodes), self.layout(nodes[0])
        start = _starts(batch, layout)

        def settled(value: Array, bound: Array) -> NDArray[np.bool_]:
            del bound
            return np.asarray(value <= enough)

        solution = solve_batch(batch, start=start, settled=settled)
        # Programs with points, but none strictly inside that a float can tell apart: nothing is known of them.
        solution.bound[~np.isfinite(start).all(axis=1) & _corner_fits(batch, layout)] = -np.inf
        broken = np.flatnonzero(np.isneginf(solution.bound) & np.isfinite(start).all(axis=1))
        if broken.size:
            # Once more from nearer the lower corner; what breaks down again stays without a bound.
            again = batch.lower[broken] + 0.3 * (start[broken] - batch.lower[broken])
            second = solve_batch(batch.take(broken), start=again)
            solution.point[broken], solution.value[broken] = second.point, second.value
            solution.bound[broken] = second.bound
        return solution

    def layout(self, node: Node) -> Layout:
        """The columns of a node's program."""
        return layout_of(self.setting, node)

    def assemble(self, nodes: Sequence[Node]) -> Batch:
        """The programs of nodes that all have units at the same levels."""
        setting = self.setting
        layout = self.layout(nodes[0])
        priced = [i for i, u in enumerate(nodes[0]) if u is not None and u.order is not None]
        epigraphs = [[self._traffic(node, level, layout) for node in nodes] for level in priced]
        full = [log(self.setting.capacities[level] * (1 + SLACK)) for level in layout.levels]
        limits = [
            [(rows, logs - most) for rows, logs in (self._occupancy(node, level, layout) for node in nodes)]
            for level, most in zip(layout.levels, full, strict=True)
        ]
        exponents, logs = _stack(epigraphs + limits, layout.width)
        linear, limit = self._chains(layout)
        lower, upper = self._box(nodes, layout)
        room = _room(exponents[:, len(priced) :], logs[:, len(priced) :], lower)
        upper = _nested(np.minimum(upper, lower + room), lower, layout)
        size = len(nodes)
        return Batch(
            exponents=exponents,
            logs=logs,
            alpha=np.tile([setting.bandwidths[level] for level in priced], (size, 1)),
            constant=np.full((size, len(priced)), self.first_touches),
            linear=np.broadcast_to(linear, (size, *linear.shape)),
            limit=np.broadcast_to(limit, (size, *limit.shape)),
            lower=lower,
            upper=upper,
        )

    def _traffic(self, node: Node, level: int, layout: Layout) -> tuple[Array, Array]:
        unit = node[level]
        outer = node[level + 1] if level + 1 < len(node) else None
        if unit is None or unit.order is None:
            raise ValueError("only levels with a loop order have traffic")
        rows = self.space.traffic(unit.order.flow, unit.box, None if outer is None else outer.box)
        exponents = np.zeros((len(rows.logs), layout.width))
        logs = rows.logs
        if level in layout.tile:
            exponents[:, layout.tile[level]] += rows.own
        else:
            # An imposed tile makes at least ceil(N/T) pieces: it counts with their average size.
            extents = np.exp(self.space.log_extents).round()
            imposed = np.array([float(self.setting.fixed[level][0][d]) for d in self.space.free])
            logs = logs + rows.own @ (self.space.log_extents - np.log(np.ceil(extents / imposed)))
        split = layout.split_around(level)
        if split is not None:
            exponents += split.share(layout.width)
            logs = logs - split.log_whole
        outer_columns = layout.around(level)
        whole = outer_columns < 0
        exponents[:, outer_columns[~whole]] += rows.next[:, ~whole]
        return exponents, logs + rows.next[:, whole] @ self.space.log_extents[whole]

    def _occupancy(self, node: Node, level: int, layout: Layout) -> tuple[Array, Array]:
        unit = node[level]
        if unit is None:
            raise ValueError("only levels with a unit have a capacity row")
        rows: Rows = self.space.capacity(unit.box, self.setting.working(unit.order, level))
        exponents = np.zeros((len(rows.logs), layout.width))
        exponents[:, layout.tile[level]] = rows.own
        return exponents, rows.logs

    def _chains(self, layout: Layout) -> tuple[Array, Array]:
        """Rows that make tiles nest, chunks included, and the number of cores a limit."""
        pairs = layout.pairs()
        linear = np.zeros((len(pairs), layout.width))
        for i, (a, b) in enumerate(pairs):
            linear[i, a], linear[i, b] = 1.0, -1.0
        limit = np.zeros(len(pairs))
        if layout.split is None:
            return linear, limit
        share = layout.split.share(layout.width)
        return np.concatenate((linear, -share[None])), np.append(limit, layout.split.most)

    def _box(self, nodes: Sequence[Node], layout: Layout) -> tuple[Array, Array]:
        lower = np.zeros((len(nodes), layout.width))
        upper = np.zeros_like(lower)
        floor = np.zeros(len(self.space.free))
        for level, (tile, _) in self.setting.fixed.items():
            if layout.levels and level < layout.levels[0]:
                floor = np.maximum(floor, np.log([float(tile[d]) for d in self.space.free]))
        least, most = self._limits
        for b, node in enumerate(nodes):
            running = floor
            for level in layout.levels:
                unit = node[level]
                low, high = self.space.bounds(self.space.whole() if unit is None else unit.box)
                running = np.maximum(np.maximum(running, low), least[level])
                lower[b, layout.tile[level]], upper[b, layout.tile[level]] = running, np.minimum(high, most[level])
            for inner, outer in reversed(list(pairwise(layout.levels))):
                a, c = layout.tile[inner], layout.tile[outer]
                upper[b, a] = np.minimum(upper[b, a], upper[b, c])
        if layout.split is not None:
            layout.split.bound(lower, upper, floor)
        return lower, upper


def _starts(batch: Batch, layout: Layout) -> Array:
    """Points strictly inside capacities and chains; NaN where none was found."""
    size, n = batch.lower.shape
    ramp = layout.ramp()
    k = batch.alpha.shape[1]
    found = np.full((size, n), np.nan)
    open_ = np.ones(size, dtype=bool)
    for fraction in START_FRACTIONS:
        room = batch.upper - batch.lower
        # A range of one point has no room to go along: its levels must stay apart from each other.
        t = batch.lower + np.where(room < SINGLE, max(fraction, 1e-3), fraction) * ramp * room
        if layout.split is not None:
            layout.split.spread(t, batch.lower, batch.upper)
        inside = (batch.totals(t)[:, k:] < 1.0).all(axis=1) & (batch.chains(t) < 0.0).all(axis=1)
        good = open_ & inside
        found[good] = t[good]
        open_ &= ~good
        if not open_.any():
            break
    return found


def _nested(upper: Array, lower: Array, layout: Layout) -> Array:
    """Upper ends that grow from inner to outer tiles, each with some room above the lower end.

    A variable whose range is one point keeps a sliver, larger further out, so that an interior
    exists. Start points scaled along these ranges nest.
    """
    pairs = layout.pairs()
    for _ in range(len(layout.levels) + 1):
        for inner, outer in pairs:
            upper[:, inner] = np.minimum(upper[:, inner], upper[:, outer])
    sliver = SLIVER * (1.0 + 2.0 * layout.rank())
    return np.where(upper - lower < sliver, lower + sliver, upper)


def _corner_fits(batch: Batch, layout: Layout) -> NDArray[np.bool_]:
    """(B,): whether the smallest tiles, each with one chunk, keep capacities and chains."""
    t = batch.lower.copy()
    if layout.split is not None:
        layout.split.undo(t, batch.upper)
    held = batch.totals(t)[:, batch.alpha.shape[1] :] <= 1.0
    return np.asarray(held.all(axis=1) & (batch.chains(t) <= 1e-12).all(axis=1))


def _room(exponents: Array, logs: Array, lower: Array) -> Array:
    """How far each variable can go up within the capacities, all other tiles being smallest.

    A level that its smallest tile nearly fills would otherwise confine the start of all levels to
    its own tiny room, from which Newton's method does not get away.
    """
    terms = np.exp((exponents @ lower[:, None, :, None])[..., 0] + logs)
    left = np.maximum(1.0 - terms.sum(axis=2), 0.0)[:, :, None]
    growing = (terms[:, :, :, None] * (exponents >= 1.0)).sum(axis=2)
    ends = np.where(growing > 0, np.log1p(left / np.where(growing > 0, growing, 1.0)), np.inf)
    return np.asarray(ends.min(axis=1, initial=np.inf))


def _stack(groups: Sequence[Sequence[tuple[Array, Array]]], n: int) -> tuple[Array, Array]:
    """Posynomials of all programs, padded to equal numbers of terms."""
    size = len(groups[0]) if groups else 0
    most = max(len(logs) for group in groups for _, logs in group)
    exponents = np.zeros((size, len(groups), most, n))
    logs = np.full((size, len(groups), most), NO_TERM)
    for row, group in enumerate(groups):
        for b, (rows, values) in enumerate(group):
            exponents[b, row, : len(values)] = rows
            logs[b, row, : len(values)] = values
    return exponents, logs
