"""Tile descent over arrays: nested ragged tiles of every dim as actual sizes with multiplicities, for a batch.

The cutting is that of `problem.cutting`. Level l has at most L-l+1 actual sizes per dim.
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
class Cut:
    """All tiles of level l+1 (the parents), each cut into tiles of level l (the children)."""

    tiles: Array
    """(D, B) tile sizes of level l."""
    parents: tuple[tuple[Array, Array], ...]
    """(size, multiplicity) of each class of parents; arrays that broadcast to (D, B)."""
    pieces: tuple[tuple[Array, Array], ...]
    """Per class of parents: how many whole tiles a parent holds, and the remainder (may be 0)."""

    undivided: Array | None = None
    """(D, 1) extents if nothing is split on the way, else None."""

    @property
    def batch(self) -> int:
        """Number of candidates B."""
        return int(self.tiles.shape[1])

    @cached_property
    def parent_count(self) -> Array:
        """(D, B) number of parents along each dim."""
        count: Array = np.zeros_like(self.tiles)
        for _, times in self.parents:
            count += times
        return count

    @cached_property
    def total(self) -> Array:
        """Sum of the sizes of all parents, which is that of all children; (D, 1) or (D, B)."""
        if self.undivided is not None:
            return self.undivided
        total: Array = np.zeros_like(self.tiles)
        for size, times in self.parents:
            total += size * times
        return total

    @cached_property
    def classes(self) -> tuple[tuple[Array, Array], ...]:
        """(size, multiplicity) of each class of children; size 0 only where multiplicity is 0."""
        whole: Array = np.zeros_like(self.tiles)
        rest: list[tuple[Array, Array]] = []
        for (_, times), (quotient, remainder) in zip(self.parents, self.pieces, strict=True):
            whole += times * quotient
            rest.append((remainder, times * (remainder > 0)))
        return ((self.tiles, whole), *rest)

    @cached_property
    def child_count(self) -> Array:
        """(D, B) number of children along each dim."""
        count: Array = np.zeros_like(self.tiles)
        for _, times in self.classes:
            count += times
        return count

    def along(self, dim: int) -> Along:
        """The cut of one dim."""
        return Along(cut=self, dim=dim)


@dataclass(frozen=True, slots=True, kw_only=True)
class Along:
    """One dim of a cut; arrays of shape (B,)."""

    cut: Cut
    dim: int
    """Row of the dim."""

    @property
    def total(self) -> Array:
        """Sum of the sizes of all parents; (1,) or (B,)."""
        row: Array = self.cut.total[self.dim]
        return row

    @property
    def parents(self) -> Array:
        """Number of parents."""
        row: Array = self.cut.parent_count[self.dim]
        return row

    @property
    def children(self) -> Array:
        """Number of children."""
        row: Array = self.cut.child_count[self.dim]
        return row

    def visits(self, *, sliding: bool) -> Iterator[Visit]:
        """The children with how often each occurs; sizes at least 1.

        Args:
            sliding: whether each comes with the size of the one before it in the same parent.
        """
        if sliding:
            yield from self._steps()
        else:
            for size, times in self.cut.classes:
                yield None, np.maximum(size[self.dim], 1), times[self.dim]

    def _steps(self) -> Iterator[Visit]:
        tile = self.cut.tiles[self.dim]
        first, inner = np.zeros_like(tile), np.zeros_like(tile)
        rest: list[Visit] = []
        for (_, times), (quotient, remainder) in zip(self.cut.parents, self.cut.pieces, strict=True):
            m, q, r = np.broadcast_arrays(times[self.dim], quotient[self.dim], remainder[self.dim])
            some = q > 0
            first = first + m * some
            inner = inner + m * np.where(some, q - 1, 0)
            last = np.maximum(r, 1)
            rest.append((None, last, m * (~some & (r > 0))))
            rest.append((tile, last, m * (some & (r > 0))))
        yield None, tile, first
        yield tile, tile, inner
        yield from rest


def cuts(extents: Array, chain: Array, level: int, spatial: Array | None) -> Cut:
    """The partition of every dim at one level of a chain of tiles.

    Args:
        extents: (D,) extents of the whole problem.
        chain: (L, D, B) tile sizes, inner level first.
        level: the level whose tiles are the children.
        spatial: (L, D, B) ways in which each level's tile is split before the next inner level
            cuts it: a child of actual size s becomes a parent of size ceil(s/ways); or None.
    """
    size = extents[:, None]
    parents: tuple[tuple[Array, Array], ...] = ((size, np.ones_like(size)),)
    for at in range(len(chain) - 1, level - 1, -1):
        pieces = []
        for size, _ in parents:
            quotient = size // chain[at]
            remainder = quotient * chain[at]
            pieces.append((quotient, np.subtract(size, remainder, out=remainder)))
        undivided = extents[:, None] if spatial is None else None
        cut = Cut(tiles=chain[at], parents=parents, pieces=tuple(pieces), undivided=undivided)
        if at > level:
            parents = cut.classes
            if spatial is not None:
                parents = tuple((-(-size // spatial[at]), times) for size, times in parents)
    return cut


def cut_once(extent: int, tile: Array) -> Along:
    """The cut of a whole extent into one level of tiles; arrays of the shape of `tile`."""
    tiles = np.atleast_1d(tile)[None]
    return cuts(np.array([extent], dtype=tiles.dtype), tiles[None], 0, None).along(0)


def uncut(size: Array) -> Along:
    """One tile that is all there is of a dim, for every size of an array."""
    tiles = np.atleast_1d(size)[None]
    one = np.ones_like(tiles)
    return Cut(tiles=tiles, parents=((tiles, one),), pieces=((one, tiles - tiles),)).along(0)
