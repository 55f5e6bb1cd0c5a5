"""What every lower-bound method returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from optmap.base.shown import Concise

Document = dict[str, Any]
"""A JSON-able document (only dicts, lists, strings, integers, booleans and None inside)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LowerBound(Concise):
    """Words that any schedule must move between slow memory and a fast memory of given size."""

    method: str
    """Name of the method in the registry."""
    loads_words: int
    """Words loaded by every schedule, at least."""
    stores_words: int
    """Words stored by every schedule, at least."""
    exponents: dict[str, Fraction] = field(default_factory=dict)
    """Exponent per map name; empty for methods without exponents."""
    expression: str = ""
    """The bound as a symbolic formula, as text."""
    assumptions: tuple[str, ...] = ()
    """What the bound takes for granted, one sentence each."""
    certificate: Document | None = None
    """Document for the independent checker; None if the method has none."""

    @property
    def total_words(self) -> int:
        """Loads plus stores, in words."""
        return self.loads_words + self.stores_words
