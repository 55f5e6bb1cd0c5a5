"""The most that is held at a visit in a band: the loops are gone down where most may be held, and no further.

What a Keep holds inside a trip is at most what it would hold if it stood there, and at most a tile of its own. Trips
are gone down with the largest of these sums first; one whose sum is no more than what is held somewhere is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optmap.count.trees.steps import begin_of, step_from
from optmap.mappings.nodes import Loop
from optmap.workloads.band import IndexBand, Interval

MOST_TRIPS = 2**18
"""Of these no more are gone down."""
Left = Mapping[str, Interval]
"""What is left of the two dims of a band."""
Whole = NDArray[Any]
"""Whole numbers: of 64 bits where none is larger, else of any size."""
Lefts = Mapping[str, tuple[Any, Any]]
"""What is left of both dims, of one as arrays over trips."""


@dataclass(frozen=True, slots=True)
class BandHolding:
    """A tensor that a Keep holds."""

    depth: int
    """Loops over dims of the band above the Keep."""
    words: Callable[[Lefts], Any]
    """That it would hold, if it stood where so much is left: by trip, where that is."""
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
    kind: Any = field(default=object, init=False)
    """Of arrays, so that no number is too large for it."""

    def find(self, left: Left) -> int | None:
        """The most words that are held at a visit, and no less than `most`; None if too many trips are gone down.

        Args:
            left: of the dims of the band, outside of all loops; some point of it is in the band.
        """
        sizes = sum(end - start for start, end in left.values())
        words = sum(each.index for each in self.holdings) + 1
        self.kind = np.int64 if 16 * sizes * sizes * words < 2**62 else object
        outside = self._at(0, left)
        if self.loops:
            self._go(0, left, outside)
        else:
            self.most = max(self.most, outside)
        return None if self.trips > MOST_TRIPS else self.most

    def _go(self, depth: int, left: Left, words: int) -> None:
        loop, band = self.loops[depth], self.band
        (low, high), sides = left[loop.dim], (left[band.first], left[band.second])
        first, beyond = band.left(loop.dim, *sides)
        self.trips += max(0, (min(high, beyond) - first) // loop.tile + 1)
        if self.trips > MOST_TRIPS:
            return
        begin = np.arange(begin_of(loop, low, first), min(high, beyond), loop.tile, dtype=self.kind)
        start, end = step_from(loop, begin, low, high)
        inside = {**left, loop.dim: (start, end)}
        held = np.zeros_like(start) + words + self._at(depth + 1, inside)
        if depth + 1 == len(self.loops):
            self.most = max(self.most, int(held.max(initial=0)))
            return
        bound = held + self._inside(depth + 1, inside)
        for trip in np.argsort(-bound, kind="stable").tolist():
            if bound[trip] <= self.most or self.trips > MOST_TRIPS:
                break
            self._go(depth + 1, {**left, loop.dim: (int(start[trip]), int(end[trip]))}, int(held[trip]))

    def _at(self, depth: int, left: Lefts) -> Any:
        """Words of the Keeps right inside so many loops."""
        return sum(each.words(left) for each in self.holdings if each.depth == depth)

    def _inside(self, depth: int, left: Lefts) -> Any:
        """Words of Keeps further inside, at most."""
        found: Any = 0
        for each in self.holdings:
            if each.depth > depth:
                sizes = {d: high - low for d, (low, high) in left.items()}
                for loop in self.loops[depth : each.depth]:
                    sizes[loop.dim] = np.minimum(sizes[loop.dim], loop.tile)
                found = found + np.minimum(each.index * prod(sizes[d] for d in each.dims), each.words(left))
        return found
