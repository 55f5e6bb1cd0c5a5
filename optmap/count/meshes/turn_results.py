"""What statements in turn cost on a machine with meshes and prices, counted."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from optmap.base.shown import Concise
from optmap.count.meshes.results import ARITHMETIC
from optmap.count.results import BoundaryTraffic
from optmap.machines.machine import Machine
from optmap.questions.objective import Objective
from optmap.questions.options import Merit
from optmap.workloads.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnAccesses(Concise):
    """Accesses of one tensor to one memory, in words, over the whole run and all instances."""

    memory: str
    tensor: str
    reads: int
    fills: int
    updates: int
    energy_pj: Fraction
    """Of all of them; wires left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnCost(Concise):
    """What one statement costs, or one tensor that is brought and taken away, over the whole run."""

    name: str
    """Of the statement, or of the tensor."""
    times: int
    """Iterations of the loops around it; contents that are brought."""
    operations: int
    energy_pj: Fraction
    cycles: int
    port_cycles: int
    """Of the slowest port in each iteration, added up."""
    arithmetic_pj: Fraction
    """Of this energy, that of the multiply-accumulates."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnLevel(Concise):
    """What one memory holds, serves and costs."""

    level: str
    occupancy_words: int
    """The most that one instance holds at a time, what stays from one statement to the next included; 0 of the
    outermost memory, which is not limited."""
    capacity_words: int | None
    """Of one working set; None for the outermost memory."""
    statement: str
    """While which is done it holds that much, the first time; empty where nothing is held."""
    energy_pj: Fraction
    """Wires included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InTurnCount(Concise):
    """Exact counts, energy and time of statements in turn."""

    kind: ClassVar[str] = "in-turn"
    fractions: ClassVar[bool] = True

    statements: tuple[TurnCost, ...]
    """In the order of their run."""
    moving: tuple[TurnCost, ...]
    """Tensors that are brought to stay, and taken away."""
    accesses: tuple[TurnAccesses, ...]
    """Per memory, inner first, and tensor."""
    levels: tuple[TurnLevel, ...]
    """Inner first, the outermost memory last."""
    boundaries: tuple[BoundaryTraffic, ...]
    """Per tensor and pair of neighbouring memories that keep it what the outer one reads and takes back."""
    broken: tuple[str, ...]
    """What makes the mapping invalid on the machine, in words."""
    uncounted: tuple[str, ...]
    """Of these the statements that have no room beside what stays: they are in no sum."""

    @property
    def rows(self) -> tuple[TurnCost, ...]:
        """Statements, then tensors that are moved by themselves."""
        return (*self.statements, *self.moving)

    @property
    def operations(self) -> int:
        """Multiply-accumulates."""
        return sum(row.operations for row in self.rows)

    @property
    def energy_pj(self) -> Fraction:
        """Together."""
        return sum((row.energy_pj for row in self.rows), Fraction(0))

    @property
    def arithmetic_pj(self) -> Fraction:
        """Energy of all multiply-accumulates."""
        return sum((row.arithmetic_pj for row in self.rows), Fraction(0))

    @property
    def cycles(self) -> int:
        """One after the other."""
        return sum(row.cycles for row in self.rows)

    @property
    def port_cycles(self) -> int:
        """Of the slowest port in each turn."""
        return sum(row.port_cycles for row in self.rows)

    @property
    def edp(self) -> Fraction:
        """Energy times cycles, each of the whole chain, in pJ*cycles."""
        return self.energy_pj * self.cycles

    @property
    def bottleneck(self) -> str:
        """What takes the most cycles: a statement, or a tensor that is moved."""
        return max(self.rows, key=lambda row: row.cycles).name if self.rows else ARITHMETIC

    def merit(self, merit: Merit) -> Fraction:
        """What is minimised."""
        return merit.of(self.energy_pj, self.cycles, self.port_cycles)

    def value_of(self, objective: Objective, workload: Workload, machine: Machine) -> Fraction:
        """What is minimised.

        Raises:
            TypeError: for an objective of machines without meshes and prices.
        """
        return self.merit(objective.mesh_merit)
