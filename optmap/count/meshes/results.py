"""What counting a nest on an accelerator hands back."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import ClassVar

from optmap.base.shown import Concise
from optmap.count.results import BoundaryTraffic
from optmap.machines.machine import Machine
from optmap.questions.objective import Objective
from optmap.questions.options import Merit
from optmap.workloads.workload import Workload

ARITHMETIC = "arithmetic"
"""What decides the cycles where no memory does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Accesses(Concise):
    """Accesses of one operand to one memory, in words, all instances together."""

    operand: str
    reads: int
    """By the level inside, and of outputs that are updated or drained (where drains are charged)."""
    fills: int
    """Writes of what comes from the level outside."""
    updates: int
    """Writes of outputs that come from the level inside."""
    tile_words: int
    """Words of one tile (0 where it bypasses)."""
    multicast: Fraction
    """Children served by one read, on average."""
    energy_pj: Fraction
    """Of all of them; the wires of the mesh left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PortLoad:
    """What passes a port with a limit, of one instance in use."""

    port: str
    """`read`, `write` or `shared`."""
    words: Fraction
    """Through the port during the whole nest, the mean over the instances in use; as `Element.passing` counts them."""
    rate: Fraction
    """Words per cycle that it can pass."""

    @property
    def cycles(self) -> Fraction:
        """That the port needs; a memory needs those of its slowest port, rounded up."""
        return self.words / self.rate


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryCost(Concise):
    """What one memory holds, serves and costs."""

    name: str
    instances: int
    """In use."""
    occupancy_words: int
    """Of one instance: the tiles of the operands that are kept, buffering left out; an element is as many words as it
    takes of the capacity."""
    capacity_words: int | None
    """What one instance has for one working set (`Room.capacity`); None for the outermost memory."""
    accesses: tuple[Accesses, ...]
    """Of the operands that it keeps."""
    ports: tuple[PortLoad, ...]
    """Those of its ports that have a limit."""
    energy_pj: Fraction
    """All instances together, its mesh's wires included."""
    wires_pj: dict[str, Fraction]
    """Of this, the wires and routers of its mesh, per operand of the workload; empty where they have no price."""
    cycles: int
    """That its ports need, computation left out; 0 without a limit."""
    utilisation: Fraction
    """Instances in use over instances there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpatialCost(Concise):
    """Exact counts, energy and time of a nest on an accelerator."""

    kind: ClassVar[str] = "nest"
    fractions: ClassVar[bool] = True

    operands: tuple[str, ...]
    """Of the workload, the output first."""

    memories: tuple[MemoryCost, ...]
    """Inner to outer, the outermost last."""
    operations: int
    """Multiply-accumulates done (of padded dims more than were asked for)."""
    arithmetic_pj: Fraction
    """Energy of all of them."""
    energy_pj: Fraction
    """Together."""
    compute_cycles: int
    """Operations over units in use."""
    cycles: int
    """Of computation, or of the slowest memory if it takes longer."""
    utilisation: Fraction
    """Operations over what all units could do in these cycles."""
    broken: tuple[str, ...]
    """What makes the mapping invalid on the machine, in words; empty for a valid one."""

    @property
    def latency(self) -> Fraction:
        """Cycles before they are rounded up: of computation, or of the slowest port if it takes longer."""
        ports = (load.cycles for memory in self.memories for load in memory.ports)
        return max((Fraction(self.compute_cycles), *ports))

    @property
    def edp(self) -> Fraction:
        """Energy times cycles, in pJ*cycles."""
        return self.energy_pj * self.cycles

    def merit(self, merit: Merit) -> Fraction:
        """What is minimised."""
        return merit.of(self.energy_pj, self.cycles, max(memory.cycles for memory in self.memories))

    @property
    def levels(self) -> tuple[MemoryCost, ...]:
        """What every memory holds, serves and costs, inner to outer, the outermost last."""
        return self.memories

    @property
    def boundaries(self) -> tuple[BoundaryTraffic, ...]:
        """Per operand and pair of neighbouring keepers what the outer one reads and takes back for the inner one."""
        rows: list[BoundaryTraffic] = []
        for operand in self.operands:
            keepers = [(m.name, row) for m in self.memories for row in m.accesses if row.operand == operand]
            for (inner, _), (outer, row) in pairwise(keepers):
                crossing = BoundaryTraffic(
                    between=(inner, outer), tensor=operand, loads_words=row.reads, stores_words=row.updates
                )
                rows.append(crossing)
        return tuple(rows)

    @property
    def bottleneck(self) -> str:
        """What decides the cycles: `arithmetic`, or the memory with the slowest port."""
        slowest = max(self.memories, key=lambda memory: memory.cycles)
        return slowest.name if slowest.cycles > self.compute_cycles else ARITHMETIC

    def value_of(self, objective: Objective, workload: Workload, machine: Machine) -> Fraction:
        """What is minimised.

        Raises:
            TypeError: for an objective of machines without meshes and prices.
        """
        return self.merit(objective.mesh_merit)
