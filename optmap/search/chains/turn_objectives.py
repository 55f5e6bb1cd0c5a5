"""What a family of mappings in turn is searched for: a sum over nests, or the product of two such sums."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from optmap.bounds.fronts import Corner, Front, chord
from optmap.questions.options import Merit


class FamilyObjective(Protocol):
    """How bounds on nests bound what a member of the family costs, and what is to be shown of it next."""

    @property
    def merit(self) -> Merit:
        """What nests are searched for."""

    def ends(self, energy: Fraction, cycles: int, port_cycles: int) -> Corner:
        """What adds up over nests."""

    def least(self, front: Front) -> Fraction:
        """What no mapping costs less than whose sums are bounded so."""

    def cut(self, front: Front, best: Fraction) -> tuple[Fraction, Fraction] | None:
        """(price of a cycle, the weighted sum below which a mapping has to be to be better); None if none helps."""


@dataclass(frozen=True, slots=True)
class SummedObjective:
    """Energy, cycles or cycles of ports, which add up over nests: there is one line, without a price of cycles."""

    merit: Merit

    def ends(self, energy: Fraction, cycles: int, port_cycles: int) -> Corner:
        """The objective itself, and nothing."""
        return self.merit.of(energy, cycles, port_cycles), Fraction(0)

    def least(self, front: Front) -> Fraction:
        """See `FamilyObjective`."""
        return front.corners[-1][0]

    def cut(self, front: Front, best: Fraction) -> tuple[Fraction, Fraction] | None:
        """See `FamilyObjective`."""
        return Fraction(0), best


@dataclass(frozen=True, slots=True)
class ProductObjective:
    """Energy times cycles, each a sum: least at a corner of what bounds on weighted sums leave of both."""

    merit: Merit = Merit.ENERGY

    def ends(self, energy: Fraction, cycles: int, port_cycles: int) -> Corner:
        """Energy and cycles."""
        return energy, Fraction(cycles)

    def least(self, front: Front) -> Fraction:
        """See `FamilyObjective`."""
        return min(energy * cycles for energy, cycles in front.corners)

    def cut(self, front: Front, best: Fraction) -> tuple[Fraction, Fraction] | None:
        """See `FamilyObjective`."""
        return chord(front, best)


def objective_of(merit: Merit) -> FamilyObjective:
    """What a family is searched for.

    Args:
        merit: that is minimised.
    """
    return ProductObjective() if merit is Merit.EDP else SummedObjective(merit)
