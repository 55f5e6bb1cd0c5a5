"""What mappings in turn cost beside their nests: tensors that are brought to stay, and functions of rows."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import prod

from optmap.count.meshes.in_turn import rows_passed
from optmap.count.meshes.passing import Passing, brought
from optmap.machines.fabric import Fabric, fabric_of
from optmap.machines.machine import Machine
from optmap.mappings.turn_parts import RowsPart
from optmap.search.chains.blocks import TurnGroup
from optmap.search.chains.turn_members import TurnMember
from optmap.search.chains.turn_problems import homes_in, kept_block
from optmap.workloads.single import is_of_rows, row_reads, touched_alone
from optmap.workloads.workload import Workload


class BesideNests:
    """What passes by itself in the members of a family.

    Args:
        workload: the chain.
        machine: with meshes and prices.
        fabrics: of each statement alone that has a nest.
    """

    def __init__(self, workload: Workload, machine: Machine, fabrics: dict[str, Fabric]) -> None:
        self.workload, self.machine, self.fabrics = workload, machine, fabrics

    def of(self, member: TurnMember) -> tuple[Fraction, int]:
        """Energy in pJ, and cycles, which are all of ports."""
        passed = [*self._moved(member), *self._rows(member)]
        energy = sum((many * each.energy_pj for many, each in passed), Fraction(0))
        return energy, sum(many * each.cycles for many, each in passed)

    def _moved(self, member: TurnMember) -> Iterator[tuple[int, Passing]]:
        """How often what passes of tensors that are brought to stay."""
        for group, block in member.segments:
            homes = homes_in(self.machine, group, block)
            for tensor, depth in block.stays:
                trips = {d: self.workload.extents[d] // tile for d, tile in block.loops[:depth]}
                fabric, place = self._access(group, tensor)
                kept = kept_block(self.workload, group, block, tensor, homes[tensor])
                names = [memory.name for memory in fabric.memories]
                ends = len(names) - 1, names.index(kept.level)
                times, made = prod(trips.values()), fabric.operands[place].output
                different = prod(many for d, many in trips.items() if d in fabric.workload.tensors[place].dims)
                come, go = brought(fabric, place, ends, kept.elements)
                yield times - (different if made else 0), come
                yield times if made else 0, go

    def _rows(self, member: TurnMember) -> Iterator[tuple[int, Passing]]:
        """How often what passes of functions of rows."""
        stored, extents = self.workload.stored_as, self.workload.extents
        for each in self.workload.statements:
            if not is_of_rows(each):
                continue
            around = next((own for own in member.segments if stored[each.name] in dict(own[0].inner)), None)
            loops = () if around is None else around[1].loops
            homes = {} if around is None else homes_in(self.machine, *around)
            alone = touched_alone(self.workload, each.name, {**extents, **dict(loops)})
            part = RowsPart(
                statement=each.name,
                loops=(),
                workload=alone,
                levels=tuple(homes.get(stored[access.name], self.machine.memory) for access in alone.tensors),
                first=row_reads(each),
                stays=(),
                fits=True,
            )
            times = prod(extents[dim] // tile for dim, tile in loops)
            for passed in rows_passed(part, fabric_of(alone, self.machine)):
                yield times, passed

    def _access(self, group: TurnGroup, tensor: str) -> tuple[Fabric, int]:
        """The first statement of a group that has a tensor, and the number of its access; what is made is made last."""
        stored = self.workload.stored_as
        found = [
            (self.fabrics[name], place)
            for name in group.names
            for place, access in enumerate(self.fabrics[name].workload.tensors)
            if stored[access.name] == tensor
        ]
        return next((each for each in found if each[1] == 0), found[0])
