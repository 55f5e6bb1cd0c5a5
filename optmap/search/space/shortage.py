"""What a memory is short of, and what would do: one sentence, whatever machine it is."""

from __future__ import annotations

from collections.abc import Mapping

from optmap.base.texts import several
from optmap.workloads.amounts import Capacity


def shortage(
    name: str,
    own: Capacity,
    held: Mapping[str, int],
    tile: Mapping[str, int],
    *,
    entry_bits: int,
    buffering: int = 1,
    words: bool | None = None,
) -> str:
    """Which memory cannot hold which tile of which tensors, by how much, and the least capacity that does.

    Args:
        name: of the memory.
        own: its whole capacity.
        held: words (or entries) that a tile of each tensor takes.
        tile: extent per dim.
        entry_bits: of such a word.
        buffering: working sets that share the capacity.
        words: whether the capacity counts words of whatever size; None for what its unit says.
    """
    counted = own.unit == "words" if words is None else words
    bits = 1 if counted else entry_bits
    unit, has = ("word", own.amount) if counted else ("bit", int(8 * own.bytes(entry_bits)))
    least = bits * sum(held.values())
    sizes = ", ".join(f"{dim}={size}" for dim, size in tile.items() if size > 1)
    what = f"one element of {', '.join(held)}" if not sizes else f"a tile {sizes} of {', '.join(held)}"
    parts = " + ".join(f"{bits * own:,}" for own in held.values())
    parts = f" ({parts})" if len(held) > 1 else ""
    amount = several(least * buffering, "word") if counted else f"{-(-least * buffering // 8):,} bytes"
    share = f" in each of {buffering} buffers" if buffering > 1 else ""
    has //= buffering
    return (
        f"{name} is short by {several(least - has, unit)}: it holds {has:,}{share}, and {what} takes {least:,}{parts}; "
        f"give it {amount}"
    )
