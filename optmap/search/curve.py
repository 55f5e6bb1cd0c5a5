"""The curve of the best that a search has found: every time that it became better."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Improvement:
    """A point of the curve."""

    evaluations: int
    """Mappings that were judged until then, this one included; of `exact`, partial ones too."""
    seconds: float
    """Since the search began."""
    value: float
    """Of what is minimised."""
