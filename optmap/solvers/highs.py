"""HiGHS for linear and mixed-integer Pyomo models, each answer checked again in the model."""

from __future__ import annotations

import time
from collections.abc import Mapping
from math import inf, isfinite
from typing import Any

import pyomo.environ as pyo
from pyomo.common.errors import InfeasibleConstraintException
from pyomo.core.expr.visitor import identify_variables
from pyomo.repn import generate_standard_repn

from optmap.base.errors import InputError
from optmap.solvers.engine import FEASIBLE_POINT, LATE, HighsEngine
from optmap.solvers.from_linear import LinearForm, rows_of
from optmap.solvers.status import PointKind, Solution, Stop

FEASIBILITY = 1e-6
"""Largest violation, relative to 1 + |limit|, at which a point counts as feasible."""

_STOPS = {
    "kOptimal": Stop.OPTIMAL,
    "kInfeasible": Stop.INFEASIBLE,
    "kIterationLimit": Stop.ITERATION_LIMIT,
    "kSolutionLimit": Stop.ITERATION_LIMIT,
}


def solve_model(
    model: Any, *, options: Mapping[str, object] | None = None, time_limit: float | None = None, load: bool = False
) -> Solution:
    """Solve a linear or mixed-integer Pyomo model.

    The bound is HiGHS's own, in floating point: whoever publishes it proves it again exactly.

    Args:
        model: a `ConcreteModel` with one active objective.
        options: HiGHS options, already checked (HiGHS accepts misspelt ones silently).
        time_limit: seconds.
        load: write the point into the model's variables; otherwise the model is left untouched.

    Raises:
        InputError: for a model without exactly one objective, or not linear.
        SolverUnavailableError: without highspy.
    """
    if len(list(model.component_data_objects(pyo.Objective, active=True))) != 1:
        raise InputError(f"model {model.name}: exactly one active objective is needed")
    refuse_nonlinear(model)
    refuse_unbounded(model)
    began = time.perf_counter()
    try:
        form = rows_of(model)
    except InfeasibleConstraintException as error:
        return _nothing(Stop.INFEASIBLE, time.perf_counter() - began, f"HiGHS was not asked: {error}")
    engine = HighsEngine(form.rows, options)
    engine.limit_time(inf if time_limit is None else time_limit)
    status = engine.run()
    solution = _solution(model, form, engine, status, time.perf_counter() - began)
    if load and solution.point is not PointKind.NONE:
        for variable in form.columns:
            variable.set_value(solution.values[variable.name])
    return solution


def refuse_nonlinear(model: Any) -> None:
    """Refuse a model that HiGHS would not read.

    Raises:
        InputError: naming the first expression that is not linear.
    """
    rows = [(c.name, c.body) for c in model.component_data_objects(pyo.Constraint, active=True)]
    goals = [(o.name, o.expr) for o in model.component_data_objects(pyo.Objective, active=True)]
    for name, expression in goals + rows:
        if expression.polynomial_degree() not in (0, 1):
            raise InputError(f"model {model.name}: {name} is not linear; use a solver for form nlp, such as ipopt")


def refuse_unbounded(model: Any) -> None:
    """Refuse a linear model in which a variable can improve the objective without any limit.

    Raises:
        InputError: naming the variable and what to add.
    """
    held = {
        id(variable)
        for row in model.component_data_objects(pyo.Constraint, active=True)
        for variable in identify_variables(row.body, include_fixed=False)
    }
    (goal,) = model.component_data_objects(pyo.Objective, active=True)
    linear = generate_standard_repn(goal.expr, compute_values=True)
    for coefficient, variable in zip(linear.linear_coefs, linear.linear_vars, strict=True):
        falls = (coefficient > 0) == (goal.sense == pyo.minimize)
        if coefficient and (variable.lb if falls else variable.ub) is None and id(variable) not in held:
            raise InputError(
                f"variable {variable.name} is in the objective but bounded by no constraint, and its box "
                f"[{variable.lb}, {variable.ub}] is open: the program may be unbounded; close the box"
            )


def _solution(model: Any, form: LinearForm, engine: HighsEngine, status: str, seconds: float) -> Solution:
    info = engine.native.getInfo()
    stop = Stop.late() if status in LATE else _STOPS.get(status, Stop.ERROR)
    message = f"HiGHS: {status.removeprefix('k')}"
    values: dict[str, float] = {}
    violation = 0.0
    held = info.primal_solution_status == FEASIBLE_POINT
    if held:
        found = engine.native.getSolution().col_value
        values = {variable.name: float(x) for variable, x in zip(form.columns, found, strict=True)}
        violation = _violation(model, values)
        if violation > FEASIBILITY * _scale(model):
            return _nothing(Stop.ERROR, seconds, f"{message}; re-check failed: violation {violation:.3g}", violation)
    optimal = stop is Stop.OPTIMAL
    objective = info.objective_function_value if held else None
    # Without integers there is no tree, and only an optimum bounds anything.
    bound = info.mip_dual_bound if info.mip_node_count != -1 else objective if optimal else None
    return Solution(
        stop=stop,
        point=(PointKind.GLOBAL_OPTIMUM if optimal else PointKind.FEASIBLE) if held else PointKind.NONE,
        objective=None if objective is None else form.sign * objective,
        bound=None if bound is None or not isfinite(bound) else form.sign * bound,
        values=values,
        seconds=seconds,
        iterations=max(0, info.simplex_iteration_count, info.ipm_iteration_count),
        solver="highs",
        message=message,
        violation=violation,
    )


def _nothing(stop: Stop, seconds: float, message: str, violation: float = 0.0) -> Solution:
    return Solution(
        stop=stop,
        point=PointKind.NONE,
        objective=None,
        seconds=seconds,
        solver="highs",
        message=message,
        violation=violation,
    )


def _violation(model: Any, found: Mapping[str, float]) -> float:
    """Largest violation of rows, bounds and integrality, evaluated on a copy of the model."""
    check = model.clone()
    for variable in check.component_data_objects(pyo.Var):  # Pyomo's search for a name is not safe in threads
        if variable.name in found:
            variable.set_value(found[variable.name], skip_validation=True)
    worst = 0.0
    for row in check.component_data_objects(pyo.Constraint, active=True):
        body = pyo.value(row.body)
        worst = max(worst, *_beyond(body, pyo.value(row.lower), pyo.value(row.upper)))
    for variable in check.component_data_objects(pyo.Var, active=True):
        if variable.value is not None:
            worst = max(worst, *_beyond(variable.value, variable.lb, variable.ub))
            if variable.is_integer() or variable.is_binary():
                worst = max(worst, abs(variable.value - round(variable.value)))
    return worst


def _beyond(value: float, lower: float | None, upper: float | None) -> tuple[float, float]:
    return (0.0 if lower is None else lower - value, 0.0 if upper is None else value - upper)


def _scale(model: Any) -> float:
    limits = [
        abs(pyo.value(limit))
        for row in model.component_data_objects(pyo.Constraint, active=True)
        for limit in (row.lower, row.upper)
        if limit is not None
    ]
    return 1.0 + max(limits, default=0.0)
