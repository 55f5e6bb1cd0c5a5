"""Cones {x >= 0 : row.x >= 0} in whole numbers: extreme rays and facets by the double description method.

A cone with an interior is the sum of its extreme rays, and a constraint is one of its facets if the rays on it
are not all on another one: with the rays at hand, points inside and on facets, and what is redundant, need no
linear programs.
Source: T. S. Motzkin et al., The double description method (1953); rays are adjacent if no third one lies on all
constraints that both of them lie on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm
from operator import mul

from optmap.base.shown import Concise

Row = tuple[int, ...]
"""Coefficients of a linear form, or coordinates of a point."""
_Valued = tuple[Row, int, int]
"""A ray, the constraints that it lies on as a set of bits, and its value under a new one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cone(Concise):
    """A cone with an interior, in the orthant of nonnegative numbers."""

    facets: tuple[Row, ...]
    """The inequalities row.x >= 0 that none of the others implies, in lowest terms, orthant included."""
    rays: tuple[Row, ...]
    """Extreme rays in lowest terms: the cone is their sums with nonnegative weights."""

    @property
    def interior(self) -> Row:
        """A point on no facet."""
        return _sum(self.rays)

    def inside(self, facet: Row) -> Row:
        """A point on one facet and on no other."""
        return _sum([ray for ray in self.rays if not dot(facet, ray)])


def cone(size: int, rows: Iterable[Sequence[Fraction | int]]) -> Cone | None:
    """The cone of some inequalities.

    Args:
        size: number of coordinates.
        rows: coefficients of row.x >= 0; the coordinates are nonnegative anyway.

    Returns:
        None if the cone has no interior.
    """
    constraints = [tuple(int(i == j) for j in range(size)) for i in range(size)]
    rays = [(unit, ((1 << size) - 1) ^ (1 << i)) for i, unit in enumerate(constraints)]
    cutting = {primitive(row) for row in rows}
    for row in sorted(cutting, key=lambda row: (sum(map(bool, row)), row)):
        if min(row) >= 0:
            continue  # implied by the orthant
        met = _met(rays, row, size, 1 << len(constraints))
        if met is None:
            return None
        rays = met
        constraints.append(row)
    on = [frozenset(k for k, (_, zeros) in enumerate(rays) if zeros >> i & 1) for i in range(len(constraints))]
    facets = [row for row, here in zip(constraints, on, strict=True) if here and not any(here < there for there in on)]
    return Cone(facets=tuple(facets), rays=tuple(ray for ray, _ in rays))


def _met(rays: list[tuple[Row, int]], row: Row, size: int, bit: int) -> list[tuple[Row, int]] | None:
    """The rays of a cone cut by row.x >= 0; None if nothing of its interior is left.

    Args:
        rays: every ray with the set of constraints that it lies on.
        row: the new constraint.
        size: number of coordinates.
        bit: of the new constraint in these sets.
    """
    above: list[_Valued] = []
    kept: list[_Valued] = []
    below: list[_Valued] = []
    for ray, zeros in rays:
        value = dot(row, ray)
        (above if value > 0 else below if value else kept).append((ray, zeros, value))
    if not above:
        return None
    found = [(ray, zeros) for ray, zeros, _ in above] + [(ray, zeros | bit) for ray, zeros, _ in kept]
    sets = [zeros for _, zeros in rays]
    for high, high_zeros, over in above:
        for low, low_zeros, under in below:
            common = high_zeros & low_zeros
            if common.bit_count() >= size - 2 and sum(1 for zeros in sets if zeros & common == common) == 2:
                between = [over * b - under * a for a, b in zip(high, low, strict=True)]
                found.append((primitive(between), common | bit))
    return found


def primitive(row: Sequence[Fraction | int]) -> Row:
    """The positive multiple of a row whose entries are whole numbers without a common factor."""
    whole = lcm(*(x.denominator for x in row))
    numbers = [int(x * whole) for x in row] if whole > 1 else [int(x) for x in row]
    common = gcd(*numbers) or 1
    return tuple(n // common for n in numbers)


def dot(a: Sequence[int], b: Sequence[int]) -> int:
    """The value of a linear form at a point."""
    return sum(map(mul, a, b))


def _sum(points: Iterable[Row]) -> Row:
    return tuple(map(sum, zip(*points, strict=True)))
