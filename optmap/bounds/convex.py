r"""The convex program: exponents with the smallest bound U on the operations of a segment.

Over the polytope, minimise F(s, z) = sum_t S_t log(S_t K/(sigma w_t)) + sum_i z_i log(size_i),
with S_t the sum of the exponents of tensor t, sigma = sum S_t and w_t words per element. F is
convex and homogeneous of degree one. Simplicial decomposition solves it: a linear program finds
the next vertex, a Newton method mixes the vertices found so far. The answer is a mixture of
vertices, so that rounding the mixture keeps every tight row tight.

Floats here only propose; whoever uses the exponents tests them exactly.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from math import log

import numpy as np
from numpy.typing import NDArray

from optmap.bounds.polytope import Constraint
from optmap.solvers.exact import VertexFinder

Array = NDArray[np.float64]

GAP = 1e-10
"""Gap in log U at which the decomposition stops."""
FLOOR = 1e-12
"""Share of a tensor below which its price no longer falls: F is not smooth at 0."""
ROUNDS = 60
"""Vertices added per solve, at most."""
DENOMINATOR = 240
"""Largest denominator of a rounded mixture."""
VERTEX_DENOMINATOR = 1000
"""Largest denominator at which a vertex is recognised from its floats."""


@dataclass(slots=True, kw_only=True)
class SegmentProgram:
    """F over one polytope; keeps its vertices from one memory size to the next."""

    rows: tuple[Constraint, ...]
    """Constraints over the exponents."""
    owner: tuple[int, ...]
    """Per exponent the index of its tensor, or -1 for a size map."""
    log_sizes: Array
    """Per exponent log(size) of its size map, 0 for a tensor map."""
    weights: tuple[int, ...]
    """Units per element of each tensor, all positive."""
    vertices: list[Array] = field(default_factory=list)
    """Vertices found so far, as floats."""
    exact: dict[bytes, tuple[Fraction, ...]] = field(default_factory=dict)
    """Vertices already turned into fractions."""
    finder: VertexFinder | None = None
    """The linear program, kept warm."""

    def sums(self, points: Array) -> Array:
        """S_t of each point: (..., exponents) -> (..., tensors)."""
        selector = np.array([[float(o == t) for t in range(len(self.weights))] for o in self.owner])
        return np.asarray(points @ selector.reshape(len(self.owner), len(self.weights)))

    def value(self, points: Array, units: float) -> Array:
        """F at each point, in nats."""
        sums = self.sums(points)
        sigma = sums.sum(axis=-1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = sums * (np.log(sums / sigma) + log(units) - np.log(np.array(self.weights, dtype=float)))
        total = np.where(sums > 0, terms, 0.0).sum(axis=-1) + points @ self.log_sizes
        return np.asarray(total)

    def solve(self, units: float) -> tuple[list[int], Array]:
        """Minimise F for a segment that touches `units` units.

        Returns:
            Indices of the vertices in the mixture, and their weights (positive, sum 1).
        """
        offset = log(units) - np.log(np.array(self.weights, dtype=float))
        if not self.vertices:
            self._add(np.where(np.array(self.owner) < 0, self.log_sizes, np.append(offset, 0.0)[list(self.owner)]))
        for _ in range(ROUNDS):
            points = np.array(self.vertices)
            sums = self.sums(points)
            mixture = _mix(sums, sums @ offset + points @ self.log_sizes)
            share = mixture @ sums
            price = np.log(np.maximum(share / max(share.sum(), FLOOR), FLOOR)) + offset
            cost = np.where(np.array(self.owner) < 0, self.log_sizes, np.append(price, 0.0)[list(self.owner)])
            held = float(cost @ (mixture @ points))
            if held - float(cost @ self._add(cost)) <= GAP * max(1.0, abs(held)):
                break
        else:
            points = np.array(self.vertices[: len(mixture)])
        used = [i for i in range(len(mixture)) if mixture[i] > 1e-7]
        return used, mixture[used] / mixture[used].sum()

    def _add(self, cost: Array) -> Array:
        if self.finder is None:
            self.finder = VertexFinder(rows=self.rows, columns=len(self.owner))
        vertex = self.finder.vertex(cost)
        if not any(np.allclose(vertex, old, atol=1e-9) for old in self.vertices):
            self.vertices.append(vertex)
        return vertex

    def rationals(self, used: list[int], mixture: Array, units: float) -> tuple[Fraction, ...] | None:
        """Exact exponents near a mixture, inside the polytope, or None if a vertex cannot be recognised.

        Every denominator up to `DENOMINATOR` is tried for the mixture; the best F wins, the
        smaller denominator among equals.
        """
        corners = [self._exact_vertex(self.vertices[i]) for i in used]
        known = [c for c in corners if c is not None]
        if len(known) < len(corners):
            return None
        candidates = _roundings(mixture)
        floats = np.array([[float(x) for x in c] for c in known])
        shares = np.array([[n / d for n in numerators] for d, numerators in candidates])
        values = self.value(shares @ floats, units)
        best = int(np.argmax(values <= values.min() + 1e-12))
        d, numerators = candidates[best]
        mixed = tuple(
            sum((Fraction(n, d) * c[j] for n, c in zip(numerators, known, strict=True)), Fraction(0))
            for j in range(len(self.owner))
        )
        return mixed if satisfies(self.rows, mixed) else None

    def _exact_vertex(self, vertex: Array) -> tuple[Fraction, ...] | None:
        key = vertex.tobytes()
        if key not in self.exact:
            guess = tuple(Fraction(float(x)).limit_denominator(VERTEX_DENOMINATOR) for x in vertex)
            if not satisfies(self.rows, guess):
                return None
            self.exact[key] = guess
        return self.exact[key]


def satisfies(rows: Iterable[Constraint], exponents: tuple[Fraction, ...]) -> bool:
    """Exact membership in the polytope."""
    if any(x < 0 for x in exponents):
        return False
    return all(sum(c * x for c, x in zip(row, exponents, strict=True)) >= right for row, right in rows)


def _roundings(mixture: Array) -> list[tuple[int, tuple[int, ...]]]:
    """(denominator, numerators) with the numerators near denominator * mixture and summing up to it."""
    found = []
    for d in range(1, DENOMINATOR + 1):
        scaled = mixture * d
        floors = np.floor(scaled + 1e-9).astype(int)
        short = d - int(floors.sum())
        for i in np.argsort(floors - scaled)[: max(short, 0)]:
            floors[i] += 1
        if short >= 0 and int(floors.sum()) == d:
            found.append((d, tuple(int(n) for n in floors)))
    return found


def _mix(sums: Array, constants: Array) -> Array:
    """Minimise sum_t S_t log(S_t/sigma) + c.x over mixtures x of points; barrier Newton, S = x sums."""
    count = len(constants)
    x = np.full(count, 1.0 / count)
    if count == 1:
        return x
    live = sums[:, sums.max(axis=0) > 0]
    if live.shape[1] == 0:
        return np.asarray(np.arange(count) == int(np.argmin(constants)), dtype=float)
    system = np.zeros((count + 1, count + 1))
    system[:count, count] = system[count, :count] = 1.0
    right = np.zeros(count + 1)
    barrier = 0.1
    while barrier > 1e-12:
        for _ in range(4):
            share = x @ live
            sigma = share.sum()
            gradient = live @ np.log(share / sigma) + constants - barrier / x
            hessian = (live / share) @ live.T - np.outer(live.sum(axis=1), live.sum(axis=1)) / sigma
            system[:count, :count] = hessian + np.diag(barrier / x**2 + 1e-14)
            right[:count] = -gradient
            step = np.linalg.solve(system, right)[:count]
            shrink = step < 0
            reach = min(1.0, 0.95 * float(np.min(-x[shrink] / step[shrink]))) if shrink.any() else 1.0
            x = x + reach * step
            if float(np.max(np.abs(step))) * reach < 1e-9:
                break
        barrier *= 0.1
    return np.asarray(x / x.sum())
