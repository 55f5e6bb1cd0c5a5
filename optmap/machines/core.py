"""What one core computes with: vector registers, and the register tile of a fixed microkernel."""

from __future__ import annotations

from dataclasses import dataclass, fields

from optmap.base.values import whole_number


@dataclass(frozen=True, slots=True, kw_only=True)
class Microkernel:
    """A fixed outer-product register tile (MOpt section 6).

    The tile spans `vector` elements of one output dim that one input has and another input has
    not, and `broadcast` elements of an output dim for which it is the other way round; every
    other dim has extent 1 and the reduction loops are innermost. It does not apply to a workload
    without such a pair of dims. Both count elements: the shape is that of the element size it was
    written for (4 bytes in the library) and does not widen for smaller elements.
    """

    vector: int
    broadcast: int

    def __post_init__(self) -> None:
        for key in ("vector", "broadcast"):
            whole_number(getattr(self, key), f"microkernel: {key}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Core:
    """What one core computes with: vector registers and the units that they feed (MOpt section 6).

    Numbers are of fused multiply-adds on whole vectors; peak is `fma_ports` vectors of them per cycle.

    Raises:
        InputError: for a number that is not whole and positive.
    """

    vector_bytes: int
    """Of one vector register."""
    registers: int
    """Vector registers that code may name."""
    fma_ports: int
    """Vector multiply-adds that may begin in one cycle."""
    fma_latency: int
    """Cycles until the sum of one may be added to again."""
    load_ports: int
    """Vectors that may be loaded in one cycle."""

    def __post_init__(self) -> None:
        for field in fields(self):
            whole_number(getattr(self, field.name), f"core: {field.name}")

    def lanes(self, bits: int) -> int:
        """Elements of one vector, at least one.

        Args:
            bits: of one element.
        """
        return max(8 * self.vector_bytes // bits, 1)

    def peak(self, bits: int) -> int:
        """Multiply-adds per cycle; `bits` as for `lanes`."""
        return self.fma_ports * self.lanes(bits)
