"""Lines below the loads of the three tensors of a product (theorem: `docs/chain-floors.md`)."""

from __future__ import annotations

from fractions import Fraction
from math import ceil
from typing import Any

from ..core.shapes import Shape, many, positive, record, word
from ..core.tools import need, ratio
from .chain import StatedChain
from .chain_places import join_places
from .chain_touching import price

TENSORS = ("G", "X", "Y")
TENSOR = word(*TENSORS)
LINES: dict[str, Shape] = {"lines": many(record(cut=TENSOR, light=TENSOR, most=positive, g=ratio, weight=ratio), 1)}


def line_loads(doc: Any, chain: StatedChain, memory: int) -> int:
    """Words that two statements joined by lines load at least, less those that may be free."""
    places = join_places(chain, doc["statements"])
    pair, once = places.pair, places.elements
    lightest = min(pair.bits.values()) // chain.word_bits
    room = memory // lightest
    need(room >= 3, "the memory must hold three elements")
    used, proved = dict.fromkeys(TENSORS, Fraction(0)), Fraction(0)
    for line in doc["lines"]:
        cut, light, most = line["cut"], line["light"], line["most"]
        g, weight = ratio(line["g"], "g"), ratio(line["weight"], "weight")
        need(cut != light and most >= room and 0 < g <= 1, "a line has a form that is not proved")
        (full,) = {*TENSORS} - {cut, light}
        used[cut] += weight * Fraction(room, most)
        used[light] += weight * g
        used[full] += weight
        proved += weight * price(places.at(cut, full), most - 1, g)
    need(all(part <= 1 for part in used.values()), "a load is counted more than once")
    proved += sum((1 - part) * once[tensor] for tensor, part in used.items())
    return lightest * (ceil(proved) - places.free_elements)
