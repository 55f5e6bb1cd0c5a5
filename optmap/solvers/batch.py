"""Many small geometric programs at once: a primal-dual interior point vectorised over programs.

Each program of a batch is, in logarithms t of the variables,

    minimise z   subject to   log p_k(t) <= log(alpha_k z + constant_k)   (epigraph rows)
                              log q_j(t) <= 0                             (capacities)
                              A t <= b,  lower <= t <= upper              (chains and box)

with posynomials p_k, q_j: jointly convex in (t, z), because the logarithm of an affine function is
concave. `alpha_k = 0` makes a row an upper limit. All programs of a batch share the shape (number
of variables, rows per posynomial), so one step is a handful of array operations for all of them.

The lower bound returned with each point does not rest on convergence: it is the Lagrangian at the
multipliers found, minimised over the box through its tangent plane, hence valid for any
multipliers up to the rounding of a float. The iterates use y = log z, in which rows without a
constant are linear; the set of t that a y allows is convex and grows with y, so a stationary point
is the global optimum also with constants. The bound is always taken in (t, z).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from optmap.programs.posynomial import GeometricProgram
from optmap.solvers.status import Point, Solution, Stop

Array = NDArray[np.float64]

NO_TERM = -1.0e4
"""Logarithm of the coefficient of a padding term: it contributes exactly zero."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """B programs of one shape, with n variables, K epigraph rows and J capacities."""

    exponents: Array
    """(B, M, n): one row per monomial; the rows of a posynomial are contiguous."""
    logs: Array
    """(B, M): logarithms of the coefficients; `NO_TERM` for padding."""
    starts: tuple[int, ...]
    """First row of each of the K + J posynomials, epigraph rows first."""
    alpha: Array
    """(B, K): factor of z on the right-hand side of each epigraph row."""
    constant: Array
    """(B, K): constant on the right-hand side of each epigraph row."""
    linear: Array
    """(B, R, n): rows A of A t <= b."""
    limit: Array
    """(B, R): right-hand sides b."""
    lower: Array
    """(B, n): lower ends of the box."""
    upper: Array
    """(B, n): upper ends of the box, strictly above the lower ends."""

    def take(self, index: NDArray[np.intp]) -> Batch:
        """The programs at `index`."""
        return Batch(
            exponents=self.exponents[index],
            logs=self.logs[index],
            starts=self.starts,
            alpha=self.alpha[index],
            constant=self.constant[index],
            linear=self.linear[index],
            limit=self.limit[index],
            lower=self.lower[index],
            upper=self.upper[index],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSolution:
    """What is known of each program of a batch."""

    point: Array
    """(B, n): a strictly feasible t; NaN where there is none."""
    value: Array
    """(B,): z at that point; infinite where there is none."""
    bound: Array
    """(B,): lower bound on z; infinite for programs without a start, -infinite where arithmetic
    broke down."""
    iterations: int
    """Newton steps taken by the slowest program."""


def solve_batch(
    batch: Batch, *, start: Array, tolerance: float = 1e-8, enough: float = 0.0, max_iterations: int = 80
) -> BatchSolution:
    """Solve all programs of a batch.

    Args:
        batch: the programs.
        start: (B, n) points strictly inside every capacity, chain and box; rows that are NaN
            mark programs without such a point, reported as infeasible.
        tolerance: relative surrogate gap at which a program is done.
        enough: a program is also done when it reaches this z: its optimum is then known to be at
            most that, its bound may be weak.
        max_iterations: Newton steps at most; the bounds stay valid wherever it stops.
    """
    size, n = start.shape
    point = np.full((size, n), np.nan)
    value = np.full(size, np.inf)
    bound = np.full(size, np.inf)
    live = np.flatnonzero(np.isfinite(start).all(axis=1))
    if live.size == 0:
        return BatchSolution(point=point, value=value, bound=bound, iterations=0)
    state = _State(batch.take(live), start[live])
    steps = 0
    active = np.arange(live.size)
    working = state
    while active.size and steps < max_iterations:
        working.newton_step()
        steps += 1
        done = working.converged(tolerance) | (working.reached() <= enough)
        if done.any() or steps == max_iterations:
            finished = np.flatnonzero(done) if steps < max_iterations else np.arange(active.size)
            where = live[active[finished]]
            sub = working.take(finished)
            point[where] = sub.t
            value[where] = sub.objective()
            bound[where] = sub.lower_bound()
            keep = np.setdiff1d(np.arange(active.size), finished)
            active = active[keep]
            working = working.take(keep)
    # Where arithmetic broke down nothing is known: no bound, no point.
    broken = live[~(np.isfinite(value[live]) & np.isfinite(bound[live]))]
    point[broken], value[broken], bound[broken] = np.nan, np.inf, -np.inf
    return BatchSolution(point=point, value=value, bound=bound, iterations=steps)


def batch_of(program: GeometricProgram) -> Batch:
    """A geometric program as a batch of one: the same rows as arrays.

    Args:
        program: with a box that is nowhere a single point.
    """
    n = len(program.names)
    limits = [row for row in program.levels if row.alpha == 0]
    priced = [row for row in program.levels if row.alpha > 0]
    held = [row.posynomial.scale(1.0 / row.constant) for row in limits] + list(program.capacities)
    rows = [row.posynomial for row in priced] + held
    sizes = [p.terms for p in rows]
    linear = np.zeros((len(program.chain), n))
    for k, (i, j) in enumerate(program.chain):
        linear[k, i], linear[k, j] = 1.0, -1.0
    return Batch(
        exponents=np.concatenate([p.exponents for p in rows])[None],
        logs=np.log(np.concatenate([p.coefficients for p in rows]))[None],
        starts=tuple(sum(sizes[:k]) for k in range(len(sizes))),
        alpha=np.array([[row.alpha for row in priced]]),
        constant=np.array([[row.constant for row in priced]]),
        linear=linear[None],
        limit=np.zeros((1, len(program.chain))),
        lower=program.lower[None],
        upper=program.upper[None],
    )


def solve_posynomial(program: GeometricProgram, *, start: Mapping[str, float] | None = None) -> Solution:
    """Solve one geometric program with the batched interior point.

    Args:
        program: min z over logarithms t (see `GeometricProgram`).
        start: value of t per variable, strictly inside every limit and chain; near the lower
            corner of the box by default.

    Returns:
        Objective z and its proved bound; values are the t's. Without a start inside, no point.
    """
    began = time.perf_counter()
    t = 0.999 * program.lower + 0.001 * program.upper
    if start is not None:
        t = np.array([start[name] for name in program.names])
    batch = batch_of(program)
    state = _State(batch, t[None])
    inside = state.f[:, state.epigraphs :] < 0
    found = solve_batch(batch, start=np.where(inside.all(), t, np.nan)[None])
    solved = bool(np.isfinite(found.value[0]) and np.isfinite(found.bound[0]))
    return Solution(
        stop=Stop.OPTIMAL if solved else Stop.ERROR,
        point=Point.GLOBAL_OPTIMUM if solved else Point.NONE,
        objective=float(found.value[0]) if solved else None,
        bound=float(found.bound[0]) if solved else None,
        values=dict(zip(program.names, found.point[0].tolist(), strict=True)) if solved else {},
        seconds=time.perf_counter() - began,
        iterations=found.iterations,
        solver="batch",
        message="converged" if solved else "no bound was found from this start",
    )


class _State:
    """Primal and dual iterates of a batch; every method works on all programs."""

    batch: Batch
    groups: int
    epigraphs: int
    starts: NDArray[np.intp]
    owner: NDArray[np.intp]
    """Posynomial of every monomial."""
    t: Array
    y: Array
    scale: Array
    dual: Array
    centring: Array
    log_p: Array
    weights: Array
    """(B, M): share of every monomial in its posynomial."""
    slopes: Array
    """(B, K + J + R, n): gradients in t of posynomials and chains."""
    f: Array
    """(B, K + J + R + 2n): the constraints, negative inside: posynomials, chains, upper ends, lower ends."""
    fall: Array
    """(B, K): derivative of each epigraph row in y."""

    def __init__(self, batch: Batch, t: Array) -> None:
        self.batch = batch
        self.t = t
        self.groups = len(batch.starts)
        self.epigraphs = batch.alpha.shape[1]
        self.starts = np.asarray(batch.starts)
        self.owner = np.repeat(np.arange(self.groups), np.diff(np.append(self.starts, batch.logs.shape[1])))
        self.slopes = np.concatenate((np.zeros((len(t), self.groups, t.shape[1])), batch.linear), axis=1)
        # Start z a little above what the point needs; rows with alpha = 0 must hold already.
        self.scale = np.ones(len(t))
        self.y = np.full(len(t), 0.5)
        self._evaluate()
        self.scale = np.maximum(self._needed().max(axis=1), 1e-300)
        self._evaluate()
        self._differentiate()
        self.dual = 1.0 / np.maximum(-self.f, 1e-12) / self.f.shape[1]
        self.centring = np.full(len(t), 0.3)

    def take(self, index: NDArray[np.intp]) -> _State:
        other = object.__new__(_State)
        other.batch = self.batch.take(index)
        for name in ("groups", "epigraphs", "starts", "owner"):
            setattr(other, name, getattr(self, name))
        for name in ("t", "y", "scale", "dual", "centring", "log_p", "weights", "slopes", "f", "fall"):
            setattr(other, name, getattr(self, name)[index])
        return other

    def _evaluate(self) -> None:
        """Posynomials and constraints at the current t and y."""
        batch, k, g, n = self.batch, self.epigraphs, self.groups, self.t.shape[1]
        chains = batch.limit.shape[1]
        terms = (batch.exponents @ self.t[:, :, None])[:, :, 0] + batch.logs
        top = np.maximum.reduceat(terms, self.starts, axis=1)
        shifted = np.exp(terms - top[:, self.owner])
        total = np.add.reduceat(shifted, self.starts, axis=1)
        self.log_p = top + np.log(total)
        self.weights = shifted / total[:, self.owner]
        rising = batch.alpha * np.exp(self.y)[:, None]
        right = rising + batch.constant / self.scale[:, None]
        self.fall = -rising / right
        self.f = np.empty((len(self.t), g + chains + 2 * n))
        self.f[:, :g] = self.log_p
        self.f[:, :k] -= np.log(right * self.scale[:, None])
        self.f[:, g : g + chains] = (batch.linear @ self.t[:, :, None])[:, :, 0] - batch.limit
        self.f[:, g + chains : g + chains + n] = self.t - batch.upper
        self.f[:, g + chains + n :] = batch.lower - self.t

    def _differentiate(self) -> None:
        """Gradients of the posynomials at the current t."""
        weighted = self.weights[:, :, None] * self.batch.exponents
        self.slopes[:, : self.groups] = np.add.reduceat(weighted, self.starts, axis=1)

    def _needed(self) -> Array:
        """The z that every epigraph row needs at the current t."""
        batch = self.batch
        level, movable = np.exp(self.log_p[:, : self.epigraphs]), batch.alpha > 0
        return np.where(movable, (level - batch.constant) / np.where(movable, batch.alpha, 1.0), -np.inf)

    def objective(self) -> Array:
        """The least z that the current t allows, in the program's own unit."""
        batch = self.batch
        level = np.exp(self.log_p[:, : self.epigraphs])
        limits_hold = np.where(batch.alpha > 0, True, level <= batch.constant * (1 + 1e-9)).all(axis=1)
        return np.where(limits_hold, self._needed().max(axis=1), np.inf)

    def reached(self) -> Array:
        """An upper estimate of the z that the current t needs."""
        return np.asarray(np.exp(self.y) * self.scale)

    def converged(self, tolerance: float) -> NDArray[np.bool_]:
        gap = -(self.f * self.dual).sum(axis=1)
        done = gap <= tolerance
        return np.asarray(done & (self._dual_residual().max(axis=1) <= tolerance)) if done.any() else done

    def _box_rows(self, values: Array) -> tuple[Array, Array]:
        """The entries of the upper and of the lower ends of the box; none without variables."""
        first, n = self.groups + self.batch.limit.shape[1], self.t.shape[1]
        return values[:, first : first + n], values[:, first + n :]

    def _along(self, values: Array) -> Array:
        """(B, n): gradients of posynomials and chains, each times its entry."""
        return np.asarray((values[:, None, : self.slopes.shape[1]] @ self.slopes)[:, 0])

    def _lagrangian_gradient(self) -> tuple[Array, Array]:
        """Gradients of the Lagrangian in t (box left out) and in y."""
        return self._along(self.dual), 1.0 + (self.dual[:, : self.epigraphs] * self.fall).sum(axis=1)

    def _dual_residual(self) -> Array:
        above, below = self._box_rows(self.dual)
        in_t, in_y = self._lagrangian_gradient()
        in_t = in_t + above - below
        return np.abs(np.concatenate((in_t, in_y[:, None]), axis=1))

    def lower_bound(self) -> Array:
        """The tangent plane of the Lagrangian in (t, z), minimised over box and 0 <= z <= e^y.

        The optimum is at most the z of a feasible point, so z beyond it need not be looked at.
        """
        batch = self.batch
        in_t, in_y = self._lagrangian_gradient()
        first = self.slopes.shape[1]
        value = 1.0 + (self.f[:, :first] * self.dual[:, :first]).sum(axis=1)
        value = value + np.minimum(in_t * (batch.lower - self.t), in_t * (batch.upper - self.t)).sum(axis=1)
        value = value + np.minimum(0.0, -in_y)
        return np.asarray(value * np.exp(self.y) * self.scale)

    def newton_step(self) -> None:
        batch, f = self.batch, self.f
        k, g, n = self.epigraphs, self.groups, self.t.shape[1]
        target = -(f * self.dual).sum(axis=1) / f.shape[1] * self.centring
        ratio = self.dual / -f
        # Hessian of the Lagrangian: sum of dual * (E' diag(w) E - gradient gradient').
        scaled = batch.exponents * (self.dual[:, self.owner] * self.weights)[:, :, None]
        outer = ratio[:, : self.slopes.shape[1]].copy()
        outer[:, :g] -= self.dual[:, :g]
        hessian = np.empty((len(self.y), n + 1, n + 1))
        hessian[:, :n, :n] = scaled.transpose(0, 2, 1) @ batch.exponents
        hessian[:, :n, :n] += (self.slopes * outer[:, :, None]).transpose(0, 2, 1) @ self.slopes
        above, below = self._box_rows(ratio)
        diagonal = np.arange(n + 1)
        hessian[:, diagonal[:n], diagonal[:n]] += above + below
        steep = ratio[:, :k] * self.fall
        hessian[:, n, n] = (steep * self.fall).sum(axis=1)
        hessian[:, :n, n] = hessian[:, n, :n] = (steep[:, None, :] @ self.slopes[:, :k])[:, 0]
        push = target[:, None] / -f
        above, below = self._box_rows(push)
        right = np.empty((len(self.y), n + 1, 1))
        right[:, :n, 0] = below - above - self._along(push)
        right[:, n, 0] = -(1.0 + (push[:, :k] * self.fall).sum(axis=1))
        hessian[:, diagonal, diagonal] *= 1 + 1e-13
        step = np.linalg.solve(hessian, right)
        dt, dy = step[:, :n, 0], step[:, n, 0]
        smooth = (self.slopes @ step[:, :n])[:, :, 0]
        smooth[:, :k] += self.fall * dy[:, None]
        ddual = -(target[:, None] + self.dual * (f + np.concatenate((smooth, dt, -dt), axis=1))) / f
        self._line_search(dt, dy, ddual)
        self._differentiate()

    def _line_search(self, dt: Array, dy: Array, ddual: Array) -> None:
        """Step as far as dual and primal feasibility allow, halving per program."""
        shrinking = ddual < 0
        room = np.where(shrinking, -self.dual / np.where(shrinking, ddual, -1.0), np.inf).min(axis=1)
        length = np.minimum(1.0, 0.99 * room)
        t, y = self.t, self.y
        for _ in range(40):
            self.t = t + length[:, None] * dt
            self.y = y + length * dy
            self._evaluate()
            inside = (self.f < 0).all(axis=1)
            if inside.all():
                break
            length = np.where(inside, length, 0.5 * length)
        else:
            length = np.where(inside, length, 0.0)
            self.t = t + length[:, None] * dt
            self.y = y + length * dy
            self._evaluate()
        self.dual = self.dual + length[:, None] * ddual
        # A short step means the iterate left the central path: aim closer to it next time.
        self.centring = np.where(length > 0.9, 0.03, np.where(length > 0.4, 0.3, 0.8))
