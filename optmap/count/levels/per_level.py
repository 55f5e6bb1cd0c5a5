"""Exact integer traffic in per-level form, for whole batches of candidate mappings at once.

Per-level form (the number `cost`): at the boundary outside level l every tile of
level l+1 is one problem whose tiles of level l are visited in the order of level l's loops.
For a tensor with reuse position p, a step of a loop outside p loads the next tile whole, a step
of the loop at p loads what the next tile adds to the previous one, and the loops inside p load
nothing. Loops of one trip are not skipped here; `whole_nest` counts the concatenated nest.

Tiles need not divide. A dim of extent N is cut into tiles of T^{L-1} and a remainder, each of
these (whatever its actual size) into tiles of T^{L-2} and a remainder, and so on: level l has at
most L-l+1 actual sizes per dim, each with a multiplicity. A spatial split hands ceil(size/ways)
to the first child, which is the one that is counted: the busiest one where split dims share no
subscript; where they do, another may move a few words more. The tile of a tensor is the product of
the value sets of its axes, so sums over all tiles factorise over the groups of `workloads.axes`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from math import prod

import numpy as np

from optmap.count.levels.cutting import Array, TileCut, descend
from optmap.count.levels.factors import Factors, Flows
from optmap.count.levels.first_touches import check_output, touched_values
from optmap.count.levels.halo import axis_counts
from optmap.mappings.cutting import TileDescent
from optmap.mappings.reuse import Reuse, TensorRoom
from optmap.workloads.axes import moving
from optmap.workloads.workload import Semantics, Subscript, TensorAccess, Workload

WIDEST_INT64 = 2**60
"""Above this bound on any intermediate product, arrays hold Python integers instead of int64."""


class LevelModel:
    """Exact occupancy and per-level traffic of one workload for batches of tiles.

    Dims are always in the order of `workload.dims`; results are int64 arrays, or object arrays
    of Python integers if numbers could leave int64.

    Args:
        workload: the workload.
        wide: force Python integers; by default they are used only where needed.

    Raises:
        InputError: under `assign`, if a dim stands in two subscripts of the output: its tiles
            then hold elements that are never computed, and first touches are not defined.
    """

    __slots__ = ("_extents", "_factors", "_index", "_live", "_stored", "dtype", "workload")

    def __init__(self, workload: Workload, *, wide: bool | None = None) -> None:
        self.workload = workload
        self._index = {d: i for i, d in enumerate(workload.dims)}
        check_output(workload)
        widest = _widest(workload) > WIDEST_INT64 if wide is None else wide
        self.dtype: type = object if widest else np.int64
        self._factors = Factors(workload, self.dtype)
        self._live = [self._index[d] for d in self._factors.dims]
        self._stored = [(workload.weight(t), [axis for axis in t.axes if axis.terms]) for t in workload.tensors]
        """Words per element and subscripts of every tensor."""
        self._extents: Array = np.array([n for _, n in workload.sizes], dtype=self.dtype)[self._live]

    def occupancy(self, tiles: Array) -> Array:
        """Words that one tile of every tensor takes.

        Args:
            tiles: (B, D) tile sizes in iterations.

        Returns:
            (B,) words: the sum over tensors of element size times footprint.
        """
        return self.safe_occupancy(tiles, (TensorRoom(),) * len(self.workload.tensors))

    def safe_occupancy(self, tiles: Array, working_set: Sequence[TensorRoom]) -> Array:
        """Words of a working set that may hold two neighbouring tiles of a tensor.

        Args:
            tiles: (B, D) tile sizes in iterations.
            working_set: one entry per tensor, output first (`mappings.reuse.safe_working_set`).

        Returns:
            (B,) words.
        """
        return self._held(self._columns(np.asarray(tiles, dtype=self.dtype).T), working_set)

    def grid_occupancy(self, sizes: Sequence[Array], working_set: Sequence[TensorRoom]) -> Array:
        """`safe_occupancy` of every combination of sizes, one per dim.

        Args:
            sizes: per dim some tile sizes, (n_d,).
            working_set: one entry per tensor, output first.

        Returns:
            (n_0, n_1, …) words.
        """
        shape = [len(values) for values in sizes]
        around = [(-1, *[1] * (len(shape) - 1 - d)) for d in range(len(shape))]
        apart: list[Array] = [
            np.asarray(each, dtype=self.dtype).reshape(along) for each, along in zip(sizes, around, strict=True)
        ]
        return np.broadcast_to(self._held(self._columns(apart), working_set), shape)

    def _held(self, columns: dict[str, Array], working_set: Sequence[TensorRoom]) -> Array:
        known: dict[Subscript, Array] = {}
        words: Array | int = 0
        for (weight, axes), room in zip(self._stored, working_set, strict=True):
            counts = list[Array]()
            for axis in axes:
                if room.along is not None and room.along in axis.dims:
                    counts.append(axis_counts(axis, room.tile(columns)))
                else:
                    if axis not in known:
                        known[axis] = axis_counts(axis, columns)
                    counts.append(known[axis])
            times = weight * room.copies
            words = words + (prod(counts[1:], start=counts[0]) if counts and times == 1 else prod(counts, start=times))
        return np.asarray(words)

    def traffic(self, chain: Array, level: int, reuse: tuple[Reuse, ...], spatial: Array | None = None) -> Array:
        """Loads and stores at the boundary outside one level, for one dataflow.

        Args:
            chain: (B, L, D) tile sizes, inner level first.
            level: index of the level inside the boundary.
            reuse: reuse of every tensor, output first (`mappings.reuse.dataflow`).
            spatial: (B, L, D) ways in which each level's tile is split among its children.

        Returns:
            (B,) words; with spatial splits those of the first instance.
        """
        result: Array = self.traffic_all(chain, level, (reuse,), spatial)[:, 0]
        return result

    def traffic_all(
        self, chain: Array, level: int, dataflows: Sequence[tuple[Reuse, ...]], spatial: Array | None = None
    ) -> Array:
        """Loads and stores at one boundary for several dataflows, sharing what they share.

        Args:
            chain: (B, L, D) tile sizes, inner level first.
            level: index of the level inside the boundary.
            dataflows: n dataflows, each the reuse of every tensor.
            spatial: (B, L, D) ways of splitting, or None.

        Returns:
            (B, n) words.
        """
        (words,) = self.traffic_at(chain, (level,), [self.flows(dataflows)], spatial)
        return np.asarray(words)

    def flows(self, dataflows: Sequence[tuple[Reuse, ...]]) -> Flows:
        """Several dataflows, each the reuse of every tensor, for `traffic_at`."""
        return self._factors.flows(dataflows)

    def traffic_at(
        self, chain: Array, levels: Sequence[int], flows: Iterable[Flows], spatial: Array | None = None
    ) -> Iterator[Array]:
        """Loads and stores at some boundaries, one after the other, sharing how the extents are cut.

        Args:
            chain: (B, L, D) tile sizes, inner level first.
            levels: the levels inside the boundaries.
            flows: the dataflows of every one of them.
            spatial: (B, L, D) ways of splitting, or None.

        Yields:
            (B, n) words of a boundary under its n dataflows.
        """
        cut = self._cuts(chain, min(levels), spatial)
        for level, some in zip(levels, flows, strict=True):
            words = self._factors.words(cut[level], some)
            created = self._created(cut[level], chain, level, spatial)
            yield (words.sum(axis=1) + (words[:, 0] - created)).T

    def tensor_traffic(
        self, chain: Array, level: int, reuse: tuple[Reuse, ...], spatial: Array | None = None
    ) -> tuple[Array, Array]:
        """Loads and stores per tensor at the boundary outside one level.

        Args:
            chain: (B, L, D) tile sizes, inner level first.
            level: index of the level inside the boundary.
            reuse: reuse of every tensor, output first.
            spatial: (B, L, D) ways of splitting, or None.

        Returns:
            loads and stores, both (B, tensors) words. Under `accumulate` the output is loaded
            and stored on every visit; under `assign` first touches are not loaded.
        """
        cut = self._cuts(chain, level, spatial)[level]
        (loads,) = self._factors.words(cut, self.flows([reuse]))
        stores: Array = np.zeros_like(loads)
        stores[0] = loads[0]
        loads[0] = loads[0] - self._created(cut, chain, level, spatial)
        return loads.T, stores.T

    def _columns(self, rows: Sequence[Array] | Array) -> dict[str, Array]:
        return {d: rows[i] for d, i in self._index.items()}

    def _cuts(self, chain: Array, level: int, spatial: Array | None) -> dict[int, TileCut]:
        """The cuts of the dims that have factors, per level from the outermost to a given one."""
        ways = None if spatial is None else self._rows(spatial)
        tiles = self._rows(chain)
        found = descend(self._extents, tiles, ways, to=level)
        return dict(zip(range(len(tiles) - 1, level - 1, -1), found, strict=True))

    def _rows(self, chain: Array) -> Array:
        """(L, D, B) tiles of the dims that have factors."""
        return np.ascontiguousarray(np.asarray(chain, dtype=self.dtype)[:, :, self._live].transpose(1, 2, 0))

    def _created(self, cut: TileCut, chain: Array, level: int, spatial: Array | None) -> Array | int:
        """Words of the output that are created rather than loaded: none under `accumulate`."""
        output = self.workload.output
        touched: Array | int = self.workload.weight(output)
        if self.workload.semantics is Semantics.ACCUMULATE:
            return 0
        if spatial is None or (np.asarray(spatial)[:, level + 1 :, :] == 1).all():
            return touched * output.footprint(self.workload.extents)
        for axis in moving(output, self._factors.dims).axes:
            if len(axis.terms) == 1:
                touched = touched * cut.total[self._factors.dims.index(axis.dims[0])]
            elif axis.terms:
                rows = [self._touched_values(axis, level, c, s) for c, s in zip(chain, spatial, strict=True)]
                touched = touched * np.array(rows, dtype=self.dtype)
        return touched

    def _touched_values(self, axis: Subscript, level: int, tiles: Array, ways: Array) -> int:
        """Values of a subscript of the output that the first child touches, for one candidate."""
        descents = tuple(
            TileDescent(
                extent=self.workload.extents[d],
                base=level,
                tiles=tuple(np.asarray(tiles)[:, self._index[d]].tolist()),
                ways=tuple(np.asarray(ways)[:, self._index[d]].tolist()),
                placed=True,
            )
            for d in axis.dims
        )
        return touched_values(tuple(c for _, c in axis.terms), descents)


def _widest(workload: Workload) -> int:
    """A bound on every product that is formed for tiles within the extents."""
    weights = sum(2 * workload.weight(t) for t in workload.tensors)
    return 4 * weights * max(_visited(workload, t) for t in workload.tensors)


def _visited(workload: Workload, tensor: TensorAccess) -> int:
    """A bound on the elements of a tile times the number of tiles.

    A subscript of a tile has at most the sum of its factors times the product of the tile's sizes, and a dim counts as
    often as it stands in a subscript.
    """
    often = Counter(dim for axis in tensor.axes for dim in axis.dims)
    factors = [sum(abs(factor) for _, factor in axis.terms) for axis in tensor.axes if axis.terms]
    return prod(factors) * prod([n for dim, n in workload.extents.items() for _ in range(max(1, often[dim]))])


@lru_cache(maxsize=256)
def level_model(workload: Workload) -> LevelModel:
    """The `LevelModel` of a workload, built once.

    Raises:
        InputError: as `LevelModel`.
    """
    return LevelModel(workload)
