"""What the first touch of an output, and the rim around a tensor, mean: what a user says beside statements."""

from __future__ import annotations

from enum import StrEnum


class Semantics(StrEnum):
    """What the first touch of an output element costs."""

    ACCUMULATE = "accumulate"
    """`+=`: the output starts in slow memory, so its first touch is a load."""
    ASSIGN = "assign"
    """`=`: the first touch of each output element is not loaded."""


class Padding(StrEnum):
    """What the rim around a tensor is that index values beyond its real elements fall into."""

    STORED = "stored"
    """Every index value is an element: padding takes memory and moves like the rest."""
    IMPLICIT = "implicit"
    """Padding is known to be zero: it is never stored, and operations on it are not done.

    A workload without any padding is both, and called stored.
    """
