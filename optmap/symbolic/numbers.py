"""Number theory for extents too large for trial division."""

from __future__ import annotations


def large_divisors(number: int) -> tuple[int, ...]:
    """All divisors of a number, increasing, by SymPy's factorisation.

    Args:
        number: a positive integer.
    """
    from sympy import divisors

    return tuple(int(d) for d in divisors(number))
