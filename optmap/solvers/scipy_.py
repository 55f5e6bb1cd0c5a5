"""SciPy's SLSQP: the fallback for smooth programs where Ipopt is missing."""

from __future__ import annotations

import time
from collections.abc import Mapping
from math import exp
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from optmap.base.arrays import Floats
from optmap.programs.posynomial import GeometricProgram
from optmap.solvers.from_model import from_pyomo
from optmap.solvers.ipopt import judge, start_point, with_objective
from optmap.solvers.nlp import Nlp, from_geometric
from optmap.solvers.status import Solution, Stop

DEFAULTS: dict[str, object] = {"ftol": 1e-12, "maxiter": 1000}
_STOPS = {0: Stop.OPTIMAL, 4: Stop.INFEASIBLE, 9: Stop.ITERATION_LIMIT}


def solve_model(
    model: Any,
    *,
    options: Mapping[str, object] | None = None,
    start: Mapping[str, float] | None = None,
    convex: bool = False,
) -> Solution:
    """Solve a smooth Pyomo model with SLSQP; the model is left untouched.

    Args:
        model: a `ConcreteModel` with one active objective and real variables.
        options: SLSQP options; they replace `DEFAULTS` one by one.
        start: value per variable name; the model's own values otherwise.
        convex: that every local optimum is known to be global, where the structure does not show it.

    Raises:
        InputError: for a model that is not smooth, unbounded or has no objective.
    """
    return solve_nlp(from_pyomo(model), options=options, start=start, convex=convex)


def solve_posynomial(
    program: GeometricProgram,
    *,
    options: Mapping[str, object] | None = None,
    start: Mapping[str, float] | None = None,
) -> Solution:
    """Solve a geometric program with SLSQP; as `optmap.solvers.ipopt.solve_posynomial`, without bound."""
    return with_objective(solve_nlp(from_geometric(program), options=options, start=start, convex=True), exp)


def solve_nlp(
    nlp: Nlp,
    *,
    options: Mapping[str, object] | None = None,
    start: Mapping[str, float] | Floats | None = None,
    convex: bool = False,
) -> Solution:
    """Solve a smooth program with SLSQP and re-check the point; arguments as for Ipopt."""
    began = time.perf_counter()
    x = start_point(nlp, start)
    upper = np.flatnonzero(np.isfinite(nlp.row_upper))
    lower = np.flatnonzero(np.isfinite(nlp.row_lower) & (nlp.row_lower != nlp.row_upper))
    equal = np.flatnonzero(np.isfinite(nlp.row_lower) & (nlp.row_lower == nlp.row_upper))
    upper = np.setdiff1d(upper, equal)
    constraints = [
        _rows(nlp, upper, nlp.row_upper, -1.0, "ineq"),
        _rows(nlp, lower, nlp.row_lower, 1.0, "ineq"),
        _rows(nlp, equal, nlp.row_lower, 1.0, "eq"),
    ]
    merged: Any = {**DEFAULTS, **(options or {})}
    kept: Any = [c for c in constraints if c["count"]]
    run: Any = minimize  # the stubs know no dictionaries of options
    # Each row's values at slightly infeasible iterates may overflow; SLSQP steps back by itself.
    with np.errstate(all="ignore"):
        found = run(
            lambda y: float(nlp.values(_inside(nlp, y))[0]),
            x,
            jac=lambda y: nlp.jacobian(_inside(nlp, y))[0],
            bounds=list(zip(nlp.lower, nlp.upper, strict=True)),
            constraints=kept,
            method="SLSQP",
            options=merged,
        )
    return judge(
        nlp,
        _inside(nlp, np.asarray(found.x, dtype=float)),
        _STOPS.get(int(found.status), Stop.ERROR),
        multipliers=None,
        convex=convex,
        message=str(found.message),
        seconds=time.perf_counter() - began,
        iterations=int(found.nit),
        solver="scipy_slsqp",
    )


def _inside(nlp: Nlp, x: Floats) -> Floats:
    return np.asarray(np.clip(x, nlp.lower, nlp.upper))


def _rows(nlp: Nlp, index: NDArray[np.intp], limit: Floats, sign: float, kind: str) -> dict[str, Any]:
    """Rows as `sign * (f - limit) >= 0` (or = 0)."""
    return {
        "type": kind,
        "count": index.size,
        "fun": lambda y: sign * (nlp.values(_inside(nlp, y))[1:][index] - limit[index]),
        "jac": lambda y: sign * nlp.jacobian(_inside(nlp, y))[1:][index],
    }
