"""What no schedule goes below, with its proofs, as answers have it beside their mappings."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from optmap.base.shown import Concise
from optmap.questions.objective import Objective
from optmap.questions.options import Merit

Number = int | float | Fraction
"""What objectives are: exact, or the nearest float of what is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvedBound(Concise):
    """A lower bound on `exact` that holds for every schedule."""

    value: Number
    """Of the same objective as `exact`."""
    unit: str
    method: str
    """Name in the registry of bounds, or what it rests on in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundaryCertificate(Concise):
    """The proof of a lower bound at one boundary."""

    between: tuple[str, str]
    """Names of the inner and the outer memory."""
    instances: int = 1
    """Memories of the inner level that share the work."""
    words: int
    """Words that the busiest of them moves, at least; or that all together do, where `memory_words` is given."""
    certificate: dict[str, Any]
    """Document for the independent checker."""
    memory_words: int | None = None
    """What all instances of all memories inside hold together, and what is under way past them; None where the words
    are those of one memory."""


class Floor(Protocol):
    """What no schedule goes below, whatever its loops and tiles."""

    @property
    def method(self) -> str:
        """By which it is proved."""
        ...

    @property
    def certificates(self) -> tuple[BoundaryCertificate, ...]:
        """Proofs behind it, inner boundary first."""
        ...

    def of(self, objective: Objective) -> Number:
        """The objective that every schedule has at least."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class WordsFloor(Concise):
    """The floor of one objective, formed of the words that cross every boundary at least, or of a predicted time."""

    value: Number
    certificates: tuple[BoundaryCertificate, ...]
    method: str = "best"

    def of(self, objective: Objective) -> Number:
        """The objective that it is the floor of."""
        return self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class MeshFloor(Concise):
    """The floor of a machine with meshes and prices."""

    energy_pj: Fraction
    cycles: int
    port_cycles: int
    """Of the slowest port, computation left out."""
    certificates: tuple[BoundaryCertificate, ...]
    """Of the boundaries with a proved bound."""
    method: str = "data movement of every schedule"

    def of(self, objective: Objective) -> Fraction:
        """What is minimised.

        Raises:
            TypeError: for an objective of other machines.
        """
        return self.merit(objective.mesh_merit)

    def merit(self, merit: Merit) -> Fraction:
        """The floor of energy, cycles, their product, or the cycles of the slowest port."""
        return merit.of(self.energy_pj, self.cycles, self.port_cycles)


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementFloor(Concise):
    """What one of several statements costs at least, wherever on chip its tensors are handed on."""

    statement: str
    energy_pj: Fraction
    cycles: int
    port_cycles: int
    certificates: tuple[BoundaryCertificate, ...]
    box: tuple[tuple[str, int, int], ...] = ()
    """(dim, first value, the one beyond the last) of points that its conditions all let be; empty for all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFloor(Concise):
    """The floor of several statements in turn on a machine with meshes and prices."""

    statements: tuple[StatementFloor, ...]
    method: str = "data movement of every schedule of each statement, handed on at no cost"

    @property
    def certificates(self) -> tuple[BoundaryCertificate, ...]:
        """Of all statements, in order."""
        return tuple(each for statement in self.statements for each in statement.certificates)

    def of(self, objective: Objective) -> Fraction:
        """What is minimised.

        Raises:
            TypeError: for an objective of other machines.
        """
        return self.merit(objective.mesh_merit)

    def merit(self, merit: Merit) -> Fraction:
        """The floor of energy, cycles, their product, or cycles of ports: energies and cycles add up."""
        return merit.of(
            sum((each.energy_pj for each in self.statements), Fraction(0)),
            sum(each.cycles for each in self.statements),
            sum(each.port_cycles for each in self.statements),
        )
