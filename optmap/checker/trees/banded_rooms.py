"""The most that Keeps hold together in an iteration under conditions; see `tree_counts`.

The loops over the two dims of the conditions are gone down one by one, each trip after those that may hold more. What a
Keep will hold further inside is at most what it would hold here, and at most a whole tile of it; a trip in which all
that together is no more than what is known to be held somewhere is not gone down.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod

from ..core.tools import need
from .bands import Places, StatedBand
from .stated_tree import StatedLoop

MOST = 2**20
"""Trips that are looked at."""


@dataclass(frozen=True)
class BandedHolding:
    """A tensor that a Keep holds."""

    due: int
    """Loops over dims of the conditions that are outside the Keep."""
    dims: tuple[str, ...]
    """Of the tensor."""
    weight: int
    """Words of an element."""
    elements: Callable[[Places], int]
    """How many are held, by what is left of the dims of the conditions."""
    others: int
    """Iterations of its other dims that are left there, multiplied."""


@dataclass
class BandedRooms:
    """Finds the most that is held."""

    band: StatedBand
    loops: Sequence[StatedLoop]
    """The loops over the dims of the conditions, outermost first."""
    held: Sequence[BandedHolding]
    most: int = 0
    gone: int = field(default=0, init=False)

    def look(self, places: Places, level: int = 0, words: int = 0) -> int:
        """The most words that are held somewhere inside some places of the outermost loops.

        Args:
            places: what is left of the dims of the conditions.
            level: loops that these are inside of.
            words: of Keeps outside of the next loop.
        """
        if level == 0:
            words = self._words(places, 0)
        if level == len(self.loops):
            self.most = max(self.most, words)
            return self.most
        loop = self.loops[level]
        first, beyond = self.band.left(places, loop.dim)
        self.gone += max(0, (beyond - first) // loop.tile + 1)
        need(self.gone < MOST, f"not counted: too many iterations under conditions, more than {MOST:,}")
        trips = []
        for step in loop.steps(places[loop.dim], first, beyond):
            inside = {**places, loop.dim: step}
            if self.band.runs(inside):
                held = words + self._words(inside, level + 1)
                trips.append((held + self._later(inside, level + 1), held, inside))
        for bound, held, inside in sorted(trips, key=lambda each: -each[0]):
            if bound <= self.most:
                break
            self.look(inside, level + 1, held)
        return self.most

    def _words(self, places: Places, level: int) -> int:
        """Words of the Keeps that are inside so many loops."""
        return sum(each.weight * each.elements(places) for each in self.held if each.due == level)

    def _later(self, places: Places, level: int) -> int:
        """Words that Keeps further inside hold at most."""
        found = 0
        for each in self.held:
            if each.due > level:
                sizes = {d: high - low for d, (low, high) in places.items()}
                for loop in self.loops[level : each.due]:
                    sizes[loop.dim] = min(sizes[loop.dim], loop.tile)
                tile_of_it = each.others * prod(sizes[d] for d in each.dims if d in sizes)
                found += each.weight * min(tile_of_it, each.elements(places))
        return found
