r"""The convex program: exponents with the smallest bound U on the operations of a segment.

Over the polytope, minimise F(s, z) = sum_t S_t log(S_t K/(sigma w_t)) + sum_i z_i log(size_i),
with S_t the sum of the exponents of tensor t, sigma = sum S_t and w_t words per element. F is
convex and homogeneous of degree one. Simplicial decomposition solves it: a linear program finds
the next vertex, a Newton method mixes the vertices found so far. The answer is a mixture of
vertices, so that rounding the mixture keeps every tight row tight.

Floats here only propose; whoever uses the exponents tests them exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, inf, lcm, log
from operator import mul

import numpy as np
from numpy.typing import NDArray

from optmap.base.arrays import Floats
from optmap.bounds.exponents.polytope import Constraint
from optmap.solvers.exact import VertexFinder, linear_program, solve_exact

GAP = 1e-8
"""Gap in log U at which the decomposition stops."""
FLOOR = 1e-12
"""Share of a tensor below which its price no longer falls: F is not smooth at 0."""
ROUNDS = 60
"""Vertices added per solve, at most."""
EQUAL = 1e-10
"""Costs of exponents, logs, that are not told apart."""
DENOMINATOR = 240
"""Largest denominator of a rounded mixture."""
FINEST = 4096
"""The same for mixtures with a small weight."""
VERTEX_DENOMINATOR = 1000
"""Largest denominator at which a vertex is recognised from its floats."""


@dataclass(slots=True, kw_only=True)
class SegmentProgram:
    """F over one polytope; keeps its vertices from one memory size to the next."""

    rows: tuple[Constraint, ...]
    """Constraints over the exponents."""
    owner: tuple[int, ...]
    """Per exponent the index of its tensor, or -1 for a size map."""
    log_sizes: Floats
    """Per exponent log(size) of its size map, 0 for a tensor map."""
    weights: tuple[int, ...]
    """Units per element of each tensor, all positive."""
    vertices: list[Floats] = field(default_factory=list)
    """Vertices found so far, as floats."""
    costs: list[Floats] = field(default_factory=list)
    """The cost that each vertex minimises."""
    exact: dict[int, tuple[Fraction, ...]] = field(default_factory=dict)
    """Vertices already turned into fractions, by index."""
    active: list[int] = field(default_factory=list)
    """Vertices the last mixture used: where the next one starts."""
    bounded: float = -inf
    """What F was at least when it was minimised last, but for roundings."""
    finder: VertexFinder | None = None
    """The linear program, kept warm."""
    owners: NDArray[np.int_] = field(init=False)
    """`owner` as an array."""
    sized: NDArray[np.bool_] = field(init=False)
    """True for size maps."""
    selector: Floats = field(init=False)
    """(exponents, tensors) with a 1 where the tensor owns the exponent."""
    log_weights: Floats = field(init=False)
    """Log of `weights`."""

    def __post_init__(self) -> None:
        self.owners = np.array(self.owner)
        self.sized = self.owners < 0
        self.selector = (self.owners[:, None] == np.arange(len(self.weights))[None, :]).astype(float)
        self.log_weights = np.log(np.array(self.weights, dtype=float))

    def sums(self, points: Floats) -> Floats:
        """S_t of each point: (..., exponents) -> (..., tensors)."""
        return np.asarray(points @ self.selector)

    def value(self, points: Floats, units: float) -> Floats:
        """F at each point, in nats."""
        sums = self.sums(points)
        sigma = sums.sum(axis=-1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = sums * (np.log(sums / sigma) + log(units) - self.log_weights)
        total = np.where(sums > 0, terms, 0.0).sum(axis=-1) + points @ self.log_sizes
        return np.asarray(total)

    def solve(self, units: float, rounds: int = ROUNDS) -> tuple[list[int], Floats]:
        """Minimise F for a segment that touches `units` units.

        Args:
            units: segment size K.
            rounds: vertices added at most; few give a rough value, still above the minimum.

        Returns:
            Indices of the vertices in the mixture, and their weights (positive, sum 1).
        """
        offset = log(units) - self.log_weights
        if not self.active:
            self.active = [self._add(self._cost(offset))]
        before, self.bounded = inf, -inf
        for _ in range(rounds):
            points = np.array([self.vertices[i] for i in self.active])
            sums = self.sums(points)
            mixture = _mix(sums, sums @ offset + points @ self.log_sizes)
            kept = [i for i, weight in zip(self.active, mixture.tolist(), strict=True) if weight > 1e-8]
            share = mixture @ sums
            cost = self._cost(np.log(np.maximum(share / max(share.sum(), FLOOR), FLOOR)) + offset)
            level = float(cost @ (mixture @ points))  # F, as it is homogeneous of degree one
            stuck = len(kept) < len(self.active) and level > before - GAP * max(1.0, abs(level))
            before = level
            new = self._add(cost)
            least = float(cost @ self.vertices[new])
            # F is convex and homogeneous of degree one: nowhere below what its gradient says at any point.
            self.bounded = max(self.bounded, least)
            if stuck or new in self.active or level - least <= GAP * max(1.0, abs(level)):
                break
            self.active, last = [*kept, new], self.active
        else:
            self.active = last
        used = [k for k in range(len(mixture)) if mixture[k] > 1e-7]
        return [self.active[k] for k in used], mixture[used] / mixture[used].sum()

    def floor(self, units: float) -> float:
        """What F is at least, from one linear program: where all tensors are as large, it often is no more."""
        cost = self._cost(log(units) - self.log_weights - log(len(self.weights)))
        found = float(cost @ self.vertices[self._add(cost)])
        return found - GAP * max(1.0, abs(found))

    def least(self, units: float) -> float:
        """What F is at least for a segment that touches `units` units."""
        self.solve(units)
        return self.bounded - GAP * max(1.0, abs(self.bounded))

    def _cost(self, price: Floats) -> Floats:
        """Per exponent: the price of its tensor, or log size."""
        priced = np.append(price, 0.0)[self.owners]  # -1 is the last place, of which there is one without tensors, too
        return np.where(self.sized, self.log_sizes, priced)

    def _add(self, cost: Floats) -> int:
        """Index of a cheapest vertex."""
        if self.finder is None:
            self.finder = VertexFinder(rows=self.rows, columns=len(self.owner))
        vertex = self.finder.vertex(cost)
        if self.vertices:
            apart = np.abs(np.array(self.vertices) - vertex).max(axis=1)
            nearest = int(apart.argmin())
            if apart[nearest] < 1e-9:
                return nearest
        self.vertices.append(vertex)
        self.costs.append(cost)
        return len(self.vertices) - 1

    def rationals(
        self, used: list[int], mixture: Floats, cost: Callable[[Floats], Floats], count: int = 1
    ) -> list[tuple[float, tuple[Fraction, ...]]]:
        """Exact exponents near a mixture, inside the polytope: those of least cost, so many at most, with their cost.

        Every denominator up to `DENOMINATOR` is tried for the mixture, the smaller one among equals.

        Args:
            used: vertices of the mixture.
            mixture: their weights.
            cost: rows of exponents -> what is to be small.
            count: roundings that are wanted.
        """
        known = [self._exact_vertex(i) for i in used]
        candidates = _roundings(mixture)
        floats = np.array([[float(x) for x in c] for c in known])
        values = cost(candidates / candidates.sum(axis=1, keepdims=True) @ floats)
        order = np.argsort(np.floor((values - values.min()) / EQUAL), kind="stable")
        common = lcm(*(x.denominator for c in known for x in c))
        columns = list(zip(*([int(x * common) for x in c] for c in known), strict=True))
        found = []
        for k in order[:count].tolist():
            numerators = candidates[k].tolist()
            point = tuple(Fraction(sum(map(mul, numerators, c)), sum(numerators) * common) for c in columns)
            if satisfies(self.rows, point):
                found.append((float(values[k]), point))
        return found

    def _exact_vertex(self, index: int) -> tuple[Fraction, ...]:
        """A vertex in fractions: recognised from its floats, else by the certified linear program."""
        if index not in self.exact:
            floats = self.vertices[index]
            guess = tuple(Fraction(float(x)).limit_denominator(VERTEX_DENOMINATOR) for x in floats)
            close = np.abs(np.array([float(x) for x in guess]) - floats).max() < 1e-7
            self.exact[index] = guess if close and satisfies(self.rows, guess) else self._certified(index)
        return self.exact[index]

    def _certified(self, index: int) -> tuple[Fraction, ...]:
        program = linear_program(
            [Fraction(float(c)) for c in self.costs[index]],
            [row for row, _ in self.rows],
            [right for _, right in self.rows],
            upper=[1] * len(self.owner),
        )
        return solve_exact(program).x


def satisfies(rows: Iterable[Constraint], exponents: tuple[Fraction, ...]) -> bool:
    """Exact membership in the polytope."""
    if any(x < 0 for x in exponents):
        return False
    common = lcm(*(x.denominator for x in exponents))
    used = [(j, int(x * common)) for j, x in enumerate(exponents) if x]
    return all(sum(row[j] * n for j, n in used) >= right * common for row, right in rows)


def _roundings(mixture: Floats) -> NDArray[np.int_]:
    """Numerators near d * mixture that sum up to d, by largest remainders: d up to `DENOMINATOR`, in lowest terms."""
    finest = ceil(min(1 / mixture.min(), FINEST))  # where a small weight is no longer rounded to nothing
    d = np.array([*range(1, DENOMINATOR + 1), *range(DENOMINATOR + 1, finest + 1)[-1:]])[:, None]
    scaled = d * mixture[None, :]
    floors = np.floor(scaled + 1e-9)
    short = d - floors.sum(axis=1, keepdims=True)
    order = np.argsort(np.argsort(floors - scaled, axis=1, kind="stable"), axis=1, kind="stable")
    found = (floors + (order < short)).astype(int)
    return np.asarray(found[(found.sum(axis=1) == d[:, 0]) & (np.gcd.reduce(found, axis=1) == 1)])


def _mix(sums: Floats, constants: Floats) -> Floats:
    """Minimise sum_t S_t log(S_t/sigma) + c.x over mixtures x of points, S = x sums, by barrier Newton.

    In plain floats, as there are few points and tensors.
    """
    points = sums[:, sums.max(axis=0) > 0].tolist()
    if not points[0]:
        return np.asarray(np.arange(len(points)) == int(np.argmin(constants)), dtype=float)
    x, costs, barrier = [1.0 / len(points)] * len(points), constants.tolist(), 1e-2
    while barrier > 1e-11 and len(x) > 1:
        for _ in range(3):
            step = _newton(points, costs, x, barrier)
            relative = [dx / own for dx, own in zip(step, x, strict=True)]
            reach = min(1.0, 0.95 / max(-min(relative), 1e-9))
            x = [own + reach * dx for dx, own in zip(step, x, strict=True)]
            if reach == 1.0 and max(map(abs, relative)) < 0.1:
                break
        barrier *= 0.05
    return np.array(x) / sum(x)


def _newton(points: list[list[float]], costs: list[float], x: list[float], barrier: float) -> list[float]:
    """The Newton step of a mixture that keeps its sum: what the largest share loses, the others gain."""
    last = x.index(max(x))
    shares = [sum(map(mul, x, column)) for column in zip(*points, strict=True)]
    total = sum(shares)
    logs = [log(share / total) for share in shares]
    slopes = [c + sum(map(mul, point, logs)) - barrier / own for c, point, own in zip(costs, points, x, strict=True)]
    others = [i for i in range(len(x)) if i != last]
    apart = [[a - b for a, b in zip(points[i], points[last], strict=True)] for i in others]
    scaled = [[a / share for a, share in zip(row, shares, strict=True)] for row in apart]
    sigmas = [sum(row) for row in apart]
    common = barrier / x[last] ** 2
    system = [
        [sum(map(mul, a, b)) - p * q / total + common for b, q in zip(apart, sigmas, strict=True)]
        for a, p in zip(scaled, sigmas, strict=True)
    ]
    for k, i in enumerate(others):
        system[k][k] += barrier / x[i] ** 2 + 1e-14
        system[k].append(slopes[last] - slopes[i])
    step = _solved(system)
    step.insert(last, -sum(step))
    return step


def _solved(system: list[list[float]]) -> list[float]:
    """Solution of a positive definite system, right-hand sides last; the rows are used up."""
    for k, pivot in enumerate(system):
        for row in system[k + 1 :]:
            factor = row[k] / pivot[k]
            for j in range(k + 1, len(row)):
                row[j] -= factor * pivot[j]
    found: list[float] = []
    for k in reversed(range(len(system))):
        row = system[k]
        found.insert(0, (row[-1] - sum(map(mul, row[k + 1 : -1], found))) / row[k])
    return found
