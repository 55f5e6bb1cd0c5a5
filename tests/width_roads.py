"""Accelerators that price and limit by the bits of elements, on three roads: product, checker, and one by one."""

from __future__ import annotations

import random
from collections import Counter
from math import isclose

from accelerator_machines import random_nest
from sized_machines import literal_energy, literal_port_cycles, literal_rooms, random_bits, sized_machine
from spatial_brute_force import tiny_machine, tiny_workload

from optmap.answers.proofs.floor import inside_words
from optmap.bounds.mesh_least import _movement, _port_cycles
from optmap.checker import RefusedError
from optmap.checker.bounds.floor import held_inside, movement, port_cycles
from optmap.checker.core.fabric import StatedFabric as CheckedFabric
from optmap.checker.nests.accesses import Counts
from optmap.checker.nests.flows import FlowCounts
from optmap.checker.nests.loops import Loops
from optmap.checker.nests.nest_counts import occupancy
from optmap.count.meshes.batch import evaluate_batch
from optmap.count.meshes.count import NEST_EXACT, NEST_FACTORFLOW, NEST_TIMELOOP, count_nest
from optmap.files.machines import machine_document
from optmap.files.mappings import mapping_document
from optmap.files.workloads import workload_document
from optmap.machines.fabric import Fabric, fabric_of
from optmap.mappings.nest import Nest, mapping_of
from optmap.mappings.nest_batch import batch_of


def attacked(cases: int, seed: int) -> Counter[str]:
    """So many cases, all the same on every road; how many there were of which kind."""
    draw, found = random.Random(seed), Counter[str]()
    while found["cases"] < cases:
        workload, machine = random_bits(tiny_workload(draw), draw), sized_machine(tiny_machine(draw), draw)
        fabric = fabric_of(workload, machine)
        checked = CheckedFabric(workload_document(workload), machine_document(machine))
        _same_floors(fabric, checked, draw)
        nests = [random_nest(fabric, draw) for _ in range(5)]
        for counting in (NEST_EXACT, NEST_TIMELOOP, NEST_FACTORFLOW):
            many = evaluate_batch(batch_of(nests, fabric), fabric, counting)
            for row, nest in enumerate(nests):
                cost = count_nest(nest, fabric, counting)
                assert isclose(many.energy_pj[row], cost.energy_pj, rel_tol=1e-12), (
                    many.energy_pj[row],
                    cost.energy_pj,
                )
                assert many.cycles[row] == cost.cycles
                assert bool(many.valid[row]) is not bool(cost.broken)
        for nest in nests:
            found.update(_case(fabric, checked, nest))
    return found


def _same_floors(fabric: Fabric, checked: CheckedFabric, draw: random.Random) -> None:
    bounded = range(len(fabric.memories) - 1)
    assert [held_inside(checked, n) for n in bounded] == [inside_words(fabric, n) for n in bounded]
    words = {number: draw.randint(1, 2000) for number in bounded if draw.random() < 0.8}
    assert movement(checked, words) == _movement(fabric, words)
    assert port_cycles(checked, words) == max(_port_cycles(fabric, n, words) for n in range(len(fabric.memories)))


def _case(fabric: Fabric, checked: CheckedFabric, nest: Nest) -> Counter[str]:
    loops = Loops(checked, mapping_document(mapping_of(nest, fabric))["levels"])
    found = Counter(cases=1)
    for counting in (NEST_EXACT, NEST_TIMELOOP, NEST_FACTORFLOW):
        cost = count_nest(nest, fabric, counting)
        flows = counting is NEST_FACTORFLOW
        counts = FlowCounts(loops) if flows else Counts(loops, timeloop=counting is NEST_TIMELOOP)
        assert counts.energies == [memory.energy_pj for memory in cost.memories], counting
        assert counts.port_cycles == [memory.cycles for memory in cost.memories], counting
        assert (counts.energy, counts.cycles) == (cost.energy_pj, cost.cycles), counting
        held = [occupancy(memory, row) for memory, row in zip(checked.memories, counts.rows, strict=True)]
        assert held == [memory.occupancy_words for memory in cost.memories]
        assert literal_port_cycles(fabric, cost) == [memory.cycles for memory in cost.memories]
        if flows:
            continue
        energy = literal_energy(fabric, cost)
        if energy is not None:
            assert energy + cost.arithmetic_pj == cost.energy_pj
            found["energies by hand"] += 1
        full = any(used > there for rooms in literal_rooms(fabric, cost) for used, there in rooms)
        assert full == any("the tiles need" in text for text in cost.broken)
        try:
            loops.check(hulls=counting is NEST_TIMELOOP)
        except RefusedError:
            assert cost.broken
        else:
            # in which order the innermost memory runs its own loops is not in a document
            innermost = f"{fabric.memories[0].name}: the loops are "
            assert all(text.startswith(innermost) for text in cost.broken), cost.broken
            found["valid"] += 1
    return found
