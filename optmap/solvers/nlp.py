"""A smooth program as arrays and functions: what Ipopt and SLSQP are given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from optmap.base.arrays import Floats
from optmap.base.errors import InputError
from optmap.programs.posynomial import EpigraphRow, GeometricProgram, Posynomial
from optmap.solvers.terms import TermFunction, Terms, TermStack

if TYPE_CHECKING:
    from optmap.solvers.forward import ForwardFunction


ARITHMETIC = (ValueError, ZeroDivisionError, OverflowError)
"""What a function raises outside its domain: the logarithm of a negative number, 1/0."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Nlp:
    """Minimise f_0(x) subject to row_lower <= f_1..m(x) <= row_upper and the box.

    Function i is `stack.functions[k]` or `generic[k]`, as `place[i]` says; function 0 is the
    objective, negated if the model maximises.
    """

    names: tuple[str, ...]
    """The n variables."""
    lower: Floats
    upper: Floats
    start: Floats
    """(n,): a point of the box."""
    stack: TermStack
    """Functions made of exponential terms (and linear ones)."""
    generic: tuple[ForwardFunction, ...]
    """All others."""
    place: tuple[tuple[bool, int], ...]
    """(is generic, position) per function, objective first."""
    rows: tuple[str, ...]
    """Names of the m rows."""
    row_lower: Floats
    row_upper: Floats
    sign: float = 1.0
    """-1 if the objective was negated."""

    def values(self, x: Floats) -> Floats:
        """(1 + m,) values of the objective and the rows."""
        return self._assemble(self.stack.value(x), [f.jet(x)[0] for f in self.generic])

    def jacobian(self, x: Floats) -> Floats:
        """(1 + m, n) gradients."""
        return self._assemble(self.stack.jacobian(x), [f.jet(x)[1] for f in self.generic])

    def hessian(self, x: Floats, multipliers: Floats) -> Floats:
        """(n, n) Hessian of the sum of the functions times `multipliers` (1 + m,)."""
        weights = np.zeros(len(self.stack.functions))
        total = np.zeros((x.size, x.size))
        for multiplier, (is_generic, k) in zip(multipliers, self.place, strict=True):
            if is_generic:
                total += multiplier * self.generic[k].jet(x)[2]
            else:
                weights[k] = multiplier
        return np.asarray(total + self.stack.hessian(x, weights))

    def violation(self, x: Floats) -> float:
        """Largest violation of a row or bound at x, in the row's own unit."""
        rows = self.values(x)[1:]
        gaps = (self.row_lower - rows, rows - self.row_upper, self.lower - x, x - self.upper)
        return float(max((gap.max(initial=0.0) for gap in gaps), default=0.0))

    def relative_violation(self, x: Floats) -> float:
        """Largest violation of a row or bound at x, divided by 1 + |its limit|."""
        rows = self.values(x)[1:]
        worst = 0.0
        for limit, gap in (
            (self.row_lower, self.row_lower - rows),
            (self.row_upper, rows - self.row_upper),
            (self.lower, self.lower - x),
            (self.upper, x - self.upper),
        ):
            there = np.isfinite(limit)
            worst = max(worst, float((gap[there] / (1 + np.abs(limit[there]))).max(initial=0.0)))
        return worst

    @property
    def convex(self) -> bool:
        """Whether the structure proves that the program is convex."""
        for i, (is_generic, k) in enumerate(self.place):
            if is_generic:
                return False
            function = self.stack.functions[k]
            if function.is_linear:
                continue
            if not function.is_convex or (i > 0 and np.isfinite(self.row_lower[i - 1])):
                return False
        return True

    def dual_bound(self, x: Floats, multipliers: Floats) -> float | None:
        """Lower bound on the minimum from any row multipliers, for a convex program in a finite box.

        The Lagrangian is convex, so its tangent plane at x lies below it everywhere; minimised
        over the box it bounds the optimum, whether or not the multipliers are converged.

        Args:
            x: (n,) a point of the box.
            multipliers: (m,), positive for an upper limit, negative for a lower one.
        """
        if not self.convex or not (np.isfinite(self.lower).all() and np.isfinite(self.upper).all()):
            return None
        up = np.where(np.isfinite(self.row_upper), np.maximum(multipliers, 0.0), 0.0)
        down = np.where(np.isfinite(self.row_lower), np.maximum(-multipliers, 0.0), 0.0)
        values, jacobian = self.values(x), self.jacobian(x)
        value = values[0]
        value += up @ np.where(up > 0, values[1:] - self.row_upper, 0.0)
        value += down @ np.where(down > 0, self.row_lower - values[1:], 0.0)
        slope = jacobian[0] + (up - down) @ jacobian[1:]
        return float(value + np.minimum(slope * (self.lower - x), slope * (self.upper - x)).sum())

    def _assemble(self, stacked: Floats, generic: list[Any]) -> Floats:
        if not generic:
            return stacked
        return np.array([generic[k] if is_generic else stacked[k] for is_generic, k in self.place])


def from_geometric(program: GeometricProgram) -> Nlp:
    """A geometric program over (t, log z): log p <= log(alpha z + c), log q <= 0, chains and box.

    log z instead of z keeps the steps of Newton's method well scaled; it is a monotone change of
    one variable, so every local optimum stays global.
    """
    n = len(program.names)
    functions: list[TermFunction | ForwardFunction] = [_linear_function(n + 1, {n: 1.0})]
    functions += [_epigraph_function(row, n) for row in program.levels]
    functions += [_log_function(n + 1, [(1.0, _log_terms(q))]) for q in program.capacities]
    functions += [_linear_function(n + 1, {i: 1.0, j: -1.0}) for i, j in program.chain]
    rows = [row.name or f"level[{i}]" for i, row in enumerate(program.levels)]
    rows += [f"capacity[{i}]" for i in range(len(program.capacities))]
    rows += [f"chain[{i},{j}]" for i, j in program.chain]
    low, high = np.log(program.z_range())
    stack, generic, place = assemble(functions, n + 1)
    return Nlp(
        names=(*program.names, "log_z"),
        lower=np.append(program.lower, low),
        upper=np.append(program.upper, high),
        start=np.append(0.9 * program.lower + 0.1 * program.upper, high),
        stack=stack,
        generic=generic,
        place=place,
        rows=tuple(rows),
        row_lower=np.full(len(rows), -inf),
        row_upper=np.zeros(len(rows)),
    )


def _epigraph_function(row: EpigraphRow, n: int) -> TermFunction:
    """The row log p(t) - log(alpha exp(log z) + constant), with log z as variable n."""
    left = (1.0, _log_terms(row.posynomial))
    if row.alpha == 0:
        return _log_function(n + 1, [left], constant=-float(np.log(row.constant)))
    if row.constant == 0:
        return _log_function(n + 1, [left], constant=-float(np.log(row.alpha)), linear={n: -1.0})
    rates = np.zeros((2, n + 1))
    rates[0, n] = 1.0
    right = Terms(coefficients=np.array([row.alpha, row.constant]), rates=rates, powers=np.zeros((2, n + 1)))
    return _log_function(n + 1, [left, (-1.0, right)])


def refuse_unbounded(program: Nlp) -> None:
    """Refuse a program in which a variable can improve the objective without any limit.

    That is: no row contains it, and its box is open on the side to which the objective falls at
    the start.

    Raises:
        InputError: naming the variable and what to add.
    """
    jacobian_rows = np.zeros(len(program.names), dtype=bool)
    for is_generic, k in program.place[1:]:
        if is_generic:
            jacobian_rows[:] = True
            continue
        f = program.stack.functions[k]
        used = f.linear != 0
        for part in (f.plain, *(terms for _, terms in f.logs)):
            used |= part.rates.any(axis=0) | part.powers.any(axis=0)
        jacobian_rows |= used
    try:
        slope = program.jacobian(program.start)[0]
    except ARITHMETIC:  # the start is outside a function's domain: nothing to say here
        return
    for j, name in enumerate(program.names):
        falls_forever = (slope[j] < 0 and np.isinf(program.upper[j])) or (slope[j] > 0 and np.isinf(program.lower[j]))
        if falls_forever and not jacobian_rows[j]:
            raise InputError(
                f"variable {name} is in the objective but bounded by no constraint, and its box "
                f"[{program.lower[j]}, {program.upper[j]}] is open: the program may be unbounded; close the box"
            )


def assemble(
    functions: list[TermFunction | ForwardFunction], n: int
) -> tuple[TermStack, tuple[ForwardFunction, ...], tuple[tuple[bool, int], ...]]:
    """`stack`, `generic` and `place` of a program with these functions of n variables, objective first."""
    stacked: list[TermFunction] = []
    generic: list[ForwardFunction] = []
    place: list[tuple[bool, int]] = []
    for function in functions:
        if isinstance(function, TermFunction):
            place.append((False, len(stacked)))
            stacked.append(function)
        else:
            place.append((True, len(generic)))
            generic.append(function)
    return TermStack(tuple(stacked), n), tuple(generic), tuple(place)


def _linear_function(n: int, entries: Mapping[int, float]) -> TermFunction:
    return _log_function(n, [], linear=entries)


def _log_function(
    n: int, logs: list[tuple[float, Terms]], *, constant: float = 0.0, linear: Mapping[int, float] | None = None
) -> TermFunction:
    slope = np.zeros(n)
    for j, value in (linear or {}).items():
        slope[j] += value
    none = Terms(coefficients=np.zeros(0), rates=np.zeros((0, n)), powers=np.zeros((0, n)))
    return TermFunction(constant=constant, linear=slope, plain=none, logs=tuple(logs))


def _log_terms(p: Posynomial) -> Terms:
    """A posynomial in logarithmic variables, with a last column for log z."""
    rates = np.hstack((p.exponents, np.zeros((p.terms, 1))))
    return Terms(coefficients=p.coefficients, rates=rates, powers=np.zeros_like(rates))
