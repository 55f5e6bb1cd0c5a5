"""Which pieces of a dim the bottom of a nest meets, and which points of them padding leaves over."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import gcd

from optmap.native.emit.leaf import Site
from optmap.workloads.access import Subscript

Segment = tuple[int, int, int, int]
"""Taps from the first to before the second number, for which points from the third to before the fourth are real."""
Pattern = tuple[Segment, ...]
"""Segments of falling apart taps, ascending; taps of no real point are in none."""


@dataclass(frozen=True, kw_only=True)
class DimRegions:
    """How the levels of a mapping cut a dim."""

    extent: int
    cuts: tuple[tuple[int, int], ...]
    """Per level, outermost first: its tile, and in how many shares that is split among threads."""

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Iterations of a piece, largest first."""
        return tuple(sorted(self._closed[0], reverse=True))

    @property
    def step(self) -> int:
        """Every piece starts at a multiple of it; 0 if all start at 0."""
        return self._closed[1]

    @property
    def whole(self) -> bool:
        """Whether there is one piece, the dim itself."""
        return self.sizes == (self.extent,)

    @cached_property
    def _closed(self) -> tuple[set[int], int]:
        sizes, step = {self.extent}, 0
        for tile, ways in self.cuts:
            sizes, step = _cut(sizes, step, lambda size, tile=tile: min(tile, size))  # type: ignore[misc]
            sizes, step = _cut(sizes, step, lambda size, ways=ways: -(-size // ways))  # type: ignore[misc]
        return sizes, step

    @cached_property
    def all(self) -> tuple[tuple[int, int], ...]:
        """Start and size of every piece, ascending."""
        found = {(0, self.extent)}
        for tile, ways in self.cuts:
            found = {part for start, size in found for part in _parts(start, size, tile)}
            found = {part for start, size in found for part in _parts(start, size, -(-size // ways))}
        return tuple(sorted(found))


def _cut(sizes: set[int], step: int, part: Callable[[int], int]) -> tuple[set[int], int]:
    found = set()
    for size in sizes:
        most = part(size)
        found.add(most)
        if most < size:
            step = gcd(step, most)
            found.add(size % most or most)
    return found, step


def _parts(start: int, size: int, part: int) -> list[tuple[int, int]]:
    return [(start + at, min(part, size - at)) for at in range(0, size, part)]


def pieces(site: Site, dim: str, *, taken: bool, inside: int | None = None) -> DimRegions:
    """The pieces of a dim that a leaf is called with.

    Args:
        site: the mapping.
        dim: which.
        taken: whether the leaf runs its loop of level 0.
        inside: of which the leaf makes smaller ones, at most of that many iterations.
    """
    levels = site.mapping.levels[1:] if taken else site.mapping.levels
    cuts = [(level.tile[dim], level.spatial.get(dim, 1)) for level in reversed(levels)]
    if inside is not None:
        cuts.append((inside, 1))
    return DimRegions(extent=site.workload.extents[dim], cuts=tuple(cuts))


@dataclass(frozen=True, slots=True, kw_only=True)
class PaddedSubscript:
    """A padded subscript of the image: points of an output dim and taps of a reduction dim."""

    point: str | None
    """None if no dim of the output is in it."""
    tap: str | None
    """None if no dim that is summed over is in it."""
    stride: int
    """Coefficient of the point; 0 without."""
    dilation: int
    """Coefficient of the tap; 0 without."""
    first: int
    """Least real value, less the offset."""
    last: int
    """Largest real value, less the offset."""

    def pattern(self, start: int, size: int, taps: int) -> Pattern:
        """Real points of a piece.

        Args:
            start: first point.
            size: number of points.
            taps: number of taps.
        """
        found: list[Segment] = []
        for tap in range(taps):
            low, high = self._real(start, size, tap)
            if low < high:
                if found and found[-1][1:] == (tap, low, high):
                    found[-1] = (found[-1][0], tap + 1, low, high)
                else:
                    found.append((tap, tap + 1, low, high))
        return tuple(found)

    def _real(self, start: int, size: int, tap: int) -> tuple[int, int]:
        """First real point of a piece and the one after the last."""
        least, most = self.first - self.dilation * tap, self.last - self.dilation * tap
        if not self.stride:
            return (0, size) if least <= 0 <= most else (0, 0)
        low, high = -(-least // self.stride) - start, most // self.stride + 1 - start
        return max(low, 0), min(high, size)


def window_of(
    axis: Subscript, extents: dict[str, int], points: Sequence[str], taps: Sequence[str]
) -> PaddedSubscript | None:
    """The window of a padded subscript.

    Returns:
        None if it has two points, two taps or a dim that is neither; dims of one iteration do not count.
    """
    terms = [(dim, coefficient) for dim, coefficient in axis.terms if extents[dim] > 1]
    mine = [(dim, c) for dim, c in terms if dim in points]
    others = [(dim, c) for dim, c in terms if dim in taps]
    if axis.real is None or len(mine) > 1 or len(others) > 1 or len(terms) > len(mine) + len(others):
        return None
    point, stride = mine[0] if mine else (None, 0)
    tap, dilation = others[0] if others else (None, 0)
    first, last = axis.real
    return PaddedSubscript(
        point=point, tap=tap, stride=stride, dilation=dilation, first=first - axis.offset, last=last - axis.offset
    )
