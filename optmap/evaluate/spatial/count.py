"""Counting a nest on an accelerator: accesses, energy and cycles, in exact numbers.

The model is Timeloop's dense one, or with `factorflow` FactorFlow's. Memories, tiles and loops are those of
`problem.nest`. `words` counts what a tile holds, `entering` what comes into a memory, `traffic` makes reads, fills and
updates of it (`factorflow` in place of both for that model), `prices` and `wires` energy and cycles, `rules` says what
the machine forbids.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from optmap.evaluate.spatial.factorflow import factorflow_accesses, refuse_shared_dims
from optmap.evaluate.spatial.layout import Layout, layout_of
from optmap.evaluate.spatial.prices import port_loads
from optmap.evaluate.spatial.results import Accesses, MemoryCost, SpatialCost
from optmap.evaluate.spatial.rules import broken_rules
from optmap.evaluate.spatial.traffic import accesses_of
from optmap.evaluate.spatial.wires import wire_energy
from optmap.problem.elements import ONE, whole
from optmap.problem.fabric import Fabric
from optmap.problem.nest import Nest
from optmap.problem.options import Counting


def count_nest(
    nest: Nest,
    fabric: Fabric,
    counting: Counting = Counting.EXACT,
    *,
    charge_drains: bool | None = None,
    hulls: bool | None = None,
    bias: bool = False,
) -> SpatialCost:
    """Reads, fills and updates, energy, cycles and utilisation of a mapping on an accelerator.

    Args:
        nest: the mapping. One that breaks rules of the machine is counted all the same; `broken` says which.
        fabric: the machine as the workload sees it.
        counting: `exact`, as a literal walk of the loops counts; `timeloop`, as that model extrapolates; or
            `factorflow`, as that model multiplies.
        charge_drains: whether an output word that leaves a memory for the next one outside is read there at a
            price. None for what goes with `counting`: FactorFlow charges drains, Timeloop does not.
        hulls: whether tiles have the words between the first and the last value of a subscript, needed or not.
            None for what goes with `counting`: exactly what is needed, or hulls for `timeloop`.
        bias: whether outputs start from values that are read, as those of a bias; they start empty if not.

    Returns:
        Exact counts of all instances together, energy in pJ as fractions, whole cycles.

    Raises:
        LimitError: for subscripts of three dims or more whose values are too many to be enumerated.
        InputError: with `factorflow`, for an operand with a dim in two subscripts.
    """
    layout = layout_of(nest, fabric, counting, hulls=hulls)
    flows = counting is Counting.FACTORFLOW
    if flows:
        refuse_shared_dims(fabric)
    drains = flows if charge_drains is None else charge_drains
    counted = factorflow_accesses if flows else accesses_of
    operands = [counted(layout, place, charge_drains=drains, bias=bias) for place in range(len(fabric.operands))]
    memories = tuple(
        _memory(
            layout,
            number,
            {place: found[number] for place, found in enumerate(operands) if number in found},
            {} if flows else wire_energy(layout, number),
        )
        for number in range(len(fabric.memories))
    )
    operations = layout.operations
    arithmetic = operations * fabric.arithmetic_pj
    compute = operations // layout.units
    cycles = max(compute, *(memory.cycles for memory in memories))
    return SpatialCost(
        memories=memories,
        operations=operations,
        arithmetic_pj=arithmetic,
        energy_pj=arithmetic + sum((memory.energy_pj for memory in memories), Fraction(0)),
        compute_cycles=compute,
        cycles=cycles,
        utilisation=Fraction(operations, fabric.units * cycles),
        broken=broken_rules(nest, fabric, counting),
    )


def _memory(layout: Layout, number: int, kept: dict[int, Accesses], wires: dict[str, Fraction]) -> MemoryCost:
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
