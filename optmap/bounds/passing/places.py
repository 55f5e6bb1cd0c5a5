"""What places pay for rows and columns: the numbers of the theorem in `passes`, which has the proofs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import isqrt, lcm
from types import MappingProxyType

from optmap.bounds.passing.roles import TensorRoles

PARTS = 64
"""Parts of a price; how many of them pay for a second touch is chosen."""
LONGEST = 2**14
"""Positions times taps of a window whose shares are counted, at most."""
SHARED = 12
"""Places of a word whose shares are counted, at most."""

Rim = Mapping[Fraction, int]
"""What the columns of a place are worth beyond the least share of each -> how many places have so much."""


def shared_columns(positions: int, taps: int, stride: int, dilation: int) -> int:
    """Positions p, at most, that have one value of stride*p + dilation*t (coprime) for some tap t."""
    return min(-(-positions // dilation), -(-taps // stride))


@lru_cache(maxsize=256)
def rim_of_places(roles: TensorRoles, column: int) -> Rim:
    """What the columns of places are worth beyond the least; nothing for windows that are too long to count.

    Args:
        roles: the places and their windows.
        column: the least that all words of one tap are worth at a place.
    """
    found: Counter[Fraction] = Counter({Fraction(column): roles.apart})
    for window in roles.windows:
        along = window.positions, window.taps, window.stride, window.dilation
        if window.positions * window.taps > LONGEST or shared_columns(*along) > SHARED:
            return MappingProxyType({Fraction(): roles.places})
        worth: Counter[Fraction] = Counter()
        for (value, times), (more, again) in product(found.items(), tap_worths(*along).items()):
            worth[value * more] += times * again
        found = worth
    return MappingProxyType({value - column * roles.taps: times for value, times in found.items()})


@lru_cache(maxsize=64)
def tap_worths(positions: int, taps: int, stride: int, dilation: int) -> Counter[Fraction]:
    """How many positions p have taps worth how much, if n are shared evenly where stride*p + dilation*t is the same.

    Args:
        positions: extent of p.
        taps: extent of t.
        stride: coefficient of p, coprime to the dilation.
        dilation: coefficient of t.
    """
    n, reach = shared_columns(positions, taps, stride, dilation), (taps - 1) // stride
    unit = lcm(*range(1, n + 1))
    # p - dilation*j has t + stride*j: how many positions before and after p, at most, have taps for words of p.
    beside = Counter((min(p // dilation, reach), min((positions - 1 - p) // dilation, reach)) for p in range(positions))
    found: Counter[Fraction] = Counter()
    for (before, after), times in beside.items():
        places = (1 + min(before, (taps - 1 - t) // stride) + min(after, t // stride) for t in range(taps))
        found[Fraction(n * sum(unit // each for each in places), unit)] += times
    return found


def least_of_places(rim: Rim, rows: int, columns: int, segment: int, parts: Sequence[int] = ()) -> int:
    """What all places pay at least, rounded down.

    Args:
        rim: what the columns of a place are worth beyond `columns`, e -> how many places.
        rows: what all rows of a place cost together, S.
        columns: what all its columns cost together at the least, T.
        segment: m, times what a row and a column cost.
        parts: v in `PARTS`, tried besides those that look best.
    """
    places, unit = sum(rim.values()), lcm(*(e.denominator for e in rim))
    even, first = _even(places, rows, columns, segment), _pay(places, segment, min(rows, columns)) + 1
    plain = unit * _least(places, rows, columns, segment, even=even, first=first, parts=parts)
    lines = [(unit * paid, times * places) for paid, times in _crossed(places, rows, columns, segment, even - first)]
    found = 0
    for e, count in rim.items():
        more = e.numerator * (unit // e.denominator)
        found += count * max(plain + places * more, min(paid + times * more for paid, times in lines))
    return found // (places * unit)


def _least(places: int, rows: int, columns: int, segment: int, *, even: int, first: int, parts: Sequence[int]) -> int:
    """`least` of all places, given what segments pay, all of them (`even`) and one."""
    full, rest = divmod(rows * columns, segment)
    found = []
    for one, other in ((rows, columns), (columns, rows)):
        longer = places * other + places * segment // other - first
        root = even / (4 * places * one)
        v = int(PARTS * (1 - min(root, 1.0) ** 2))
        once, twice = even + max(longer, 0), 0
        for part in {0, v, min(v + 1, PARTS - 1), *parts}:
            twice = max(twice, _twice(places, one, other, segment, part))
            if twice >= once:
                break  # the lesser of both counts
        found.append(min(once, twice))
        # Least at an end: h*S + phi(J*D - h*m, T) is concave in h.
        some = (places * full * one + _pay(places, rest, other), places * (full + 1) * one)
        found.append(places * other + min(_pay(places, rows * columns, other), *some))
    return max(found)


def _crossed(places: int, rows: int, columns: int, segment: int, whole: int) -> list[tuple[int, int]]:
    """Payments of all places, and how often each pays e besides: `crossed` is the least sum.

    Segments but one pay `whole`.
    """
    full, rest = divmod(rows * columns, segment)
    left = rows * columns - segment
    found = [(2 * places * (rows + columns), 2), (places * (rows + columns) + whole, 1)]
    for one, other, dear in ((rows, columns, False), (columns, rows, True)):
        found.append((places * (one + other) + _again(places, left, one), 1 + dear))
        # Least at an end, as above; a multiple of e that grows with h does not change that.
        some = [(full, _pay(places, rest, other))] if full > 1 else []
        some += [(2, _pay(places, left - segment, other))] if full > 1 else []
        some.append((full + 1, 0))
        found += [(places * (h * one + other) + paid, h if dear else 1) for h, paid in some]
    return found


def _again(times: int, area: int, least: int) -> int:
    """So many times the least v + area/v with v >= `least`, rounded down."""
    if area <= least**2:
        return times * least + times * area // least
    return isqrt(4 * times**2 * area)


def _even(places: int, rows: int, columns: int, segment: int) -> int:
    """What all places pay at least if phi is all that segments pay."""
    (full, rest), whole = divmod(rows * columns, segment), min(rows, columns)
    return _pay(places * full, segment, whole) + _pay(places, rest, whole)


def _twice(places: int, one: int, other: int, segment: int, part: int) -> int:
    """What all places pay at least if all of `one` is touched twice; so many parts of its price pay for that."""
    rest = PARTS - part
    return (2 * places * part * one + _even(places, rest * one, PARTS * other, rest * PARTS * segment)) // PARTS


def _pay(times: int, area: int, whole: int) -> int:
    """So many phi, of pairs times what a row and a column cost, rounded down."""
    if area <= whole**2:
        return isqrt(4 * times**2 * area)
    return times * whole + times * area // whole
