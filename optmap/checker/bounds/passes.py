"""How often words come while another tensor passes piece by piece (proof: `optmap/bounds/passing/passes.py`).

A place has rows and columns, every pair of which needs an element of the kept tensor; segments have only so many of
them. This module prices again what rows and columns a place must touch, for every number of segments that touch all
of its rows or columns.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import isqrt, lcm
from typing import Any

from ..core.padding import Done
from ..core.tools import need
from .visits import VisitRoles, roles_of

FULL = 2**17
"""Most full segments that are recounted one by one."""
LONGEST = 2**14
"""Longest windows, places times taps, whose words are counted one by one."""
SHARED = 12
"""Most places of a word along one window if so."""
PARTS = 64
"""Parts of a price, some of which pay for touching all rows or columns twice."""


def check_passes(doc: dict[str, Any], weights: dict[str, int], words: dict[str, int], created: int, done: Done) -> int:
    """Loads that the passes of a certificate prove.

    Args:
        doc: the certificate, of the right form.
        weights: words per element of every tensor.
        words: touched words of every tensor, at least.
        created: words that may be created instead of loaded, at most.
        done: the points that are done.
    """
    part, memory = doc["passes"], doc["memory_words"]
    roles, still = roles_of(doc, "passes", weights, done)
    kept, sliding, slack = part["kept"], part["sliding"], part["slack"]
    a, b, w = weights[still], weights[sliding], weights[kept]
    rows, columns = roles.features, roles.channels * roles.taps
    share, worths = worth(roles, b)
    size = w * rows * columns
    need(1 <= slack < size - memory, "the slack must be less than what does not fit")
    longest = memory + slack + w - 1
    paid = cheapest(worths, rows, columns, (share * a, b), longest // w)
    # What words are worth beyond what is counted of them is paid once.
    paid += max(0, share * words[sliding] - int(sum(value * n for value, n in worths.items())))
    touched = -(-paid // share)
    need(part["touched_words"] == touched, f"{touched} words are touched")
    cuts = max(1, (size - 1) // longest)
    loads: int = touched + min(max(cuts * slack, size - cuts * memory), (cuts + 1) * slack) - created
    need(part["loads_words"] == loads, f"the passes prove {loads} loads")
    return loads


def worth(roles: VisitRoles, b: int) -> tuple[int, Counter[Fraction]]:
    """Most places of a word of the sliding tensor, and how many places have columns worth how much.

    A word is worth b for each of the most places; the places that it has share this evenly.
    """
    share, found, counted = 1, Counter({Fraction(b * roles.channels): roles.apart}), True
    for place, tap, stride, dilation in roles.windows:
        positions, taps = roles.extents[place], roles.extents[tap]
        # stride*p + dilation*t stays the same where p grows by the dilation and t falls by the stride.
        most = 1 + min((positions - 1) // dilation, (taps - 1) // stride)
        share *= most
        counted = counted and positions * taps <= LONGEST and most <= SHARED
        along = Counter({Fraction(taps): positions})
        if counted:
            met = Counter(stride * p + dilation * t for p in range(positions) for t in range(taps))
            unit = lcm(*met.values())
            of = {value: most * unit // times for value, times in met.items()}
            sums = Counter(sum(of[stride * p + dilation * t] for t in range(taps)) for p in range(positions))
            along = Counter({Fraction(value, unit): n for value, n in sums.items()})
        joined: Counter[Fraction] = Counter()
        for value, n in found.items():
            for more, times in along.items():
                joined[value * more] += n * times
        found = joined
    if not counted:
        found = Counter({Fraction(b * roles.channels * roles.taps): sum(found.values())})
    return share, found


def price(times: int, pairs: int, whole: int, unit: int) -> int:
    """So many times the least of two prices, one of them at most `whole`, that buy the pairs at a unit each."""
    square = unit * pairs
    if square > whole * whole:
        return times * whole + times * square // whole
    return isqrt(4 * times * times * square)


def cheapest(worths: Counter[Fraction], rows: int, columns: int, prices: tuple[int, int], most: int) -> int:
    """What places pay at least for rows and columns, with most pairs per segment, rounded down.

    Args:
        worths: what all columns of a place are worth, and how many places have so much.
        rows: rows of a place.
        columns: columns of a place.
        prices: of a row, and the least of a column.
        most: pairs per segment.
    """
    row, column = prices
    full, rest = divmod(rows * columns, most)
    need(full <= FULL, "too many segments to recount")
    places = sum(worths.values())

    def even(first: int, second: int, unit: int) -> int:
        """The least of segments with `most` pairs each, all rows and all columns being worth so much."""
        return price(places * full, most, min(first, second), unit) + price(places, rest, min(first, second), unit)

    found, crossed = [], [(2 * places * (rows * row + columns * column), 2)]
    alone = even(rows * row, columns * column, row * column)
    first = price(places, most, min(rows * row, columns * column), row * column) + 1
    crossed.append((places * (rows * row + columns * column) + alone - first, 1))
    for one, other, own in ((rows * row, columns * column, 0), (columns * column, rows * row, 1)):
        full_line = places * other + places * row * column * most // other
        twice = [
            (2 * places * v * one + even((PARTS - v) * one, PARTS * other, (PARTS - v) * PARTS * row * column)) // PARTS
            for v in range(PARTS)
        ]
        found.append(min(alone + max(0, full_line - first), max(twice)))
        ways = [
            places * h * one + price(places, rows * columns - h * most, other, row * column) for h in range(full + 1)
        ]
        found.append(places * other + min([*ways, places * (full + 1) * one]))
        # No segment crosses both ways, h > 1 this way: what that costs is concave in h, so that the ends are enough.
        crossed += [(places * other + ways[h], h if own else 1) for h in {2, full} if 1 < h <= full]
        crossed.append((places * (other + (full + 1) * one), full + 1 if own else 1))
        square = row * column * (rows * columns - most)
        longer = places * one + places * square // one if square <= one * one else isqrt(4 * places * places * square)
        crossed.append((places * (one + other) + longer, 1 + own))
    total = Fraction()
    for value, times in worths.items():
        beyond = places * (value - column * columns)
        total += times * max(max(found) + beyond, min(paid + often * beyond for paid, often in crossed))
    return int(total // places)
