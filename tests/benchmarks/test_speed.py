"""How long each step takes, without pass or fail: `pytest -m "" tests/benchmarks/test_speed.py --benchmark-enable`."""

import pytest
from cases import some

from optmap import api
from optmap.count.levels.cost import evaluate_cost
from optmap.count.levels.whole_nest import exact_traffic
from optmap.files import library
from optmap.loop_orders import dataflow_classes
from optmap.machines.machine import CapacityRule
from optmap.programs import minmax_program
from optmap.programs.tile import TileLevel
from optmap.search import Setting
from optmap.search.relax.tree import relax

LAYERS = ("yolo9000/Y4", "resnet18/R1", "resnet18/R9", "mobilenet/M5")


def setting(name, machine):
    return Setting(workload=library.workload(name), machine=library.machine(machine), rule=CapacityRule.TILE)


@pytest.mark.parametrize("name", some(["resnet18/R9"], LAYERS))
def test_derive_classes(benchmark, name):
    found = benchmark(dataflow_classes, library.workload(name))
    assert found.classes


@pytest.mark.parametrize("name", some(["resnet18/R9"], LAYERS))
def test_build_programs(benchmark, name):
    of = setting(name, "balanced")
    levels = [
        TileLevel(name=level.name, capacity=c, bandwidth=rate, permutation=of.orders[0].permutation)
        for level, c, rate in zip(of.machine.levels, of.capacities, of.bandwidths, strict=True)
    ]
    assert benchmark(lambda: minmax_program(of.workload, levels).pyomo()) is not None


@pytest.mark.parametrize("machine", ["balanced", "i7-9700k"])
@pytest.mark.parametrize("name", some(["resnet18/R9"], LAYERS))
def test_relax(benchmark, name, machine):
    assert benchmark(lambda: relax(setting(name, machine))).proved


@pytest.mark.parametrize("machine", ["balanced", "i7-9700k"])
@pytest.mark.parametrize("name", some(["resnet18/R9"], LAYERS))
def test_solve(benchmark, name, machine):
    result = benchmark.pedantic(api.solve, args=(name,), kwargs={"machine": machine}, rounds=1)
    assert result.cost >= result.integer_bound


@pytest.mark.parametrize("name", some(["resnet18/R9"], LAYERS))
def test_evaluate(benchmark, name):
    result = api.solve(name, machine="balanced", integers="floor")
    report = benchmark(evaluate_cost, result.workload, result.machine, result.mapping)
    assert report.value == pytest.approx(result.cost)
    assert exact_traffic(result.workload, result.machine, result.mapping)
