"""Linear programs with exact rational answers: HiGHS proposes a basis, fractions prove it.

The basic system is solved in fractions and the point is accepted only if primal and dual
feasibility hold exactly (then the objectives agree by construction, which is re-checked). Whenever
that fails, or HiGHS reports no optimum, a simplex method in fractions with Bland's rule decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from optmap.base.arrays import Floats
from optmap.base.errors import CheckError, InputError
from optmap.solvers.engine import HighsEngine, LinearRows
from optmap.solvers.simplex import minimise_standard, solve_square
from optmap.solvers.status import Stop

Vector = tuple[Fraction, ...]
Limit = Fraction | int | None
Numbers = Sequence[Fraction | int]


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearProgram:
    """Minimise cost.x subject to row_lower <= rows.x <= row_upper, lower <= x <= upper; None is no limit."""

    cost: Vector
    """Per column."""
    rows: tuple[Vector, ...]
    """Dense coefficients, a tuple per row."""
    row_lower: tuple[Fraction | None, ...]
    """Per row."""
    row_upper: tuple[Fraction | None, ...]
    """Per row."""
    lower: tuple[Fraction | None, ...]
    """Per column."""
    upper: tuple[Fraction | None, ...]
    """Per column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactSolution:
    """A proved answer."""

    stop: Stop
    """OPTIMAL, INFEASIBLE, or ERROR for an unbounded program (the message says so)."""
    objective: Fraction | None = None
    """Optimal value."""
    x: Vector = ()
    """An optimal vertex."""
    duals: Vector = ()
    """Per row: what the objective gains per unit of its active limit (>= 0 at a lower limit)."""
    reduced_costs: Vector = ()
    """Per column, with the sign convention of `duals`."""
    message: str = ""
    """Which route proved the answer."""


def linear_program(
    cost: Numbers,
    rows: Sequence[Numbers],
    row_lower: Sequence[Limit] | None = None,
    *,
    row_upper: Sequence[Limit] | None = None,
    lower: Sequence[Limit] | None = None,
    upper: Sequence[Limit] | None = None,
) -> LinearProgram:
    """A checked program; rows are unlimited and columns non-negative unless said otherwise.

    Raises:
        InputError: if lengths disagree or a lower limit exceeds its upper limit.
    """
    n, m = len(cost), len(rows)
    limits = {
        "row_lower": ([None] * m if row_lower is None else list(row_lower), m),
        "row_upper": ([None] * m if row_upper is None else list(row_upper), m),
        "lower": ([0] * n if lower is None else list(lower), n),
        "upper": ([None] * n if upper is None else list(upper), n),
    }
    for name, (values, length) in limits.items():
        if len(values) != length:
            raise InputError(f"linear program: {name} has {len(values)} entries, expected {length}")
    for i, row in enumerate(rows):
        if len(row) != n:
            raise InputError(f"linear program: row {i} has {len(row)} coefficients for {n} columns")
    exact = {k: tuple(None if v is None else Fraction(v) for v in values) for k, (values, _) in limits.items()}
    for low, high in (("row_lower", "row_upper"), ("lower", "upper")):
        for i, (a, b) in enumerate(zip(exact[low], exact[high], strict=True)):
            if a is not None and b is not None and a > b:
                raise InputError(f"linear program: {low}[{i}] = {a} exceeds {high}[{i}] = {b}")
    return LinearProgram(
        cost=tuple(Fraction(c) for c in cost),
        rows=tuple(tuple(Fraction(v) for v in row) for row in rows),
        **exact,
    )


def solve_exact(program: LinearProgram) -> ExactSolution:
    """Solve a linear program with a proof in fractions.

    Raises:
        SolverUnavailableError: without highspy.
        CheckError: if the exact simplex method contradicts its own optimality test (a bug).
    """
    basis = _highs_basis(program)
    if basis is not None:
        proved = _prove(program, *basis)
        if proved is not None:
            return proved
    return _by_simplex(program)


class VertexFinder:
    """One polytope {0 <= x <= 1, rows.x >= right}, many costs: warm-started vertices as floats.

    Args:
        rows: (coefficients, right-hand side) pairs.
        columns: number of variables.
    """

    def __init__(self, *, rows: Sequence[tuple[Sequence[int], int]], columns: int) -> None:
        ones, self._columns = np.ones(columns), columns
        right = np.array([value for _, value in rows], dtype=float)
        matrix = np.array([row for row, _ in rows], dtype=float).reshape(len(rows), columns)
        self._indices = np.arange(columns, dtype=np.int32)
        self._engine = _engine(ones, matrix, (right, np.full(len(rows), np.inf)), (0 * ones, ones))

    def vertex(self, cost: Floats) -> Floats:
        """A vertex with the smallest cost.x.

        Raises:
            CheckError: if HiGHS finds no optimum (rows that nothing can satisfy).
        """
        self._engine.native.changeColsCost(self._columns, self._indices, np.ascontiguousarray(cost, dtype=float))
        status = self._engine.run()
        if status != "kOptimal":
            raise CheckError(f"HiGHS stopped with {status} on a polytope of exponents")
        return np.array(self._engine.native.getSolution().col_value)


def _engine_of(program: LinearProgram) -> HighsEngine:
    def floats(values: tuple[Fraction | None, ...], missing: float) -> Floats:
        return np.array([missing if v is None else float(v) for v in values], dtype=float)

    matrix = np.array([[float(v) for v in row] for row in program.rows]).reshape(len(program.rows), len(program.cost))
    rows = floats(program.row_lower, -np.inf), floats(program.row_upper, np.inf)
    columns = floats(program.lower, -np.inf), floats(program.upper, np.inf)
    return _engine(floats(program.cost, 0.0), matrix, rows, columns)


def _engine(cost: Floats, matrix: Floats, rows: tuple[Floats, Floats], columns: tuple[Floats, Floats]) -> HighsEngine:
    """HiGHS with a linear program: its limits of rows and of columns, infinite where there are none."""
    places = matrix != 0
    program = LinearRows(
        cost=cost,
        lower=columns[0],
        upper=columns[1],
        row_lower=rows[0],
        row_upper=rows[1],
        start=np.concatenate([[0], places.sum(axis=1).cumsum()]).astype(np.int32),
        index=places.nonzero()[1].astype(np.int32),
        value=matrix[places],
        whole=np.zeros(len(cost), dtype=bool),
    )
    return HighsEngine(program, {"solver": "simplex", "presolve": "off"})


def _highs_basis(program: LinearProgram) -> tuple[list[str], list[str]] | None:
    """Names of the basis statuses of columns and rows at HiGHS's optimum; None without an optimum."""
    engine = _engine_of(program)
    if engine.run() != "kOptimal":
        return None
    basis = engine.native.getBasis()
    return [s.name for s in basis.col_status], [s.name for s in basis.row_status]


def _at(status: str, low: Fraction | None, high: Fraction | None) -> Fraction | None:
    """The limit that a non-basic entry sits at; a free one sits at zero."""
    if status == "kLower" or (status == "kNonbasic" and low is not None):
        return low
    if status in ("kUpper", "kNonbasic"):
        return high
    return Fraction(0)


def _prove(program: LinearProgram, columns: list[str], rows: list[str]) -> ExactSolution | None:
    """The answer of a basis, or None if it is not exactly optimal."""
    n = len(program.cost)
    basic = [j for j in range(n) if columns[j] == "kBasic"]
    active = [i for i in range(len(rows)) if rows[i] != "kBasic"]
    x = [Fraction(0)] * n
    for j in range(n):
        if columns[j] != "kBasic":
            limit = _at(columns[j], program.lower[j], program.upper[j])
            if limit is None:
                return None
            x[j] = limit
    targets = [_at(rows[i], program.row_lower[i], program.row_upper[i]) for i in active]
    if len(basic) != len(active) or any(t is None for t in targets):
        return None
    right = [t - _dot(program.rows[i], x) for i, t in zip(active, targets, strict=True) if t is not None]
    square = [[program.rows[i][j] for j in basic] for i in active]
    values = solve_square(square, right)
    prices = solve_square([list(c) for c in zip(*square, strict=True)], [program.cost[j] for j in basic])
    if values is None or prices is None:
        return None
    for j, v in zip(basic, values, strict=True):
        x[j] = v
    duals = [Fraction(0)] * len(rows)
    for i, y in zip(active, prices, strict=True):
        duals[i] = y
    return certified(program, tuple(x), tuple(duals), "HiGHS basis, proved in fractions")


def certified(program: LinearProgram, x: Vector, duals: Vector, message: str) -> ExactSolution | None:
    """A solution if x and the row duals prove each other optimal, else None.

    Every limit with a non-zero dual must be met with equality, with the dual's sign.
    """
    reduced = tuple(
        c - sum((duals[i] * program.rows[i][j] for i in range(len(duals)) if duals[i]), Fraction(0))
        for j, c in enumerate(program.cost)
    )
    activity = [_dot(row, x) for row in program.rows]
    entries = [
        *zip(activity, duals, program.row_lower, program.row_upper, strict=True),
        *zip(x, reduced, program.lower, program.upper, strict=True),
    ]
    dual_objective = Fraction(0)
    for value, price, low, high in entries:
        if (low is not None and value < low) or (high is not None and value > high):
            return None
        limit = low if price > 0 else high
        if price:
            if limit is None or limit != value:
                return None
            dual_objective += price * limit
    objective = _dot(program.cost, x)
    if objective != dual_objective:
        return None
    return ExactSolution(
        stop=Stop.OPTIMAL, objective=objective, x=x, duals=duals, reduced_costs=reduced, message=message
    )


def _dot(a: Sequence[Fraction], b: Sequence[Fraction]) -> Fraction:
    return sum((x * y for x, y in zip(a, b, strict=True) if x and y), Fraction(0))


@dataclass(frozen=True, slots=True)
class _SumLimit:
    """A limit on a sum over x."""

    coefficients: Vector
    value: Fraction
    sense: int
    """1 for a lower limit, -1 for an upper one."""
    row: int | None
    """Of the program; None for the limit of a column."""


def _limits(program: LinearProgram) -> list[_SumLimit]:
    """Every limit that does not become the sign of a variable."""
    n, one = len(program.cost), Fraction(1)
    found = [
        _SumLimit((Fraction(0),) * j + (one,) + (Fraction(0),) * (n - j - 1), high, -1, None)
        for j, (low, high) in enumerate(zip(program.lower, program.upper, strict=True))
        if low is not None and high is not None
    ]
    for i, row in enumerate(program.rows):
        for value, sense in ((program.row_lower[i], 1), (program.row_upper[i], -1)):
            if value is not None:
                found.append(_SumLimit(row, value, sense, i))
    return found


def _parts(program: LinearProgram) -> tuple[list[tuple[int, Fraction]], list[Fraction]]:
    """Column and sign of every variable that is not negative, and where x is when all of them are 0."""
    parts, shift = list[tuple[int, Fraction]](), list[Fraction]()
    for j, (low, high) in enumerate(zip(program.lower, program.upper, strict=True)):
        shift.append(low if low is not None else high if high is not None else Fraction(0))
        if low is not None or high is None:
            parts.append((j, Fraction(1)))
        if low is None:
            parts.append((j, Fraction(-1)))
    return parts, shift


def _by_simplex(program: LinearProgram) -> ExactSolution:
    """Translate to min c.u, A u = b, u >= 0, solve exactly, translate back."""
    (parts, shift), limits = _parts(program), _limits(program)
    slacks = len(limits)
    matrix, right = [], []
    for k, limit in enumerate(limits):
        slack = [Fraction(-limit.sense * int(k == i)) for i in range(slacks)]
        matrix.append([limit.coefficients[j] * sign for j, sign in parts] + slack)
        right.append(limit.value - _dot(limit.coefficients, shift))
    cost = [program.cost[j] * sign for j, sign in parts] + [Fraction(0)] * slacks
    answer = minimise_standard(cost, matrix, right)
    if answer.stop != "optimal":
        stop = Stop.INFEASIBLE if answer.stop == "infeasible" else Stop.ERROR
        return ExactSolution(stop=stop, message=f"{answer.stop}, proved by the simplex method in fractions")
    x = list(shift)
    for (j, sign), amount in zip(parts, answer.x, strict=False):
        x[j] += sign * amount
    duals = [Fraction(0)] * len(program.rows)
    for limit, price in zip(limits, answer.duals, strict=True):
        if limit.row is not None:
            duals[limit.row] += price
    proved = certified(program, tuple(x), tuple(duals), "simplex method in fractions")
    if proved is None:
        raise CheckError("the exact simplex method returned a point that its own duals do not prove optimal")
    return proved
