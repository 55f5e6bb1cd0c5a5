"""What operations touch at least: t and phi of the theorems in `lines.py` and `shared.py`, exactly and in floats."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Sides = tuple[int, int]
"""Elements of the full and of the light tensor at a place, at most: a and b."""


def least_touched(places: int, operations: int, most: int, sides: Sides, g: Fraction) -> Fraction:
    """So many places times t, or a little less: what is touched, added up over segments.

    Args:
        places: how many.
        operations: at each.
        most: operations of a segment at a place.
        sides: of a place.
        g: what an element of the light tensor counts.
    """
    e = min(most, operations)
    segments, rest = divmod(operations, e)
    return _phi(places * segments, e, sides, g) + _phi(places, rest, sides, g)


def about_touched(places: int, operations: int, most: Floats, sides: Sides, g: float) -> Floats:
    """The same in floats, for many numbers of operations of a segment."""
    every, ends = float(operations), (float(sides[0]), float(sides[1]))
    e = np.minimum(most, every)
    segments = np.floor(every / e)
    parts = segments * _about_phi(e, ends, g) + _about_phi(np.maximum(every - segments * e, 0), ends, g)
    return np.asarray(float(places) * parts)


def _phi(times: int, operations: int, sides: Sides, g: Fraction) -> Fraction:
    """So many times phi, or a little less: the least x + g*y with x*y operations, x being a and y being b at most."""
    a, b = sides
    if g * operations > a * a:
        return times * (a + g * operations / a)
    if operations > g * b * b:
        return times * (Fraction(operations, b) + g * b)
    return Fraction(isqrt(4 * times * times * operations * g.numerator // g.denominator))


def _about_phi(o: Floats, sides: tuple[float, float], g: float) -> Floats:
    a, b = sides
    bent = np.where(o > g * b * b, o / b + g * b, 2 * np.sqrt(g * o))
    return np.asarray(np.where(g * o > a * a, a + g * o / a, bent))
