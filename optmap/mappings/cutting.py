"""Tile descent over integers: how an extent is cut into ragged tiles, level by level.

Tiles need not divide: a dim of extent N is cut into tiles of T^{L-1} and a remainder, each of these
(whatever its actual size) into tiles of T^{L-2} and a remainder, and so on. A spatial split hands
ceil(size / ways) of a tile to its first child, which is the one that is followed. `count.levels.cutting`
cuts whole batches of candidates in the same way, as sizes with multiplicities.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from collections.abc import Mapping as Counts
from dataclasses import dataclass
from functools import lru_cache

from optmap.mappings.grid import Grid
from optmap.mappings.levels import Mapping
from optmap.workloads.halo import ragged
from optmap.workloads.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class TileDescent:
    """One dim's tiles of the levels from l outwards, seen by the first child of every split."""

    extent: int
    """Extent of the dim."""
    base: int
    """The level l, whose tiles stay whole."""
    tiles: tuple[int, ...]
    """Tile size per level of the mapping, inner first."""
    ways: tuple[int, ...]
    """Ways of splitting per level, inner first."""
    placed: bool = False
    """Whether starts are followed; they are 0 otherwise."""

    @classmethod
    def of(cls, workload: Workload, mapping: Mapping, dim: str, base: int, *, placed: bool = False) -> TileDescent:
        """The descent of one dim in a mapping."""
        return cls(
            extent=workload.extents[dim],
            base=base,
            tiles=tuple(level.tile[dim] for level in mapping.levels),
            ways=tuple(level.spatial.get(dim, 1) for level in mapping.levels),
            placed=placed,
        )

    @property
    def executed(self) -> int:
        """Iterations that the first child executes: the sizes of all parents of tiles of level l."""
        return sum(size * times for (_, size), times in self.shares(self.base + 1).items())

    def share(self, size: int, level: int) -> int:
        """What the first child gets of a tile; a tile of the base level stays whole."""
        return size if level == self.base else -(-size // self.ways[level])

    def cut(self, start: int, size: int, tile: int) -> Iterator[tuple[int, int, int]]:
        """(start, size, how often) of the tiles that a share is cut into."""
        for each, times in ragged(size, tile):
            if self.placed:
                yield from ((start + i * each, each, 1) for i in range(times))
                start += times * each
            else:
                yield 0, each, times

    def pieces(self, at: Grid, size: int, tile: int) -> Iterator[tuple[Grid, int, int]]:
        """As `cut`, of all shares that begin at the places of a grid: a grid per size."""
        for each, times in ragged(size, tile):
            if self.placed:
                yield at.repeated(each, times), each, 1
                at = at.moved(times * each)
            else:
                yield at, each, times

    @lru_cache(maxsize=1024)  # noqa: B019 (a value; the oldest are let go)
    def grids(self, level: int) -> Counts[tuple[Grid, int], int]:
        """As `shares`, the starts of equal shares together: as many entries as there are kinds of tiles."""
        if level == len(self.tiles):
            return Counter({(Grid(), self.extent): 1})
        found: Counter[tuple[Grid, int]] = Counter()
        for (at, size), times in self.grids(level + 1).items():
            for place, each, many in self.pieces(at, size, self.tiles[level]):
                found[place, self.share(each, level)] += times * many
        return found

    @lru_cache(maxsize=1024)  # noqa: B019 (a value; the oldest are let go)
    def shares(self, level: int) -> Counts[tuple[int, int], int]:
        """Starts and sizes of the shares of all tiles of a level; of the whole dim beyond the last level."""
        found: Counter[tuple[int, int]] = Counter()
        for (at, size), times in self.grids(level).items():
            for start in at:
                found[start, size] += times
        return found

    def first(self, size: int, level: int) -> int:
        """Size of the first l-tile in a share of a tile of a level (the last level + 1: all)."""
        for inner in range(level - 1, self.base - 1, -1):
            size = self.share(min(size, self.tiles[inner]), inner)
        return size

    def last(self, size: int, level: int) -> tuple[int, int]:
        """Start (relative to the share) and size of the last l-tile in a share."""
        start = 0
        for inner in range(level - 1, self.base - 1, -1):
            skipped = (size - 1) // self.tiles[inner] * self.tiles[inner]
            start += skipped
            size = self.share(size - skipped, inner)
        return start, size
