"""Divisors and prime factors of extents."""

from __future__ import annotations

from functools import lru_cache

FEW = 4_000_000
"""Beyond it SymPy factorises; up to it trial division is faster than to load SymPy."""


@lru_cache(maxsize=4096)
def divisors_of(number: int) -> tuple[int, ...]:
    """All divisors of a positive integer, increasing."""
    if number > FEW:
        from sympy import divisors

        return tuple(int(d) for d in divisors(number))
    small = [k for k in range(1, int(number**0.5) + 1) if number % k == 0]
    return tuple(sorted({*small, *(number // k for k in small)}))


def prime_factors(number: int) -> list[int]:
    """Prime factors of a positive integer, smallest first, as often as they divide it; none for 1."""
    found = []
    while number > 1:
        found.append(divisors_of(number)[1])
        number //= found[-1]
    return found
