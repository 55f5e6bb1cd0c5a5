"""How often words come while another tensor passes piece by piece (theorem and proof: `optmap/bounds/passes.py`).

A place has rows and columns, every pair of which needs an element of the kept tensor; segments have only so many of
them. This module prices again what rows and columns a place must touch, for every number of segments that touch all
of its rows or columns.
"""

from __future__ import annotations

from math import isqrt, prod
from typing import Any

from .padding import Done
from .tools import need
from .visits import roles_of

FULL = 2**17
"""Most full segments that are recounted one by one."""
PARTS = 64
"""Parts of a price, some of which pay for touching all rows or columns twice."""


def check_passes(doc: dict[str, Any], weights: dict[str, int], words: dict[str, int], done: Done) -> int:
    """Loads that the passes of a certificate prove.

    Args:
        doc: the certificate, of the right form.
        weights: words per element of every tensor.
        words: touched words of every tensor, at least.
        done: the points that are done.
    """
    part, memory = doc["passes"], doc["memory_words"]
    roles, still = roles_of(doc, "passes", weights, done)
    kept, sliding, slack = part["kept"], part["sliding"], part["slack"]
    a, b, w = weights[still], weights[sliding], weights[kept]
    share = 1
    for place, tap, stride, dilation in roles.windows:
        # stride*p + dilation*t stays the same where p grows by the dilation and t falls by the stride.
        share *= 1 + min((done.extents[place] - 1) // dilation, (done.extents[tap] - 1) // stride)
    rows, columns = roles.features, roles.channels * roles.taps
    places = roles.apart * prod(done.extents[place] for place, _, _, _ in roles.windows)
    size = w * rows * columns
    need(1 <= slack < size - memory, "the slack must be less than what does not fit")
    longest = memory + slack + w - 1
    least = cheapest(places, rows, columns, (share * a, b), longest // w)
    # What a word of the sliding tensor is not charged where it is a column of fewer places, once.
    touched = words[sliding] - (places * b * columns - least) // share
    need(part["touched_words"] == touched, f"{touched} words are touched")
    cuts = max(1, (size - 1) // longest)
    loads: int = touched + min(max(cuts * slack, size - cuts * memory), (cuts + 1) * slack)
    need(part["loads_words"] == loads, f"the passes prove {loads} loads")
    return loads


def cheapest(places: int, rows: int, columns: int, prices: tuple[int, int], most: int) -> int:
    """What so many places pay at least for rows and columns, with most pairs per segment, rounded down."""
    row, column = prices
    full, rest = divmod(rows * columns, most)
    need(full <= FULL, "too many segments to recount")

    def price(times: int, pairs: int, whole: int, unit: int) -> int:
        """So many times the least of two prices, one of them at most `whole`, that buy the pairs at a unit each."""
        square = unit * pairs
        if square > whole * whole:
            return times * whole + times * square // whole
        return isqrt(4 * times * times * square)

    def even(first: int, second: int, unit: int) -> int:
        """The least of segments with `most` pairs each, all rows and all columns being worth so much."""
        return price(places * full, most, min(first, second), unit) + price(places, rest, min(first, second), unit)

    found = []
    for one, other in ((rows * row, columns * column), (columns * column, rows * row)):
        full_line = places * other + places * row * column * most // other
        longer = full_line - 1 - price(places, most, min(one, other), row * column)
        twice = [
            (2 * places * v * one + even((PARTS - v) * one, PARTS * other, (PARTS - v) * PARTS * row * column)) // PARTS
            for v in range(PARTS)
        ]
        found.append(min(even(one, other, row * column) + max(0, longer), max(twice)))
        ways = [
            places * h * one + price(places, rows * columns - h * most, other, row * column) for h in range(full + 1)
        ]
        found.append(places * other + min([*ways, places * (full + 1) * one]))
    return max(found)
