"""What operations touch at least, exactly (t and phi of the theorems in `docs/chain-floors.md`)."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt


def price(places: int, operations: int, sides: tuple[int, int], most: int, g: Fraction) -> Fraction:
    """What so many places of so many operations touch at least, if none has more than `most` in a segment.

    The sides are the elements of the full and of the light tensor at a place, at most.
    """
    segments, rest = divmod(operations, most) if most < operations else (0, operations)
    return _least(places * segments, most, *sides, g) + _least(places, rest, *sides, g)


def _least(times: int, operations: int, full: int, light: int, g: Fraction) -> Fraction:
    """So many times the least n + g*y with n*y operations, n and y being whole sides at most; not too large."""
    if g * operations > full * full:
        return times * (full + g * operations / full)
    if operations > g * light * light:
        return times * (Fraction(operations, light) + g * light)
    return Fraction(isqrt(4 * times * times * operations * g.numerator // g.denominator))
