"""Pyomo models as the arrays and functions of `nlp`; apart from it, so that only models load Pyomo."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Any

import numpy as np
import pyomo.environ as pyo

from optmap.base.arrays import Floats
from optmap.base.errors import InputError
from optmap.solvers.expression_terms import NotTermsError, term_function
from optmap.solvers.forward import ForwardFunction, check_differentiable
from optmap.solvers.nlp import Nlp, assemble, refuse_unbounded
from optmap.solvers.terms import TermFunction


def from_pyomo(model: Any) -> Nlp:
    """Read a Pyomo model: every expression is walked once.

    Raises:
        InputError: without exactly one active objective, for integer variables, an unbounded
            variable in a program without constraints on it, or an expression that is not smooth.
    """
    objectives = list(model.component_data_objects(pyo.Objective, active=True))
    if len(objectives) != 1:
        raise InputError(f"model {model.name}: {len(objectives)} active objectives; exactly one is needed")
    sign = 1.0 if objectives[0].sense == pyo.minimize else -1.0
    constraints = list(model.component_data_objects(pyo.Constraint, active=True))
    variables = [v for v in model.component_data_objects(pyo.Var, active=True) if not v.is_fixed()]
    if any(not v.is_continuous() for v in variables):
        raise InputError(f"model {model.name}: integer variables need a MILP solver, or relax them first")
    positions = {id(v): i for i, v in enumerate(variables)}
    lower = np.array([-inf if v.lb is None else float(v.lb) for v in variables])
    upper = np.array([inf if v.ub is None else float(v.ub) for v in variables])
    expressions = [sign * objectives[0].expr, *(c.body for c in constraints)]
    functions = _functions(expressions, positions, lower)
    nlp = assemble(functions, len(variables))
    row_lower = np.array([-inf if c.lower is None else float(pyo.value(c.lower)) for c in constraints])
    row_upper = np.array([inf if c.upper is None else float(pyo.value(c.upper)) for c in constraints])
    program = Nlp(
        names=tuple(v.name for v in variables),
        lower=lower,
        upper=upper,
        start=_start([v.value for v in variables], lower, upper),
        stack=nlp[0],
        generic=nlp[1],
        place=nlp[2],
        rows=tuple(c.name for c in constraints),
        row_lower=row_lower,
        row_upper=row_upper,
        sign=sign,
    )
    refuse_unbounded(program)
    return program


def _functions(
    expressions: list[Any], positions: Mapping[int, int], lower: Floats
) -> list[TermFunction | ForwardFunction]:
    positive = frozenset(int(i) for i in np.flatnonzero(lower > 0))
    found: list[TermFunction | ForwardFunction] = []
    for expression in expressions:
        try:
            found.append(term_function(expression, positions, positive))
        except NotTermsError:
            check_differentiable(expression)
            found.append(ForwardFunction(expression, positions))
    return found


def _start(values: list[float | None], lower: Floats, upper: Floats) -> Floats:
    low = np.where(np.isfinite(lower), lower, np.where(np.isfinite(upper), upper - 1.0, 0.0))
    high = np.where(np.isfinite(upper), upper, low + 1.0)
    middle = 0.5 * (low + high)
    given = np.array([np.nan if v is None else float(v) for v in values])
    return np.asarray(np.clip(np.where(np.isnan(given), middle, given), lower, upper))
