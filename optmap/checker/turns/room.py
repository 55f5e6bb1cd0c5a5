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
    level, used = machine["levels"][place], _amount(chain, machine, place, stays)
    return -(-8 * used // (level["word_bits"] or word_bits)) if level["capacity"]["unit"] == "bytes" else used


def words_left(chain: StatedChain, machine: Any, place: int, stays: list[tuple[str, int]], word_bits: int) -> int:
    """Whole words that are left beside tensors which stay in a level, in each buffer; below 0 if they do not fit.

    What is left of bytes is not what all of them hold less what stays: parts of words on both sides may make one.

    Args:
        chain: whose tensors they are.
        machine: its document.
        place: number of the level.
        stays: the tensors, by the name of their elements, and how many elements of each.
        word_bits: of a word, where the capacity is in bytes and has no entries.
    """
    level = machine["levels"][place]
    rest = level["capacity"]["amount"] - level["buffering"] * _amount(chain, machine, place, stays)
    words = 8 * rest // (level["word_bits"] or word_bits) if level["capacity"]["unit"] == "bytes" else rest
    return int(words // level["buffering"])


def _amount(chain: StatedChain, machine: Any, place: int, stays: list[tuple[str, int]]) -> int:
    """What tensors that stay take of a level, once, in the unit of its capacity."""
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
    return used
