"""The methods as a user sees them: papers' own roads, microkernel, cores, capacities, limits."""

from dataclasses import replace
from math import prod

import pytest
from cases import some

from optmap import api
from optmap.base.errors import InputError
from optmap.count.levels.cost import evaluate_cost
from optmap.machines.machine import CapacityRule, Level, LevelKind, Machine
from optmap.search import roles_of
from optmap.solvers import PointKind, Stop
from optmap.workloads.amounts import Capacity
from optmap.workloads.builders import conv2d, matmul
from optmap.workloads.parser import parse_workload

SMALL = Machine(
    name="small",
    levels=(
        Level(name="L1", capacity=Capacity(amount=300, unit="words"), bandwidth=8.0),
        Level(name="L2", capacity=Capacity(amount=3000, unit="words"), bandwidth=2.0),
    ),
)
LAYER = conv2d(c=16, k=24, h=20, w=20, r=3, s=3)


def check(result):
    """What every method owes: a valid mapping with the cost it claims, and an honest bound."""
    result.mapping.check(result.workload, result.machine)
    report = evaluate_cost(result.workload, result.machine, result.mapping, result.capacity)
    assert report.fits
    assert report.value == pytest.approx(result.cost, rel=1e-12)
    assert result.integer_bound <= result.cost
    return result


@pytest.mark.parametrize("method", some(["mopt-artifact"], ["mopt-algorithm1", "mopt-artifact"]))
@pytest.mark.parametrize("stride", some([2], [1, 2]))
def test_paper_methods_are_valid_and_never_better(method, stride):
    layer = conv2d(c=16, k=24, h=20, w=20, r=3, s=3, stride=stride)
    best = check(api.solve(layer, machine=SMALL))
    found = check(api.solve(layer, machine=SMALL, method=method))
    assert found.method == method
    assert found.relaxation.proved
    assert found.point is PointKind.LOCAL_OPTIMUM
    assert found.integer_bound == pytest.approx(best.relaxation.value, rel=1e-9)
    assert found.cost >= best.cost
    assert found.integer_gap == pytest.approx(found.cost / best.relaxation.value - 1, rel=1e-6)
    assert any(note.startswith("program optimum (local): ") and "no bound" in note for note in found.notes)


def test_algorithm1_takes_any_workload():
    found = check(api.solve(matmul(i=60, j=70, k=80), machine=SMALL, method="mopt-algorithm1"))
    best = api.solve(matmul(i=60, j=70, k=80), machine=SMALL)
    assert found.relaxation.value == pytest.approx(best.relaxation.value, rel=1e-6)
    assert found.cost >= best.cost


def test_artifact_names_its_loop_orders_and_what_it_shrank():
    found = api.solve(conv2d(c=16, k=24, h=40, w=40, r=3, s=3, stride=2), machine=SMALL, method="mopt-artifact")
    assert any("kcrsnhw, nkhwcrs, nchrswk" in note for note in found.notes)
    assert any("did not fit" in note for note in found.notes)
    filters = [level.tile["r"] for level in found.mapping.levels]
    assert filters == [3, 3]


def test_artifact_refuses_what_it_cannot_do():
    with pytest.raises(InputError, match="needs a dense two-dimensional convolution"):
        api.solve(matmul(i=8, j=8, k=8), machine=SMALL, method="mopt-artifact")
    with pytest.raises(InputError, match="needs a dense two-dimensional convolution"):
        api.solve(conv2d(c=8, h=8, w=8, r=3, s=3, depthwise=True), machine=SMALL, method="mopt-artifact")
    caches = replace(SMALL, levels=tuple(replace(level, kind=LevelKind.CACHE) for level in SMALL.levels))
    with pytest.raises(InputError, match="--capacity tile"):
        api.solve(LAYER, machine=caches, method="mopt-artifact", capacity="safe")
    with pytest.raises(InputError, match="cannot keep to divisors"):
        api.solve(LAYER, machine=SMALL, method="mopt-algorithm1", tiles="divisors")


def test_roles_do_not_depend_on_names():
    text = "O[b,f,y,x] += I[b,z,y+v,x+u] * F[f,z,v,u]"
    layer = api.workload_of(text, {"b": 1, "f": 4, "y": 6, "x": 6, "z": 3, "v": 3, "u": 3})
    roles = roles_of(layer)
    assert (roles.n, roles.k, roles.c, roles.h, roles.w, roles.r, roles.s) == (("b",), "f", "z", "y", "x", "v", "u")


def test_microkernel_is_imposed():
    result = check(api.solve("resnet18/R9", machine="i7-9700k"))
    registers = result.mapping.levels[0]
    assert {d: n for d, n in registers.tile.items() if n > 1} == {"k": 16, "w": 6}
    assert registers.permutation[-3:] == ("c", "r", "s")
    assert all(level.tile["k"] >= 16 and level.tile["w"] >= 6 for level in result.mapping.levels)
    assert any("microkernel tile" in note for note in result.notes)


@pytest.mark.longer
def test_artifact_keeps_the_microkernel():
    result = check(api.solve("resnet18/R9", machine="i7-9700k", method="mopt-artifact"))
    assert {d: n for d, n in result.mapping.levels[0].tile.items() if n > 1} == {"k": 16, "w": 6}
    assert result.mapping.levels[1].tile["r"] == 3


@pytest.mark.parametrize(("cores", "method"), some(3, [(2, "mopt"), (3, "mopt"), (8, "mopt"), (8, "mopt-artifact")]))
def test_cores_split_parallel_dims_only(cores, method):
    result = check(api.solve("resnet18/R12", machine="i7-9700k", cores=cores, method=method))
    spatial = {d: n for level in result.mapping.levels for d, n in level.spatial.items()}
    assert prod(spatial.values()) == cores
    assert not set(spatial) & set(result.workload.reduction_dims)
    assert [level.level for level in result.mapping.levels if level.spatial] == ["L3"]


def test_safe_capacity_moves_no_less():
    machine = Machine(
        name="cache", levels=(Level(name="L1", capacity=Capacity(amount=500, unit="words"), kind=LevelKind.CACHE),)
    )
    tight = check(api.solve(LAYER, machine=machine, capacity="tile"))
    safe = check(api.solve(LAYER, machine=machine, capacity="safe"))
    assert safe.capacity is CapacityRule.SAFE
    assert safe.cost >= tight.cost
    assert safe.relaxation.value >= tight.relaxation.value * (1 - 1e-9)


@pytest.mark.parametrize("name", ["resnet18/R9", "yolo9000/Y12", "mobilenet/M2"])
def test_floor_integers_are_valid_and_never_better(name):
    exact = check(api.solve(name, machine="balanced"))
    rounded = check(api.solve(name, machine="balanced", integers="floor"))
    assert rounded.cost >= exact.cost
    assert rounded.relaxation.value == pytest.approx(exact.relaxation.value, rel=1e-9)


def test_a_tiny_time_limit_keeps_incumbent_and_bound():
    result = check(api.solve("resnet18/R9", machine="balanced", time_limit=1e-9))
    assert result.stop is Stop.TIME_LIMIT
    assert 0 < result.integer_bound <= result.cost
    assert result.relaxation.value <= api.solve("resnet18/R9", machine="balanced").relaxation.value * (1 + 1e-9)


def test_same_seed_same_answer():
    first, second = (api.solve("resnet18/R4", machine="balanced", seed=3) for _ in range(2))
    assert first.mapping == second.mapping
    assert (first.cost, first.integer_bound, first.seed) == (second.cost, second.integer_bound, 3)


@pytest.mark.parametrize("memory", ["100w", "1024w", "8192w"])
@pytest.mark.parametrize("layer", [matmul(i=60, j=50, k=40), LAYER, conv2d(c=3, k=8, h=16, w=16, r=7, s=7, stride=2)])
def test_the_tiling_lp_is_rounded_to_a_mapping_above_the_bound(layer, memory):
    found = check(api.solve(layer, memory=memory, method="tiling-lp"))
    assert found.bound is not None
    assert found.exact >= found.bound.value
    best = api.solve(layer, memory=memory)
    assert best.exact <= found.exact * (1 + 1e-9)
    assert "tiling LP" in found.space


def test_the_tiling_lp_needs_a_form_that_it_knows():
    statement = parse_workload("O[x] += I[x+r+t] * K[r,t]", {"x": 9, "r": 3, "t": 3})
    with pytest.raises(InputError, match="one dim per subscript, or a convolution"):
        api.solve(statement, memory="40w", method="tiling-lp")
