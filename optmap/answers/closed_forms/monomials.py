"""Products of rational powers of whole numbers, compared without rounding."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import exp, lcm, log, prod

Exponents = Sequence[Fraction | int]
"""Power of every number."""


def _powers(exponents: Exponents, values: Sequence[int]) -> tuple[int, int, int]:
    """(a, b, q) with product = (a/b)^(1/q)."""
    q = lcm(*(Fraction(e).denominator for e in exponents))
    pairs = [(value, int(e * q)) for e, value in zip(exponents, values, strict=True)]
    return prod(v**e for v, e in pairs if e > 0), prod(v**-e for v, e in pairs if e < 0), q


def sign(exponents: Exponents, values: Sequence[int]) -> int:
    """Sign of the product's logarithm: -1, 0 or 1 for a product below, at or above 1."""
    above, below, _ = _powers(exponents, values)
    return (above > below) - (above < below)


def value(exponents: Exponents, values: Sequence[int]) -> float:
    """The product as a number."""
    return exp(sum(float(e) * log(v) for e, v in zip(exponents, values, strict=True)))


def whole_above(exponents: Exponents, values: Sequence[int]) -> int:
    """The least whole number that is not below the product."""
    above, below, q = _powers(exponents, values)
    low, high = 0, 1 << (max(above.bit_length() - below.bit_length(), 0) // q + 2)
    while low + 1 < high:
        middle = (low + high) // 2
        if below * middle**q >= above:
            high = middle
        else:
            low = middle
    return high
