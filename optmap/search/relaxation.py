"""The continuous program behind an answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from optmap.base.shown import Concise
from optmap.mappings.levels import Mapping

if TYPE_CHECKING:
    from typing import Self

EVERY_WORD = "compulsory traffic: every word of every tensor once"
"""What every mapping moves, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Relaxation(Concise):
    """The continuous program behind the answer."""

    value: float
    """Lower bound on `cost` (proved) or value of a local optimum (not proved)."""
    proved: bool
    """Whether `value` is a proved lower bound; a point attains it within `tolerance`."""
    formulation: str
    """Which program was solved."""
    tolerance: float
    """Relative distance between bound and attained value: that of a solver, or of what was found in time."""
    method: str = ""
    """How it was solved; empty for by the search itself."""
    classes: tuple[tuple[str, ...], ...] = ()
    """Per level, inner first: loop order of the point, outermost first; none of a search's bound."""
    tiles: tuple[dict[str, float], ...] = ()
    """Per level, inner first: real tile of the point; none of a search's bound."""
    cross_check: float | None = None
    """Value that another solver finds for the same loop orders; None if it was not asked."""
    checked_by: str = "Ipopt"
    """That solver."""

    @classmethod
    def counted(cls, mapping: Mapping, value: float, formulation: str = EVERY_WORD, method: str = "counting") -> Self:
        """What is proved below a mapping without a program.

        Args:
            mapping: found, or its best like.
            value: proved.
            formulation: how, in words.
            method: of the proof.
        """
        return cls(
            value=value,
            proved=True,
            formulation=formulation,
            tolerance=0.0,
            method=method,
            classes=tuple(level.permutation for level in mapping.levels),
            tiles=tuple({d: float(n) for d, n in level.tile.items()} for level in mapping.levels),
        )

    def gap(self, cost: float) -> float | None:
        """How far a cost is above the proved value, cost / value - 1; None if nothing above 0 is proved.

        Never below 0: a cost that attains the value may come out below it in the last digits.
        """
        return max(0.0, cost / self.value - 1) if self.proved and self.value else None
