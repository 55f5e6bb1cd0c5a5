"""Derivatives, structure and statuses of the nonlinear solvers."""

import math
from dataclasses import replace

import numpy as np
import pyomo.environ as pyo
import pytest
from cases import cases
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from strategies import loop_orders, workloads

from optmap.base.errors import InfeasibleError, InputError, SolverUnavailableError
from optmap.programs import (
    EpigraphRow,
    GeometricProgram,
    Posynomial,
    minmax_level_program,
    minmax_program,
    monomial,
    one_level_program,
)
from optmap.programs.tile import Scale, TileLevel
from optmap.solvers import PointKind, Stop, from_geometric, from_pyomo, ipopt, scipy_, solve
from optmap.workloads.builders import conv2d, matmul
from optmap.workloads.workload import Semantics

REFERENCE = conv2d(c=64, k=128, h=136, w=136, r=3, s=3)
REFERENCE_ORDER = ("k", "c", "r", "s", "n", "h", "w")
REFERENCE_WORDS = 17_342_953


def chain(workload, permutations, capacities=(1024, 8192, 65536), fixed=None):
    bandwidths = (57, 28, 16)
    return [
        TileLevel(name=f"L{i + 1}", capacity=c, bandwidth=b, permutation=p, fixed=fixed or {})
        for i, (c, b, p) in enumerate(zip(capacities, bandwidths, permutations, strict=True))
    ]


def curved_model():
    """One function per path: terms in raw variables, logarithms of them, and a generic one."""
    model = pyo.ConcreteModel(name="curved")
    model.x = pyo.Var(bounds=(0.5, 4), initialize=1.5)
    model.y = pyo.Var(bounds=(0.2, 3), initialize=0.7)
    model.z = pyo.Var(bounds=(-2, 2), initialize=-0.4)
    x, y, z = model.x, model.y, model.z
    model.goal = pyo.Objective(expr=x**2 / y + 3 * pyo.exp(0.5 * z) * x - 2 * z + pyo.sqrt(y))
    model.log = pyo.Constraint(expr=pyo.log(x * y + pyo.exp(z) + 2) - 2 * pyo.log(x + y) <= 5)
    model.product = pyo.Constraint(expr=(x + y - 0.1) * (x - y) * 2 >= -50)
    model.generic = pyo.Constraint(expr=pyo.sin(x * z) + (x + y) ** (-1.5) + z**3 / (1 + x) - pyo.tanh(y) <= 50)
    model.power = pyo.Constraint(expr=x**y + (-z) + pyo.cos(z) ** 2 <= 70)
    return model


def test_derivatives_of_every_path_equal_central_differences() -> None:
    nlp = from_pyomo(curved_model())
    assert {is_generic for is_generic, _ in nlp.place} == {True, False}
    x, h = np.array([1.3, 0.9, -0.6]), 1e-6
    steps = np.eye(3) * h
    jacobian = np.array([(nlp.values(x + s) - nlp.values(x - s)) / (2 * h) for s in steps]).T
    np.testing.assert_allclose(nlp.jacobian(x), jacobian, atol=1e-7)
    multipliers = np.array([1.0, 0.7, -0.4, 2.0, 0.3])
    hessian = np.array([multipliers @ (nlp.jacobian(x + s) - nlp.jacobian(x - s)) / (2 * h) for s in steps])
    np.testing.assert_allclose(nlp.hessian(x, multipliers), hessian, atol=1e-6)


def test_values_equal_pyomo_and_the_model_is_left_untouched() -> None:
    model = curved_model()
    nlp = from_pyomo(model)
    expected = [pyo.value(model.goal)] + [pyo.value(c.body) for c in model.component_data_objects(pyo.Constraint)]
    np.testing.assert_allclose(nlp.values(nlp.start), expected, rtol=1e-13)
    found = ipopt.solve_model(model)
    assert found.stop is Stop.OPTIMAL
    assert model.x.value == 1.5
    loaded = ipopt.solve_model(model, load=True)
    assert model.x.value == loaded.values["x"] == pytest.approx(found.values["x"])
    assert pyo.value(model.goal) == pytest.approx(loaded.objective)


@pytest.mark.parametrize("scale", list(Scale))
def test_one_level_reference(scale: Scale) -> None:
    program = one_level_program(
        REFERENCE, capacity=8192, permutation=REFERENCE_ORDER, fixed={"r": 3, "s": 3}, scale=scale
    )
    found = solve(program)
    assert found.stop is Stop.OPTIMAL
    assert found.objective == pytest.approx(REFERENCE_WORDS, abs=0.5)
    tile = program.read_back(found.values)
    assert [tile[f"T[{d}]"] for d in "kchw"] == pytest.approx([22.887, 33.019, 9.780, 1.0], abs=1e-3)
    assert found.violation <= 1e-9 * 8192
    if scale is Scale.LOG:
        assert found.point is PointKind.GLOBAL_OPTIMUM
        assert found.bound == pytest.approx(found.objective, rel=1e-6)
        assert found.bound <= found.objective
    else:
        assert found.point is PointKind.LOCAL_OPTIMUM
        assert found.bound is None


def test_filter_sizes_end_at_the_filter_when_free() -> None:
    found = solve(one_level_program(REFERENCE, capacity=8192, permutation=REFERENCE_ORDER))
    assert found.objective == pytest.approx(REFERENCE_WORDS, abs=0.5)
    assert found.point is PointKind.LOCAL_OPTIMUM


@pytest.mark.parametrize("count", [1, 3])
def test_ipopt_reaches_one_value_from_all_random_starts(count: int) -> None:
    if count == 1:
        program = one_level_program(REFERENCE, capacity=8192, permutation=REFERENCE_ORDER, fixed={"r": 3, "s": 3})
    else:
        orders = [REFERENCE_ORDER, ("n", "c", "h", "r", "s", "w", "k"), ("n", "k", "h", "w", "c", "r", "s")]
        program = minmax_program(REFERENCE, chain(REFERENCE, orders, fixed={"r": 3, "s": 3}))
    nlp = from_pyomo(program.pyomo())
    rng = np.random.default_rng(2024)
    runs = [ipopt.solve_nlp(nlp, start=rng.uniform(nlp.lower, nlp.upper)) for _ in range(cases(50, 500))]
    assert {run.stop for run in runs} == {Stop.OPTIMAL}
    assert {run.point for run in runs} == {PointKind.GLOBAL_OPTIMUM}
    values = np.array([run.objective for run in runs])
    assert np.ptp(values) < 1e-6
    assert max(run.objective - run.bound for run in runs) < 1e-6


@pytest.mark.parametrize(
    ("workload", "orders", "fixed"),
    [
        (matmul(i=600, j=500, k=700), [("i", "j", "k"), ("i", "k", "j"), ("j", "k", "i")], {}),
        (
            conv2d(c=96, k=64, h=40, w=40, r=3, s=3, stride=2),
            [REFERENCE_ORDER, ("n", "c", "h", "r", "s", "w", "k"), ("n", "k", "h", "w", "c", "s", "r")],
            {"r": 3, "s": 3},
        ),
        (
            conv2d(c=96, k=64, h=40, w=40, r=3, s=3, semantics=Semantics.ASSIGN),
            [REFERENCE_ORDER, REFERENCE_ORDER, ("n", "c", "h", "r", "s", "w", "k")],
            {"r": 3, "s": 3},
        ),
    ],
    ids=["matmul", "strided", "assign"],
)
def test_epigraph_is_the_minimum_of_the_decomposition(workload, orders, fixed) -> None:
    levels = chain(workload, orders, (200, 3000, 20000), fixed)
    epigraph = solve(minmax_program(workload, levels))
    assert epigraph.point is PointKind.GLOBAL_OPTIMUM
    parts = [solve(minmax_level_program(workload, levels, objective_level=i)) for i in range(3)]
    assert {part.stop for part in parts} <= {Stop.OPTIMAL, Stop.INFEASIBLE}
    assert min(p.objective for p in parts if p.objective is not None) == pytest.approx(epigraph.objective, rel=1e-6)
    raw = solve(minmax_program(workload, levels, scale=Scale.RAW))
    assert raw.objective == pytest.approx(epigraph.objective, rel=1e-6)


def test_a_level_that_cannot_be_the_bottleneck_is_infeasible() -> None:
    workload = matmul(i=64, j=64, k=64)
    levels = [
        TileLevel(name="L1", capacity=100, bandwidth=1, permutation=("i", "j", "k")),
        TileLevel(name="L2", capacity=20000, bandwidth=1000, permutation=("i", "j", "k")),
    ]
    program = minmax_level_program(workload, levels, objective_level=1)
    found = solve(program)
    assert found.stop is Stop.INFEASIBLE
    assert found.point is PointKind.NONE
    assert found.objective is None
    assert found.values == {}


def test_levels_fixed_one_by_one_as_in_algorithm_1() -> None:
    workload = matmul(i=600, j=500, k=700)
    levels = chain(workload, [("i", "j", "k")] * 3, (200, 3000, 20000))
    best = solve(minmax_program(workload, levels)).objective
    fixed: dict[int, dict[str, float]] = {}
    left = [0, 1, 2]
    worst = 0.0
    while left:
        found = {}
        for level in left:
            known = [replace(each, fixed=fixed.get(number, {})) for number, each in enumerate(levels)]
            program = minmax_level_program(workload, known, objective_level=level, against=left)
            answer = solve(program)
            if answer.point is not PointKind.NONE:
                found[level] = (answer.objective, program.read_back(answer.values))
        level = min(found, key=lambda k: found[k][0])
        worst = max(worst, found[level][0])
        fixed[level] = {d: found[level][1][f"T[L{level + 1},{d}]"] for d in workload.dims}
        left.remove(level)
    assert worst == pytest.approx(best, rel=1e-6)
    assert all(fixed[i][d] <= fixed[i + 1][d] * (1 + 1e-9) for i in range(2) for d in workload.dims)


def geometric():
    names = ("x", "y")
    cost = monomial(names, 12.0, {"x": -1}) + monomial(names, 8.0, {"y": -1})
    other = monomial(names, 1.0, {"x": 1, "y": 0.5})
    return GeometricProgram(
        names=names,
        lower=np.zeros(2),
        upper=np.full(2, math.log(50)),
        levels=(
            EpigraphRow(posynomial=cost, alpha=2.0),
            EpigraphRow(posynomial=other, alpha=3.0, constant=0.5),
            EpigraphRow(posynomial=monomial(names, 1.0, {"y": 1}), alpha=0.0, constant=30.0),
        ),
        capacities=(monomial(names, 1 / 60, {"x": 1, "y": 1}),),
        chain=((0, 1),),
    )


def test_geometric_programs_solve_without_pyomo() -> None:
    program = geometric()
    found, check = ipopt.solve_posynomial(program), scipy_.solve_posynomial(program)
    grid = np.exp(np.linspace(0, math.log(50), 1201))
    x, y = np.meshgrid(grid, grid)
    z = np.maximum((12 / x + 8 / y) / 2, (x * np.sqrt(y) - 0.5) / 3)
    z = np.where((x <= y) & (x * y <= 60) & (y <= 30), z, np.inf)
    assert found.stop is check.stop is Stop.OPTIMAL
    assert found.objective == pytest.approx(check.objective, rel=1e-7)
    assert found.objective == pytest.approx(z.min(), rel=5e-3)
    assert found.objective <= z.min()


def test_geometric_derivatives_equal_central_differences() -> None:
    nlp = from_geometric(geometric())
    x, h = np.array([1.0, 1.7, 0.4]), 1e-6
    steps = np.eye(3) * h
    jacobian = np.array([(nlp.values(x + s) - nlp.values(x - s)) / (2 * h) for s in steps]).T
    np.testing.assert_allclose(nlp.jacobian(x), jacobian, atol=1e-8)
    weights = np.linspace(0.3, 1.5, len(nlp.rows) + 1)
    hessian = np.array([weights @ (nlp.jacobian(x + s) - nlp.jacobian(x - s)) / (2 * h) for s in steps])
    np.testing.assert_allclose(nlp.hessian(x, weights), hessian, atol=1e-7)


def test_a_dual_bound_holds_for_any_multipliers() -> None:
    program = one_level_program(REFERENCE, capacity=8192, permutation=REFERENCE_ORDER, fixed={"r": 3, "s": 3})
    nlp = from_pyomo(program.pyomo())
    best = math.log(REFERENCE_WORDS)
    rng = np.random.default_rng(9)
    bounds = [nlp.dual_bound(rng.uniform(nlp.lower, nlp.upper), rng.normal(size=len(nlp.rows)) * 2) for _ in range(200)]
    assert all(bound is not None and bound <= best for bound in bounds)


def test_slsqp_agrees_with_ipopt() -> None:
    program = one_level_program(REFERENCE, capacity=8192, permutation=REFERENCE_ORDER, fixed={"r": 3, "s": 3})
    found = solve(program, solver="scipy_slsqp")
    assert found.stop is Stop.OPTIMAL
    assert found.objective == pytest.approx(REFERENCE_WORDS, abs=1)
    levels = chain(REFERENCE, [REFERENCE_ORDER] * 3, fixed={"r": 3, "s": 3})
    epigraph = minmax_program(REFERENCE, levels)
    assert solve(epigraph, solver="scipy_slsqp").objective == pytest.approx(solve(epigraph).objective, rel=1e-6)


def test_limits_are_reported_as_limits() -> None:
    program = one_level_program(REFERENCE, capacity=8192, permutation=REFERENCE_ORDER, fixed={"r": 3, "s": 3})
    few = solve(program, options={"max_iter": 2})
    assert few.stop is Stop.ITERATION_LIMIT
    assert few.point in (PointKind.NONE, PointKind.FEASIBLE)
    late = solve(program, time_limit=1e-9)
    assert late.stop is Stop.TIME_LIMIT
    assert solve(program, solver="scipy_slsqp", options={"maxiter": 1}).stop is Stop.ITERATION_LIMIT


def test_what_is_unbounded_or_not_smooth_is_refused_before_solving() -> None:
    model = pyo.ConcreteModel(name="open")
    model.x = pyo.Var(bounds=(0, None), initialize=1.0)
    model.goal = pyo.Objective(expr=-model.x)
    with pytest.raises(InputError, match=r"variable x .* may be unbounded"):
        ipopt.solve_model(model)
    model = pyo.ConcreteModel(name="kink")
    model.x = pyo.Var(bounds=(-1, 1), initialize=0.5)
    model.goal = pyo.Objective(expr=abs(model.x))
    with pytest.raises(InputError, match="not smooth"):
        ipopt.solve_model(model)
    model = pyo.ConcreteModel(name="whole")
    model.x = pyo.Var(bounds=(0, 3), domain=pyo.Integers)
    model.goal = pyo.Objective(expr=model.x)
    with pytest.raises(InputError, match="MILP solver"):
        ipopt.solve_model(model)
    with pytest.raises(InputError, match="0 active objectives"):
        ipopt.solve_model(pyo.ConcreteModel(name="empty"))


def test_a_wrong_start_or_option_is_refused() -> None:
    program = one_level_program(REFERENCE, capacity=8192, permutation=REFERENCE_ORDER)
    with pytest.raises(InputError, match="unknown variable q"):
        solve(program, start={"q": 1.0})
    with pytest.raises(InputError, match="Ipopt refuses option nonsense"):
        ipopt.solve_model(program.pyomo(), options={"nonsense": 1})


def test_a_limited_memory_hessian_reaches_the_same_value() -> None:
    program = one_level_program(REFERENCE, capacity=8192, permutation=REFERENCE_ORDER, fixed={"r": 3, "s": 3})
    found = solve(program, options={"hessian_approximation": "limited-memory", "tol": 1e-8})
    assert found.objective == pytest.approx(REFERENCE_WORDS, rel=1e-6)


def test_ipopt_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    solve(one_level_program(matmul(i=8, j=8, k=8), capacity=40, permutation=("i", "j", "k")))
    captured = capfd.readouterr()
    assert captured.out == ""
    assert captured.err == ""


def test_a_missing_cyipopt_names_the_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "cyipopt", None)
    program = one_level_program(matmul(i=8, j=8, k=8), capacity=40, permutation=("i", "j", "k"))
    with pytest.raises(SolverUnavailableError, match="pip install cyipopt-wheels"):
        solve(program)
    with pytest.raises(SolverUnavailableError, match="pip install cyipopt-wheels"):
        ipopt.solve_model(program.pyomo())


def test_a_program_without_any_choice_is_only_checked() -> None:
    workload = matmul(i=1, j=1, k=1)
    found = solve(one_level_program(workload, capacity=3, permutation=("i", "j", "k")))
    assert found.stop is Stop.OPTIMAL
    assert found.objective == pytest.approx(4.0)


@settings(max_examples=cases(10, 25), deadline=None)
@given(st.data())
def test_random_programs_with_fixed_filters_are_convex_and_solved(data: st.DataObject) -> None:
    workload = data.draw(workloads(max_extent=12))
    orders = [data.draw(loop_orders(workload)) for _ in range(2)]
    words = sum(workload.weight(t) * t.footprint(workload.extents) for t in workload.tensors)
    fixed = {
        dim: workload.extents[dim]
        for tensor in workload.tensors
        for axis in tensor.axes
        for dim in sorted(axis.dims, key=lambda d: workload.extents[d])[:-1]
    }
    levels = [
        TileLevel(name=f"L{i}", capacity=share * words, bandwidth=2 - i, permutation=order, fixed=fixed)
        for i, (share, order) in enumerate(zip((0.6, 0.9), orders, strict=True))
    ]
    try:
        program = minmax_program(workload, levels)
    except InfeasibleError:
        reject()
    assert program.convex
    assert from_pyomo(program.pyomo()).convex or workload.semantics is Semantics.ASSIGN
    found = solve(program)
    assert found.point is PointKind.GLOBAL_OPTIMUM
    again = solve(program, start={v.name: 0.3 * v.lower + 0.7 * v.upper for v in program.variables})
    assert again.objective == pytest.approx(found.objective, rel=1e-6)
    if found.bound is not None:
        assert found.bound <= again.objective * (1 + 1e-12)


def test_a_geometric_optimum_on_the_box() -> None:
    p = Posynomial(names=("x",), coefficients=np.array([2.0, 3.0]), exponents=np.array([[-1.0], [1.0]]))
    program = GeometricProgram(
        names=("x",),
        lower=np.array([0.0]),
        upper=np.array([5.0]),
        levels=(EpigraphRow(posynomial=p, alpha=1.0),),
        capacities=(),
    )
    assert ipopt.solve_posynomial(program).objective == pytest.approx(5.0)


def test_a_model_can_be_changed_and_solved_again() -> None:
    program = one_level_program(REFERENCE, capacity=8192, permutation=REFERENCE_ORDER, fixed={"r": 3, "s": 3})
    model = program.pyomo()
    model.t["k"].fix(math.log(16))
    model.square = pyo.Constraint(expr=model.t["h"] == model.t["w"])
    found = ipopt.solve_model(model)
    assert found.point is PointKind.GLOBAL_OPTIMUM
    assert found.values["t[h]"] == pytest.approx(found.values["t[w]"], abs=1e-9)
    assert "t[k]" not in found.values
    assert program.objective_value(found.objective) > REFERENCE_WORDS
    assert program.objective_value(found.bound) == pytest.approx(program.objective_value(found.objective), rel=1e-6)


def test_a_function_outside_its_domain_is_an_error_status_not_an_exception() -> None:
    model = pyo.ConcreteModel(name="domain")
    model.x = pyo.Var(bounds=(-3, 3), initialize=-2.0)
    model.goal = pyo.Objective(expr=(model.x - 2) ** 2)
    model.row = pyo.Constraint(expr=pyo.log(model.x - 1) * model.x <= 10)
    found = ipopt.solve_model(model)
    assert found.stop is Stop.ERROR
    assert found.point is PointKind.NONE
    inside = ipopt.solve_model(model, start={"x": 1.5})
    assert inside.stop is Stop.OPTIMAL
    assert inside.values["x"] == pytest.approx(2.0, abs=1e-6)


def test_equality_rows_work_in_both_solvers() -> None:
    model = pyo.ConcreteModel(name="circle")
    model.x = pyo.Var(bounds=(0.1, 3), initialize=1.0)
    model.y = pyo.Var(bounds=(0.1, 3), initialize=0.5)
    model.goal = pyo.Objective(expr=model.x + 2 * model.y, sense=pyo.maximize)
    model.circle = pyo.Constraint(expr=model.x**2 + model.y**2 == 5)
    model.band = pyo.Constraint(expr=(0, model.x - model.y, 2))
    for solver in (ipopt, scipy_):
        found = solver.solve_model(model)
        assert found.stop is Stop.OPTIMAL
        assert found.point is PointKind.LOCAL_OPTIMUM
        best = 3 * math.sqrt(2.5)  # on the edge x = y of the band; without it (1, 2) gives 5
        assert found.objective == pytest.approx(best, rel=1e-6)
