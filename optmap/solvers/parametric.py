"""Linear programs whose right-hand sides are parameters: every optimum, and exactly where it is one.

max cost.t subject to matrix.t <= right.theta, t >= 0, for every theta >= 0 with right.theta >= 0. Where a basis is
optimal its vertex is linear in theta and the places with right sides that keep it feasible are a cone: the critical
regions. Degenerate programs have many bases at one optimum; the cost is taken as cost + (e, e^2, ...) and the right
sides as right.theta + (h, h^2, ...) for numbers e and h smaller than everything else (lexicographic rules), so that
every theta inside a region has one basis. The regions are then the maximal cones of one fan cut by a subspace: they
cover the domain, have no interior points in common and meet facet to facet. From any of them all others are reached
across facets, because the domain is convex.
Source: Dinh's dissertation, Algorithm 8, after Borrelli, Bemporad and Morari (2003), without its random points.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import zip_longest
from math import gcd

from optmap.base.errors import CheckError, InputError, LimitError
from optmap.base.shown import Concise
from optmap.solvers.cones import Cone, Row, cone, dot

MOST_REGIONS = 5000
"""Critical regions that are kept at most."""

Vector = list[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ParametricLp:
    """max cost.t subject to matrix.t <= right.theta, t >= 0."""

    cost: Row
    """Per variable."""
    matrix: tuple[Row, ...]
    """A tuple per row."""
    right: tuple[Row, ...]
    """Per row the coefficients of the parameters in its right-hand side."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VertexRegion(Concise):
    """Where one vertex is optimal."""

    cone: Cone
    """In the space of the parameters; it has an interior."""
    vertex: tuple[tuple[Fraction, ...], ...]
    """Per variable the coefficients of the parameters in its optimal value."""
    duals: tuple[Fraction, ...]
    """Per row: the optimum is the sum of duals times right-hand sides, and no vector of duals has less here."""


@dataclass(slots=True)
class _ParametricTableau:
    """Rows over the variables, then the slacks, then the parameters of the right side, in a given basis.

    Every row is a positive multiple, in whole numbers without a common factor, of what it stands for: its coefficient
    of the basic variable, which stands for 1, is the factor. Signs and quotients within a row do not depend on it.
    """

    basis: list[int]
    rows: list[Vector]
    reduced: Vector
    """Reduced costs; the last entry is the factor."""

    def pivot(self, i: int, j: int) -> None:
        row = self.rows[i] if self.rows[i][j] > 0 else [-x for x in self.rows[i]]
        lead = row[j]
        self.rows = [
            row if k == i else _without(other, other[j], row, lead) if other[j] else other
            for k, other in enumerate(self.rows)
        ]
        if self.reduced[j]:
            self.reduced = _without(self.reduced, self.reduced[j], row, lead)
        self.basis = [j if k == i else b for k, b in enumerate(self.basis)]

    def copy(self) -> _ParametricTableau:
        return _ParametricTableau(self.basis, self.rows, self.reduced)


def _without(row: Vector, amount: int, pivot: Vector, lead: int) -> Vector:
    """lead·row - amount·pivot in lowest terms: the pivot column is zero, and the factor lead is positive."""
    # The row of reduced costs has one entry more, its factor, which the pivot row leaves alone.
    found = [lead * x - amount * p for x, p in zip_longest(row, pivot, fillvalue=0)]
    common = gcd(*found)
    return [x // common for x in found] if common > 1 else found


class _BasisWalk:
    """Bases of one program and the two simplex methods with lexicographic rules."""

    def __init__(self, lp: ParametricLp) -> None:
        self.variables, self.height = len(lp.cost), len(lp.matrix)
        self.columns = self.variables + self.height
        self.parameters = len(lp.right[0])
        slacks = [[int(i == k) for k in range(self.height)] for i in range(self.height)]
        self.tableau = _ParametricTableau(
            list(range(self.variables, self.columns)),
            [[*row, *slack, *right] for row, slack, right in zip(lp.matrix, slacks, lp.right, strict=True)],
            [*(-c for c in lp.cost), *([0] * (self.height + self.parameters)), 1],
        )

    def right(self, row: Vector) -> Vector:
        """Coefficients of the parameters in a positive multiple of a basic variable."""
        return row[self.columns :]

    def _level(self, row: Vector, near: Sequence[Row]) -> Vector:
        """Multiple of a basic variable at near[0] + e·near[1] + ..., and then of the smaller numbers h."""
        right = self.right(row)
        return [dot(right, point) for point in near] + row[self.variables : self.columns]

    def _price(self, tableau: _ParametricTableau, places: dict[int, int], j: int) -> Vector:
        """Multiples, the same for every column, of its reduced cost, and then of the small numbers e per variable."""
        rows = [tableau.rows[places[k]][j] if k in places else -int(k == j) for k in range(self.variables)]
        return [tableau.reduced[j], *rows]

    def _nonbasic(self, tableau: _ParametricTableau) -> tuple[list[int], dict[int, int]]:
        places = {b: i for i, b in enumerate(tableau.basis)}
        return [j for j in range(self.columns) if j not in places], places

    def optimum(self, near: Sequence[Row]) -> _ParametricTableau:
        """The optimal basis at a point of the domain, by the primal simplex method from t = 0.

        Raises:
            InputError: if nothing limits the variables.
        """
        tableau = self.tableau.copy()
        while True:
            free, places = self._nonbasic(tableau)
            enters = next((j for j in free if _negative(self._price(tableau, places, j))), None)
            if enters is None:
                return tableau
            levels = {i: (self._level(row, near), row[enters]) for i, row in enumerate(tableau.rows) if row[enters] > 0}
            if not levels:
                raise InputError("parametric program: its variables have no limit")
            tableau.pivot(_least(levels), enters)

    def repaired(self, start: _ParametricTableau, near: Sequence[Row]) -> _ParametricTableau:
        """The optimal basis at another point, by the dual simplex method."""
        tableau = start.copy()
        while True:
            leaves = next((i for i, row in enumerate(tableau.rows) if _negative(self._level(row, near))), None)
            if leaves is None:
                return tableau
            row = tableau.rows[leaves]
            free, places = self._nonbasic(tableau)
            # Some entry is below zero: t = 0 is feasible everywhere in the domain.
            prices = {j: (self._price(tableau, places, j), -row[j]) for j in free if row[j] < 0}
            tableau.pivot(leaves, _least(prices))

    def region(self, tableau: _ParametricTableau, domain: Sequence[Row]) -> VertexRegion | None:
        """Where a basis is optimal; None if that has no interior."""
        found = cone(self.parameters, [*domain, *(self.right(row) for row in tableau.rows)])
        if found is None:
            return None
        values = {
            b: tuple(Fraction(x, row[b]) for x in self.right(row))
            for b, row in zip(tableau.basis, tableau.rows, strict=True)
        }
        zero = (Fraction(0),) * self.parameters
        return VertexRegion(
            cone=found,
            vertex=tuple(values.get(j, zero) for j in range(self.variables)),
            duals=tuple(Fraction(x, tableau.reduced[-1]) for x in tableau.reduced[self.variables : self.columns]),
        )


def critical_regions(lp: ParametricLp, *, limit: int = MOST_REGIONS) -> tuple[VertexRegion, ...]:
    """Cones with disjoint interiors that cover the domain, each with its optimal vertex and duals.

    Args:
        lp: a program with a limit for every variable.
        limit: regions at most.

    Raises:
        InputError: if nothing limits a variable, or no right-hand sides are positive together.
        LimitError: if there are more regions.
        CheckError: if a region has no interior (a bug).
    """
    walk = _BasisWalk(lp)
    domain = cone(walk.parameters, lp.right)
    if domain is None:
        raise InputError("parametric program: its right-hand sides are never positive together")
    units = [tuple(int(i == j) for j in range(walk.parameters)) for i in range(walk.parameters)]
    first = walk.optimum([domain.interior, *units])
    seen = {frozenset(first.basis)}
    pending, found = [first], []
    while pending:
        tableau = pending.pop()
        region = walk.region(tableau, lp.right)
        if region is None:
            raise CheckError("a basis found across a facet has a region without an interior")
        found.append(region)
        for facet in region.cone.facets:
            if facet in domain.facets:
                continue
            across = walk.repaired(tableau, [region.cone.inside(facet), tuple(-x for x in facet)])
            key = frozenset(across.basis)
            if key not in seen:
                if len(seen) >= limit:
                    raise LimitError(f"the closed form has more than {limit:,} regions; use fewer dims or tensors")
                seen.add(key)
                pending.append(across)
    return tuple(found)


def _negative(values: Vector) -> bool:
    """Whether the first number that is not zero is below zero."""
    return next((x for x in values if x), 0) < 0


def _least(candidates: Mapping[int, tuple[Vector, int]]) -> int:
    """The candidate whose vector over its positive divisor comes first."""
    if len(candidates) == 1:
        return next(iter(candidates))
    return min(candidates, key=lambda k: [Fraction(x, candidates[k][1]) for x in candidates[k][0]])
