"""Lines below the loads of the three tensors of a product (theorem: `docs/chain-floors.md`)."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, isqrt, prod
from typing import Any

from ..core.shapes import Shape, many, positive, record, word
from ..core.tools import need, ratio
from .chain import StatedChain
from .chain_pairs import join

TENSOR = word("G", "X", "Y")
LINES: dict[str, Shape] = {"lines": many(record(cut=TENSOR, light=TENSOR, most=positive, g=ratio, weight=ratio), 1)}
DIMS = {"G": "ml", "X": "mj", "Y": "lj"}


def line_loads(doc: Any, chain: StatedChain, memory: int) -> int:
    """Words that two statements joined by lines load at least, less those that may be free."""
    pair = join(chain, doc["statements"])
    sizes = {dim: pair.extents[dim] for dim in "hml"} | {"j": pair.extents["k"] + pair.extents["n"]}
    lightest = min(pair.bits.values()) // chain.word_bits
    room = memory // lightest
    need(room >= 3, "the memory must hold three elements")
    once = {tensor: sizes["h"] * sizes[dims[0]] * sizes[dims[1]] for tensor, dims in DIMS.items()}
    used, proved = dict.fromkeys(DIMS, Fraction(0)), Fraction(0)
    for line in doc["lines"]:
        cut, light, most = line["cut"], line["light"], line["most"]
        g, weight = ratio(line["g"], "g"), ratio(line["weight"], "weight")
        need(cut != light and most >= room and 0 < g <= 1, "a line has a form that is not proved")
        (full,) = set(DIMS) - {cut, light}
        used[cut] += weight * Fraction(room, most)
        used[light] += weight * g
        used[full] += weight
        (place,) = set(sizes) - {"h", *DIMS[cut]}
        sides = [sizes[next(d for d in DIMS[tensor] if d != place)] for tensor in (full, light)]
        proved += weight * price(sizes["h"] * sizes[place], prod(sides), (sides[0], sides[1]), most - 1, g)
    need(all(part <= 1 for part in used.values()), "a load is counted more than once")
    proved += sum((1 - part) * once[tensor] for tensor, part in used.items())
    return lightest * (ceil(proved) - pair.free_elements)


def price(places: int, operations: int, sides: tuple[int, int], most: int, g: Fraction) -> Fraction:
    """What so many places of so many operations touch at least, if none has more than `most` in a segment.

    The sides are the elements of the full and of the light tensor at a place, at most.
    """
    segments, rest = divmod(operations, most) if most < operations else (0, operations)
    return _least(places * segments, most, *sides, g) + _least(places, rest, *sides, g)


def _least(times: int, operations: int, full: int, light: int, g: Fraction) -> Fraction:
    """So many times the least n + g*y with n*y operations, n and y being whole sides at most; not too large."""
    if g * operations > full * full:
        return times * (full + g * operations / full)
    if operations > g * light * light:
        return times * (Fraction(operations, light) + g * light)
    return Fraction(isqrt(4 * times * times * operations * g.numerator // g.denominator))
