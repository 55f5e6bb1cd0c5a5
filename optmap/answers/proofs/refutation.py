"""Floats that refute: the point and the weights with which the rows of a set of mappings contradict each other.

The least t such that log(row/limit) <= t for all rows, over real tile sizes and numbers of tiles, is a
convex program in logarithms; a barrier method follows its central path. Where t > 0 the multipliers of the
rows are the weights that the checker asks for, and the point is where it compares. Nothing here is trusted:
the checker decides in exact arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import numpy as np

from optmap.base.arrays import Floats
from optmap.checker.cover.rows import Key, MappingSet, Model, RefutedRow
from optmap.solvers.native_output import off_stdout

Size = tuple[int, str]
"""A level and a dim."""
SMALLEST_GAP = 1e-9
"""Distance between primal and dual value at which a program counts as solved."""
STEPS = 60
"""Newton steps per point of the central path at most."""
GROWTH = 30.0
"""Factor from one point of the central path to the next."""


@dataclass(frozen=True, slots=True)
class Refutation:
    """Where the rows of a node come closest to holding together."""

    excess: float
    """Least largest log(row/limit), about; above 0 no mapping keeps all rows."""
    weights: Floats
    """(rows,) multipliers, with sum 1."""
    sizes: dict[Size, float]
    """Real tile sizes at that point."""
    pull: dict[Key, float]
    """Slope of the weighted rows along the logarithm of every factor of their terms."""


class _Program:
    """Rows in logarithms: log sum exp(A x + c) per row, and linear limits B x <= b."""

    def __init__(self, model: Model, node: MappingSet, rows: Sequence[RefutedRow]) -> None:
        self.model, self.node, self.rows = model, node, rows
        self.columns: dict[Key, int] = {}
        self.exponents: dict[Key, tuple[dict[int, float], float]] = {}
        for key in dict.fromkeys(key for row in rows for _, keys in row.terms for key in keys):
            self.exponents[key] = self._exponent(key)
        width = len(self.columns)
        self.terms = [(number, term) for number, row in enumerate(rows) for term in row.terms]
        self.a = np.zeros((len(self.terms), width))
        self.c = np.zeros(len(self.terms))
        self.row_of = np.array([number for number, _ in self.terms])
        self.starts = np.searchsorted(self.row_of, np.arange(len(rows)))
        for i, (number, (coefficient, keys)) in enumerate(self.terms):
            self.c[i] = _log(coefficient) - _log(rows[number].limit)
            for key in keys:
                exponent, constant = self.exponents[key]
                self.c[i] += constant
                for column, power in exponent.items():
                    self.a[i, column] += power
        self.b, self.d = self._linear(width)

    def _column(self, key: Key) -> int:
        return self.columns.setdefault(key, len(self.columns))

    def _exponent(self, key: Key) -> tuple[dict[int, float], float]:
        """The logarithm of a factor as a linear function of the columns."""
        kind, level, dim = key
        low, high = self.model.range(self.node, level, dim)
        extent = self.model.extents[dim]
        if kind == "number":
            fewest = self.model.fewest(self.node, level, dim)
            if extent <= fewest * low:
                return {}, log(fewest)
            if fewest > 1:
                self._column(("size", level, dim))
                return {self._column(key): 1.0}, 0.0
            return {self._column(("size", level, dim)): -1.0}, log(extent)
        sign = 1.0 if kind == "size" else -1.0
        if low == high:
            return {}, sign * log(low)
        return {self._column(("size", level, dim)): sign}, 0.0

    def _linear(self, width: int) -> tuple[Floats, Floats]:
        """Ranges, tiles of at least N/T, and tiles that nest."""
        found: list[tuple[dict[int, float], float]] = []
        for (kind, level, dim), column in self.columns.items():
            low, high = self.model.range(self.node, level, dim)
            extent = self.model.extents[dim]
            if kind == "size":
                found += [({column: -1.0}, -log(low)), ({column: 1.0}, log(high))]
                outer = self.columns.get(("size", level + 1, dim))
                if outer is not None:
                    found.append(({column: 1.0, outer: -1.0}, 0.0))
            else:
                size = self.columns["size", level, dim]
                fewest = self.model.fewest(self.node, level, dim)
                found += [({column: -1.0}, -log(fewest)), ({column: -1.0, size: -1.0}, -log(extent))]
                found.append(({column: 1.0}, log(extent / low) + 1.0))
        rows, limits = np.zeros((len(found), width)), np.zeros(len(found))
        for i, (row, limit) in enumerate(found):
            limits[i] = limit
            for column, value in row.items():
                rows[i, column] = value
        return rows, limits

    def start(self) -> Floats:
        """A point strictly inside the linear limits."""
        x = np.zeros(len(self.columns))
        for (_, level, dim), column in self.columns.items():
            low, high = self.model.range(self.node, level, dim)
            share = (level + 1.0) / (self.model.depth + 1.0)
            x[column] = log(low) + share * (log(high) - log(low))
        for (kind, level, dim), column in self.columns.items():
            if kind == "number":
                real = log(self.model.extents[dim]) - x[self.columns["size", level, dim]]
                x[column] = max(real, log(self.model.fewest(self.node, level, dim))) + 0.2
        return x

    def values(self, x: Floats) -> tuple[Floats, Floats]:
        """(rows,) logarithms of row/limit, and (terms,) shares of every term in its row."""
        z = self.a @ x + self.c
        top = np.maximum.reduceat(z, self.starts)
        raised = np.exp(z - top[self.row_of])
        total = np.add.reduceat(raised, self.starts)
        return top + np.log(total), raised / total[self.row_of]

    def sizes(self, x: Floats) -> dict[Size, float]:
        """Tile sizes at a point."""
        return {(level, dim): float(np.exp(x[i])) for (kind, level, dim), i in self.columns.items() if kind == "size"}


def refutation(model: Model, node: MappingSet, rows: Sequence[RefutedRow]) -> Refutation:
    """Where the rows of a node come closest to holding together.

    Args:
        model: what the rows are about.
        node: the mappings.
        rows: with limits above 0.

    Returns:
        Good enough to see whether there is such a point: a value far from 0 is not followed to its end.
    """
    program = _Program(model, node, rows)
    x = program.start()
    f, _ = program.values(x)
    t, tau = float(f.max()) + 1.0, 1.0
    count = len(rows) + len(program.d)
    while True:
        x, t = _centre(program, x, t, tau, 1e-9 if count / tau < SMALLEST_GAP else 0.1)
        f, shares = program.values(x)
        worst, gap = float(f.max()), count / tau
        if gap < SMALLEST_GAP or gap < -0.02 * worst or t - 2 * gap > 0.5 * t > 1e-5:
            break
        tau *= GROWTH
    x, t = _centre(program, x, t, tau, 1e-7)
    f, shares = program.values(x)
    weights = 1.0 / np.maximum(t - f, 1e-300)
    weights /= weights.sum()
    pull: dict[Key, float] = {}
    for (number, (_, keys)), share in zip(program.terms, shares.tolist(), strict=True):
        for key in keys:
            pull[key] = pull.get(key, 0.0) + float(weights[number]) * share
    return Refutation(excess=worst, weights=weights, sizes=program.sizes(x), pull=pull)


def best_weights(model: Model, node: MappingSet, rows: Sequence[RefutedRow], found: Refutation) -> Floats | None:
    """(rows,) weights that prove most at the sizes that were found: a linear program; None if it has no answer."""
    from scipy.optimize import linprog

    program = _Program(model, node, rows)
    x = program.start()
    for (kind, level, dim), column in program.columns.items():
        if kind == "size":
            x[column] = log(found.sizes[level, dim])
    for (kind, level, dim), column in program.columns.items():
        if kind == "number":
            real = model.extents[dim] / found.sizes[level, dim]
            x[column] = log(max(real, model.fewest(node, level, dim)))
    f, shares = program.values(x)
    slopes = np.add.reduceat(shares[:, None] * program.a, program.starts, axis=0)
    balanced = np.hstack((slopes.T, program.b.T))
    with off_stdout():  # it is compiled, too
        answer = linprog(
            np.concatenate((-f, program.d - program.b @ x)),
            A_eq=np.vstack((balanced, np.concatenate((np.ones(len(f)), np.zeros(len(program.d)))))),
            b_eq=np.append(np.zeros(len(balanced)), 1.0),
            method="highs",
        )
    return None if answer.x is None else np.asarray(answer.x[: len(f)])


def _centre(program: _Program, x: Floats, t: float, tau: float, close: float) -> tuple[Floats, float]:
    """Newton's method until it is this close to the point of the central path with a given weight of t."""
    width = len(x)
    for _ in range(STEPS):
        f, shares = program.values(x)
        slack, room = t - f, program.d - program.b @ x
        inverse = 1.0 / slack
        slopes = np.add.reduceat(shares[:, None] * program.a, program.starts, axis=0)
        gradient = np.empty(width + 1)
        gradient[:width] = slopes.T @ inverse + program.b.T @ (1.0 / room)
        gradient[width] = tau - inverse.sum()
        hessian = np.empty((width + 1, width + 1))
        hessian[:width, :width] = (
            (program.a * (shares * inverse[program.row_of])[:, None]).T @ program.a
            + (slopes * (inverse**2 - inverse)[:, None]).T @ slopes
            + (program.b / room[:, None] ** 2).T @ program.b
        )
        hessian[:width, width] = hessian[width, :width] = -(slopes.T @ inverse**2)
        hessian[width, width] = (inverse**2).sum()
        hessian[np.diag_indices(width + 1)] *= 1.0 + 1e-13
        try:
            step = -np.linalg.solve(hessian, gradient)
        except np.linalg.LinAlgError:
            break
        decrease = -float(gradient @ step)
        if not np.isfinite(decrease) or decrease < close:
            break
        nearing = (program.b @ step[:width]) / room
        length = min(1.0, 0.95 / float(nearing.max(initial=1e-3)))
        merit = _merit(program, x, t, tau)
        while length > 1e-10:
            moved = _merit(program, x + length * step[:width], t + length * float(step[width]), tau)
            if moved <= merit - 0.01 * length * decrease:
                break
            length *= 0.5
        else:
            break
        x, t = x + length * step[:width], t + length * float(step[width])
    return x, t


def _merit(program: _Program, x: Floats, t: float, tau: float) -> float:
    f, _ = program.values(x)
    slack, room = t - f, program.d - program.b @ x
    if (slack <= 0).any() or (room <= 0).any():
        return float("inf")
    return float(tau * t - np.log(slack).sum() - np.log(room).sum())


def _log(value: object) -> float:
    """Logarithm of a fraction of any size."""
    return log(value.numerator) - log(value.denominator)  # type: ignore[attr-defined]
