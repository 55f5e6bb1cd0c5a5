"""Segment sizes whose best exponents are worth putting into integers, found in floats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp, inf, log

import numpy as np

from optmap.base.arrays import Floats
from optmap.base.clock import Clock
from optmap.bounds.exponents.convex import SegmentProgram
from optmap.bounds.units import Units

CANDIDATES = 4
"""Mixtures per polytope whose exponents are rounded."""
FEW = 16
"""Segments below which their whole number decides where the best exponents are."""
SMALL = 64
"""Memory, in units, up to which short segments are tried as well."""
SHORT = (1.0, 2.0, 3.0, 5.0, 8.0)
"""Units that these load."""
SAME = 1e-6
"""Logs that are not told apart."""
APART = 1e-3
"""Logs of segment sizes, or of what is promised, with more between them are looked at one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixture:
    """A mixture of vertices worth putting into integers."""

    value: float
    """Estimated cost in units."""
    units: float
    """Segment size K it was found for."""
    level: float
    """Log of U(K)."""
    sigma: float
    """Sum of the tensors' exponents."""
    used: list[int]
    """Vertices of the mixture."""
    mixture: Floats
    """Their weights."""

    def like(self, other: Mixture) -> bool:
        """Whether two are for one segment size, or of the same exponents."""
        grown = log(self.units / other.units)
        same = abs(self.sigma - other.sigma) < SAME and abs(self.level - other.level - self.sigma * grown) < SAME
        return abs(grown) < APART or same

    def most(self, units: Units) -> float:
        """What its exponents promise at their own best segment size."""
        if self.sigma <= 1 + SAME:
            return inf
        size = units.memory * self.sigma / (self.sigma - 1)
        level = self.level + self.sigma * log(size / self.units)
        return units.memory + (size - units.memory) * exp(log(units.operations) - level)


def candidates(program: SegmentProgram, units: Units, clock: Clock) -> list[Mixture]:
    """Stationary segment sizes from several starts, then the integer counts around the best."""
    found: list[Mixture] = []
    ways: list[tuple[float, float]] = []
    for start in (3.0, 1.3, 12.0):
        way = _climb(program, units, min(start * units.memory, float(units.ceiling)), ways, clock)
        if way:
            ways.append((way[0].units, way[-1].units))
        found += way
    best = max(found, key=lambda c: c.value)
    count = (best.value - units.memory) / max(best.units - units.memory, 1e-9)
    if count < FEW:
        for whole in range(max(2, int(count)), int(count) + 2):
            found.append(_balanced(program, units, whole, best.units))
    if units.memory <= SMALL:
        found += [_candidate(program, units, units.memory + K) for K in SHORT]
    elif count >= FEW:
        enough = best.value * (1 - APART - 2 * exp(-best.level))
        found = [c for c in found if c.most(units) >= enough]
    distinct: list[Mixture] = []
    for c in sorted(found, key=lambda c: -c.value):
        if not any(c.like(other) for other in distinct):
            distinct.append(c)
    return distinct if units.memory <= SMALL else distinct[:CANDIDATES]


def _climb(
    program: SegmentProgram, units: Units, K: float, ways: Sequence[tuple[float, float]], clock: Clock
) -> list[Mixture]:
    """From a segment size to the best one for the exponents that are best at it, until the two are the same.

    That one is memory*sigma/(sigma-1), which grows with K, as sigma falls: from between a start and where it led to the
    way leads there as well. Its steps shrink evenly, so that two of them say where they end.

    Args:
        program: of the polytope.
        units: the accounting.
        K: where to start.
        ways: other starts, and where they led to.
        clock: when to give up.
    """
    found: list[Mixture] = []
    moved, before = 0.0, 0.0
    for _ in range(8):
        clock.check()
        if any(min(way) / 1.02 < K < max(way) * 1.02 for way in ways):
            break
        found.append(_candidate(program, units, K))
        sigma = found[-1].sigma
        target = units.memory * sigma / (sigma - 1) if sigma > 1 + 1e-9 else inf
        step = log(min(max(target, units.memory + 1.0), float(units.ceiling)) / K)
        if abs(step) < APART:
            break
        kept = 1 + (step - before) / moved if moved else 0.0
        moved, before = step / (1 - (max(kept, 0.0) if kept < 0.9 else 0.5)), step
        K = min(max(K * exp(moved), units.memory + 1.0), float(units.ceiling))
    return found


def _candidate(program: SegmentProgram, units: Units, K: float) -> Mixture:
    """The best exponents at a segment size."""
    used, mixture = program.solve(K)
    point = mixture @ np.array(program.vertices)[used]
    level = float(program.value(point, K))
    return Mixture(
        value=units.memory + exp(log(max(K - units.memory, 1e-9)) + log(units.operations) - level),
        units=K,
        level=level,
        sigma=float(program.sums(point).sum()),
        used=used,
        mixture=mixture,
    )


def _balanced(program: SegmentProgram, units: Units, count: int, start: float) -> Mixture:
    """The segment size at which `count` segments just fail to hold all operations.

    log U* is concave in log K, so that Newton's steps approach from below after the first one.
    """
    K = start
    share = log(units.operations) - log(count)
    for _ in range(4):
        found = _candidate(program, units, K)
        step = (share - found.level) / max(found.sigma, 1e-6)
        K = min(max(K * exp(min(max(step, -3.0), 3.0)), 1.0), float(units.ceiling) * 2)
        if abs(step) < 1e-5:
            break
    return replace(found, value=units.memory + count * (K - units.memory), units=K)
