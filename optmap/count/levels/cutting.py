"""Tile descent over arrays: nested ragged tiles of every dim as actual sizes with multiplicities, for a batch.

The cutting is that of `mappings.cutting`. Level l has at most L-l+1 actual sizes per dim.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Visit = tuple[Array | None, Array, Array]
"""Size of the tile before (None: there is none, or it does not matter), size of the tile, how often."""


@dataclass(frozen=True, kw_only=True)
class TileCut:
    """All tiles of level l+1 (the parents), each cut into tiles of level l (the children).

    Arrays broadcast to (D, B), those of several classes of tiles to (C, D, B); a class is a size with a multiplicity.
    """

    tiles: Array
    """(D, B) tile sizes of level l."""
    sizes: Array
    """(C, D, B): of every class of parents its size."""
    times: Array
    """(C, D, B): how many parents there are of every class."""
    undivided: Array | None = None
    """(D, 1) extents if nothing is split on the way, else None."""

    @cached_property
    def parent_count(self) -> Array:
        """(D, B) number of parents along each dim."""
        return np.asarray(self.times.sum(axis=0))

    @cached_property
    def total(self) -> Array:
        """Sum of the sizes of all parents, which is that of all children; (D, 1) or (D, B)."""
        return np.asarray((self.sizes * self.times).sum(axis=0)) if self.undivided is None else self.undivided

    @cached_property
    def whole(self) -> Array:
        """(C, D, B): how many whole tiles a parent of each class holds."""
        return np.asarray(self.sizes // self.tiles)

    @cached_property
    def rest(self) -> Array:
        """(C, D, B): the size of its last child if that is not a whole tile, else 0."""
        return np.asarray(self.sizes - self.whole * self.tiles)

    @cached_property
    def ragged(self) -> Array:
        """(C, D, B): how many children there are that are not whole tiles."""
        return np.asarray(self.times * (self.rest > 0))

    @cached_property
    def full(self) -> Array:
        """(D, B): how many whole tiles there are."""
        return np.asarray((self.times * self.whole).sum(axis=0))

    @cached_property
    def child_sizes(self) -> Array:
        """(C+1, D, B): sizes of the children, whole tiles first; 0 only where there are none."""
        return np.concatenate([self.tiles[None], self.rest])

    @cached_property
    def child_times(self) -> Array:
        """(C+1, D, B): how many children there are of every size."""
        return np.concatenate([self.full[None], self.ragged])

    @cached_property
    def child_count(self) -> Array:
        """(D, B) number of children along each dim."""
        return np.asarray(self.full + self.ragged.sum(axis=0))

    def along(self, dim: int | list[int]) -> Along:
        """The cut of one dim, or of several."""
        return Along(cut=self, dim=dim)


@dataclass(frozen=True, kw_only=True)
class Along:
    """One dim of a cut; arrays of shape (B,). Of several dims, the same with an axis more in front."""

    cut: TileCut
    dim: int | list[int]
    """Row of the dim, or rows."""

    @cached_property
    def total(self) -> Array:
        """Sum of the sizes of all parents; (1,) or (B,)."""
        row: Array = self.cut.total[self.dim]
        return row

    @cached_property
    def parents(self) -> Array:
        """Number of parents."""
        row: Array = self.cut.parent_count[self.dim]
        return row

    @cached_property
    def children(self) -> Array:
        """Number of children."""
        row: Array = self.cut.child_count[self.dim]
        return row

    @cached_property
    def classes(self) -> tuple[Array, Array]:
        """(C+1, B) sizes of the children, at least 1, and how often each occurs."""
        return np.maximum(self.cut.child_sizes[:, self.dim], 1), self.cut.child_times[:, self.dim]

    @cached_property
    def steps(self) -> tuple[Array, Array, Array]:
        """(K, B) sizes of the child before within the parent (0: there is none), sizes, and how often that occurs.

        First children come first: whole tiles, then for every class of parents those that hold no whole tile.
        """
        tile, times = self.cut.tiles[self.dim], self.cut.times[:, self.dim]
        whole, rest = self.cut.whole[:, self.dim], self.cut.rest[:, self.dim]
        starts, ends = times * (whole > 0), self.cut.ragged[:, self.dim]
        last, alone = np.maximum(rest, 1), ends * (whole == 0)
        first, inner = starts.sum(axis=0), (times * np.maximum(whole - 1, 0)).sum(axis=0)
        none = np.zeros_like(last)
        sizes = np.concatenate([tile[None], last, tile[None], last])
        before = np.concatenate([none[:1], none, tile[None], none + tile])
        return before, sizes, np.concatenate([first[None], alone, inner[None], ends - alone])

    def visits(self, *, sliding: bool) -> Iterator[Visit]:
        """The children with how often each occurs; sizes at least 1.

        Args:
            sliding: whether each comes with the size of the one before it in the same parent.
        """
        if not sliding:
            for size, times in zip(*self.classes, strict=True):
                yield None, size, times
            return
        before, sizes, often = self.steps  # the first half are first children
        for number, (held, size, times) in enumerate(zip(before, sizes, often, strict=True)):
            yield held if 2 * number >= len(before) else None, size, times


def descend(extents: Array, chain: Array, spatial: Array | None, *, to: int = 0) -> Iterator[TileCut]:
    """The partition of every dim at the levels of a chain of tiles, outermost first.

    Args:
        extents: (D,) extents of the whole problem.
        chain: (L, D, B) tile sizes, inner level first.
        spatial: (L, D, B) ways in which each level's tile is split before the next inner level
            cuts it: a child of actual size s becomes a parent of size ceil(s/ways); or None.
        to: the innermost level that is asked for.
    """
    whole = extents.reshape(-1, *[1] * (chain.ndim - 2))
    sizes, times = whole[None], np.ones_like(whole)[None]
    for level in range(len(chain) - 1, to - 1, -1):
        cut = TileCut(tiles=chain[level], sizes=sizes, times=times, undivided=whole if spatial is None else None)
        yield cut
        if level > to:
            sizes, times = cut.child_sizes, cut.child_times
            if spatial is not None:
                sizes = -(-sizes // spatial[level])


def cuts(extents: Array, chain: Array, level: int, spatial: Array | None) -> TileCut:
    """The partition of every dim at one level, whose tiles are the children; arguments as `descend`."""
    *_, cut = descend(extents, chain, spatial, to=level)
    return cut


def cut_once(extent: int, tile: Array) -> Along:
    """The cut of a whole extent into one level of tiles; arrays of the shape of `tile`."""
    tiles = np.atleast_1d(tile)[None]
    return cuts(np.array([extent], dtype=tiles.dtype), tiles[None], 0, None).along(0)


def uncut(size: Array) -> Along:
    """One tile that is all there is of a dim, for every size of an array."""
    tiles = np.atleast_1d(size)[None]
    return TileCut(tiles=tiles, sizes=tiles[None], times=np.ones_like(tiles)[None]).along(0)
