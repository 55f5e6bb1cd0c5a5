"""What a prediction of time hands back: cycles of the kernel, of every boundary, and what limits."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from optmap.base.shown import Concise

KERNEL = "kernel"
"""Name of the arithmetic among what a time can be bound by; the others are boundaries, `L2 - L3`, and packing."""


class Caches(StrEnum):
    """What the caches hold when a call begins."""

    WARM = "warm"
    """What the call before it left there: the code is called again and again on the same buffers."""
    COLD = "cold"
    """Nothing of the tensors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundaryTime:
    """Time at one boundary between memories."""

    between: tuple[str, str]
    """Names of the inner and the outer memory."""
    moved_bytes: float
    """Loads and stores in whole lines, of the busiest instance: what is read before it is written included."""
    cycles: float
    """That over the bandwidth."""
    waited_cycles: float
    """Of these, those that the kernel waits for; the others pass while it computes."""

    @property
    def name(self) -> str:
        """`L2 - L3`."""
        return " - ".join(self.between)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction(Concise):
    """Predicted time of one call of a mapping's code; see `count.timing` for how it comes about."""

    kernel: str
    """`outer-product`, `depthwise` or `plain`; the arithmetic of the last is an estimate."""
    feasible: bool
    """Whether the register tile fits the registers."""
    reason: str
    """Why not; empty if it does."""
    threads: int
    caches: Caches
    registers: int
    """That the register tile needs; 0 for plain loops."""
    compute_cycles: float
    """Of the busiest thread: steps of the kernel, and sums that come and go."""
    boundaries: tuple[BoundaryTime, ...]
    """Inner first; that of the registers is part of the kernel."""
    packing_cycles: float
    """Of weights that are packed in the call; 0 if they are packed ahead."""
    cycles: float
    """All of it; infinite if infeasible."""
    seconds: float | None
    """None without a clock."""
    bound_by: str
    """What takes longest: `kernel`, `packing`, or a boundary's name."""
    floor_cycles: float
    """No mapping's code takes fewer: multiply-adds at the peak of all threads, and data that must cross."""
    floor_seconds: float | None
