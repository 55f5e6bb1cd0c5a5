"""A small simplex method in fractions (Bland's rule, two phases) and exact square systems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

Matrix = list[list[Fraction]]


@dataclass(frozen=True, slots=True, kw_only=True)
class StandardSolution:
    """Answer to min cost.x, matrix.x = right, x >= 0."""

    stop: str
    """"optimal", "infeasible" or "unbounded"."""
    x: tuple[Fraction, ...] = ()
    """An optimal vertex."""
    duals: tuple[Fraction, ...] = ()
    """One per equation: cost - duals.matrix >= 0, and duals.right is the optimum."""


def solve_square(matrix: Sequence[Sequence[Fraction]], right: Sequence[Fraction]) -> list[Fraction] | None:
    """Solve a square system exactly (Gauss-Jordan); None if it is singular."""
    size = len(right)
    work = [[*row, b] for row, b in zip(matrix, right, strict=True)]
    for column in range(size):
        pivot = next((i for i in range(column, size) if work[i][column]), None)
        if pivot is None:
            return None
        work[column], work[pivot] = work[pivot], work[column]
        _pivot(work, column, column)
    return [row[-1] for row in work]


def minimise_standard(
    cost: Sequence[Fraction], matrix: Sequence[Sequence[Fraction]], right: Sequence[Fraction]
) -> StandardSolution:
    """Minimise cost.x subject to matrix.x = right, x >= 0, exactly.

    Phase one minimises the sum of one artificial variable per equation; its columns stay in the
    tableau (barred from entering) because they carry the duals.
    """
    n, m = len(cost), len(right)
    signs = [Fraction(-1 if b < 0 else 1) for b in right]
    table: Matrix = [
        [*(s * v for v in row), *(Fraction(int(i == k)) for k in range(m)), s * b]
        for i, (row, b, s) in enumerate(zip(matrix, right, signs, strict=True))
    ]
    basis = list(range(n, n + m))
    phase_one = [Fraction(0)] * n + [Fraction(1)] * m
    _run(table, basis, _reduced(table, basis, phase_one), n + m)
    if any(basis[i] >= n and table[i][-1] for i in range(m)):
        return StandardSolution(stop="infeasible")
    _drive_out(table, basis, n)
    full_cost = [*cost, *([Fraction(0)] * m)]
    objective = _reduced(table, basis, full_cost)
    if not _run(table, basis, objective, n):
        return StandardSolution(stop="unbounded")
    x = [Fraction(0)] * n
    for i, j in enumerate(basis):
        if j < n:
            x[j] = table[i][-1]
    duals = tuple(-signs[k] * objective[n + k] for k in range(m))
    return StandardSolution(stop="optimal", x=tuple(x), duals=duals)


def _reduced(table: Matrix, basis: list[int], cost: list[Fraction]) -> list[Fraction]:
    """Objective row: cost minus its basic part, with minus the objective in the last place."""
    row = [*cost, Fraction(0)]
    for i, j in enumerate(basis):
        if cost[j]:
            row = [r - cost[j] * v for r, v in zip(row, table[i], strict=True)]
    return row


def _run(table: Matrix, basis: list[int], objective: list[Fraction], enterable: int) -> bool:
    """Pivot until optimal (True) or unbounded (False); Bland's rule cannot cycle."""
    while True:
        entering = next((j for j in range(enterable) if objective[j] < 0), None)
        if entering is None:
            return True
        ratios = [(row[-1] / row[entering], basis[i], i) for i, row in enumerate(table) if row[entering] > 0]
        if not ratios:
            return False
        _, _, leaving = min(ratios)
        _pivot(table, leaving, entering)
        factor = objective[entering]
        objective[:] = [o - factor * v for o, v in zip(objective, table[leaving], strict=True)]
        basis[leaving] = entering


def _drive_out(table: Matrix, basis: list[int], n: int) -> None:
    """Swap artificial variables at zero for real ones; rows without any are redundant and stay."""
    for i in range(len(basis)):
        if basis[i] >= n:
            column = next((j for j in range(n) if table[i][j]), None)
            if column is not None:
                _pivot(table, i, column)
                basis[i] = column


def _pivot(table: Matrix, row: int, column: int) -> None:
    lead = table[row][column]
    table[row] = [v / lead for v in table[row]]
    for i, other in enumerate(table):
        factor = other[column]
        if i != row and factor:
            table[i] = [o - factor * p if p else o for o, p in zip(other, table[row], strict=True)]
