"""Tile programs as posynomials: the convex form that a global optimum can be proved on.

In logarithms of tile sizes every traffic and capacity term is a posynomial once the filter-like
extents are fixed: an axis `m*x + y` with y fixed to b touches `b*T_x` values if b <= m, else
`m*T_x + (b - m)`. This module chooses which dims to fix (the *branch* dims, one box of integers
each), which stay variable (the *free* dims), and writes traffic and capacity of one level as rows
of coefficients and exponents over the free dims of that level (`own`) and of the next outer one
(`next`). Over a box that is not a single value the rows are lower estimates: traffic falls and
occupancy grows with every tile size.

Why the rows bound ragged integer tiles too: a footprint is concave in each extent and vanishes at
0, so the sum over ragged tiles of an extent N cut by T is at least N/T times its value at T.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from math import log, prod

import numpy as np

from optmap.base.arrays import Floats
from optmap.mappings.reuse import Reuse, TensorRoom
from optmap.programs.geometric_rows import Coefficients, Factor, Frames, Line, Posynomials, TensorRows
from optmap.programs.linear_subscripts import LineAxis, axis_bends, branch_dims, chord, distinct_axes, line_axis
from optmap.workloads.canonical import canonical_form
from optmap.workloads.workload import TensorAccess, Workload

Box = tuple[tuple[int, int], ...]
"""(least, largest) integer per boxed dim of a `TileSpace`, in its order."""


MOST_PIECES = 3
"""Bends of a dim's footprint up to which its range is cut at all of them from the start."""


class TileSpace:
    """Free and branch dims of a workload, and its traffic and capacity as posynomial rows."""

    def __init__(self, workload: Workload) -> None:
        self.workload = workload
        self.extents = workload.extents
        live = tuple(d for d in workload.dims if self.extents[d] > 1)
        # Which of several dims is fixed, and in which subscript a dim counts, must not depend on how they are written.
        raw = {i: distinct_axes(axes, live) for i, axes in canonical_form(workload).subscripts().items()}
        branch = branch_dims([axis for axes in raw.values() for axis in axes], self.extents)
        self.free: tuple[str, ...] = tuple(d for d in live if d not in branch)
        """Dims whose tile sizes are variables, in canonical order."""
        self.branch: tuple[str, ...] = tuple(d for d in live if d in branch)
        """Dims whose tile sizes are boxed integers."""
        self.axes: tuple[tuple[LineAxis, ...], ...] = tuple(
            tuple(line_axis(terms, branch) for terms in raw[i]) for i in range(len(workload.tensors))
        )
        """Per access its subscripts over live dims."""
        self.overlapping = tuple(frozenset(_overlapping(tensor, live)) for tensor in workload.tensors)
        """Per access the dims along which neighbouring tiles can share elements."""
        self.concave: tuple[str, ...] = tuple(d for d in self.free if self._is_concave(d))
        """Free dims whose footprint is only piecewise linear: boxed as well."""
        self.boxed: tuple[str, ...] = self.branch + self.concave
        self._index = {d: i for i, d in enumerate(self.free)}
        self._full: Box = tuple((n, n) for n in (self.extents[d] for d in self.boxed))
        self._exact: dict[Box, bool] = {}
        self._frames: dict[object, Frames] = {}
        self._parts: dict[object, TensorRows] = {}
        self._coefficients: dict[tuple[TensorRows, Box, Box | None], Coefficients] = {}

    @cached_property
    def log_extents(self) -> Floats:
        """(F,): logarithms of the extents of the free dims."""
        return np.array([log(self.extents[d]) for d in self.free])

    def whole(self) -> Box:
        """The box of every boxed dim's full range."""
        return tuple((1, self.extents[d]) for d in self.boxed)

    def single(self, tile: dict[str, int]) -> Box:
        """The box that holds one tile only."""
        return tuple((tile[d], tile[d]) for d in self.boxed)

    def is_exact(self, box: Box) -> bool:
        """Whether the rows of this box are exact: single branch values, no bend inside."""
        if box not in self._exact:
            ranges = zip(self.boxed, box, strict=True)
            self._exact[box] = all(
                low == high if dim in self.branch else not any(low < bend < high for bend in self.bends(dim))
                for dim, (low, high) in ranges
            )
        return self._exact[box]

    def split(self, box: Box) -> tuple[Box, ...]:
        """Smaller boxes that cover an inexact box (empty for an exact one)."""
        widest, where = 1.0, -1
        for i, (dim, (low, high)) in enumerate(zip(self.boxed, box, strict=True)):
            splittable = low < high and (dim in self.branch or any(low < b < high for b in self.bends(dim)))
            if splittable and high / low > widest:
                widest, where = high / low, i
        if where < 0:
            return ()
        dim, (low, high) = self.boxed[where], box[where]
        if dim in self.branch:
            # The full extent is special (one trip): split it off first.
            if high == self.extents[dim] and low < high:
                middle = high - 1 if high - low < 4 or low == 1 else int((low * high) ** 0.5)
            else:
                middle = min(high - 1, max(low, int((low * high) ** 0.5)))
            parts = ((low, middle), (middle + 1, high))
        else:
            bend = min((b for b in self.bends(dim) if low < b < high), key=lambda b: abs(log(b * b / (low * high))))
            parts = ((low, bend), (bend, high))
        return tuple((*box[:where], part, *box[where + 1 :]) for part in parts)

    def pieces(self, dim: str) -> tuple[tuple[int, int], ...]:
        """Ranges of a piecewise linear dim between its bends; the whole range if there are many."""
        bends = [b for b in self.bends(dim) if 1 < b < self.extents[dim]]
        ends = [1, *bends, self.extents[dim]] if len(bends) <= MOST_PIECES else [1, self.extents[dim]]
        return tuple(pairwise(ends))

    def bounds(self, box: Box) -> tuple[Floats, Floats]:
        """Logarithmic box (lower, upper) of the free dims."""
        lower, upper = np.zeros(len(self.free)), self.log_extents.copy()
        for dim, (low, high) in zip(self.boxed, box, strict=True):
            if dim in self._index:
                lower[self._index[dim]], upper[self._index[dim]] = log(low), log(high)
        return lower, upper

    def traffic(self, flow: tuple[Reuse, ...], own: Box, outer: Box | None) -> Posynomials:
        """Loads and stores of one level, all visits, in words.

        Args:
            flow: reuse of every tensor at this level.
            own: box of this level's tile.
            outer: box of the next outer level's tile; None if that is the whole problem.

        Returns:
            rows in words; exact if both boxes are, a lower estimate otherwise. Under `assign`
            the first touches (one per output word) are still to be subtracted.
        """
        frames = self.frames(flow, whole=outer is None)
        return frames.rows(self.coefficients(frames, own, outer))

    def capacity(self, box: Box, working: tuple[TensorRoom, ...]) -> Posynomials:
        """Words that must fit: one tile of each tensor, or what its `TensorRoom` says.

        Neighbours along a dim of one trip, which has no rows, are left out: a lower estimate.
        """
        frames = self.frames(working)
        return frames.rows(self.coefficients(frames, box))

    def frames(self, kept: Sequence[Reuse | TensorRoom], *, whole: bool = False) -> Frames:
        """What rows have in common, whatever the boxes; the same object for the same arguments.

        Args:
            kept: reuse of every tensor, for `traffic`, or their rooms, for `capacity`.
            whole: whether the next outer tile is the whole problem.
        """
        key = (tuple(kept), whole)
        if key not in self._frames:
            self._frames[key] = Frames([self._frame(i, each, whole) for i, each in enumerate(kept)])
        return self._frames[key]

    def coefficients(self, frames: Frames, own: Box, outer: Box | None = None) -> Coefficients:
        """(m,): the coefficients of all monomials of some frames between two boxes; 0 for those that are not there."""
        found: list[float] = []
        for frame in frames.each:
            key = (frame, own, outer)
            if key not in self._coefficients:
                self._coefficients[key] = self._held(frame, own) if frame.room else self._moved(frame, own, outer)
            found += self._coefficients[key]
        return tuple(found)

    def _frame(self, index: int, kept: Reuse | TensorRoom, whole: bool) -> TensorRows:
        """The frame of one tensor: several loop orders share it, and its coefficients."""
        key = (index, kept, whole)
        if key not in self._parts:
            self._parts[key] = (
                self._room_frame(index, kept)
                if isinstance(kept, TensorRoom)
                else self._traffic_frame(index, kept, whole)
            )
        return self._parts[key]

    def _traffic_frame(self, index: int, reuse: Reuse, whole: bool) -> TensorRows:
        at = reuse.at if reuse.at in self.overlapping[index] else None
        weight = self.workload.weight(self.workload.tensors[index]) * (2.0 if index == 0 else 1.0)
        tiles = [0.0] * (2 * len(self.free))
        divided = []
        for dim in self.free + self.branch:
            outside = dim not in reuse.free and dim != at
            if whole and not outside:
                continue  # one tile of the whole extent
            weight *= self.extents[dim]
            if dim in self._index:
                tiles[self._index[dim] + (0 if outside else len(self.free))] = -1.0
            else:
                divided.append((self.branch.index(dim), outside))
        growth = next((axis for axis in self.axes[index] if at in axis.dims), None)
        factors = [self._factor(axis, at if axis is growth else None, whole) for axis in self.axes[index]]
        return TensorRows(weight=weight, tiles=tuple(tiles), divided=tuple(divided), factors=tuple(factors), room=False)

    def _room_frame(self, index: int, room: TensorRoom) -> TensorRows:
        factors, along = [], room.along
        for axis in self.axes[index]:
            factor = self._factor(axis, None, False)
            if along in axis.dims:
                twice = 2.0 if along == axis.main else 1.0
                factor = Factor(axis, along, tuple((twice * a, b, column) for a, b, column in factor.terms))
                along = None
            factors.append(factor)
        weight = self.workload.weight(self.workload.tensors[index]) * float(room.copies)
        tiles = (0.0,) * (2 * len(self.free))
        return TensorRows(weight=weight, tiles=tiles, divided=(), factors=tuple(factors), room=True)

    def _factor(self, axis: LineAxis, at: str | None, whole: bool) -> Factor:
        """A subscript as a factor of traffic: slope times size, and the constant if there is one."""
        if axis.main is None:
            return Factor(axis, at, ((0.0, 1.0, None),))
        if axis.main == at and whole:
            return Factor(axis, at, ((float(self.extents[axis.main]), 1.0, None),))
        column = self._index[axis.main] + (len(self.free) if axis.main == at else 0)
        terms = ((1.0, 0.0, column), (0.0, 1.0, None))
        return Factor(axis, at, terms[:1] if len(axis.dims) == 1 else terms)

    def _moved(self, frame: TensorRows, own: Box, outer: Box | None) -> Coefficients:
        """Coefficients of a tensor's traffic between two boxes."""
        beyond = self._full if outer is None else outer
        divisor = prod((own if outside else beyond)[place][1] for place, outside in frame.divided)
        sizes = self._sizes(own, 1), self._sizes(beyond, 1)
        lines = [
            self._line(factor.axis, sizes[0], own)
            if factor.at is None
            else self._growth_line(factor.axis, factor.at, sizes, own, outer)
            for factor in frame.factors
        ]
        return frame.coefficients(divisor, lines)

    def _held(self, frame: TensorRows, box: Box) -> Coefficients:
        """Coefficients of what a tensor needs in a box, along `at` of a tile and its neighbour."""
        low = self._sizes(box, 0)
        lines = []
        for factor in frame.factors:
            twice = {factor.at: 2 * low[factor.at]} if factor.at in low else {}
            tiles = 2 if factor.at == factor.axis.main else 1
            lines.append(self._line(factor.axis, {**low, **twice}, box, tiles=tiles))
        return frame.coefficients(1, lines)

    def _sizes(self, box: Box, end: int) -> dict[str, int]:
        """Least (0) or largest (1) sizes of the branch dims in a box."""
        return {dim: ends[end] for dim, ends in zip(self.branch, box, strict=False)}  # branch dims come first

    def _line(self, axis: LineAxis, values: dict[str, int], box: Box, *, tiles: int = 1) -> Line:
        """Slope and constant of the axis's count as a function of its free dim, over so many tiles of the box."""
        if axis.main is None:
            return 0.0, float(axis.count(values))
        if len(axis.dims) == 1:
            return 1.0, 0.0
        low, high = 1, self.extents[axis.main]
        if axis.main in self.concave:
            low, high = box[self.boxed.index(axis.main)]
        low, high = tiles * low, tiles * high  # neighbours reach beyond the extent, where the count may bend
        return chord(low, axis.count({**values, axis.main: low}), high, axis.count({**values, axis.main: high}))

    def _growth_line(
        self, axis: LineAxis, at: str, sizes: tuple[dict[str, int], dict[str, int]], own: Box, outer: Box | None
    ) -> Line:
        """The axis's count summed over the tiles of one next-level tile along the reuse dim.

        `sizes` holds the branch dims' extents of this level and of the next.
        """
        value, beyond = sizes
        if at == axis.main:
            return self._line(axis, value, self.whole() if outer is None else outer)
        union = self._line(axis, {**value, at: beyond[at]}, own)
        if axis.main is None or axis.main in self.concave or not self.is_exact(own):
            return union
        if outer is not None and not self.is_exact(outer):
            return union
        ends = (1, self.extents[axis.main])
        if ends[0] == ends[1]:
            return union
        # A shorter walk has to bring in its share at least. What it brings in is concave from one whole tile to the
        # next, and as much for each of these after the first, which brings in most: the walk over all whole tiles,
        # without the remainder, has the least share.
        tiled = beyond[at] // value[at] * value[at]
        boxes = [{**value, axis.main: a} for a in ends]
        whole = [axis.run(box, at, beyond[at]) for box in boxes]
        ragged_ok = all(
            axis.run(box, at, tiled) * beyond[at] >= tiled * all_in for box, all_in in zip(boxes, whole, strict=True)
        )
        return chord(ends[0], whole[0], ends[1], whole[1]) if ragged_ok else union

    def _is_concave(self, dim: str) -> bool:
        return any(axis.main == dim and axis_bends(axis, self.extents) for axes in self.axes for axis in axes)

    def bends(self, dim: str) -> tuple[int, ...]:
        """Sizes of a free dim, inside its extent, at which some footprint changes slope."""
        found: set[int] = set()
        for axes in self.axes:
            for axis in axes:
                if axis.main == dim:
                    found.update(axis_bends(axis, self.extents))
        return tuple(sorted(found))


def _overlapping(tensor: TensorAccess, live: tuple[str, ...]) -> list[str]:
    """Dims along which neighbouring tiles can share elements; along any other, every tile comes in whole."""
    inside = [[d for d in axis.dims if d in live] for axis in tensor.axes]
    return [d for d in live if d in tensor.dims and all(len(dims) > 1 for dims in inside if d in dims)]


def whole_count(workload: Workload) -> int:
    """Words of the output: what `assign` does not load once."""
    output = workload.output
    return workload.weight(output) * prod(axis.count(workload.extents) for axis in output.axes)
