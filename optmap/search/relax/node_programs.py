"""The batches of convex programs that bound the nodes of the relaxation's search tree."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, pairwise

import numpy as np
from numpy.typing import NDArray

from optmap.base.arrays import Floats
from optmap.programs.geometric import Box, whole_count
from optmap.programs.geometric_rows import Frames, Posynomials
from optmap.search.relax.layout import ColumnLayout, Node, layout_of
from optmap.search.space.search_space import Order, Setting
from optmap.solvers.batch import BatchSolution, Settled, solve_batch
from optmap.solvers.iterates import NO_TERM, Batch, joined
from optmap.workloads.workload import Semantics

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
        self._frames: dict[tuple[Order, bool], Frames] = {}
        self._layouts: dict[tuple[tuple[bool, bool], ...], ColumnLayout] = {}
        self._limits = np.log(allowed.low[:, columns]), np.log(allowed.high[:, columns])

    def solve(self, nodes: Sequence[Node], *, settled: Settled | None = None) -> BatchSolution:
        """Solve the programs of nodes at once.

        Args:
            nodes: at least one; nodes of different levels may stand together where their programs
                have the same shape, as those of single levels that cores do not share.
            settled: which programs enough is known of (see `solve_batch`).
        """
        groups = [list(group) for _, group in groupby(nodes, key=_pattern)]
        layouts = [self.layout(group[0]) for group in groups]
        batches = [self.assemble(group) for group in groups]
        start = np.concatenate([_starts(*one) for one in zip(batches, layouts, strict=True)])
        fits = np.concatenate([_corner_fits(*one) for one in zip(batches, layouts, strict=True)])
        batch, begun = joined(batches), np.isfinite(start).all(axis=1)
        solution = solve_batch(batch, start=start, settled=settled)
        # Programs with points, but none strictly inside that a float can tell apart: nothing is known of them.
        solution.bound[~begun & fits] = -np.inf
        broken = np.flatnonzero(np.isneginf(solution.bound) & begun)
        if broken.size:
            # Once more from nearer the lower corner; what breaks down again stays without a bound.
            again = batch.lower[broken] + 0.3 * (start[broken] - batch.lower[broken])
            second = solve_batch(batch[broken], start=again)
            solution.point[broken], solution.value[broken] = second.point, second.value
            solution.bound[broken] = second.bound
        return solution

    def layout(self, node: Node) -> ColumnLayout:
        """The columns of a node's program."""
        pattern = _pattern(node)
        if pattern not in self._layouts:
            self._layouts[pattern] = layout_of(self.setting, node)
        return self._layouts[pattern]

    def assemble(self, nodes: Sequence[Node]) -> Batch:
        """The programs of nodes that all have units at the same levels."""
        setting = self.setting
        layout = self.layout(nodes[0])
        priced = [i for i, u in enumerate(nodes[0]) if u is not None and u.order is not None]
        traffics = [self._traffics(nodes, level, layout) for level in priced]
        exponents, logs = _stack(traffics + [self._occupancies(nodes, level, layout) for level in layout.levels])
        full = [self.setting.capacities[level] * (1 + SLACK) for level in layout.levels]
        logs[:, len(priced) :] -= np.log(full)[:, None]
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

    def _traffics(self, nodes: Sequence[Node], level: int, layout: ColumnLayout) -> tuple[Floats, Floats]:
        """Exponents (B, m, width) and logarithms (B, m) of a level's traffic under every node."""
        choices = []
        for node in nodes:
            unit, outer = node[level], node[level + 1] if level + 1 < len(node) else None
            if unit is None or unit.order is None:
                raise ValueError("only levels with a loop order have traffic")
            key = (unit.order, outer is None)
            if key not in self._frames:
                self._frames[key] = self.space.frames(unit.order.flow, whole=outer is None)
            choices.append((self._frames[key], unit.box, None if outer is None else outer.box))
        rows = self._picked(choices)
        exponents, logs = np.zeros((*rows.logs.shape, layout.width)), rows.logs
        if level in layout.tile:
            exponents[:, :, layout.tile[level]] += rows.own
        else:
            # An imposed tile makes at least ceil(N/T) tiles: it counts with their average size.
            extents = np.exp(self.space.log_extents).round()
            imposed = np.array([float(self.setting.fixed[level][0][d]) for d in self.space.free])
            logs = logs + rows.own @ (self.space.log_extents - np.log(np.ceil(extents / imposed)))
        split = layout.split_around(level)
        if split is not None:
            exponents += split.share(layout.width)
            logs = logs - split.log_whole
        outer_columns = layout.around(level)
        whole = outer_columns < 0
        exponents[:, :, outer_columns[~whole]] += rows.next[:, :, ~whole]
        return exponents, logs + rows.next[:, :, whole] @ self.space.log_extents[whole]

    def _occupancies(self, nodes: Sequence[Node], level: int, layout: ColumnLayout) -> tuple[Floats, Floats]:
        """Exponents (B, m, width) and logarithms (B, m) of what a level holds under every node."""
        rooms: dict[Order | None, Frames] = {}
        choices = []
        for node in nodes:
            unit = node[level]
            if unit is None:
                raise ValueError("only levels with a unit have a capacity row")
            if unit.order not in rooms:
                rooms[unit.order] = self.space.frames(self.setting.working(unit.order, level))
            choices.append((rooms[unit.order], unit.box, None))
        rows = self._picked(choices)
        exponents = np.zeros((*rows.logs.shape, layout.width))
        exponents[:, :, layout.tile[level]] = rows.own
        return exponents, rows.logs

    def _picked(self, choices: Sequence[tuple[Frames, Box, Box | None]]) -> Posynomials:
        """The rows of every choice, padded to equal numbers of terms: (B, m, F) and (B, m)."""
        numbers = {choice: number for number, choice in enumerate(dict.fromkeys(choices))}
        kinds = {frames: kind for kind, frames in enumerate(dict.fromkeys(frames for frames, *_ in numbers))}
        most = max(len(frames.own) for frames in kinds)
        own, beyond = (np.zeros((len(kinds), most, len(self.space.free))) for _ in range(2))
        for frames, kind in kinds.items():
            own[kind, : len(frames.own)], beyond[kind, : len(frames.own)] = frames.own, frames.next
        found = np.zeros((len(numbers), most))
        for choice, number in numbers.items():
            coefficients = self.space.coefficients(*choice)
            found[number, : len(coefficients)] = coefficients
        logs = np.log(found, out=np.full(found.shape, NO_TERM), where=found > 0)
        place = np.array([kinds[frames] for frames, *_ in choices])
        return Posynomials(logs=logs[[numbers[choice] for choice in choices]], own=own[place], next=beyond[place])

    def _chains(self, layout: ColumnLayout) -> tuple[Floats, Floats]:
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

    def _box(self, nodes: Sequence[Node], layout: ColumnLayout) -> tuple[Floats, Floats]:
        lower = np.zeros((len(nodes), layout.width))
        upper = np.zeros_like(lower)
        floor = np.zeros(len(self.space.free))
        for level, (tile, _) in self.setting.fixed.items():
            if layout.levels and level < layout.levels[0]:
                floor = np.maximum(floor, np.log([float(tile[d]) for d in self.space.free]))
        least, most = self._limits
        running = np.broadcast_to(floor, (len(nodes), len(floor)))
        for level in layout.levels:
            boxes = [self.space.whole() if unit is None else unit.box for unit in (node[level] for node in nodes)]
            ends = {box: self.space.bounds(box) for box in dict.fromkeys(boxes)}
            low, high = (np.array([ends[box][end] for box in boxes]) for end in (0, 1))
            running = np.maximum(np.maximum(running, low), least[level])
            lower[:, layout.tile[level]], upper[:, layout.tile[level]] = running, np.minimum(high, most[level])
        for inner, outer in reversed(list(pairwise(layout.levels))):
            a, c = layout.tile[inner], layout.tile[outer]
            upper[:, a] = np.minimum(upper[:, a], upper[:, c])
        if layout.split is not None:
            layout.split.bound(lower, upper, floor)
        return lower, upper


def _pattern(node: Node) -> tuple[tuple[bool, bool], ...]:
    """Which levels have a unit, and which of them a loop order: nodes alike in that have the same columns."""
    return tuple((unit is None, unit is None or unit.order is None) for unit in node)


def _starts(batch: Batch, layout: ColumnLayout) -> Floats:
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


def _nested(upper: Floats, lower: Floats, layout: ColumnLayout) -> Floats:
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


def _corner_fits(batch: Batch, layout: ColumnLayout) -> NDArray[np.bool_]:
    """(B,): whether the smallest tiles, each with one chunk, keep capacities and chains."""
    t = batch.lower.copy()
    if layout.split is not None:
        layout.split.undo(t, batch.upper)
    held = batch.totals(t)[:, batch.alpha.shape[1] :] <= 1.0
    return np.asarray(held.all(axis=1) & (batch.chains(t) <= 1e-12).all(axis=1))


def _room(exponents: Floats, logs: Floats, lower: Floats) -> Floats:
    """How far each variable can go up within the capacities, all other tiles being smallest.

    A level that its smallest tile nearly fills would otherwise confine the start of all levels to
    its own tiny room, from which Newton's method does not get away.
    """
    terms = np.exp((exponents @ lower[:, None, :, None])[..., 0] + logs)
    left = np.maximum(1.0 - terms.sum(axis=2), 0.0)[:, :, None]
    growing = (terms[:, :, :, None] * (exponents >= 1.0)).sum(axis=2)
    ends = np.where(growing > 0, np.log1p(left / np.where(growing > 0, growing, 1.0)), np.inf)
    return np.asarray(ends.min(axis=1, initial=np.inf))


def _stack(groups: Sequence[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
    """Posynomials of all programs, padded to equal numbers of terms: (B, P, m, n) and (B, P, m)."""
    size, _, n = groups[0][0].shape
    most = max(logs.shape[1] for _, logs in groups)
    exponents, logs = np.zeros((size, len(groups), most, n)), np.full((size, len(groups), most), NO_TERM)
    for row, (own, values) in enumerate(groups):
        exponents[:, row, : values.shape[1]], logs[:, row, : values.shape[1]] = own, values
    return exponents, logs
