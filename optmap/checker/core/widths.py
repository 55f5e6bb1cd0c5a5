"""What elements take of a memory of an accelerator by their bits: entries, ports, energy.

Without `pack` an entry holds one element, whatever its bits. With it an entry of W bits holds floor(W / B) elements of
B <= W bits, and an element of more bits has ceil(B / W) entries to itself. Entries are whole where they are held (per
tile) or accessed (per instance, tensor and kind of access); a port passes parts of them. A port in bytes passes an
eighth of each element's bits. A price per bit is one of bits asked for, whatever comes with them.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil
from typing import Any

from .tools import need


class Widths:
    """Of one memory.

    Args:
        doc: of its level, or of the outermost memory.
        bits: of the elements of every tensor.
        per_bit: energy of a bit, by kind of access; empty for none.
        where: the memory's name.
    """

    def __init__(self, doc: Any, bits: list[int], per_bit: dict[str, Fraction], where: str) -> None:
        self.bits, self.per_bit = bits, per_bit
        self.packs = "pack" in doc
        self.size: int = doc["word_bits"] or 0
        self.in_bytes = "unit" in doc["ports"]
        need(self.size > 0 or not self.packs, f"{where} packs entries of no size")

    def entries(self, i: int, elements: Fraction | int) -> Fraction:
        """Entries that elements of a tensor fill, parts of one included."""
        if not self.packs:
            return Fraction(elements)
        together = self.size // self.bits[i]
        return Fraction(elements) / together if together else Fraction(elements) * -(-self.bits[i] // self.size)

    def held(self, i: int, elements: int) -> int:
        """Whole entries that a tile takes."""
        return ceil(self.entries(i, elements))

    def passing(self, i: int, elements: Fraction | int) -> Fraction:
        """What passes a port with elements, in its unit."""
        return Fraction(elements) * self.bits[i] / 8 if self.in_bytes else self.entries(i, elements)

    def energy(self, i: int, kind: str, elements: Fraction) -> Fraction:
        """Energy of the bits of elements."""
        return elements * self.bits[i] * self.per_bit.get(kind, Fraction(0))

    @property
    def text(self) -> str:
        """What depends on bits, in words; empty for nothing."""
        parts = [f"elements share entries of {self.size} bits, or take several"] if self.packs else []
        if self.per_bit:
            parts.append(f"read/fill/update {'/'.join(f'{float(v):g}' for v in self.per_bit.values())} pJ per bit")
        if self.in_bytes:
            parts.append("ports in bytes")
        return "".join(f", {part}" for part in parts)
