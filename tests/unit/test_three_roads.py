"""Decomposition, epigraph and the convex route end at the same value."""

from __future__ import annotations

import pytest

from optmap.files import library
from optmap.machines.machine import CapacityRule, Level, Machine
from optmap.programs import minmax_level_program, minmax_program
from optmap.programs.tile import TileLevel
from optmap.search import Setting
from optmap.search.relax.tree import relax
from optmap.solvers import Stop, solve
from optmap.workloads.amounts import Capacity
from optmap.workloads.builders import matmul

BALANCED = library.machine("balanced")
NARROW = Machine(
    name="narrow",
    levels=tuple(
        Level(name=name, capacity=Capacity(amount=words, unit="words"), bandwidth=speed)
        for name, words, speed in (("A", 600, 30.0), ("B", 4000, 11.0))
    ),
)
CASES = [
    (matmul(i=200, j=300, k=150), BALANCED),
    (matmul(i=90, j=1000, k=64), NARROW),
    (library.workload("resnet18/R9"), BALANCED),
    (library.workload("resnet18/R4"), BALANCED),
    (library.workload("yolo9000/Y9"), BALANCED),
    (library.workload("mobilenet/M5"), NARROW),
]


@pytest.mark.parametrize(("workload", "machine"), CASES, ids=lambda value: value.name)
def test_decomposition_epigraph_and_convex_route_agree(workload, machine):
    setting = Setting(workload=workload, machine=machine, rule=CapacityRule.TILE)
    relaxed = relax(setting)
    assert relaxed.proved
    levels = [
        TileLevel(
            name=level.name,
            capacity=setting.capacities[i],
            permutation=relaxed.best.permutations[i],
            bandwidth=setting.bandwidths[i],
            fixed={dim: relaxed.best.tiles[i][dim] for dim in setting.space.branch},
        )
        for i, level in enumerate(machine.levels)
    ]
    epigraph = solve(minmax_program(workload, levels))
    assert epigraph.stop is Stop.OPTIMAL
    assert epigraph.objective == pytest.approx(relaxed.bound, rel=2e-6)
    decomposed = [solve(minmax_level_program(workload, levels, objective_level=i)) for i in range(len(levels))]
    values = [s.objective for s in decomposed if s.stop is Stop.OPTIMAL]
    assert min(values) == pytest.approx(relaxed.bound, rel=2e-6)
