"""The allocation program: every mapping is a point of it at no more than its cost, and solving it finds the best."""

from __future__ import annotations

import random
import time
from math import exp, isfinite
from pathlib import Path
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from cases import some
from spatial_brute_force import all_mappings, best_of_all, tiny_fabric, tiny_machine
from spatial_strategies import COUNTINGS, WALKED

from optmap import check
from optmap import solve as solve_workload
from optmap.base.clock import Clock, limited
from optmap.base.errors import InfeasibleError, InputError, LimitError
from optmap.count.meshes.batch import evaluate_batch
from optmap.count.meshes.count import NEST_EXACT, NEST_TIMELOOP, count_nest
from optmap.count.meshes.policy import NestPolicy
from optmap.files.library import machine
from optmap.machines.accelerator import Store
from optmap.machines.fabric import Fabric, fabric_of
from optmap.machines.machine import Level, Machine
from optmap.mappings.nest import MemoryNest, Nest
from optmap.programs.allocation import Allocation
from optmap.programs.allocation_layout import least_new
from optmap.questions.objective import MERITS
from optmap.questions.options import Merit
from optmap.search import Question
from optmap.search.allocation.allocation import AllocationAnswer, solve_allocation
from optmap.search.allocation.nest_orders import best_orders
from optmap.search.allocation.programs import solve_by_program
from optmap.solvers import Stop
from optmap.solvers.outer import MARGIN, OuterModel
from optmap.workloads.amounts import Capacity
from optmap.workloads.builders import matmul
from optmap.workloads.parser import parse_workload


def some_nests(fabric: Fabric, counting: NestPolicy, count: int, draw: random.Random) -> list[Nest]:
    """Valid mappings from all over the space."""
    found: list[Nest] = []
    for batch in all_mappings(fabric):
        rows = np.flatnonzero(evaluate_batch(batch, fabric, counting).valid)
        found += [batch.nest(int(row)) for row in draw.sample(list(rows), min(4, len(rows)))]
    return draw.sample(found, min(count, len(found)))


def least_at(made: Allocation, nest: Nest) -> float:
    """The program's objective over the tiles and keeps of a mapping, relative to the reference."""
    outer = OuterModel(*made.built)
    names = set(made.chosen(nest))
    every = [name for name in outer.names if name.startswith(("cover[", "keep["))]
    outer.restrict({name: float(name in names) for name in every}, every)
    for _ in range(8):
        point = outer.solve(gap=1e-6, seconds=30)
        if point.values is None or not outer.tighten(point.values):
            break
    return exp(point.bound) if made.is_log else point.bound


@pytest.mark.parametrize("seed", some(6, [40, *range(200, 214)]))
def test_every_mapping_is_a_point_of_the_program_at_no_more_than_its_cost(seed: int) -> None:
    draw = random.Random(seed)
    fabric = tiny_fabric(seed, 2000)
    for counting in WALKED:
        for nest in some_nests(fabric, counting, 2, draw):
            merit = draw.choice(list(Merit))
            cost = float(count_nest(nest, fabric, counting).merit(merit))
            if cost:
                made = Allocation(fabric=fabric, merit=merit, counting=counting, reference=cost)
                assert least_at(made, nest) <= 1 + 1e-5


@pytest.mark.parametrize("seed", [2, 4, 8, 9, 10, 19, 32, 33])
def test_the_answer_is_the_best_of_all_mappings(seed: int) -> None:
    fabric = tiny_fabric(seed, 3000)
    counting, merit = COUNTINGS[seed % 2], list(Merit)[seed // 2 % 4]
    best = best_of_all(fabric, counting)[merit].value
    found = solve_allocation(fabric, merit=merit, counting=counting)
    assert found.proved
    assert found.value == best
    assert found.bound <= best
    assert found.nest is not None
    assert not count_nest(found.nest, fabric, counting).broken


def test_a_start_is_cut_off_with_and_kept_if_nothing_is_better() -> None:
    fabric = tiny_fabric(4, 3000)
    best = best_of_all(fabric, NEST_EXACT)[Merit.ENERGY]
    found = solve_allocation(fabric, merit=Merit.ENERGY, start=best.nest)
    assert found.value == best.value
    assert best.value * (1 - 3 * MARGIN) <= found.bound <= best.value


def test_without_time_there_is_a_bound_of_nothing_and_no_error() -> None:
    fabric = tiny_fabric(4, 3000)
    best = best_of_all(fabric, NEST_EXACT)[Merit.ENERGY]
    found = solve_allocation(fabric, merit=Merit.ENERGY, start=best.nest, clock=Clock(time.monotonic() - 1))
    assert found.value == best.value
    assert 0 <= found.bound <= best.value


def test_no_mapping_is_an_error() -> None:
    seed = next(s for s in range(100) if not best_of_all(tiny_fabric(s, 500), NEST_EXACT))
    with pytest.raises(InfeasibleError):
        solve_allocation(tiny_fabric(seed, 500), merit=Merit.CYCLES)


def test_outputs_with_windows_are_refused() -> None:
    fabric = fabric_of(parse_workload("O[a+b] = A[a] * B[b]", {"a": 4, "b": 4}), tiny_machine(random.Random(1)))
    with pytest.raises(InputError, match="without windows"):
        solve_allocation(fabric)


@pytest.mark.parametrize("counting", WALKED, ids=str)
@pytest.mark.parametrize("coefficients", [(1, 1), (2, 1), (3, 1), (1, 2), (2, 3)])
def test_a_step_brings_at_least_what_is_new_after_any_move(coefficients: tuple[int, int], counting: NestPolicy) -> None:
    for extents in ((1, 3), (2, 3), (4, 2), (3, 1)):
        tile = {coefficients[0] * i + coefficients[1] * j for i in range(extents[0]) for j in range(extents[1])}
        if counting is NEST_TIMELOOP:
            tile = set(range(max(tile) + 1))
        moves = (coefficients[0] * extents[0] * times for times in range(1, 13))
        expected = min(len({value + move for value in tile} - tile) for move in moves)
        assert least_new(coefficients, extents, 0, 12 * extents[0], counting.footprint) == expected


def test_tables_of_large_tiles_are_made_while_there_is_time(monkeypatch: pytest.MonkeyPatch) -> None:
    least_new.cache_clear()
    assert least_new((1, 1), (4300, 1000), 0, 8600, NEST_EXACT.footprint) == 4300
    least_new.cache_clear()
    with limited(Clock(0.0)), pytest.raises(LimitError, match="time was over"):
        least_new((1, 1), (4300, 1000), 0, 8600, NEST_EXACT.footprint)
    workload = parse_workload("C[i] += A[i+j]*B[j]", {"i": 12, "j": 6})
    asked = Question(workload=workload.with_semantics("assign"), machine=machine("simba"), objective=MERITS["edp"])

    def with_no_time_left(*args: Any, **options: Any) -> AllocationAnswer:
        with limited(Clock(0.0)):
            return solve_allocation(*args, **options)

    monkeypatch.setattr("optmap.search.allocation.programs.solve_allocation", with_no_time_left)
    cut = solve_by_program(asked)
    assert cut.late
    assert "cut short before the allocation program began" in cut.proof


def test_orders_are_all_tried_where_they_are_few() -> None:
    loops = tuple((dim, 2) for dim in range(3))
    nest = Nest(
        memories=(MemoryNest(x=(), y=(), temporal=(), keeps=()),) * 1
        + (MemoryNest(x=(), y=(), temporal=loops, keeps=()),)
    )
    seen = set()

    def price(each: Nest) -> int:
        order = tuple(dim for dim, _ in each.memories[1].temporal)
        seen.add(order)
        return sum(place * dim for place, dim in enumerate(order))

    found, value, every = best_orders(nest, price, most=6)
    assert every
    assert len(seen) == 6
    assert value == 2 * 0 + 1 * 1 + 0 * 2
    assert found is not None
    assert [dim for dim, _ in found.memories[1].temporal] == [2, 1, 0]
    assert not best_orders(nest, price, most=5)[2]


def test_tangents_close_in_on_an_exponential() -> None:
    model = pyo.ConcreteModel()
    model.x, model.v = pyo.Var(bounds=(0, None)), pyo.Var(bounds=(-3, 3))
    model.n = pyo.Var(domain=pyo.Integers, bounds=(0, 9))
    model.row = pyo.Constraint(expr=model.v >= 0.35 * model.n - 1)
    model.least = pyo.Constraint(expr=model.n >= 1.5)
    model.cost = pyo.Objective(expr=model.x)
    outer = OuterModel(model, [("x", "v")])
    values = []
    for _ in range(9):
        point = outer.solve(gap=0, seconds=10)
        assert point.values is not None
        assert isfinite(point.bound)
        values.append(point.bound)
        if not outer.tighten(point.values):
            break
    assert values == sorted(values)
    assert values[-1] == pytest.approx(exp(0.35 * 2 - 1), abs=1e-6)
    outer.cut_off(0.5)
    assert outer.solve(gap=0, seconds=10).stop is Stop.INFEASIBLE


def test_the_method_says_why_nothing_fits_and_bounds_what_does() -> None:
    layer = matmul(i=4, j=4, k=4)
    level = Level(name="Buffer", capacity=Capacity(amount=1, unit="words"), store=Store())
    tight = Machine(name="tight", levels=(level,), outermost=Store())
    found = solve_workload(layer, machine="eyeriss", method="allocation", objective="cycles", tiles="divisors")
    assert found.proved
    assert found.cost == solve_workload(layer, machine="eyeriss", objective="cycles", tiles="divisors").cost
    with pytest.raises(InfeasibleError, match="valid"):
        solve_workload(layer, machine=tight, method="allocation")


def test_an_optimum_is_claimed_only_where_the_bound_reaches_it(tmp_path: Path) -> None:
    """A program solved to a margin leaves one: the answer has it, and the checker takes the file."""
    found = solve_workload(matmul(i=4, j=4, k=4), machine="eyeriss", method="allocation", objective="energy")
    assert not found.proved
    assert 0 < float(found.cost / found.integer_bound) - 1 < 5 * MARGIN
    assert "optimal, proved" not in str(found)
    assert any("solved to" in note for note in found.notes)
    check(found.save(tmp_path / "energy.json"))
