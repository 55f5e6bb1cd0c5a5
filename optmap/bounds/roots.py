"""Roots of exact numbers, rounded down or up."""

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


def root_above(n: int, q: int) -> int:
    """The least r >= 1 with r^q >= n.

    Args:
        n: 1 or more.
        q: 1 or more.
    """
    low, high = 0, 1 << -(-n.bit_length() // q)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if middle**q >= n else (middle, high)
    return high
