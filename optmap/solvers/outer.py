"""Outer approximation with HiGHS: a mixed-integer linear model kept in the solver, with tangents added where it stands.

A model of Pyomo has pairs of variables (x, v) of which x is at least the exponential of v. Tangents of the
exponential are rows below it, so every optimum is a lower bound; new ones are added at the points that HiGHS finds.
Rows come and go without building the model again. Bounds are HiGHS's, in floating point, with its tolerances taken off.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, inf, isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyomo.repn.plugins.standard_form import LinearStandardFormCompiler

from optmap.errors import InputError, SolverUnavailableError
from optmap.solvers.config import load_config
from optmap.solvers.loading import load_highs
from optmap.solvers.status import Stop

MARGIN = 1e-4
"""Taken off every bound, relative: HiGHS keeps rows to 1e-6, of which a log adds up some tens, and calls whole what is
1e-6 from it, which a switch multiplies by up to a hundred."""
NEAR = 1e-7
"""A tangent is added where a variable is that much below the exponential, relative to 1."""
LOWEST = -20.0
"""No tangent is taken below this: a term that is switched off stands below it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OuterPoint:
    """What HiGHS found for the rows that it had."""

    stop: Stop
    """Infeasible: no point is better than the cutoff."""
    values: dict[str, float] | None
    """None without a point."""
    bound: float
    """On the model's objective, before tolerances; -inf without one."""


class OuterModel:
    """A model in HiGHS, with rows that are added."""

    def __init__(self, model: Any, curves: Sequence[tuple[str, str]]) -> None:
        """Pass a model to HiGHS.

        Args:
            model: a linear `ConcreteModel` with one objective to minimise.
            curves: names (x, v) of variables with x >= exp(v), as the model's tangents say in part.

        Raises:
            InputError: if `solvers.cfg` gives another solver for `milp`, or the model is not linear.
            SolverUnavailableError: without highspy.
        """
        config = load_config()
        if config.forms["milp"].solver != "highs":
            raise InputError("solvers.cfg: [milp] tangents are added with highs only; set solver = highs")
        self._highspy = load_highs()
        self._highs = self._highspy.Highs()
        self._highs.setOptionValue("output_flag", False)
        options = config.options.get("highs", {})
        for key, value in options.items():
            self._set(key, value)
        self._presolve, self._as_whole = str(options.get("presolve", "choose")), True
        form = LinearStandardFormCompiler().write(model, mixed_form=True)
        self.names = [variable.name for variable in form.columns]
        self._number = {name: place for place, name in enumerate(self.names)}
        self._whole = np.array([not variable.is_continuous() for variable in form.columns])
        self._pass(form)
        known = self._number
        self._curves = [(known[x], known[v]) for x, v in curves if x in known and v in known]

    def _set(self, key: str, value: object) -> None:
        if self._highs.setOptionValue(key, value) != self._highspy.HighsStatus.kOk:
            raise InputError(f"solvers.cfg: [highs] {key} = {value} is refused by HiGHS")

    def _pass(self, form: Any) -> None:
        highspy, matrix = self._highspy, form.A.tocsr()
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = matrix.shape[1], matrix.shape[0]
        lp.col_cost_ = np.asarray(form.c.todense()).ravel()
        lp.offset_ = float(np.ravel(form.c_offset)[0])
        lp.col_lower_ = np.array([-inf if v.lb is None else v.lb for v in form.columns])
        lp.col_upper_ = np.array([inf if v.ub is None else v.ub for v in form.columns])
        kinds = np.array([row.bound_type for row in form.rows])
        lp.row_lower_ = np.where(kinds == 1, -inf, form.rhs)
        lp.row_upper_ = np.where(kinds == -1, inf, form.rhs)
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = matrix.indptr, matrix.indices, matrix.data
        kind = highspy.HighsVarType
        lp.integrality_ = [kind.kInteger if whole else kind.kContinuous for whole in self._whole]
        if self._highs.passModel(lp) == highspy.HighsStatus.kError:
            raise SolverUnavailableError("HiGHS refuses the model; please report it")

    def add_row(self, coefficients: Mapping[str, float], lower: float, upper: float) -> None:
        """A new row; names that the model has not are constants that were left out and must not occur."""
        numbers = np.array([self._number[name] for name in coefficients], dtype=np.int32)
        self._highs.addRow(lower, upper, len(numbers), numbers, np.array(list(coefficients.values())))

    def cut_off(self, objective: float) -> None:
        """Look only for points whose objective is at most this."""
        self._set("objective_bound", float(objective))
        lp = self._highs.getLp()
        cost = np.asarray(lp.col_cost_)
        used = np.flatnonzero(cost)
        self._highs.addRow(-inf, objective - lp.offset_, len(used), used.astype(np.int32), cost[used])

    def tighten(self, values: NDArray[np.float64] | Mapping[str, float]) -> int:
        """Add tangents of exponentials at a point; how many."""
        at = self._array(values)
        added = 0
        for x, v in self._curves:
            where = max(at[v], LOWEST)
            if exp(where) - at[x] > NEAR * max(1.0, exp(where)) and isfinite(where):
                slope = exp(min(where, 50.0))
                where = min(where, 50.0)
                self._highs.addRow(
                    slope * (1 - where), inf, 2, np.array([x, v], dtype=np.int32), np.array([1.0, -slope])
                )
                added += 1
        return added

    def _array(self, values: NDArray[np.float64] | Mapping[str, float]) -> NDArray[np.float64]:
        if isinstance(values, Mapping):
            return np.array([values[name] for name in self.names])
        return values

    def restrict(self, fixed: Mapping[str, float], free: Iterable[str]) -> None:
        """Fix some binaries; others of them are free again."""
        for name in free:
            value = fixed.get(name)
            self._highs.changeColBounds(self._number[name], *((0.0, 1.0) if value is None else (value, value)))

    def relax(self, *, rounds: int, deadline: float) -> float:
        """Solve without integrality, adding tangents; they stay.

        Returns:
            A bound on the objective: infinite if nothing is below the cutoff, -inf without one.
        """
        self._integral(whole=False)
        last = -inf
        for _ in range(rounds):
            self._limit(deadline)
            self._highs.run()
            status, kinds = self._highs.getModelStatus(), self._highspy.HighsModelStatus
            if status in (kinds.kInfeasible, kinds.kObjectiveBound):
                last = inf
            if status != kinds.kOptimal:
                break
            last = self._highs.getInfo().objective_function_value
            if time.monotonic() > deadline or not self.tighten(np.array(self._highs.getSolution().col_value)):
                break
        return last

    def _integral(self, *, whole: bool) -> None:
        """Switch between the program and its linear relaxation, which keeps its basis from one solve to the next."""
        if whole == self._as_whole:
            return
        kind = self._highspy.HighsVarType
        kinds = [kind.kInteger if whole and integer else kind.kContinuous for integer in self._whole]
        every = np.arange(len(self.names), dtype=np.int32)
        self._highs.changeColsIntegrality(len(every), every, np.array(kinds))
        self._highs.setOptionValue("presolve", self._presolve if whole else "off")
        self._as_whole = whole

    def solve(self, *, gap: float, deadline: float, start: Mapping[str, float] | None = None) -> OuterPoint:
        """Solve with the rows that there are.

        Args:
            gap: relative, at which HiGHS may stop.
            deadline: `time.monotonic()` value.
            start: values of some variables to complete.
        """
        self._integral(whole=True)
        self._set("mip_rel_gap", gap)
        self._limit(deadline)
        if start:
            known = {self._number[name]: value for name, value in start.items() if name in self._number}
            self._highs.setSolution(
                len(known), np.array(list(known), dtype=np.int32), np.array(list(known.values()), dtype=np.float64)
            )
        self._highs.run()
        status, kinds = self._highs.getModelStatus(), self._highspy.HighsModelStatus
        info = self._highs.getInfo()
        if status in (kinds.kInfeasible, kinds.kObjectiveBound):
            return OuterPoint(stop=Stop.INFEASIBLE, values=None, bound=inf)
        held = info.primal_solution_status == 2
        values = dict(zip(self.names, self._highs.getSolution().col_value, strict=True)) if held else None
        stop = {kinds.kOptimal: Stop.OPTIMAL, kinds.kTimeLimit: Stop.TIME_LIMIT}.get(status, Stop.ERROR)
        return OuterPoint(stop=stop, values=values, bound=float(info.mip_dual_bound))

    def _limit(self, deadline: float) -> None:
        left = deadline - time.monotonic()
        self._highs.setOptionValue("time_limit", max(0.1, left) if isfinite(left) else inf)
