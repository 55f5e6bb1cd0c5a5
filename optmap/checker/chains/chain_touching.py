"""What operations touch at least, exactly (t and phi of the theorems in `docs/chain-floors.md`)."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import isqrt

Place = tuple[int, int, tuple[int, int]]
"""How many places are alike, operations of each, and elements of the full and the light tensor there, at most."""


def price(alike: Iterable[Place], most: int, g: Fraction) -> Fraction:
    """What the operations of some places touch at least, if none has more than `most` in a segment."""
    ratio = g.numerator, g.denominator
    parts: dict[int, int] = {}
    for places, operations, sides in alike:
        segments, rest = divmod(operations, most) if most < operations else (0, operations)
        for times, done in ((places * segments, most), (places, rest)):
            if times and done:
                over, under = _least(times, done, *sides, ratio)
                parts[under] = parts.get(under, 0) + over
    return sum((Fraction(over, under) for under, over in parts.items()), Fraction(0))


def _least(times: int, operations: int, full: int, light: int, g: tuple[int, int]) -> tuple[int, int]:
    """So many times the least n + g*y with n*y operations, n and y being whole sides at most; not too large.

    It is the first of two numbers over the second, as g is.
    """
    over, under = g
    if over * operations > under * full * full:
        return times * (full * full * under + over * operations), under * full
    if operations * under > over * light * light:
        return times * (operations * under + over * light * light), under * light
    return isqrt(4 * times * times * operations * over // under), 1
