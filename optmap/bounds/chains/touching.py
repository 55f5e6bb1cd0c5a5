"""What operations touch at least: t and phi of the theorems in `lines.py` and `shared.py`, exactly and in floats."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import isqrt

import numpy as np

from optmap.base.arrays import Floats

Sides = tuple[int, int]
"""Elements of the full and of the light tensor at a place, at most: a and b."""


Place = tuple[int, int, Sides]
"""How many places are alike, the operations at each, and its elements of the full and of the light tensor."""


def least_touched(alike: Iterable[Place], most: int, g: Fraction) -> Fraction:
    """The sum of t over places, or a little less: what is touched, added up over segments.

    Args:
        alike: places.
        most: operations of a segment at a place.
        g: what an element of the light tensor counts.
    """
    found = Counter[int]()  # numerators by denominator: there are few of these, and fractions take long
    ratio = g.as_integer_ratio()
    for places, operations, sides in alike:
        e = min(most, operations)
        segments, rest = divmod(operations, e)
        for times, done in ((places * segments, e), (places, rest)):
            if done:
                numerator, denominator = _phi(times, done, sides, ratio)
                found[denominator] += numerator
    return sum((Fraction(n, d) for d, n in found.items()), Fraction())


def about_touched(alike: Sequence[Place], most: Floats, g: float) -> Floats:
    """The same in floats, for many numbers of operations of a segment."""
    places = np.array([[float(times)] for times, _, _ in alike])
    every = np.array([[float(operations)] for _, operations, _ in alike])
    a, b = (np.array([float(sides[n]) for _, _, sides in alike])[:, None] for n in (0, 1))
    e = np.minimum(most[None, :], every)
    segments = np.floor(every / e)
    parts = segments * _about_phi(e, (a, b), g) + _about_phi(np.maximum(every - segments * e, 0), (a, b), g)
    return np.asarray(np.add.reduce(places * parts, axis=0))


def _phi(times: int, operations: int, sides: Sides, g: tuple[int, int]) -> tuple[int, int]:
    """So many times phi, or a little less: the least x + g*y with x*y operations, x being a and y being b at most.

    Args:
        times: of it.
        operations: one at least.
        sides: a and b.
        g: numerator and denominator.

    Returns:
        Numerator and denominator.
    """
    (a, b), (p, q) = sides, g
    if p * operations > q * a * a:  # a + g*o/a
        return times * (q * a * a + p * operations), q * a
    if q * operations > p * b * b:  # o/b + g*b
        return times * (q * operations + p * b * b), q * b
    return isqrt(4 * times * times * operations * p // q), 1


def _about_phi(o: Floats, sides: tuple[Floats, Floats], g: float) -> Floats:
    a, b = sides
    bent = np.where(o > g * b * b, o / b + g * b, 2 * np.sqrt(g * o))
    return np.asarray(np.where(g * o > a * a, a + g * o / a, bent))
