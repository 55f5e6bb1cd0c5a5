"""Nodes of the relaxation's search tree, and which column of a node's program holds which logarithm."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from math import log

import numpy as np
from numpy.typing import NDArray

from optmap.base.arrays import Floats
from optmap.base.shown import Concise
from optmap.programs.geometric import Box
from optmap.search.space.search_space import Order, Setting

Columns = NDArray[np.intp]
"""(F,): a column per free dim; -1 for the whole extent, which is a number."""


@dataclass(frozen=True, slots=True)
class Unit(Concise):
    """A choice for one level: a loop order (or none yet) and a box of the boxed dims."""

    order: Order | None
    box: Box
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Hash once, as loop orders do."""
        object.__setattr__(self, "_hash", hash((self.order, self.box)))

    def __hash__(self) -> int:
        return self._hash


Node = tuple[Unit | None, ...]
"""One unit per level, inner first; None where nothing is chosen yet."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CoreSplit:
    """The tile that cores share, as the traffic inside it sees it.

    One core works on a chunk of the shared tile. The chunk has a column per free dim that may be
    split (any but a reduction dim), and one more column stands for the splits of all branch dims.
    A shared tile without columns counts as the whole problem.
    """

    level: int
    """The shared level."""
    cores: int
    dims: NDArray[np.bool_]
    """(F,): whether a free dim may be split."""
    chunk: Columns
    """The chunk: its own columns for the dims that may be split, otherwise those of the shared tile."""
    extra: int
    """Column of the splits of branch dims; -1 if there are none."""
    shared: Columns | None
    """The shared tile; None if it has no columns."""
    inner: Columns | None
    """The largest tile inside that has columns; None if no level inside has."""
    depth: int
    """Number of levels inside that have columns."""
    log_extents: Floats
    """(F,): logarithms of the extents of the free dims."""

    @property
    def own(self) -> Columns:
        """Columns that are the chunk's alone, one per dim that may be split."""
        return self.chunk[self.dims]

    @property
    def log_whole(self) -> float:
        """Logarithm of the product of extents that the chunk is a share of, as far as it is a number."""
        return 0.0 if self.shared is not None else float(self.log_extents[self.dims].sum())

    @property
    def most(self) -> float:
        """How far the logarithm of tile/chunk goes, with `log_whole` brought to this side."""
        return log(self.cores) - self.log_whole

    def share(self, width: int) -> Floats:
        """(width,) exponents of one core's part of the work: chunk/tile over all dims, but for `log_whole`."""
        row = np.zeros(width)
        row[self.own] += 1.0
        if self.shared is not None:
            row[self.shared[self.dims]] -= 1.0
        if self.extra >= 0:
            row[self.extra] -= 1.0
        return row

    def bound(self, lower: Floats, upper: Floats, floor: Floats) -> None:
        """Write the chunk's range: from the tile inside it to the shared tile.

        Args:
            lower: (B, width) lower ends, those of the tiles filled in.
            upper: (B, width) upper ends, likewise.
            floor: (F,) least tile if no level inside has columns.
        """
        lower[:, self.own] = floor[self.dims] if self.inner is None else lower[:, self.inner[self.dims]]
        whole = self.log_extents[self.dims]
        upper[:, self.own] = whole if self.shared is None else upper[:, self.shared[self.dims]]
        if self.extra >= 0:
            upper[:, self.extra] = log(self.cores)

    def spread(self, start: Floats, lower: Floats, upper: Floats) -> None:
        """Put the chunks of a start just below shared tiles that cannot be small, so that the cores suffice.

        Args:
            start: (B, width) points, changed in place.
            lower: (B, width) lower ends.
            upper: (B, width) upper ends.
        """
        own, step = self.own, 0.3 * log(2.0) / max(1, len(self.own))
        if self.shared is None:
            start[:, own] = np.maximum(start[:, own], upper[:, own] - step)  # a range may be shorter than the step
        else:
            tile = self.shared[self.dims]
            beside = np.maximum(start[:, own], start[:, tile] - step)
            start[:, own] = np.where(lower[:, tile] > lower[:, own], beside, start[:, own])

    def undo(self, point: Floats, upper: Floats) -> None:
        """Make one chunk of the whole shared tile in (B, width) points whose upper ends are given."""
        point[:, self.own] = upper[:, self.own] if self.shared is None else point[:, self.shared[self.dims]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ColumnLayout:
    """Which column of a program holds which logarithm.

    The tile of every level with a unit has one column per free dim; the columns of a split follow.
    """

    levels: tuple[int, ...]
    """Levels with columns of their own, inner first."""
    tile: Mapping[int, Columns]
    """Columns of the tile of each of these levels."""
    split: CoreSplit | None
    """How cores share a tile; None for one core, and where no traffic inside the shared tile counts."""
    width: int
    """Columns altogether."""
    free: int
    """Number of free dims (F)."""

    def split_around(self, level: int) -> CoreSplit | None:
        """The split that a level lies inside of."""
        return self.split if self.split is not None and level < self.split.level else None

    def around(self, level: int) -> Columns:
        """What the tiles of a level move about in: the next outer tile, or one core's chunk of it."""
        if self.split is not None and self.split.level == level + 1:
            return self.split.chunk
        return self.tile.get(level + 1, np.full(self.free, -1))

    def pairs(self) -> list[tuple[int, int]]:
        """Columns of which the first is at most the second, so that tiles and chunks nest."""
        steps: list[tuple[Columns, Columns]] = []
        split = self.split
        for a, b in pairwise(self.levels):
            inner, outer = self.tile[a], self.tile[b]
            if split is not None and split.level == b:
                steps += [(inner, split.chunk), (split.chunk, outer)]
            else:
                steps.append((inner, outer))
        if split is not None and split.shared is None and split.inner is not None:
            steps.append((split.inner, split.chunk))
        if split is not None and split.shared is not None and split.inner is None:
            steps.append((split.chunk, split.shared))
        columns = (pair for inner, outer in steps for pair in zip(inner.tolist(), outer.tolist(), strict=True))
        return [(a, b) for a, b in columns if b >= 0 and a != b]

    def rank(self) -> Floats:
        """(width,): position of each column from inner to outer; a chunk lies just inside its tile."""
        rank = np.full(self.width, float(len(self.levels)))
        for i, level in enumerate(self.levels):
            rank[self.tile[level]] = i
        if self.split is not None:
            rank[self.split.own] = self.split.depth - 0.25  # above -1/2: room grows with 1 + 2 rank
        return rank

    def ramp(self) -> Floats:
        """(width,): how far along its range each column starts: outer tiles further than inner ones."""
        ramp = np.full(self.width, 0.5)
        for i, level in enumerate(self.levels):
            ramp[self.tile[level]] = (i + 1.0) / len(self.levels)
        split = self.split
        if split is not None:
            ramp[split.own] = 1.0 if split.shared is None else 0.97 * ramp[split.shared[split.dims]]
            if split.extra >= 0:
                ramp[split.extra] = 0.01
        return ramp


def layout_of(setting: Setting, node: Node) -> ColumnLayout:
    """The columns of a node's program."""
    free = len(setting.space.free)
    levels = tuple(i for i, unit in enumerate(node) if unit is not None and i not in setting.fixed)
    tile = {level: np.arange(i * free, (i + 1) * free) for i, level in enumerate(levels)}
    split = _split_of(setting, node, tile)
    width = free * len(levels)
    if split is not None:
        width += len(split.own) + (split.extra >= 0)
    return ColumnLayout(levels=levels, tile=tile, split=split, width=width, free=free)


def _split_of(setting: Setting, node: Node, tile: Mapping[int, Columns]) -> CoreSplit | None:
    """The split of a node's program, its columns behind those of the tiles."""
    level = setting.split_level
    if level is None or not any(u is not None and u.order is not None for u in node[:level]):
        return None
    space, reduction = setting.space, set(setting.workload.reduction_dims)
    dims = np.array([d not in reduction for d in space.free], dtype=bool)
    first = len(space.free) * len(tile)
    behind = first + int(dims.sum())
    shared = tile.get(level)
    chunk = np.full(len(space.free), -1) if shared is None else shared.copy()
    chunk[dims] = np.arange(first, behind)
    inside = [inner for inner in tile if inner < level]
    return CoreSplit(
        level=level,
        cores=setting.cores,
        dims=dims,
        chunk=chunk,
        extra=behind if any(d not in reduction for d in space.branch) else -1,
        shared=shared,
        inner=tile[inside[-1]] if inside else None,
        depth=len(inside),
        log_extents=space.log_extents,
    )
