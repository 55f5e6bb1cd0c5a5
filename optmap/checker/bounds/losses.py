"""What windows lose: how many pairs fewer there are than taps (proof: `optmap/bounds/windows/halo.py`)."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from math import isqrt

ONE = 2**24
"""Roots are rounded down to multiples of 1/ONE."""
GRID = 256
"""Larger sets are taken in multiples of 1/GRID of the smaller one."""
Loss = Callable[[int, int], int]
"""Sizes a <= c in 1/GRID -> how much less than taps*(a+c)/2 pairs there are, at least, in 1/ONE;
at most a concave function that is lost."""


def isoperimetric(q: int, half: int) -> Callable[[int], int]:
    """sqrt(q*(size - 1/half)), rounded down, of a size in 1/GRID."""
    return lambda size: isqrt(q * (half * size - GRID) * ONE * ONE // (half * GRID))


OCTAGON, RECTANGLE, DIAMOND = isoperimetric(28, 2), isoperimetric(16, 2), isoperimetric(4, 4)


def path(q: Fraction, short: Fraction, n: int = 1) -> Callable[[int], int]:
    """At most what m/n elements, m in 1/GRID, lose that a path joins: sqrt(q*(m/n - short)), or 6*m/n below 0."""
    up, down = q.numerator * short.denominator * ONE * ONE, q.denominator * short.denominator * GRID * n
    less = q.numerator * short.numerator * ONE * ONE * GRID * n

    def lost(m: int) -> int:
        return isqrt(max(0, up * m - less) // down) if m >= 0 else 6 * m * ONE // (n * GRID)

    return lost


def four(q: Fraction, short: Fraction, nu: Fraction, less: int) -> Loss:
    """Four rows of taps: three paths, two of them equal, or two, or one; `less` in 1/ONE."""
    (one, two, three), up, down = (path(q, short, n) for n in (1, 2, 3)), nu.numerator * ONE, nu.denominator * GRID

    @lru_cache(maxsize=2**12)
    def loss(a: int, c: int) -> int:
        m, more = a + c, c - a
        apart = min(three(m + 2 * more) + 2 * three(m - more), 2 * three(m + more) + three(m - 2 * more))
        fewer = min(2 * two(m) + m * up // (2 * down), one(m) + m * up // down)
        return min(apart + more * up // down, fewer) - less

    return loss


def kept(loss: Loss, p: int, q: int) -> Loss:
    """A part p/q of a loss, rounded down."""
    return lambda a, c: loss(a, c) * p // q


FOURS = four(Fraction(848, 9), Fraction(3, 4), Fraction(2, 3), ONE // 3 + 1)
THREES = four(Fraction(128, 3), Fraction(1, 2), Fraction(1, 2), 0)
TWO_FOURS = path(Fraction(40), Fraction(4, 5))


def twos(a: int, c: int) -> int:
    """All taps of a 2x4 window."""
    return TWO_FOURS(a + c)


def nine(a: int, c: int) -> int:
    """All taps of a 3x3 window."""
    apart = OCTAGON(a) + OCTAGON(c) + (c - a) * ONE // (2 * GRID)
    return min(apart, OCTAGON(a + c) + (a + c) * ONE // (2 * GRID))


LOSSES: dict[tuple[int, ...], dict[int, Loss]] = {
    (3, 3): {
        9: nine,
        8: lambda a, c: nine(a, c) * 2 // 3,
        7: lambda a, c: min(RECTANGLE(a + c), nine(a, c) // 2),
        6: lambda a, c: DIAMOND(a + c),
        5: lambda a, c: min(DIAMOND(a + c), nine(a, c) // 5),
    },
    (2, 3): {6: lambda a, c: RECTANGLE(a + c), 5: lambda a, c: DIAMOND(a + c)},
    (2, 2): {4: lambda a, c: DIAMOND(a + c), 3: lambda a, c: DIAMOND(a + c) // 2},
    (4, 4): {16: FOURS, 15: kept(FOURS, 5, 6), 14: kept(FOURS, 7, 10), 13: kept(FOURS, 7, 12), 12: kept(FOURS, 1, 2)}
    | {8: lambda a, c: DIAMOND(a + c)},
    (3, 4): {12: THREES, 11: kept(THREES, 11, 14), 10: kept(THREES, 5, 8), 9: kept(THREES, 1, 2)}
    | {8: kept(THREES, 1, 4), 7: lambda a, c: DIAMOND(a + c)},
    (2, 4): {8: twos, 7: kept(twos, 7, 10), 6: kept(twos, 1, 2), 5: kept(twos, 1, 4)},
    (4,): {4: lambda a, c: 3 * ONE + (c - a) * ONE // GRID, 2: lambda a, c: ONE},
    (3,): {3: lambda a, c: 2 * ONE + (c - a) * ONE // (2 * GRID), 2: lambda a, c: ONE},
    (2,): {2: lambda a, c: ONE},
}
"""Per window (sorted numbers of taps) and number of taps in use: what is lost."""
