"""The most that is held at a visit in a band: the loops are gone down where most may be held, and no further.

What a Keep holds inside a trip is at most what it would hold if it stood there, and at most a tile of its own. Trips
are gone down with the largest of these sums first; one whose sum is no more than what is held somewhere is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from optmap.mappings.nodes import Loop
from optmap.workloads.band import IndexBand, Interval

MOST_TRIPS = 2**18
"""Of these no more are gone down."""
Left = Mapping[str, Interval]
"""What is left of the two dims of a band."""


@dataclass(frozen=True, slots=True)
class BandHolding:
    """A tensor that a Keep holds."""

    depth: int
    """Loops over dims of the band above the Keep."""
    words: Callable[[Left], int]
    """That it would hold, if it stood where so much is left."""
    index: int
    """Words of an index of both dims of the band, or of the one that the tensor has, with all of its other dims."""
    dims: tuple[str, ...]
    """Of the band, that the tensor has."""


@dataclass(slots=True)
class BandRooms:
    """Finds the most that some Keeps hold together."""

    band: IndexBand
    loops: Sequence[Loop]
    """Over dims of the band, outermost first."""
    holdings: Sequence[BandHolding]
    most: int = 0
    trips: int = field(default=0, init=False)

    def find(self, left: Left) -> int | None:
        """The most words that are held at a visit, and no less than `most`; None if too many trips are gone down.

        Args:
            left: of the dims of the band, outside of all loops; some point of it is in the band.
        """
        self._go(0, left, self._at(0, left))
        return None if self.trips > MOST_TRIPS else self.most

    def _go(self, depth: int, left: Left, words: int) -> None:
        if depth == len(self.loops):
            self.most = max(self.most, words)
            return
        loop, band = self.loops[depth], self.band
        (low, high), sides = left[loop.dim], (left[band.first], left[band.second])
        first, beyond = band.left(loop.dim, *sides)
        self.trips += max(0, (min(high, beyond) - first) // loop.tile + 1)
        if self.trips > MOST_TRIPS:
            return
        found = []
        for start in range(low + (first - low) // loop.tile * loop.tile, min(high, beyond), loop.tile):
            inside = {**left, loop.dim: (start, min(start + loop.tile, high))}
            held = words + self._at(depth + 1, inside)
            found.append((held + self._inside(depth + 1, inside), held, start, inside))
        found.sort(key=lambda each: (-each[0], each[2]))
        for bound, held, _, inside in found:
            if bound <= self.most or self.trips > MOST_TRIPS:
                break
            self._go(depth + 1, inside, held)

    def _at(self, depth: int, left: Left) -> int:
        """Words of the Keeps right inside so many loops."""
        return sum(each.words(left) for each in self.holdings if each.depth == depth)

    def _inside(self, depth: int, left: Left) -> int:
        """Words of Keeps further inside, at most."""
        found = 0
        for each in self.holdings:
            if each.depth > depth:
                sizes = {d: high - low for d, (low, high) in left.items()}
                for loop in self.loops[depth : each.depth]:
                    sizes[loop.dim] = min(sizes[loop.dim], loop.tile)
                found += min(each.index * prod(sizes[d] for d in each.dims), each.words(left))
        return found
