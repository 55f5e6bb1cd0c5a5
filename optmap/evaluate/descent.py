"""Nested ragged partitions of every dim, as actual sizes with multiplicities, for a batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from optmap.evaluate.halo import Array


@dataclass(frozen=True, kw_only=True)
class Cut:
    """All tiles of level l+1 (the parents), each cut into tiles of level l (the children)."""

    tiles: Array
    """(D, B) tile sizes of level l."""
    parents: tuple[tuple[Array, Array], ...]
    """(size, multiplicity) of each class of parents; arrays that broadcast to (D, B)."""
    pieces: tuple[tuple[Array, Array], ...]
    """Per class of parents: how many whole tiles a parent holds, and the remainder (may be 0)."""

    undivided: Array | None
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

    def children(self, dim: int) -> Iterator[tuple[Array, Array]]:
        """(size, multiplicity) of the children along one dim; (B,) each, sizes at least 1."""
        for size, times in self.classes:
            yield np.maximum(size[dim], 1), times[dim]

    def steps(self, dim: int) -> Iterator[tuple[Array, Array, Array]]:
        """(previous size, size, multiplicity) of every tile along one dim of a parent.

        The previous size is 0 for the first tile of a parent; arrays of shape (B,).
        """
        tile = self.tiles[dim]
        none = np.zeros_like(tile)
        first, inner = none, none
        rest: list[tuple[Array, Array, Array]] = []
        for (_, times), (quotient, remainder) in zip(self.parents, self.pieces, strict=True):
            m, q, r = np.broadcast_arrays(times[dim], quotient[dim], remainder[dim])
            some = q > 0
            first = first + m * some
            inner = inner + m * np.where(some, q - 1, 0)
            last = np.maximum(r, 1)
            rest.append((none, last, m * (~some & (r > 0))))
            rest.append((tile, last, m * (some & (r > 0))))
        yield none, tile, first
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
