"""How often what a Keep holds of a box changes, by the sizes of the steps of the loops above it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod

from optmap.mappings.nodes import Loop

Interval = tuple[int, int]
"""First index and the one beyond the last."""
Step = tuple[int, Interval]
"""Iterations of a dim in a step, and those of them that are in a cell, from the first of the step."""


@dataclass(frozen=True, slots=True)
class BoxRuns:
    """How often what a Keep holds of a cell changes."""

    loops: tuple[Loop, ...]
    """Above it."""
    outside: int
    """How many of them are outside the innermost sequence around it: in every iteration of theirs it starts empty."""
    dims: tuple[str, ...]
    """Of the tensor."""

    def entered(self, place: int, steps: Mapping[str, Step]) -> tuple[int, bool]:
        """Elements that enter from one loop inwards, and whether more than one content comes.

        Args:
            place: number of the loop.
            steps: what is left of every dim.
        """
        if any(steps[d][1][0] >= steps[d][1][1] for d in self.dims):
            return 0, False
        if place == len(self.loops):
            return size(steps[d][1] for d in self.dims), False
        loop = self.loops[place]
        inside = [
            (times, *self.entered(place + 1, {**steps, loop.dim: step}))
            for step, times in _steps(steps[loop.dim], loop).items()
        ]
        words = sum(times * entered for times, entered, _ in inside)
        varied = any(many for _, _, many in inside)
        if loop.dim in self.dims or place < self.outside:
            return words, varied or sum(times for times, _, _ in inside) > 1
        return (words if varied else inside[0][1]), varied


def _steps(step: Step, loop: Loop) -> Counter[Step]:
    """The steps of a loop, with how often each comes."""
    (size, (first, beyond)), tile, ahead = step, loop.tile, loop.ahead
    trips = -(-(size + ahead) // tile)
    begin, end = (first + ahead) // tile, (beyond - 1 + ahead) // tile
    special = {trip for trip in (0 if loop.first else begin, begin, end, trips - 1) if 0 <= trip < trips}
    found = Counter[Step]()
    for trip in special:
        start, stop = max(0, trip * tile - ahead), min(trip * tile - ahead + tile, size)
        found[stop - start, (max(0, first - start), min(beyond, stop) - start)] += 1
    within = sum(1 for trip in special if begin < trip < end)
    full = max(0, end - begin - 1) - within
    found[tile, (0, tile)] += full
    found[tile, (0, 0)] += trips - len(special) - full
    return +found


def size(sides: Iterable[Interval]) -> int:
    """Elements of a box."""
    return prod(max(0, beyond - first) for first, beyond in sides)
