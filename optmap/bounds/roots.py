"""Square roots of exact numbers, rounded down."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

PRECISION = 10**6
"""Square roots are rounded down to multiples of 1/PRECISION."""


def floor_sqrt(value: Fraction) -> Fraction:
    """A fraction at most the square root of a number, within 1/PRECISION of it; no number is too large.

    Args:
        value: 0 or more.
    """
    scaled = value * PRECISION * PRECISION
    return Fraction(isqrt(scaled.numerator // scaled.denominator), PRECISION)
