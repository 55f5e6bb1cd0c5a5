"""Ipopt through cyipopt: a thin adaptor from Pyomo models and geometric programs.

Pyomo's own cyipopt interface needs the ASL library, which neither pip nor Pyomo brings. Here all
derivatives are exact: from the structure where a function is made of exponential terms, by
second-order forward differentiation otherwise (or a limited-memory Hessian, if the options ask).
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from math import exp, inf, isfinite
from typing import Any

import numpy as np

from optmap.base.arrays import Floats
from optmap.base.clock import current
from optmap.base.errors import InputError, SolverUnavailableError
from optmap.programs.posynomial import GeometricProgram
from optmap.solvers.native_output import off_stdout
from optmap.solvers.nlp import ARITHMETIC, Nlp, from_geometric
from optmap.solvers.status import PointKind, Solution, Stop

INSTALL = "pip install cyipopt-wheels==1.7.0.dev0 (Linux x86-64), else pip install cyipopt with a system Ipopt"
DEFAULTS: dict[str, object] = {
    "tol": 1e-10,
    "constr_viol_tol": 1e-12,
    "bound_relax_factor": 0.0,
    "honor_original_bounds": "yes",
    "max_iter": 500,
}
"""Ipopt relaxes bounds by default: capacities came back exceeded; these options stop that."""
FEASIBILITY = 1e-7
"""Largest violation, relative to 1 + |limit|, at which a point counts as feasible."""
PROVED_GAP = 1e-6
"""Distance of objective and dual bound at which a stalled run counts as optimal."""

_STOPS = {
    0: Stop.OPTIMAL,
    1: Stop.OPTIMAL,
    2: Stop.INFEASIBLE,
    6: Stop.OPTIMAL,
    -1: Stop.ITERATION_LIMIT,
    -4: Stop.TIME_LIMIT,
    -5: Stop.TIME_LIMIT,
    5: Stop.TIME_LIMIT,
}
SHORTEST_S = 1e-3
"""Time that Ipopt is given at least, in seconds: it takes no limit of 0."""


def load_cyipopt() -> Any:
    """The cyipopt module.

    Raises:
        SolverUnavailableError: if it cannot be imported; the message has the install command.
    """
    try:
        with off_stdout():
            return importlib.import_module("cyipopt")
    except ImportError as error:
        raise SolverUnavailableError(f"Ipopt is not available ({error}); install it with: {INSTALL}") from error


def solve_model(
    model: Any,
    *,
    options: Mapping[str, object] | None = None,
    start: Mapping[str, float] | None = None,
    time_limit: float | None = None,
    convex: bool = False,
    load: bool = False,
) -> Solution:
    """Solve a Pyomo model with Ipopt.

    Args:
        model: a `ConcreteModel` with one active objective and real variables.
        options: Ipopt options; they replace `DEFAULTS` one by one.
        start: value per variable name; the model's own values otherwise.
        time_limit: seconds.
        convex: that every local optimum is known to be global, where the structure does not show it.
        load: write the point into the model's variables; otherwise the model is left untouched.

    Returns:
        Objective and bound in the model's own unit (logarithms not undone).

    Raises:
        InputError: for a model that is not smooth, unbounded or has no objective.
        SolverUnavailableError: without cyipopt.
    """
    from optmap.solvers.from_model import from_pyomo

    solution = solve_nlp(from_pyomo(model), options=options, start=start, time_limit=time_limit, convex=convex)
    if load and solution.point is not PointKind.NONE:
        import pyomo.environ as pyo  # here: geometric programs are solved without Pyomo

        for variable in model.component_data_objects(pyo.Var, active=True):
            if variable.name in solution.values:
                variable.set_value(solution.values[variable.name])
    return solution


def solve_posynomial(
    program: GeometricProgram,
    *,
    options: Mapping[str, object] | None = None,
    start: Mapping[str, float] | None = None,
) -> Solution:
    """Solve a geometric program with Ipopt, without Pyomo.

    Args:
        program: min z over logarithms t (see `GeometricProgram`).
        options: Ipopt options; they replace `DEFAULTS` one by one.
        start: value of t per variable name (and of `log_z`).

    Returns:
        Objective z and, where the structure is convex in (t, log z), a proved bound; values are
        the t's and `log_z`.

    Raises:
        SolverUnavailableError: without cyipopt.
    """
    found = solve_nlp(from_geometric(program), options=options, start=start, convex=True)
    return with_objective(found, exp)


def with_objective(solution: Solution, change: Any) -> Solution:
    """The solution with objective and bound mapped by an increasing function."""
    objective = None if solution.objective is None else float(change(solution.objective))
    bound = None if solution.bound is None else float(change(solution.bound))
    return replace(solution, objective=objective, bound=bound)


def solve_nlp(
    nlp: Nlp,
    *,
    options: Mapping[str, object] | None = None,
    start: Mapping[str, float] | Floats | None = None,
    time_limit: float | None = None,
    convex: bool = False,
) -> Solution:
    """Solve a smooth program with Ipopt and re-check the point.

    Args:
        nlp: functions with exact derivatives.
        options: Ipopt options; they replace `DEFAULTS` one by one.
        start: value per variable name, or (n,); the program's own start otherwise.
        time_limit: seconds (of processor time before Ipopt 3.14, which has no other clock); never more than the
            answer that is being made has left.
        convex: that every local optimum is known to be global, where the structure does not show it.

    Raises:
        InputError: for an option that Ipopt refuses, or a start that does not fit.
        SolverUnavailableError: without cyipopt.
    """
    cyipopt = load_cyipopt()
    began = time.perf_counter()
    x = start_point(nlp, start)
    if x.size == 0:
        return _without_choice(nlp, x, "ipopt")
    callbacks = _Callbacks(nlp, cyipopt.CyIpoptEvaluationError)
    problem = cyipopt.Problem(
        n=x.size,
        m=len(nlp.rows),
        problem_obj=callbacks,
        lb=nlp.lower,
        ub=nlp.upper,
        cl=nlp.row_lower,
        cu=nlp.row_upper,
    )
    settings: dict[str, object] = {"print_level": 0, "sb": "yes", **DEFAULTS}
    left = min(inf if time_limit is None else time_limit, current().left)
    if isfinite(left):
        settings["max_wall_time" if cyipopt.IPOPT_VERSION >= (3, 14, 0) else "max_cpu_time"] = max(left, SHORTEST_S)
    for name, value in {**settings, **(options or {})}.items():
        try:
            problem.add_option(name, value)
        except TypeError as error:
            raise InputError(f"Ipopt refuses option {name} = {value!r}: {error}") from error
    with off_stdout():
        point, info = problem.solve(x)
    point = np.clip(point, nlp.lower, nlp.upper)
    message = info["status_msg"].decode(errors="replace").strip()
    stop = _STOPS.get(int(info["status"]), Stop.ERROR)
    return judge(
        nlp,
        point,
        stop,
        multipliers=np.asarray(info["mult_g"], dtype=float),
        convex=convex,
        message=message,
        seconds=time.perf_counter() - began,
        iterations=callbacks.iterations,
        solver="ipopt",
    )


def judge(
    nlp: Nlp,
    x: Floats,
    stop: Stop,
    *,
    multipliers: Floats | None,
    convex: bool,
    message: str,
    seconds: float,
    iterations: int,
    solver: str,
) -> Solution:
    """Re-check a point in all constraints and say what it is.

    Args:
        nlp: the program.
        x: (n,) the solver's point.
        stop: why the solver says it stopped.
        multipliers: (m,) row multipliers, from which a convex program gets its proved bound.
        convex: as in `solve_nlp`.
        message: the solver's words.
        seconds: wall-clock time.
        iterations: iterations of the solver.
        solver: name of the solver.
    """
    finite = bool(np.isfinite(x).all())
    try:
        violation = nlp.violation(x) if finite else float("inf")
    except ARITHMETIC:
        finite, violation = False, float("inf")
    feasible = finite and nlp.relative_violation(x) <= FEASIBILITY
    bound = None
    if feasible and multipliers is not None and stop is not Stop.INFEASIBLE:
        bound = nlp.dual_bound(x, multipliers)
    value = float(nlp.values(x)[0]) if feasible else None
    if value is not None and bound is not None:
        if bound - value > FEASIBILITY * max(1.0, abs(value)):
            bound = None  # rows missed by a rounding, times huge multipliers: that is no proof
        elif stop is Stop.ERROR and value - bound <= PROVED_GAP:
            stop = Stop.OPTIMAL
    if not feasible or stop is Stop.INFEASIBLE:
        if stop is Stop.OPTIMAL:
            stop, message = Stop.ERROR, f"{message}; re-check failed: violation {violation:.3g}"
        point = PointKind.NONE
    elif stop is Stop.OPTIMAL:
        point = PointKind.GLOBAL_OPTIMUM if convex or nlp.convex else PointKind.LOCAL_OPTIMUM
    else:
        point = PointKind.FEASIBLE
    held = point is not PointKind.NONE
    return Solution(
        stop=stop,
        point=point,
        objective=nlp.sign * value if held and value is not None else None,
        bound=nlp.sign * bound if bound is not None else None,
        values=dict(zip(nlp.names, x.tolist(), strict=True)) if held else {},
        seconds=seconds,
        iterations=iterations,
        solver=solver,
        message=message,
        violation=violation,
    )


def start_point(nlp: Nlp, start: Mapping[str, float] | Floats | None) -> Floats:
    """The start as an array inside the box.

    Raises:
        InputError: for an unknown variable name or a wrong length.
    """
    if start is None:
        return nlp.start.copy()
    if isinstance(start, Mapping):
        unknown = sorted(set(start) - set(nlp.names))
        if unknown:
            raise InputError(f"start for unknown variable {', '.join(unknown)}; variables are {', '.join(nlp.names)}")
        start = np.array([start.get(name, x) for name, x in zip(nlp.names, nlp.start, strict=True)], dtype=float)
    if start.shape != nlp.start.shape or not np.isfinite(start).all():
        raise InputError(f"start must be {nlp.start.size} finite numbers, got shape {start.shape}")
    return np.asarray(np.clip(start, nlp.lower, nlp.upper), dtype=float)


def _without_choice(nlp: Nlp, x: Floats, solver: str) -> Solution:
    """A program without variables: only a check is left."""
    stop = Stop.OPTIMAL if nlp.relative_violation(x) <= FEASIBILITY else Stop.INFEASIBLE
    return judge(
        nlp, x, stop, multipliers=None, convex=True, message="no variables", seconds=0.0, iterations=0, solver=solver
    )


class _Callbacks:
    """What cyipopt calls: dense first derivatives and the lower triangle of the Hessian."""

    def __init__(self, nlp: Nlp, refusal: type[Exception]) -> None:
        self.nlp = nlp
        self.refusal = refusal
        self.iterations = 0
        self.lower = np.tril_indices(len(nlp.names))
        self._kept: dict[str, tuple[bytes, Floats]] = {}

    def _guarded(self, function: Callable[..., Floats], *arguments: Floats) -> Floats:
        try:
            return function(*arguments)
        except ARITHMETIC as error:  # Ipopt then tries a shorter step
            raise self.refusal(str(error)) from error

    def _once(self, what: str, x: Floats) -> Floats:
        """Values or jacobian at x: objective and rows ask for the same arrays one after the other."""
        key = x.tobytes()
        kept = self._kept.get(what)
        if kept is None or kept[0] != key:
            kept = (key, self._guarded(getattr(self.nlp, what), x))
            self._kept[what] = kept
        return kept[1]

    def objective(self, x: Floats) -> float:
        return float(self._once("values", x)[0])

    def gradient(self, x: Floats) -> Floats:
        return np.asarray(self._once("jacobian", x)[0])

    def constraints(self, x: Floats) -> Floats:
        return np.asarray(self._once("values", x)[1:])

    def jacobian(self, x: Floats) -> Floats:
        return np.asarray(self._once("jacobian", x)[1:].ravel())

    def hessianstructure(self) -> tuple[Any, Any]:
        return self.lower

    def hessian(self, x: Floats, multipliers: Floats, factor: float) -> Floats:
        full = self._guarded(self.nlp.hessian, x, np.concatenate(([factor], multipliers)))
        return np.asarray(full[self.lower])

    def intermediate(self, *progress: Any) -> bool:
        self.iterations = int(progress[1])
        return not current().late
