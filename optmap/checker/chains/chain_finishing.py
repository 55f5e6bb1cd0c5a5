"""What must come again when the first row or column of a product is nearly done (theorem: `docs/chain-floors.md`)."""

from __future__ import annotations

from typing import Any

from ..core.shapes import Shape, positive
from ..core.tools import need
from .chain import StatedChain
from .chain_pairs import join

FINISHING: dict[str, Shape] = {"charge": positive}


def finishing_loads(doc: Any, chain: StatedChain, memory: int) -> int:
    """Words that two statements joined load at least, less those that may be free."""
    pair = join(chain, doc["statements"])
    charge: int = doc["charge"]
    lightest = min(pair.bits.values()) // chain.word_bits
    room, depth = memory // lightest, pair.extents["k"] + pair.extents["n"]
    rows, columns = pair.extents["m"], pair.extents["l"]
    ripe = -(-charge * charge // 2) - 1
    for side in (rows, columns):
        need(charge <= depth and 2 * charge <= side, "a charge is more than a row or column may have to pay")
        need(depth * side >= room + 3 * ripe, "the memory is too large for the charge")
    gain = charge * (rows + columns + min(rows, columns)) - 3 * ripe
    once = depth * (rows + columns) + rows * columns
    return lightest * (pair.extents["h"] * (once - room - (-gain // 2)) - pair.free_elements)
