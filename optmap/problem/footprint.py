"""How many distinct values an affine index takes over a box: the exact footprint of one axis."""

from __future__ import annotations

from functools import lru_cache
from math import gcd, prod

from optmap.errors import LimitError

LARGEST_SPAN = 2**26
"""Bits of the widest index range that is counted by enumeration (three or more dims)."""


def pair_values(m: int, n: int, a: int, b: int) -> int:
    """Distinct values of `m*x + n*y`, 0 <= x < a, 0 <= y < b, for coprime m, n.

    Source: QuickFlow, section IV-A (closed form for distinct values).
    """
    if a > n and b > m:
        return m * (a - 1) + n * (b - 1) - (m - 1) * (n - 1) + 1
    return a * b


def value_mask(coefficients: tuple[int, ...], extents: tuple[int, ...]) -> int:
    """The values of an affine index over a box as the set bits of an integer.

    Raises:
        LimitError: if the index range exceeds `LARGEST_SPAN`.
    """
    span = sum(c * (e - 1) for c, e in zip(coefficients, extents, strict=True)) + 1
    if span > LARGEST_SPAN:
        raise LimitError(
            f"index range of {span:,} values is too wide to enumerate (limit {LARGEST_SPAN:,}); "
            "use smaller extents or coefficients"
        )
    mask = 1
    for c, e in zip(coefficients, extents, strict=True):
        covered = 1  # mask holds `covered` copies shifted by multiples of c
        while covered < e:
            step = min(covered, e - covered)
            mask |= mask << (c * step)
            covered += step
    return mask


@lru_cache(maxsize=65536)
def distinct_values(coefficients: tuple[int, ...], extents: tuple[int, ...]) -> int:
    """Number of distinct values of `sum(c_i * x_i)` over 0 <= x_i < e_i, exactly.

    Args:
        coefficients: positive integers.
        extents: positive integers, same length.

    Returns:
        1 for no dims; the extent for one; the closed form for two; for three or more the exact
        count by dynamic programming over the value set.

    Raises:
        LimitError: for three or more dims whose index range exceeds `LARGEST_SPAN`.
    """
    live = [(c, e) for c, e in zip(coefficients, extents, strict=True) if e > 1]
    if not live:
        return 1
    divisor = gcd(*(c for c, _ in live))
    live = sorted((c // divisor, e) for c, e in live)
    if len(live) == 1:
        return live[0][1]
    if len(live) == 2:
        (m, a), (n, b) = live
        return pair_values(m, n, a, b)
    # In increasing order of coefficients a dense prefix stays dense while the next step fits.
    span = 1
    for c, e in live:
        if c > span:
            break
        span += c * (e - 1)
    else:
        return span
    if all(c >= 1 + sum(d * (f - 1) for d, f in live[:i]) for i, (c, _) in enumerate(live)):
        return prod(e for _, e in live)
    return value_mask(tuple(c for c, _ in live), tuple(e for _, e in live)).bit_count()
