"""Energy and cycles that are bounded, each and in weighted sums: what is left, and where an objective is least in it.

What is left is convex, with corners where two of the bounds meet. A product that is below a value at no corner is below
it nowhere: between two points it is no less than at one of them, and it grows with both factors. What adds up over
parts has sums of points of the parts, whose weighted sums are bounded by sums: at the prices of all parts that is all
that can be said, as the boundary of a sum has no other directions than those of the parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations

Point = tuple[Fraction, Fraction]


@dataclass(frozen=True)
class BoundedSums:
    """Bounds on energy E and cycles C; of an objective that is itself a sum, on it alone, in place of E."""

    first: Fraction
    """E is at least so much."""
    second: Fraction
    """C is."""
    weighted: tuple[Point, ...] = ()
    """(w, least E + w C), for w of 0 or more."""

    @cached_property
    def points(self) -> list[Point]:
        """Corners: two bounds meet there, and all others hold."""
        zero, one = Fraction(0), Fraction(1)
        bounds = [(one, zero, self.first), (zero, one, self.second), *((one, w, least) for w, least in self.weighted)]
        found = list[Point]()
        for (a, b, h), (c, d, k) in combinations(bounds, 2):
            size = a * d - b * c
            if size:
                point = (h * d - b * k) / size, (a * k - h * c) / size
                if all(x * point[0] + y * point[1] >= least for x, y, least in bounds):
                    found.append(point)
        return found

    def sum_at(self, price: Fraction) -> Fraction:
        """E + price C, at least."""
        return min(first + price * second for first, second in self.points)

    @property
    def product(self) -> Fraction:
        """E C, at least."""
        return min(first * second for first, second in self.points)


def one_after_other(beside: Point, parts: Sequence[tuple[int, BoundedSums]]) -> BoundedSums:
    """Bounds on what is done in turn: what is beside, and every part so many times."""
    prices = {price for _, part in parts for price, _ in part.weighted}
    first = beside[0] + sum((times * part.first for times, part in parts), Fraction(0))
    second = beside[1] + sum((times * part.second for times, part in parts), Fraction(0))
    weighted = ((w, beside[0] + w * beside[1] + sum(times * part.sum_at(w) for times, part in parts)) for w in prices)
    return BoundedSums(first, second, tuple(weighted))
