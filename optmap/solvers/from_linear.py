"""Linear and mixed-integer Pyomo models as the arrays that HiGHS takes."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.repn.plugins.standard_form import LinearStandardFormCompiler

from optmap.solvers.engine import LinearRows


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearForm:
    """A model as a program to be minimised."""

    rows: LinearRows
    columns: tuple[Any, ...]
    """The Pyomo variable of every column."""
    sign: int
    """1, or -1 for a model that is maximised: the program's objective is this times the model's."""


def rows_of(model: Any) -> LinearForm:
    """Read a linear model with one active objective.

    Raises:
        pyomo.common.errors.InfeasibleConstraintException: for a constraint without variables that does not hold.
    """
    form = LinearStandardFormCompiler().write(model, mixed_form=True, set_sense=pyo.minimize)
    matrix = form.A.tocsr()
    kinds = np.array([row.bound_type for row in form.rows], dtype=int)
    limits = np.asarray(form.rhs, dtype=float)
    rows = LinearRows(
        cost=np.asarray(form.c.todense(), dtype=float).ravel(),
        offset=float(np.ravel(form.c_offset)[0]),
        lower=np.array([-inf if v.lb is None else v.lb for v in form.columns], dtype=float),
        upper=np.array([inf if v.ub is None else v.ub for v in form.columns], dtype=float),
        row_lower=np.where(kinds == 1, -inf, limits),
        row_upper=np.where(kinds == -1, inf, limits),
        start=matrix.indptr,
        index=matrix.indices,
        value=matrix.data,
        whole=np.array([not v.is_continuous() for v in form.columns], dtype=bool),
    )
    (goal,) = form.objectives
    return LinearForm(rows=rows, columns=tuple(form.columns), sign=1 if goal.sense == pyo.minimize else -1)


def _set_up() -> None:
    """Have Pyomo do what it does at its first use, where threads would meet: a module is imported by one alone."""
    model = pyo.ConcreteModel()
    model.x = pyo.Var(bounds=(0, 1))
    model.goal = pyo.Objective(expr=model.x)
    rows_of(model)


_set_up()
