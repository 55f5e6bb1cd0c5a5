"""Elements that a tile has in common with the one before it, summed over all steps of a loop nest."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from math import gcd, prod

from .statement import Axis, Range
from .tools import SPAN, need, value_bits

Moves = Counter[tuple[int, int, int, int]]
"""How often a dim goes from a tile of one size to one of another size so far away, with the start of the
new one if it matters, else 0."""


def common_elements(axes: list[Axis], moves: dict[str, Moves], ranges: Sequence[Range] = ()) -> int:
    """Sum over all combinations of moves of the elements (inside the ranges) that the new and the old tile share."""
    total = prod(m.total() for d, m in moves.items() if all(d not in dict(terms) for terms, _ in axes))
    groups: list[list[tuple[Axis, Range]]] = []
    for axis, real in zip(axes, ranges or [None] * len(axes), strict=True):
        mine = {d for d, _ in axis[0]}
        joined = [g for g in groups if any(mine & {d for d, _ in terms} for (terms, _), _ in g)]
        groups = [g for g in groups if g not in joined] + [[(axis, real), *itertools.chain(*joined)]]
    for group in groups:
        dims = sorted({d for (terms, _), _ in group for d, _ in terms})
        alike = {d: by_shape(moves[d]) for d in dims}
        amount = 0
        for choice in itertools.product(*(alike[d] for d in dims)):
            shapes = dict(zip(dims, choice, strict=True))
            for origins, times in first_values(group, {d: alike[d][shapes[d]] for d in dims}).items():
                amount += times * prod(
                    common_values(
                        tuple(sorted((c, shapes[d]) for d, c in terms)),
                        None if real is None else (real[0] - origin, real[1] - origin),
                    )
                    for ((terms, _), real), origin in zip(group, origins, strict=True)
                )
        total *= amount
    return total


def by_shape(moves: Moves) -> dict[tuple[int, int, int], Counter[int]]:
    """Moves that differ in the start of the new tile only, together: how often it starts where."""
    found: dict[tuple[int, int, int], Counter[int]] = {}
    for (old, new, far, start), times in moves.items():
        found.setdefault((old, new, far), Counter())[start] += times
    return found


def first_values(group: list[tuple[Axis, Range]], starts: dict[str, Counter[int]]) -> dict[tuple[int, ...], int]:
    """How often new tiles have which first values; of subscripts without a range, which do not matter, 0.

    The values of several subscripts are the digits of one number. Numbers of the dims add up, so how often
    each sum occurs is a product of polynomials, which is one of integers with room for every coefficient.
    """
    spans = [1 + sum(c * max(starts[d]) for d, c in terms) if real else 1 for (terms, _), real in group]
    bases = [prod(spans[:k]) for k in range(len(spans))]
    width = prod(places.total() for places in starts.values()).bit_length() // 8 + 1
    need(prod(spans) * width <= SPAN, "too many positions of a subscript to recount")
    product = 1
    for d, places in starts.items():
        step = sum(b * dict(terms).get(d, 0) for ((terms, _), real), b in zip(group, bases, strict=True) if real)
        summed: Counter[int] = Counter()
        for start, n in places.items():
            summed[step * start] += n
        factor = bytearray(width * (max(summed) + 1))
        for at, n in summed.items():
            factor[at * width : (at + 1) * width] = n.to_bytes(width, "little")
        product *= int.from_bytes(factor, "little")
    digits = product.to_bytes(width * prod(spans), "little")
    counts = (int.from_bytes(digits[i : i + width], "little") for i in range(0, len(digits), width))
    offsets = [offset if real else 0 for (_, offset), real in group]
    return {
        tuple(o + at // b % n for o, b, n in zip(offsets, bases, spans, strict=True)): times
        for at, times in enumerate(counts)
        if times
    }


@lru_cache(maxsize=65536)
def common_values(terms: tuple[tuple[int, tuple[int, int, int]], ...], real: Range = None) -> int:
    """Values of a subscript on the old and on the new tile, and in a range counted from the new one's first."""
    g = gcd(*(c for c, _ in terms)) or 1
    terms = tuple((c // g, move) for c, move in terms)
    shift = sum(c * far for c, (_, _, far) in terms)
    old, new = ([(c, move[i]) for c, move in terms if move[i] > 1] for i in (0, 1))
    spans = [1 + sum(c * (n - 1) for c, n in box) for box in (old, new)]
    low, high = max(0, shift), min(spans[0], shift + spans[1])
    if real is not None:
        low, high = max(low, shift - (-real[0] // g)), min(high, shift + real[1] // g + 1)
    if all(c <= 1 + sum(k * (n - 1) for k, n in box[:i]) for box in (old, new) for i, (c, _) in enumerate(box)):
        return max(0, high - low)
    if high <= low:
        return 0
    need(max(spans) <= SPAN, "a subscript is too wide to recount")
    first, second = (value_bits(box) for box in (old, new))
    both = first & (second << shift if shift >= 0 else second >> -shift)
    return (both >> low & ((1 << (high - low)) - 1)).bit_count()
