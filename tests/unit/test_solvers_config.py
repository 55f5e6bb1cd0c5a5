"""solvers.cfg, the registry, HiGHS and the doctor: nothing unknown passes silently."""

from pathlib import Path

import pyomo.environ as pyo
import pytest

from optmap.base.errors import InputError, SolverUnavailableError, UnknownNameError
from optmap.programs import Form, Program, Sense, Variable, log_tiling_program, one_level_program
from optmap.solvers import OPTIONS, SOLVERS, PointKind, Stop, highs, load_config, solve
from optmap.solvers.doctor import doctor
from optmap.workloads.builders import conv2d, matmul


def write(folder: Path, text: str) -> Path:
    path = folder / "mine.cfg"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_shipped_configuration_is_valid_and_strict_about_capacities() -> None:
    config = load_config()
    assert {form: entry.solver for form, entry in config.forms.items()} == {
        "lp": "highs",
        "milp": "highs",
        "nlp": "ipopt",
        "geometric": "ipopt",
        "relaxation": "batch",
    }
    assert config.options["ipopt"] == {
        "bound_relax_factor": 0.0,
        "honor_original_bounds": "yes",
        "constr_viol_tol": 1e-12,
        "tol": 1e-10,
        "max_iter": 500,
    }


def test_a_users_file_overrides_key_by_key(tmp_path: Path) -> None:
    path = write(tmp_path, "[geometric]\nsolver = scipy_slsqp\n[ipopt]\nmax_iter = 7\n")
    config = load_config(path)
    assert config.forms["geometric"].solver == "scipy_slsqp"
    assert config.forms["geometric"].time_limit is None
    assert config.forms["lp"].solver == "highs"
    assert config.options["ipopt"]["max_iter"] == 7
    assert config.options["ipopt"]["tol"] == 1e-10
    program = one_level_program(matmul(i=50, j=50, k=50), capacity=200, permutation=("i", "j", "k"))
    assert solve(program, config).solver == "scipy_slsqp"
    assert solve(program, config, solver="ipopt").iterations <= 7


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[ipop]\ntol = 1\n", r"unknown section 'ipop'; did you mean ipopt\?"),
        ("[relaxation]\nsolver = bach\n", r"unknown solver 'bach'; did you mean batch\?"),
        ("[relaxation]\nsolver = batch\ntime_limit = 5\n", r"\[relaxation\]: unknown key 'time_limit'"),
        ("[ipopt]\ntoll = 1\n", r"\[ipopt\]: unknown option 'toll'; did you mean tol\?"),
        ("[highs]\nmip_relgap = 1\n", r"did you mean mip_rel_gap\?"),
        ("[lp]\nsolver = hihgs\n", r"\[lp\]: unknown solver 'hihgs'; did you mean highs\?"),
        ("[lp]\nsolver = highs\ntimelimit = 3\n", r"\[lp\]: unknown key 'timelimit'; did you mean time_limit\?"),
        ("[DEFAULT]\ntol = 1\n", "section DEFAULT is not used"),
    ],
)
def test_unknown_names_suggest_the_nearest(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UnknownNameError, match=message):
        load_config(write(tmp_path, text))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[ipopt]\ntol = small\n", "must be a number"),
        ("[ipopt]\nmax_iter = 2.5\n", "must be a whole number"),
        ("[ipopt]\ntol = nan\n", "must be finite"),
        ("[ipopt]\nhonor_original_bounds = true\n", "must be one of yes, no"),
        ("[lp]\nsolver = highs\ntime_limit = 0\n", "above 0 seconds"),
        ("[lp]\ntime_limit = 1\n", "has no solver"),
        ("[nlp]\nsolver = ipopt\nsolver = ipopt\n", "cannot read"),
        ("tol = 1\n", "cannot read"),
    ],
)
def test_wrong_values_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_config(write(tmp_path, text))


def test_a_missing_file_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read solver configuration"):
        load_config(tmp_path / "absent.cfg")


def test_every_option_in_the_table_is_known_to_its_solver() -> None:
    import cyipopt
    import highspy

    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    for option in OPTIONS["highs"]:
        assert solver.getOptionType(option)[0] == highspy.HighsStatus.kOk, option

    class Callbacks:
        def objective(self, x):
            return 0.0

        def gradient(self, x):
            return x

        def constraints(self, x):
            return x

        def jacobian(self, x):
            return x

    problem = cyipopt.Problem(n=1, m=1, problem_obj=Callbacks(), lb=[0], ub=[1], cl=[0], cu=[1])
    samples = {int: 1, float: 0.5}
    for option, kind in OPTIONS["ipopt"].items():
        if option != "linear_solver":  # which of them exist depends on the build
            problem.add_option(option, kind[0] if isinstance(kind, tuple) else samples[kind])


def test_options_of_a_call_are_checked_as_well() -> None:
    program = one_level_program(matmul(i=8, j=8, k=8), capacity=60, permutation=("i", "j", "k"))
    with pytest.raises(UnknownNameError, match="did you mean max_iter"):
        solve(program, options={"maxiter": 3})
    with pytest.raises(UnknownNameError, match="did you mean ipopt"):
        solve(program, solver="ipot")
    with pytest.raises(InputError, match="HiGHS cannot solve form geometric; solvers that can: ipopt, scipy_slsqp"):
        solve(program, solver="highs")


def test_log_tiling_lp_of_matmul() -> None:
    program = log_tiling_program(matmul(i=2000, j=1500, k=1500), capacity=1024)
    found = solve(program)
    assert found.stop is Stop.OPTIMAL
    assert found.point is PointKind.GLOBAL_OPTIMUM
    assert found.objective == pytest.approx(1024**1.5)
    assert found.bound == pytest.approx(1024**1.5)
    assert program.read_back(found.values) == pytest.approx({"T[i]": 32.0, "T[j]": 32.0, "T[k]": 32.0})
    with pytest.raises(InputError, match="projective"):
        log_tiling_program(conv2d(c=4, k=4, h=8, w=8, r=3, s=3), capacity=1024)
    with pytest.raises(InputError, match="at least 1"):
        log_tiling_program(matmul(i=2, j=2, k=2), capacity=0.5)


def test_a_short_dim_fills_up_and_the_others_grow() -> None:
    program = log_tiling_program(matmul(i=4, j=1500, k=1500), capacity=1024)
    found = solve(program)
    assert found.objective == pytest.approx(4 * 1024)  # j*k is held to 1024, i to its extent


def knapsack(bound: int = 10) -> Program:
    def build() -> pyo.ConcreteModel:
        model = pyo.ConcreteModel(name="knapsack")
        model.x = pyo.Var([0, 1, 2], bounds=(0, 3), domain=pyo.Integers)
        model.weight = pyo.Constraint(expr=5 * model.x[0] + 4 * model.x[1] + 3 * model.x[2] <= bound)
        model.least = pyo.Constraint(expr=model.x[0] + model.x[1] >= 1)
        model.value = pyo.Objective(expr=8 * model.x[0] + 7 * model.x[1] + 4 * model.x[2], sense=pyo.maximize)
        return model

    return Program(
        name="knapsack",
        form=Form.MILP,
        convex=False,
        sense=Sense.MAXIMIZE,
        variables=tuple(Variable(name=f"x[{i}]", quantity=f"x[{i}]", lower=0, upper=3, integer=True) for i in range(3)),
        build=build,
    )


def test_a_small_milp_equals_enumeration() -> None:
    program = knapsack()
    found = solve(program)
    best = max(
        8 * a + 7 * b + 4 * c
        for a in range(4)
        for b in range(4)
        for c in range(4)
        if 5 * a + 4 * b + 3 * c <= 10 and a + b >= 1
    )
    assert found.stop is Stop.OPTIMAL
    assert found.objective == pytest.approx(best)
    assert found.bound == pytest.approx(best)
    values = program.read_back(found.values)
    assert all(value.is_integer() for value in values.values())
    with pytest.raises(InputError, match="must be a whole number"):
        program.read_back({**found.values, "x[0]": 0.5})


def test_infeasible_unbounded_and_nonlinear_models_are_told_apart() -> None:
    found = solve(knapsack(bound=1))
    assert found.stop is Stop.INFEASIBLE
    assert found.point is PointKind.NONE
    assert found.values == {}
    model = pyo.ConcreteModel(name="open")
    model.x = pyo.Var(bounds=(0, None))
    model.goal = pyo.Objective(expr=model.x, sense=pyo.maximize)
    with pytest.raises(InputError, match=r"variable x .*may be unbounded"):
        highs.solve_model(model)
    model = pyo.ConcreteModel(name="curved")
    model.x = pyo.Var(bounds=(0, 1))
    model.goal = pyo.Objective(expr=model.x**2)
    with pytest.raises(InputError, match="goal is not linear"):
        highs.solve_model(model)


def test_a_highs_limit_is_reported_as_a_limit() -> None:
    program = log_tiling_program(matmul(i=2000, j=1500, k=1500), capacity=1024)
    found = solve(program, options={"simplex_iteration_limit": 0, "presolve": "off"})
    assert found.stop is Stop.ITERATION_LIMIT
    assert found.point in (PointKind.NONE, PointKind.FEASIBLE)


def test_highs_writes_into_the_model_only_if_asked() -> None:
    model = knapsack().pyomo()
    found = highs.solve_model(model)
    assert all(v.value is None for v in model.x.values())
    highs.solve_model(model, load=True)
    assert pyo.value(model.value) == pytest.approx(found.objective)


def test_a_missing_solver_is_reported_with_its_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "highspy", None)
    with pytest.raises(SolverUnavailableError, match="pip install highspy"):
        solve(knapsack())
    report = next(r for r in doctor() if r.name == "highs")
    assert not report.available
    assert not report.passed
    assert report.install == "pip install highspy"
    assert report.version == ""
    assert "highspy" in report.message


def test_the_doctor_solves_a_sample_with_every_solver() -> None:
    reports = doctor()
    assert [r.name for r in reports] == list(SOLVERS)
    for report in reports:
        assert report.available, report.message
        assert report.passed, report
        assert report.value == pytest.approx(report.expected, rel=1e-6)
    ipopt = next(r for r in reports if r.name == "ipopt")
    assert "Ipopt 3." in ipopt.version
    assert "mumps" in ipopt.version
