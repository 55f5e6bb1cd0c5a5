"""Room that tensors take which stay in a level from one statement to the next."""

from __future__ import annotations

from typing import Any

from ..chains.chain import StatedChain


def staying_words(chain: StatedChain, machine: Any, place: int, stays: list[tuple[str, int]], word_bits: int) -> int:
    """Words of the capacity of a level that some tensors take which stay there.

    Args:
        chain: whose tensors they are.
        machine: its document.
        place: number of the level.
        stays: the tensors, by the name of their elements, and how many elements of each.
        word_bits: of a word, where the capacity is in bytes and has no entries.
    """
    level, used = machine["levels"][place], 0
    packs, size = "pack" in level, level["word_bits"]
    in_bytes = level["capacity"]["unit"] == "bytes"
    for tensor, elements in stays:
        bits = chain.bits[tensor]
        if packs:
            together = size // bits
            entries = -(-elements // together) if together else elements * -(-bits // size)
        else:
            entries = elements
        if in_bytes:
            used += -(-(entries * size if size is not None else elements * bits) // 8)
        else:
            used += entries
    return -(-8 * used // (size or word_bits)) if in_bytes else used
