"""What counts nests on accelerators by one policy: one nest in exact numbers, or many in columns.

    class Anew(NestPolicy):
        def accesses(self, layout, place, *, charge_drains, bias):
            ...  # reads, fills and updates with their energy, per memory that keeps the operand

    register_policy(Anew(name="anew", description="no reuse"))

Accesses per operand are what a policy has to say; ports, cycles, energy and validity follow from them here. One that
has `columns` counts many nests at once; by another they are counted one by one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from optmap.base.errors import InputError
from optmap.count.meshes.batch_columns import Columns
from optmap.count.meshes.batch_count import CountedColumns
from optmap.count.meshes.layout import NestLayout, layout_of
from optmap.count.meshes.prices import port_loads
from optmap.count.meshes.results import Accesses, MemoryCost, SpatialCost
from optmap.count.meshes.rules import broken_rules
from optmap.count.meshes.wires import wire_energy
from optmap.machines.elements import ONE, whole
from optmap.machines.fabric import Fabric
from optmap.mappings.nest import Nest
from optmap.questions.policy import Policy, Target


@dataclass(frozen=True, slots=True, kw_only=True)
class NestPolicy(Policy, ABC):
    """A policy that counts nests."""

    target: Target = Target.ACCELERATORS

    @abstractmethod
    def accesses(self, layout: NestLayout, place: int, *, charge_drains: bool, bias: bool) -> dict[int, Accesses]:
        """Accesses of one operand per memory that keeps it, all instances together.

        Args:
            layout: of the nest.
            place: number of the operand.
            charge_drains: whether what leaves a memory for the next one outside is read there at a price.
            bias: whether outputs start from values that are read.
        """

    def missing(self, fabric: Fabric) -> str | None:  # for those that count less
        """What it cannot count of a workload on a machine, as the end of a sentence about it; None for nothing."""
        return None

    def columns(self, columns: Columns, fabric: Fabric) -> CountedColumns | None:
        """Counts many nests as `count` does, whole numbers as floats; None for a workload that it has no columns for.

        Rows whose `largest` is beyond what floats hold exactly are counted one by one, as all are without columns.

        Args:
            columns: the nests.
            fabric: the machine as the workload sees it.
        """
        return None

    def refuse(self, fabric: Fabric) -> None:
        """Refuse what it cannot count.

        Raises:
            InputError: saying what that is.
        """
        missing = self.missing(fabric)
        if missing is not None:
            raise InputError(f"counting {self} {missing}; use --counting exact")

    def count(
        self,
        nest: Nest,
        fabric: Fabric,
        *,
        charge_drains: bool | None = None,
        hulls: bool | None = None,
        bias: bool = False,
    ) -> SpatialCost:
        """Count one nest in exact numbers; see `count.meshes.count.count_nest`."""
        self.refuse(fabric)
        layout = layout_of(nest, fabric, self, hulls=hulls)
        drains = self.drains if charge_drains is None else charge_drains
        operands = [
            self.accesses(layout, place, charge_drains=drains, bias=bias) for place in range(len(fabric.operands))
        ]
        memories = tuple(
            _memory(
                layout,
                number,
                {place: found[number] for place, found in enumerate(operands) if number in found},
                wire_energy(layout, number) if self.wires else {},
            )
            for number in range(len(fabric.memories))
        )
        operations = layout.operations
        arithmetic = operations * fabric.arithmetic_pj
        compute = operations // layout.units
        cycles = max(compute, *(memory.cycles for memory in memories))
        return SpatialCost(
            operands=tuple(operand.name for operand in fabric.operands),
            memories=memories,
            operations=operations,
            arithmetic_pj=arithmetic,
            energy_pj=arithmetic + sum((memory.energy_pj for memory in memories), Fraction(0)),
            compute_cycles=compute,
            cycles=cycles,
            utilisation=Fraction(operations, fabric.units * cycles),
            broken=broken_rules(nest, fabric, self.room),
        )


def _memory(layout: NestLayout, number: int, kept: dict[int, Accesses], wires: dict[str, Fraction]) -> MemoryCost:
    memory, instances = layout.fabric.memories[number], layout.instances[number]
    rooms, accesses = memory.rooms, tuple(kept.values())
    weights = {place: n for room in rooms for place, n in zip(room.operands, room.weights, strict=True)}
    ports = port_loads(memory, [memory.elements[place] for place in kept], accesses, instances)
    return MemoryCost(
        name=memory.name,
        instances=instances,
        occupancy_words=sum(whole(found.tile_words, weights.get(place, ONE)) for place, found in kept.items()),
        capacity_words=sum(room.capacity for room in rooms) if rooms else None,
        accesses=accesses,
        ports=ports,
        energy_pj=sum((*(found.energy_pj for found in accesses), *wires.values()), Fraction(0)),
        wires_pj=wires,
        cycles=max((ceil(load.cycles) for load in ports), default=0),
        utilisation=Fraction(instances, layout.fabric.instances(number)),
    )
