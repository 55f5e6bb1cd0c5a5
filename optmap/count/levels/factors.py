"""Traffic over a boundary as products of the rows of one table, for several dataflows at once.

What a tensor moves is a product of factors that depend on few dims: how many tiles its absent dims have, what all
tiles of a plain subscript hold together, what enters of a window. Dataflows share most of them, so each is counted
once, into one row of a table, and a traffic is the product of some rows. Dims of extent 1 are no factors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from optmap.count.levels.cutting import Array, TileCut
from optmap.count.levels.halo import Group, entering, pair_entering, window_pair
from optmap.mappings.reuse import Reuse
from optmap.workloads.axes import axis_groups, group_dims, moving, overlaps
from optmap.workloads.workload import TensorAccess, Workload

Index = NDArray[np.intp]
Entering = tuple[Group, str | None]
"""Subscripts that share dims, and the dim along which their tiles enter without what their predecessor had."""
Window = tuple[str, str, int]
"""Dims x and y and the factor m of a window m*x + y."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flows:
    """Several dataflows, ready to be counted: which rows make which product, which products make which dataflow."""

    parts: Index
    """(n, tensors): the product that each tensor moves under each dataflow."""
    weights: Array
    """(V, 1): words per element of every product."""
    totals: Index
    """(V, G): dims whose whole size is a factor; where they are fewer, a row of ones after the dims."""
    undivided: Array
    """(V, 1): the product of weights and totals where nothing is split."""
    size: int
    """Rows of the table."""
    rows: Index
    """(V, F): rows of the table that are factors; where they are fewer, its last one, of ones."""
    windows: tuple[list[int], list[int], Array | None]
    """Rows of the two dims of all windows, and their factors (W, 1); None if all are 1."""
    sliding: tuple[int | None, ...]
    """Along which of its two dims (0, 1 or None) each window slides; for all of them one after the other."""
    others: tuple[Entering, ...]
    """What else enters, each a row of its own."""


class Factors:
    """The factors of a workload's traffic.

    Args:
        workload: the workload.
        dtype: of all counts.
    """

    __slots__ = ("_dtype", "_extents", "_flows", "_index", "_tensors", "dims")

    def __init__(self, workload: Workload, dtype: type) -> None:
        self.dims = tuple(d for d, n in workload.sizes if n > 1)
        """The dims that cuts have rows for."""
        self._dtype = dtype
        self._extents: Array = np.array([[n] for _, n in workload.sizes if n > 1], dtype=dtype).reshape(-1, 1)
        self._index = {d: i for i, d in enumerate(self.dims)}
        self._tensors = tuple(_describe(workload, tensor, self._index) for tensor in workload.tensors)
        self._flows: dict[tuple[tuple[Reuse, ...], ...], Flows] = {}

    def flows(self, dataflows: Sequence[tuple[Reuse, ...]]) -> Flows:
        """Dataflows, each the reuse of every tensor (output first), made ready once."""
        key = tuple(dataflows)
        if key not in self._flows:
            self._flows[key] = self._ready(key)
        return self._flows[key]

    def words(self, cut: TileCut, flows: Flows) -> Array:
        """Words of every tensor that enter over a boundary, under each dataflow.

        Args:
            cut: the boundary's parents and children, of `dims`.
            flows: the dataflows.

        Returns:
            (n, tensors, B) words.
        """
        dims = len(self.dims)
        table: Array = np.empty((flows.size, cut.tiles.shape[1]), dtype=self._dtype)
        table[:dims], table[dims : 2 * dims], table[-1] = cut.child_count, cut.parent_count, 1
        x, y, m = flows.windows
        a, b, end = cut.along(x), cut.along(y), 2 * dims
        for at in flows.sliding:
            table[end : end + len(x)] = pair_entering(a, b, m, at=at)
            end += len(x)
        if flows.others:
            along = {d: cut.along(i) for d, i in self._index.items()}
            for number, (group, dim) in enumerate(flows.others, end):
                table[number] = entering(group, along, dim)
        fixed = flows.undivided if cut.undivided is not None else self._fixed(cut.total, flows.weights, flows.totals)
        words: Array = fixed * np.multiply.reduce(table[flows.rows], axis=1)
        return words[flows.parts]

    def _fixed(self, total: Array, weights: Array, totals: Index) -> Array:
        """(V, B) or (V, 1): the factors that do not depend on tiles, where nothing is split."""
        ones: Array = np.ones((1, total.shape[1]), dtype=self._dtype)
        return np.asarray(weights * np.multiply.reduce(np.concatenate([total, ones])[totals], axis=1))

    def _ready(self, dataflows: tuple[tuple[Reuse, ...], ...]) -> Flows:
        numbers = dict[_Product, int]()
        parts = [
            [
                numbers.setdefault(tensor.product(reuse), len(numbers))
                for tensor, reuse in zip(self._tensors, flow, strict=True)
            ]
            for flow in dataflows
        ]
        windows = tuple(dict.fromkeys(window for product in numbers for _, window in product.windows))
        sliding = tuple(dict.fromkeys(at for product in numbers for at, _ in product.windows))
        others = tuple(dict.fromkeys(other for product in numbers for other in product.others))
        apart = (*((at, window) for at in sliding for window in windows), *others)
        place = {factor: 2 * len(self.dims) + i for i, factor in enumerate(apart)}
        rows = [[*p.counts, *(place[factor] for factor in (*p.windows, *p.others))] for p in numbers]
        factors: Array = np.array([[m] for *_, m in windows], dtype=self._dtype)
        size = 2 * len(self.dims) + len(apart) + 1
        weights: Array = np.array([p.weight for p in numbers], dtype=self._dtype)[:, None]
        totals = _even([p.totals for p in numbers], len(self.dims))
        return Flows(
            parts=np.array(parts, dtype=np.intp).reshape(len(parts), -1),
            weights=weights,
            totals=totals,
            undivided=self._fixed(self._extents, weights, totals),
            size=size,
            rows=_even(rows, size - 1),
            windows=(
                [self._index[x] for x, _, _ in windows],
                [self._index[y] for _, y, _ in windows],
                factors if (factors > 1).any() else None,
            ),
            sliding=sliding,
            others=others,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Product:
    """The factors of one tensor's traffic under one reuse."""

    weight: int
    """Words per element."""
    totals: tuple[int, ...]
    """Dims whose whole size is a factor."""
    counts: tuple[int, ...]
    """Dims whose number of children is one; beyond the number of dims, of parents."""
    windows: tuple[tuple[int | None, Window], ...]
    others: tuple[Entering, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tensor:
    """What the factors need to know about one tensor; dims of extent 1 are left out."""

    weight: int
    groups: tuple[Group, ...]
    """Axes that share dims, together."""
    absent: tuple[str, ...]
    """Dims in no subscript."""
    sliding: frozenset[str]
    """Dims along which neighbouring tiles can overlap partly."""
    index: dict[str, int]
    """Row of every dim."""

    def product(self, reuse: Reuse) -> _Product:
        """The factors under a reuse."""
        totals, windows, others = list[int](), list[tuple[int | None, Window]](), list[Entering]()
        for group in self.groups:
            dims = group_dims(group)
            at = reuse.at if reuse.at in dims and reuse.at in self.sliding else None
            pair = window_pair(group)
            if len(dims) == 1 and len(group) == 1:
                totals.append(self.index[dims[0]])
            elif pair is not None:
                windows.append((None if at is None else pair.index(at), pair))
            else:
                others.append((group, at))
        counts = [self.index[d] + (len(self.index) if d in reuse.free else 0) for d in self.absent]
        return _Product(
            weight=self.weight,
            totals=tuple(totals),
            counts=tuple(counts),
            windows=tuple(windows),
            others=tuple(others),
        )


def _describe(workload: Workload, tensor: TensorAccess, index: dict[str, int]) -> _Tensor:
    some = moving(tensor, index)
    return _Tensor(
        weight=workload.weight(tensor),
        groups=axis_groups(some),
        absent=tuple(d for d in index if d not in some.dims),
        sliding=frozenset(d for d in index if overlaps(some, d)),
        index=index,
    )


def _even(lists: Sequence[Sequence[int]], filler: int) -> Index:
    """Lists of rows as one array, the shorter ones filled up."""
    longest = max(map(len, lists), default=0)
    filled = [[*rows, *[filler] * (longest - len(rows))] for rows in lists]
    return np.array(filled, dtype=np.intp).reshape(len(lists), longest)
