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
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from math import log, prod

import numpy as np
from numpy.typing import NDArray

from optmap.problem.canonical import canonical_form
from optmap.problem.reuse import Reuse, Room
from optmap.problem.workload import TensorAccess, Workload
from optmap.programs.linear_subscripts import LineAxis, axis_bends, branch_dims, chord, distinct_axes, line_axis

Array = NDArray[np.float64]
Box = tuple[tuple[int, int], ...]
"""(least, largest) integer per boxed dim of a `TileSpace`, in its order."""


MOST_PIECES = 3
"""Bends of a dim's footprint up to which its range is cut at all of them from the start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """A posynomial: coefficients and exponents over the free dims of two neighbouring levels."""

    logs: Array
    """(m,): logarithms of the coefficients."""
    own: Array
    """(m, F): exponents of this level's tile sizes."""
    next: Array
    """(m, F): exponents of the next outer level's tile sizes."""
    parts: tuple[int, ...] = ()
    """Rows of each tensor, output first, where the rows of several are joined."""


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
        self._axes: tuple[tuple[LineAxis, ...], ...] = tuple(
            tuple(line_axis(terms, branch) for terms in raw[i]) for i in range(len(workload.tensors))
        )
        self._overlapping = tuple(frozenset(_overlapping(tensor, live)) for tensor in workload.tensors)
        self.concave: tuple[str, ...] = tuple(d for d in self.free if self._is_concave(d))
        """Free dims whose footprint is only piecewise linear: boxed as well."""
        self.boxed: tuple[str, ...] = self.branch + self.concave
        self._index = {d: i for i, d in enumerate(self.free)}
        self._traffic: dict[object, Rows] = {}
        self._terms: dict[object, Rows] = {}
        self._capacity: dict[object, Rows] = {}

    @cached_property
    def log_extents(self) -> Array:
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
        for dim, (low, high) in zip(self.boxed, box, strict=True):
            if dim in self.branch:
                if low != high:
                    return False
            elif any(low < bend < high for bend in self._bends(dim)):
                return False
        return True

    def split(self, box: Box) -> tuple[Box, ...]:
        """Smaller boxes that cover an inexact box (empty for an exact one)."""
        widest, where = 1.0, -1
        for i, (dim, (low, high)) in enumerate(zip(self.boxed, box, strict=True)):
            splittable = low < high and (dim in self.branch or any(low < b < high for b in self._bends(dim)))
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
            bend = min((b for b in self._bends(dim) if low < b < high), key=lambda b: abs(log(b * b / (low * high))))
            parts = ((low, bend), (bend, high))
        return tuple((*box[:where], part, *box[where + 1 :]) for part in parts)

    def pieces(self, dim: str) -> tuple[tuple[int, int], ...]:
        """Ranges of a piecewise linear dim between its bends; the whole range if there are many."""
        bends = [b for b in self._bends(dim) if 1 < b < self.extents[dim]]
        ends = [1, *bends, self.extents[dim]] if len(bends) <= MOST_PIECES else [1, self.extents[dim]]
        return tuple(pairwise(ends))

    def bounds(self, box: Box) -> tuple[Array, Array]:
        """Logarithmic box (lower, upper) of the free dims."""
        lower, upper = np.zeros(len(self.free)), self.log_extents.copy()
        for dim, (low, high) in zip(self.boxed, box, strict=True):
            if dim in self._index:
                lower[self._index[dim]], upper[self._index[dim]] = log(low), log(high)
        return lower, upper

    def traffic(self, flow: tuple[Reuse, ...], own: Box, outer: Box | None) -> Rows:
        """Loads and stores of one level, all visits, in words.

        Args:
            flow: reuse of every tensor at this level.
            own: box of this level's tile.
            outer: box of the next outer level's tile; None if that is the whole problem.

        Returns:
            rows in words; exact if both boxes are, a lower estimate otherwise. Under `assign`
            the first touches (one per output word) are still to be subtracted.
        """
        key = (flow, own, outer)
        if key not in self._traffic:
            parts = [self._tensor_rows(i, reuse, own, outer) for i, reuse in enumerate(flow)]
            self._traffic[key] = _join(parts)
        return self._traffic[key]

    def capacity(self, box: Box, working: tuple[Room, ...]) -> Rows:
        """Words that must fit: one tile of each tensor, or what its `Room` says.

        Neighbours along a dim of one trip, which has no rows, are left out: a lower estimate.
        """
        key = (box, working)
        if key not in self._capacity:
            low = {d: b[0] for d, b in zip(self.boxed, box, strict=True) if d in self.branch}
            parts = [self._occupancy_rows(i, low, box, item) for i, item in enumerate(working)]
            self._capacity[key] = _join(parts)
        return self._capacity[key]

    def _tensor_rows(self, index: int, reuse: Reuse, own: Box, outer: Box | None) -> Rows:
        key = (index, reuse, own, outer)
        if key in self._terms:
            return self._terms[key]
        value = {d: b[1] for d, b in zip(self.boxed, own, strict=True) if d in self.branch}
        beyond = (
            {d: self.extents[d] for d in self.branch}
            if outer is None
            else {d: b[1] for d, b in zip(self.boxed, outer, strict=True) if d in self.branch}
        )
        at = reuse.at if reuse.at in self._overlapping[index] else None
        term = _Term(len(self.free), self._weight(index))
        for dim in self.free + self.branch:
            outside = dim not in reuse.free and dim != at
            size = value.get(dim, 1) if outside else beyond.get(dim, 1)
            term.scale(self.extents[dim] / size)
            if dim in self._index:
                self._divide(term, dim, own=outside, whole=outer is None)
        terms = [term]
        growth = self._growth_axis(index, at)
        for axis in self._axes[index]:
            if axis is growth:
                line, owner = self._growth_line(axis, at or "", (value, beyond), own, outer), axis.main != at
            else:
                line, owner = self._line(axis, value, own), True
            terms = [t for old in terms for t in self._times(old, axis, line, owner, outer is None)]
        self._terms[key] = _rows(terms)
        return self._terms[key]

    def _occupancy_rows(self, index: int, low: dict[str, int], box: Box, room: Room) -> Rows:
        tensor = self.workload.tensors[index]
        weight = self.workload.weight(tensor) * float(room.copies)
        terms = [_Term(len(self.free), weight)]
        grown = False
        for axis in self._axes[index]:
            along = room.along if room.along in axis.dims and not grown else None
            grown = grown or along is not None
            values = {**low, along: 2 * low[along]} if along in low else low
            slope, constant = self._line(axis, values, box)
            if along is not None and along == axis.main:
                slope *= 2.0
            terms = [t for old in terms for t in self._times(old, axis, (slope, constant), True, False)]
        return _rows(terms)

    def _weight(self, index: int) -> float:
        tensor = self.workload.tensors[index]
        return self.workload.weight(tensor) * (2.0 if index == 0 else 1.0)

    def _divide(self, term: _Term, dim: str, *, own: bool, whole: bool) -> None:
        if own:
            term.own[self._index[dim]] -= 1.0
        elif whole:
            term.scale(1.0 / self.extents[dim])
        else:
            term.next[self._index[dim]] -= 1.0

    def _times(self, term: _Term, axis: LineAxis, line: tuple[float, float], own: bool, whole: bool) -> list[_Term]:
        """`term` times `slope * T_main + constant`."""
        slope, constant = line
        if axis.main is None:
            return [term.scaled(constant)]
        if not own and whole:
            return [term.scaled(slope * self.extents[axis.main] + constant)]
        first = term.scaled(slope)
        (first.own if own else first.next)[self._index[axis.main]] += 1.0
        return [first] if constant == 0 else [first, term.scaled(constant)]

    def _line(self, axis: LineAxis, values: dict[str, int], box: Box) -> tuple[float, float]:
        """Slope and constant of the axis's count as a function of its free dim, over the box."""
        if axis.main is None:
            return 0.0, float(axis.count(values))
        if len(axis.dims) == 1:
            return 1.0, 0.0
        low, high = 1, self.extents[axis.main]
        if axis.main in self.concave:
            low, high = box[self.boxed.index(axis.main)]
        return chord(low, axis.count({**values, axis.main: low}), high, axis.count({**values, axis.main: high}))

    def _growth_axis(self, index: int, at: str | None) -> LineAxis | None:
        return next((axis for axis in self._axes[index] if at in axis.dims), None)

    def _growth_line(
        self, axis: LineAxis, at: str, sizes: tuple[dict[str, int], dict[str, int]], own: Box, outer: Box | None
    ) -> tuple[float, float]:
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
        walked = [[axis.run({**value, axis.main: a}, at, n) for a in ends] for n in range(1, beyond[at] + 1)]
        whole = walked[-1]
        ragged_ok = all(w[i] * beyond[at] >= n * whole[i] for n, w in enumerate(walked, 1) for i in (0, 1))
        return chord(ends[0], whole[0], ends[1], whole[1]) if ragged_ok else union

    def _is_concave(self, dim: str) -> bool:
        return any(axis.main == dim and axis_bends(axis, self.extents) for axes in self._axes for axis in axes)

    def _bends(self, dim: str) -> tuple[int, ...]:
        found: set[int] = set()
        for axes in self._axes:
            for axis in axes:
                if axis.main == dim:
                    found.update(axis_bends(axis, self.extents))
        return tuple(sorted(found))


def _overlapping(tensor: TensorAccess, live: tuple[str, ...]) -> list[str]:
    """Dims along which neighbouring tiles can share elements; along any other, every tile comes in whole."""
    inside = [[d for d in axis.dims if d in live] for axis in tensor.axes]
    return [d for d in live if d in tensor.dims and all(len(dims) > 1 for dims in inside if d in dims)]


@dataclass(slots=True)
class _Term:
    """One monomial under construction."""

    size: int
    coefficient: float
    own: list[float] = field(default_factory=list)
    next: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not self.own:
            self.own, self.next = [0.0] * self.size, [0.0] * self.size

    def scale(self, factor: float) -> None:
        self.coefficient *= factor

    def scaled(self, factor: float) -> _Term:
        return _Term(self.size, self.coefficient * factor, self.own.copy(), self.next.copy())


def _rows(terms: Sequence[_Term]) -> Rows:
    kept = [t for t in terms if t.coefficient > 0]
    return Rows(
        logs=np.log([t.coefficient for t in kept]),
        own=np.array([t.own for t in kept]).reshape(len(kept), -1),
        next=np.array([t.next for t in kept]).reshape(len(kept), -1),
    )


def _join(parts: Sequence[Rows]) -> Rows:
    return Rows(
        logs=np.concatenate([p.logs for p in parts]),
        own=np.concatenate([p.own for p in parts]),
        next=np.concatenate([p.next for p in parts]),
        parts=tuple(len(p.logs) for p in parts),
    )


def whole_count(workload: Workload) -> int:
    """Words of the output: what `assign` does not load once."""
    output = workload.output
    return workload.weight(output) * prod(axis.count(workload.extents) for axis in output.axes)
