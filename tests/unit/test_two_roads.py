"""The relaxation by the batched interior point and by Pyomo with Ipopt: the same rows, the same numbers."""

from dataclasses import replace
from math import inf

import numpy as np
import pytest
from cases import some

import optmap
from optmap.base.clock import Clock
from optmap.base.errors import InputError, UnknownNameError
from optmap.files import library
from optmap.machines.machine import CapacityRule, Level, Machine
from optmap.programs import EpigraphRow, GeometricProgram, monomial, tidy
from optmap.programs.geometric_model import geometric_model
from optmap.search import Bounder, Setting, cross_check, program_of, relaxation_report, solve_described
from optmap.search.relax import level_programs
from optmap.search.relax.tree import relax
from optmap.solvers import from_pyomo
from optmap.solvers.batch import solve_posynomial
from optmap.sweeps import Options, answer_point, make_point, read_task, task_text
from optmap.workloads.amounts import Capacity
from optmap.workloads.builders import conv2d, matmul
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Semantics

TWO_LEVELS = Machine(
    name="two",
    levels=(
        Level(name="L1", capacity=Capacity(amount=96, unit="words"), bandwidth=8),
        Level(name="L2", capacity=Capacity(amount=700, unit="words"), bandwidth=2),
    ),
)
ONE_LEVEL = Machine(name="one", levels=(Level(name="Fast", capacity=Capacity(amount=250, unit="words")),))
PRODUCT = matmul(i=40, j=24, k=60)
WINDOWS = conv2d(c=6, k=4, h=10, w=12, r=2, s=1, stride=1)


def setting(workload, machine, semantics=Semantics.ACCUMULATE, rule=CapacityRule.TILE, **more):
    return Setting(workload=replace(workload, semantics=semantics), machine=machine, rule=rule, **more)


@pytest.mark.parametrize("rule", list(CapacityRule))
@pytest.mark.parametrize("semantics", list(Semantics))
@pytest.mark.parametrize(
    ("workload", "machine"),
    some(1, [(WINDOWS, ONE_LEVEL), (PRODUCT, ONE_LEVEL), (PRODUCT, TWO_LEVELS)]),
    ids=["windows", "product", "product-two-levels"],
)
def test_both_roads_prove_the_same_value(workload, machine, semantics, rule) -> None:
    ours = relax(setting(workload, machine, semantics, rule))
    theirs = relax(setting(workload, machine, semantics, rule, solver="ipopt"))
    assert ours.proved
    assert theirs.proved
    assert theirs.best.value == pytest.approx(ours.best.value, rel=1e-5)
    assert theirs.bound == pytest.approx(ours.bound, rel=1e-5)
    assert theirs.bound <= ours.best.value * (1 + 1e-6)


def test_a_layer_split_among_cores_takes_both_roads() -> None:
    machine = cores_machine(96, 700, 2)
    ours = relax(setting(PRODUCT, machine, cores=2))
    theirs = relax(setting(PRODUCT, machine, cores=2, solver="ipopt"))
    assert theirs.best.value == pytest.approx(ours.best.value, rel=1e-5)
    assert ours.proved
    assert theirs.proved
    names = program_of(setting(PRODUCT, machine, cores=2), ours.best.node).names
    assert "T[core,i]" in names
    assert "T[core,k]" not in names


def cores_machine(inner: int, outer: int, cores: int) -> Machine:
    return Machine(
        name="cores",
        levels=(
            Level(name="L1", capacity=Capacity(amount=inner, unit="words"), bandwidth=1),
            Level(name="L2", capacity=Capacity(amount=outer, unit="words"), bandwidth=2, shared=True, fanout=cores),
        ),
    )


def test_cores_may_all_split_a_window_where_the_other_dims_have_as_many_parts() -> None:
    """The free output dims x and z have 8 parts, as many as there are cores; y may be split all the same."""
    windows = parse_workload("Y[z,x,y] += A[x+y,k] * B[z,k,x]", {"x": 4, "y": 4, "z": 2, "k": 40})
    of = setting(windows, cores_machine(30, 300, 8), cores=8)
    ours, theirs = (relax(replace(of, solver=solver), negligible=0.0) for solver in ("batch", "ipopt"))
    assert ours.level_bounds == pytest.approx(theirs.level_bounds, rel=1e-5)


def test_a_dim_that_the_microkernel_fills_does_not_keep_cores_from_sharing_the_others() -> None:
    product = parse_workload("O[b,i,j] += A[b,i,k] * B[b,k,j]", {"b": 4, "i": 20, "j": 16, "k": 24})
    one, two = (relax(setting(product, library.machine("i7-9700k"), cores=n), negligible=0.0) for n in (1, 2))
    assert two.unproved == 0
    for alone, shared in zip(one.level_bounds, two.level_bounds, strict=True):
        assert alone / 2 * (1 - 1e-6) <= shared <= alone * (1 + 1e-6)


def test_cores_share_the_tile_just_around_the_microkernel_though_it_fills_a_dim() -> None:
    """Nothing inside L1 has columns: its chunk is the innermost variable, and i has a single value."""
    i7 = library.machine("i7-9700k")
    levels = (replace(level, shared=level.name == "L1", fanout=2 if level.name == "L1" else 1) for level in i7.levels)
    of = setting(matmul(i=6, j=640, k=80), replace(i7, levels=tuple(levels)), cores=2)
    found = relax(of)
    assert found.proved
    assert found.best.value == pytest.approx(relax(replace(of, solver="ipopt")).best.value, rel=1e-5)
    program = program_of(of, found.best.node)
    nested = {(program.names[a], program.names[b]) for a, b in program.chain}
    assert {("T[core,i]", "T[L1,i]"), ("T[core,j]", "T[L1,j]")} <= nested


@pytest.mark.parametrize("semantics", list(Semantics))
def test_the_named_program_has_the_rows_that_the_batch_has(semantics) -> None:
    of = setting(WINDOWS, TWO_LEVELS, semantics)
    node = relax(of).best.node
    program, batch = program_of(of, node), Bounder(of).assemble([node])
    rng = np.random.default_rng(7)
    for t in rng.uniform(program.lower, program.upper, (20, len(program.names))):
        for row, value in zip(program.levels, np.log(batch.totals(t[None])[0]), strict=True):
            mine = float(row.posynomial.log_value(t)) - (0.0 if row.alpha else np.log(row.constant))
            assert mine == pytest.approx(value, abs=2e-7), row.name  # the batch has that much room in capacities
    assert [row.alpha for row in program.levels if row.alpha] == batch.alpha[0].tolist()
    assert {row.constant for row in program.levels if row.alpha} == set(batch.constant[0].tolist())
    assert [row.constant for row in program.levels if not row.alpha] == [96.0, 700.0]


@pytest.mark.parametrize("semantics", list(Semantics))
def test_the_model_is_convex_and_named(semantics) -> None:
    of = setting(WINDOWS, TWO_LEVELS, semantics)
    program = program_of(of, relax(of).best.node)
    model = geometric_model(program)
    read = from_pyomo(model)
    assert read.convex
    assert {"bottleneck[L1]", "bottleneck[L2]", "capacity[L1]", "capacity[L2]", "nest[L1,k]"} <= set(read.rows)
    assert {"t[L1,k]", "t[L2,h]"} <= set(read.names)
    assert ("L1", "In") in model.traffic
    assert ("L2", "Out") in model.occupancy


@pytest.mark.parametrize("semantics", list(Semantics))
def test_the_dual_bound_holds_for_any_multipliers(semantics) -> None:
    of = setting(PRODUCT, TWO_LEVELS, semantics)
    program = program_of(of, relax(of).best.node)
    read = from_pyomo(geometric_model(program))
    best = solve_described(program).objective
    assert best is not None
    least = np.log(best) if program.in_log_z else best
    rng = np.random.default_rng(11)
    bounds = []
    for _ in range(200):
        x = rng.uniform(read.lower, read.upper)
        bound = read.dual_bound(x, rng.exponential(size=len(read.rows)) * (1.0 if program.in_log_z else best))
        assert bound is not None
        assert bound <= least + 1e-9 * abs(least)
        bounds.append(bound)
    assert max(bounds) > -inf


def test_the_road_not_taken_breaks_down_where_levels_are_full() -> None:
    """Every tile is the smallest one, without any room inside: Ipopt may give no value, and no error."""
    levels = tuple(
        Level(name=f"L{i}", capacity=Capacity(amount=5, unit="words"), bandwidth=12 - 3 * i) for i in range(4)
    )
    chain = parse_workload("O[i,j] += A[i,k,l] * B[k,j] * C[l,j]", {"i": 1, "j": 2, "k": 8, "l": 2}, bytes={"A": 8})
    of = setting(chain, Machine(name="full", levels=levels))
    found = relax(of)
    assert found.bound <= found.best.value
    assert cross_check(of, found.best) in (None, pytest.approx(found.best.value, rel=1e-5))


def test_a_value_without_dual_bound_proves_nothing(monkeypatch) -> None:
    honest = level_programs.solve_described
    monkeypatch.setattr(level_programs, "solve_described", lambda p: replace(honest(p), bound=None))
    of = setting(PRODUCT, ONE_LEVEL, solver="ipopt")
    found = relax(of, clock=Clock(0.0))
    assert not found.proved
    assert found.bound <= found.best.value
    report = relaxation_report(of, found, attained=found.best.value)
    assert report.value == of.least_costs[0]  # only what every mapping moves, far from what is attained
    assert report.tolerance == pytest.approx(found.best.value / report.value - 1)
    assert report.tolerance > 0.1
    assert f"{found.programs} of them without a dual bound" in report.method


def test_the_road_not_taken_checks_the_winner() -> None:
    for solver, title, other in (
        ("batch", "batched interior point", "Ipopt"),
        ("ipopt", "Ipopt through Pyomo", "batched interior point"),
    ):
        of = setting(PRODUCT, ONE_LEVEL, solver=solver)
        solved = relax(of)
        report = relaxation_report(of, solved, attained=solved.best.value)
        assert report.method.startswith(title)
        assert report.checked_by == other
        assert report.cross_check == pytest.approx(report.value, rel=1e-6)


def test_one_program_alone_by_the_batched_interior_point() -> None:
    of = setting(PRODUCT, TWO_LEVELS)
    program = program_of(of, relax(of).best.node)
    spread = np.linspace(0.02, 0.1, len(program.names))
    start = dict(zip(program.names, program.lower + spread * (program.upper - program.lower), strict=True))
    found = solve_posynomial(program, start=start)
    assert found.objective == pytest.approx(solve_described(program).objective, rel=1e-6)
    assert found.bound is not None
    assert found.bound <= found.objective * (1 + 1e-12)
    x = monomial(("x",), 1.0, {"x": 1})
    crossed = GeometricProgram(
        names=("x",),
        lower=np.zeros(1),
        upper=np.ones(1),
        levels=(EpigraphRow(posynomial=x, alpha=1.0), EpigraphRow(posynomial=x, alpha=0.0, constant=0.5)),
    )
    assert solve_posynomial(crossed).objective is None
    assert crossed.value([0.0]) == inf


def test_numbers_lose_the_digits_of_their_logarithm() -> None:
    assert tidy(float(np.exp(np.log(48.0)))) == 48.0
    assert tidy(float(np.exp(np.log(147456.0)))) == 147456.0
    assert tidy(1 / 3) == pytest.approx(1 / 3, rel=1e-12)


def test_solve_takes_the_solver_by_name() -> None:
    ours = optmap.solve(PRODUCT, memory="250w")
    theirs = optmap.solve(PRODUCT, memory="250w", solver="ipopt")
    assert theirs.cost == ours.cost
    assert theirs.relaxation.value == pytest.approx(ours.relaxation.value, rel=1e-5)
    assert theirs.relaxation.proved
    assert "Ipopt through Pyomo" in theirs.relaxation.method
    assert "(batched interior point, same loop orders)" in str(theirs)
    with pytest.raises(UnknownNameError, match="unknown solver 'iopt'; did you mean ipopt"):
        optmap.solve(PRODUCT, memory="250w", solver="iopt")
    for method in ("gemmini", "iooub"):
        with pytest.raises(InputError, match="leave out --solver"):
            optmap.solve(PRODUCT, memory="250w", method=method, solver="ipopt")


def test_the_sum_over_levels_takes_both_roads() -> None:
    answers = [optmap.solve(PRODUCT, machine=TWO_LEVELS, objective="sum", solver=name) for name in ("batch", "ipopt")]
    ours, theirs = (answer.relaxation for answer in answers)
    assert theirs.value == pytest.approx(ours.value, rel=1e-5)
    assert theirs.method.startswith("Ipopt through Pyomo over ")


def test_a_sweep_takes_the_solver_as_an_option() -> None:
    points = [
        make_point(PRODUCT, ONE_LEVEL, level="Fast", method="mopt", options=Options(solver=name), seed=0)
        for name in (None, "batch", "ipopt")
    ]
    assert len({point.input_hash for point in points}) == 3
    for point in points:
        assert read_task(task_text(point)).options == point.options
    assert '"solver"' not in task_text(points[0])
    found = answer_point(points[2])
    assert found.row.error == ""
    assert found.solution is not None
    assert "Ipopt through Pyomo" in found.solution["relaxation"]["method"]
    with pytest.raises(UnknownNameError, match="unknown solver 'ipop'; did you mean ipopt"):
        Options(solver="ipop")


def test_a_layer_of_the_library_takes_both_roads() -> None:
    layer = library.workload("resnet18/R3")
    ours, theirs = (optmap.solve(layer, memory="8192w", solver=s).relaxation for s in ("batch", "ipopt"))
    assert theirs.value == pytest.approx(ours.value, rel=1e-5)
    assert ours.proved
    assert theirs.proved
