"""Nodes of the relaxation's search tree, and the batches of convex programs that bound them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log

import numpy as np
from numpy.typing import NDArray

from optmap.problem.workload import Semantics
from optmap.programs.geometric import Box, Rows, whole_count
from optmap.search.search_space import Order, Setting
from optmap.solvers.batch import NO_TERM, Batch, BatchSolution, solve_batch

Array = NDArray[np.float64]

START_FRACTIONS = (0.45, 0.25, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-6, 1e-9)
"""How far from the lower corner of the box a start point is tried, largest first."""
SLACK = 1e-7
"""Relative enlargement of every capacity: gives single-point programs an interior; the bound of a
relaxed program is still a bound."""
SLIVER = 1e-8
"""Room given to a variable whose range is a single point."""
SINGLE = 1e-6
"""A smaller range is one of a single point."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A choice for one level: a loop order (or none yet) and a box of the boxed dims."""

    order: Order | None
    box: Box


Node = tuple[Unit | None, ...]
"""One unit per level, inner first; None where nothing is chosen yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Which column of a program holds which logarithm.

    The tile of every level with a unit has one column per free dim. If cores share a level, the
    chunk of its tile that one core works on has a column per free dim that may be split, and one
    more column stands for splitting branch dims.
    """

    levels: tuple[int, ...]
    """Levels with columns of their own, inner first."""
    tile: dict[int, NDArray[np.intp]]
    """(F,) columns of each of these levels."""
    chunk: NDArray[np.intp] | None
    """(F,) columns of the chunk (the shared tile's own column for reduction dims, -1 for the whole
    extent); None without a split."""
    extra: int
    """Column of the splits of branch dims; -1 if there are none."""
    width: int
    """Columns altogether."""


class Bounder:
    """Turns nodes into convex programs and solves them in batches."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.space = setting.space
        assign = setting.workload.semantics is Semantics.ASSIGN
        self.first_touches = float(whole_count(setting.workload)) if assign else 0.0
        reduction = set(setting.workload.reduction_dims)
        self._split_free = np.array([d not in reduction for d in self.space.free], dtype=bool)
        self._split_branch = any(d not in reduction for d in self.space.branch)
        columns = [setting.workload.dims.index(d) for d in self.space.free]
        allowed = setting.allowed
        self._limits = np.log(allowed.low[:, columns]), np.log(allowed.high[:, columns])

    def solve(self, nodes: Sequence[Node], *, enough: float = 0.0) -> BatchSolution:
        """Solve the programs of nodes that all have units at the same levels.

        Args:
            nodes: at least one.
            enough: cost at or below which an optimum need not be known exactly.
        """
        batch = self.assemble(nodes)
        start = self._starts(batch, self.layout(nodes[0]))
        solution = solve_batch(batch, start=start, enough=enough)
        # Programs with points, but none strictly inside that a float can tell apart: nothing is known of them.
        solution.bound[~np.isfinite(start).all(axis=1) & self._corner_fits(batch, nodes[0])] = -np.inf
        broken = np.flatnonzero(np.isneginf(solution.bound) & np.isfinite(start).all(axis=1))
        if broken.size:
            # Once more from nearer the lower corner; what breaks down again stays without a bound.
            again = batch.lower[broken] + 0.3 * (start[broken] - batch.lower[broken])
            second = solve_batch(batch.take(broken), start=again, enough=enough)
            solution.point[broken], solution.value[broken] = second.point, second.value
            solution.bound[broken] = second.bound
        return solution

    def layout(self, node: Node) -> Layout:
        """The columns of a node's program."""
        free = len(self.space.free)
        levels = tuple(i for i, unit in enumerate(node) if unit is not None and i not in self.setting.fixed)
        tile = {level: np.arange(i * free, (i + 1) * free) for i, level in enumerate(levels)}
        width = free * len(levels)
        split = self.setting.split_level
        chunk, extra = None, -1
        if split is not None and any(u is not None and u.order is not None for u in node[:split]):
            chunk = tile[split].copy() if split in tile else np.full(free, -1)
            count = int(self._split_free.sum())
            chunk[self._split_free] = np.arange(width, width + count)
            width += count
            if self._split_branch:
                extra, width = width, width + 1
        return Layout(levels=levels, tile=tile, chunk=chunk, extra=extra, width=width)

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
        exponents, logs, starts = _stack(epigraphs + limits, layout.width)
        linear, limit = self._chains(layout)
        lower, upper = self._box(nodes, layout)
        first = starts[len(priced)] if limits else len(logs[0])
        room = _room(exponents[:, first:], logs[:, first:], [s - first for s in starts[len(priced) :]], lower)
        upper = self._nested(linear[limit == 0], np.minimum(upper, lower + room), lower, layout)
        size = len(nodes)
        return Batch(
            exponents=exponents,
            logs=logs,
            starts=starts,
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
        split = self.setting.split_level
        if layout.chunk is not None and split is not None and level < split:
            self._share(exponents, layout, split)
            logs = logs - self.share_constant(layout)
        outer_columns = layout.tile.get(level + 1)
        if layout.chunk is not None and split == level + 1:
            outer_columns = layout.chunk
        if outer_columns is None:
            return exponents, logs + rows.next @ self.space.log_extents
        own = outer_columns >= 0
        exponents[:, outer_columns[own]] += rows.next[:, own]
        return exponents, logs + rows.next[:, ~own] @ self.space.log_extents[~own]

    def _share(self, exponents: Array, layout: Layout, split: int) -> None:
        """One core's part of the work: the product of chunk/tile over the dims."""
        if layout.chunk is None:
            return
        exponents[:, layout.chunk[self._split_free]] += 1.0
        if split in layout.tile:
            exponents[:, layout.tile[split][self._split_free]] -= 1.0
        if layout.extra >= 0:
            exponents[:, layout.extra] -= 1.0

    def share_constant(self, layout: Layout) -> float:
        """Logarithm of the product of extents that a split of the whole problem divides by."""
        split = self.setting.split_level
        if layout.chunk is None or split is None or split in layout.tile:
            return 0.0
        return float(self.space.log_extents[self._split_free].sum())

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
        split = self.setting.split_level
        rows: list[tuple[int, int]] = []
        for a, b in pairwise(layout.levels):
            inner, outer = layout.tile[a], layout.tile[b]
            if layout.chunk is not None and split == b:
                rows += list(zip(inner.tolist(), layout.chunk.tolist(), strict=True))
                rows += [(c, o) for c, o in zip(layout.chunk.tolist(), outer.tolist(), strict=True) if c != o]
            else:
                rows += list(zip(inner.tolist(), outer.tolist(), strict=True))
        if layout.chunk is not None and split is not None and split not in layout.tile and layout.levels:
            inside = [level for level in layout.levels if level < split]
            if inside:
                columns = layout.tile[inside[-1]].tolist()
                rows += [(a, c) for a, c in zip(columns, layout.chunk.tolist(), strict=True) if c >= 0]
        linear = np.zeros((len(rows), layout.width))
        for i, (a, b) in enumerate(rows):
            linear[i, a] += 1.0
            linear[i, b] -= 1.0
        limit = np.zeros(len(rows))
        if layout.chunk is not None:
            share = np.zeros((1, layout.width))
            self._share(share, layout, split or 0)
            linear = np.concatenate((linear, -share))
            limit = np.append(limit, log(self.setting.cores) - self.share_constant(layout))
        return linear, limit

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
        if layout.chunk is not None:
            split = self.setting.split_level or 0
            inside = [level for level in layout.levels if level < split]
            own = layout.chunk[self._split_free]
            lower[:, own] = lower[:, layout.tile[inside[-1]][self._split_free]] if inside else floor[self._split_free]
            whole = self.space.log_extents[self._split_free]
            upper[:, own] = upper[:, layout.tile[split][self._split_free]] if split in layout.tile else whole
            if layout.extra >= 0:
                upper[:, layout.extra] = log(self.setting.cores)
        return lower, upper

    def _nested(self, linear: Array, upper: Array, lower: Array, layout: Layout) -> Array:
        """Upper ends that grow from inner to outer tiles, each with some room above the lower end.

        A variable whose range is one point keeps a sliver, larger further out, so that an interior
        exists. Start points scaled along these ranges nest.
        """
        pairs = [(int(row.argmax()), int(row.argmin())) for row in linear]
        for _ in range(len(layout.levels) + 1):
            for inner, outer in pairs:
                upper[:, inner] = np.minimum(upper[:, inner], upper[:, outer])
        sliver = SLIVER * (1.0 + 2.0 * self._rank(layout))
        return np.where(upper - lower < sliver, lower + sliver, upper)

    def _rank(self, layout: Layout) -> Array:
        """Position of each column from inner to outer; the chunk lies just inside the split tile."""
        rank = np.full(layout.width, float(len(layout.levels)))
        for i, level in enumerate(layout.levels):
            rank[layout.tile[level]] = i
        if layout.chunk is not None:
            inside = sum(level < (self.setting.split_level or 0) for level in layout.levels)
            rank[layout.chunk[self._split_free]] = inside - 0.5
        return rank

    def _ramp(self, layout: Layout) -> Array:
        """How far along its range each column starts: outer tiles further than inner ones."""
        ramp = np.full(layout.width, 0.5)
        depth = len(layout.levels)
        for i, level in enumerate(layout.levels):
            ramp[layout.tile[level]] = (i + 1.0) / max(1, depth)
        split = self.setting.split_level
        if layout.chunk is not None and split is not None:
            own = layout.chunk[self._split_free]
            ramp[own] = 0.97 * ramp[layout.tile[split][0]] if split in layout.tile and len(own) else 1.0
            if layout.extra >= 0:
                ramp[layout.extra] = 0.01
        return ramp

    def _beside(self, t: Array, batch: Batch, layout: Layout) -> None:
        """Raise the chunks of a start to just below split tiles that cannot be small: they need enough of them."""
        split = self.setting.split_level
        if layout.chunk is None or split is None or split not in layout.tile:
            return
        own, tile = layout.chunk[self._split_free], layout.tile[split][self._split_free]
        below = t[:, tile] - 0.3 * log(2.0) / max(1, len(own))
        t[:, own] = np.where(batch.lower[:, tile] > batch.lower[:, own], np.maximum(t[:, own], below), t[:, own])

    def _corner_fits(self, batch: Batch, node: Node) -> NDArray[np.bool_]:
        """(B,): whether the smallest tiles, each with one chunk, keep capacities and chains."""
        layout, split, t = self.layout(node), self.setting.split_level, batch.lower.copy()
        if layout.chunk is not None:
            own = layout.chunk[self._split_free]
            whole = split is None or split not in layout.tile
            t[:, own] = batch.upper[:, own] if whole else t[:, layout.tile[split or 0][self._split_free]]
        terms = np.einsum("bmn,bn->bm", batch.exponents, t) + batch.logs
        total = np.add.reduceat(np.exp(terms), np.asarray(batch.starts), axis=1)[:, batch.alpha.shape[1] :]
        chain = np.einsum("brn,bn->br", batch.linear, t) <= batch.limit + 1e-12
        return np.asarray((total <= 1.0).all(axis=1) & chain.all(axis=1))

    def _starts(self, batch: Batch, layout: Layout) -> Array:
        """Points strictly inside capacities and chains; NaN where none was found."""
        size, n = batch.lower.shape
        ramp = self._ramp(layout)
        k = batch.alpha.shape[1]
        found = np.full((size, n), np.nan)
        open_ = np.ones(size, dtype=bool)
        starts = np.asarray(batch.starts)
        whole = layout.chunk is not None and self.share_constant(layout) > 0
        for fraction in START_FRACTIONS:
            room = batch.upper - batch.lower
            # A range of one point has no room to go along: its levels must stay apart from each other.
            t = batch.lower + np.where(room < SINGLE, max(fraction, 1e-3), fraction) * ramp * room
            if whole and layout.chunk is not None:
                own = layout.chunk[self._split_free]
                t[:, own] = batch.upper[:, own] - 0.3 * log(2.0) / max(1, len(own))
            elif layout.chunk is not None:
                self._beside(t, batch, layout)
            terms = np.einsum("bmn,bn->bm", batch.exponents, t) + batch.logs
            total = np.add.reduceat(np.exp(terms), starts, axis=1)[:, k:]
            chain = (np.einsum("brn,bn->br", batch.linear, t) < batch.limit).all(axis=1)
            good = open_ & (total < 1.0).all(axis=1) & chain
            found[good] = t[good]
            open_ &= ~good
            if not open_.any():
                break
        return found


def _room(exponents: Array, logs: Array, starts: Sequence[int], lower: Array) -> Array:
    """How far each variable can go up within the capacities, all other tiles being smallest.

    A level that its smallest tile nearly fills would otherwise confine the start of all levels to
    its own tiny room, from which Newton's method does not get away.
    """
    if not starts:
        return np.full_like(lower, np.inf)
    terms = np.exp(np.einsum("bmn,bn->bm", exponents, lower) + logs)
    held = np.add.reduceat(terms, starts, axis=1)[:, :, None]
    growing = np.add.reduceat(terms[:, :, None] * (exponents >= 1.0), starts, axis=1)
    left = np.maximum(1.0 - held, 0.0)
    return np.asarray(np.where(growing > 0, np.log1p(left / np.where(growing > 0, growing, 1.0)), np.inf).min(axis=1))


def _stack(groups: Sequence[Sequence[tuple[Array, Array]]], n: int) -> tuple[Array, Array, tuple[int, ...]]:
    """Posynomials of all programs, padded to equal numbers of rows."""
    size = len(groups[0]) if groups else 0
    heights = [max(len(logs) for _, logs in group) for group in groups]
    starts = tuple(int(x) for x in np.concatenate(([0], np.cumsum(heights)[:-1])))
    exponents = np.zeros((size, sum(heights), n))
    logs = np.full((size, sum(heights)), NO_TERM)
    for start, group in zip(starts, groups, strict=True):
        for b, (rows, values) in enumerate(group):
            exponents[b, start : start + len(values)] = rows
            logs[b, start : start + len(values)] = values
    return exponents, logs, starts
