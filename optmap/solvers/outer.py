"""Outer approximation with HiGHS: a mixed-integer linear model kept in the solver, with tangents added where it stands.

A model of Pyomo has pairs of variables (x, v) of which x is at least the exponential of v. Tangents of the
exponential are rows below it, so every optimum is a lower bound; new ones are added at the points that HiGHS finds.
Rows come and go without building the model again. Bounds are HiGHS's, in floating point, with its tolerances taken off.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, inf, isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optmap.base.clock import Clock
from optmap.base.errors import InputError
from optmap.solvers.config import load_config
from optmap.solvers.engine import FEASIBLE_POINT, LATE, HighsEngine
from optmap.solvers.from_linear import rows_of
from optmap.solvers.status import Stop

MARGIN = 1e-4
"""Taken off every bound, relative: HiGHS keeps rows to 1e-6, of which a log adds up some tens, and calls whole what is
1e-6 from it, which a switch multiplies by up to a hundred."""
NEAR = 1e-7
"""A tangent is added where a variable is that much below the exponential, relative to 1."""
LOWEST = -20.0
"""No tangent is taken below this: a term that is switched off stands below it."""
BEYOND = ("kInfeasible", "kObjectiveBound")
"""HiGHS's words for: no point is better than the cutoff."""


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
        options = config.options.get("highs", {})
        self._presolve, self._as_whole = str(options.get("presolve", "choose")), True
        form = rows_of(model)
        self.names = [variable.name for variable in form.columns]
        self._number = {name: place for place, name in enumerate(self.names)}
        self._whole = form.rows.whole
        self._engine = HighsEngine(form.rows, options)
        self._highs = self._engine.native
        known = self._number
        self._curves = [(known[x], known[v]) for x, v in curves if x in known and v in known]

    def add_row(self, coefficients: Mapping[str, float], lower: float, upper: float) -> None:
        """A new row; names that the model has not are constants that were left out and must not occur."""
        numbers = np.array([self._number[name] for name in coefficients], dtype=np.int32)
        self._highs.addRow(lower, upper, len(numbers), numbers, np.array(list(coefficients.values())))

    def cut_off(self, objective: float) -> None:
        """Look only for points whose objective is at most this."""
        self._engine.set("objective_bound", float(objective))
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

    def relax(self, *, rounds: int, clock: Clock) -> float:
        """Solve without integrality, adding tangents; they stay.

        Args:
            rounds: of tangents, at most.
            clock: when to stop.

        Returns:
            A bound on the objective: infinite if nothing is below the cutoff, -inf without one.
        """
        self._integral(whole=False)
        last = -inf
        for _ in range(rounds):
            self._engine.limit_time(clock.left)
            status = self._engine.run()
            if status in BEYOND:
                last = inf
            if status != "kOptimal":
                break
            last = self._highs.getInfo().objective_function_value
            if clock.late or not self.tighten(np.array(self._highs.getSolution().col_value)):
                break
        return last

    def _integral(self, *, whole: bool) -> None:
        """Switch between the program and its linear relaxation, which keeps its basis from one solve to the next."""
        if whole == self._as_whole:
            return
        self._engine.integers(self._whole & whole)
        self._engine.set("presolve", self._presolve if whole else "off")
        self._as_whole = whole

    def solve(self, *, gap: float, seconds: float, start: Mapping[str, float] | None = None) -> OuterPoint:
        """Solve with the rows that there are.

        Args:
            gap: relative, at which HiGHS may stop.
            seconds: that it may take.
            start: values of some variables to complete.
        """
        self._integral(whole=True)
        self._engine.set("mip_rel_gap", gap)
        self._engine.limit_time(seconds)
        if start:
            known = {self._number[name]: value for name, value in start.items() if name in self._number}
            self._highs.setSolution(
                len(known), np.array(list(known), dtype=np.int32), np.array(list(known.values()), dtype=np.float64)
            )
        status = self._engine.run()
        info = self._highs.getInfo()
        if status in BEYOND:
            return OuterPoint(stop=Stop.INFEASIBLE, values=None, bound=inf)
        held = info.primal_solution_status == FEASIBLE_POINT
        values = dict(zip(self.names, self._highs.getSolution().col_value, strict=True)) if held else None
        stop = Stop.OPTIMAL if status == "kOptimal" else Stop.late() if status in LATE else Stop.ERROR
        return OuterPoint(stop=stop, values=values, bound=float(info.mip_dual_bound))
