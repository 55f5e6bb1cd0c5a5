"""The steps of the batched interior point: one for all programs of a batch at once.

Predictor and corrector after Mehrotra (1992): the step without centring shows how far the central
path can be followed, and its second-order error is made good in the step that is taken. Slacks are
variables of their own, so signs alone limit a step and no row is evaluated twice. A row is then
kept in the limit only: a point that is handed out is drawn towards the start until it keeps them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from optmap.base.arrays import Floats
from optmap.base.rows import Rows

NO_TERM = -1.0e4
"""Logarithm of the coefficient of a padding term: it contributes exactly zero."""
HELD = 1e-8
"""A row counts as kept if it is missed by at most this share of its slack at the start."""
LEAST = 1e-11
"""Slack times multiplier that is aimed at, at least."""
ROUNDING = 1e-15
"""What a row may be missed by because it is computed in floats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch(Rows):
    """B programs of one shape, with n variables, K epigraph rows and J capacities of at most m terms."""

    exponents: Floats
    """(B, K + J, m, n): the monomials of each posynomial, epigraph rows first."""
    logs: Floats
    """(B, K + J, m): logarithms of the coefficients; `NO_TERM` for padding."""
    alpha: Floats
    """(B, K): factor of z on the right-hand side of each epigraph row, positive."""
    constant: Floats
    """(B, K): constant on the right-hand side of each epigraph row."""
    linear: Floats
    """(B, R, n): rows A of A t <= b."""
    limit: Floats
    """(B, R): right-hand sides b."""
    lower: Floats
    """(B, n): lower ends of the box."""
    upper: Floats
    """(B, n): upper ends of the box, strictly above the lower ends."""

    def totals(self, t: Floats) -> Floats:
        """(B, K + J): the posynomials at the points t (B, n)."""
        size, rows, terms, n = self.exponents.shape
        straight = (self.exponents.reshape(size, rows * terms, n) @ t[:, :, None]).reshape(size, rows, terms)
        return np.asarray(np.exp(straight + self.logs).sum(axis=2))

    def chains(self, t: Floats) -> Floats:
        """(B, R): A t - b at the points t (B, n)."""
        return np.asarray((self.linear @ t[:, :, None])[:, :, 0] - self.limit)


def joined(batches: Sequence[Batch]) -> Batch:
    """The programs of several batches that differ in the terms of their posynomials at most."""
    if len(batches) == 1:
        return batches[0]
    most = max(batch.logs.shape[2] for batch in batches)
    arrays = {field.name: [getattr(batch, field.name) for batch in batches] for field in fields(Batch)}
    for name, rest, empty in (("exponents", ((0, 0),), 0.0), ("logs", (), NO_TERM)):
        arrays[name] = [
            np.pad(one, ((0, 0), (0, 0), (0, most - one.shape[2]), *rest), constant_values=empty)
            for one in arrays[name]
        ]
    return Batch(**{name: np.concatenate(parts) for name, parts in arrays.items()})


class Iterates:
    """Primal and dual iterates of a batch; every method works on all programs."""

    batch: Batch
    start: Floats
    """(B, n): where each program began, strictly inside every limit."""
    x: Floats
    """(B, n + 1): t, then y = log(z/scale)."""
    scale: Floats
    """(B,): the z that the start needs."""
    best: Floats
    """(B, n): the point that keeps every row and needs the least z, of all seen."""
    most: Floats
    """(B,): the z that it needs; the optimum is at most that. Infinite where none was seen."""
    low: Floats
    """(B,): the largest lower bound on z seen."""
    slack: Floats
    """(B, K + J + R + 2n): slacks of the constraints."""
    dual: Floats
    """(B, K + J + R + 2n): their multipliers."""
    room: Floats
    """(B, K + J + R + 2n): the slacks at the start."""
    rows: Floats
    """(B, (K + J)(m + 1) + R + 2n, n + 1): gradients in x of monomials, then those of the constraints. A monomial
    of an epigraph row goes along in y with its row."""
    limits: Floats
    """(B, R + 2n): right-hand sides of the linear constraints."""
    z: Floats
    """(B,): the z of the current y."""
    weights: Floats
    """(B, K + J, m): share of every monomial in its posynomial."""
    f: Floats
    """(B, K + J + R + 2n): the constraints, negative inside: posynomials, chains, upper ends, lower ends."""

    PER_PROGRAM = (
        "batch",
        "start",
        "x",
        "scale",
        "best",
        "most",
        "low",
        "slack",
        "dual",
        "room",
        "rows",
        "limits",
        "z",
        "weights",
        "f",
    )

    def __init__(self, batch: Batch, start: Floats) -> None:
        size, p, m, n = batch.exponents.shape
        self.batch, self.start = batch, start
        box = np.arange(-2 * n, -n), np.arange(n)
        self.rows = np.zeros((size, p * (m + 1) + batch.linear.shape[1] + 2 * n, n + 1))
        self.rows[:, : p * m, :n] = batch.exponents.reshape(size, p * m, n)
        self.rows[:, p * (m + 1) : -2 * n, :n] = batch.linear
        self.rows[:, box[0], box[1]], self.rows[:, box[0] + n, box[1]] = 1.0, -1.0
        self.limits = np.concatenate((batch.limit, batch.upper, -batch.lower), axis=1)
        # z begins a little above what the start needs.
        self.x = np.concatenate((start, np.full((size, 1), 0.1)), axis=1)
        self.scale = np.maximum(_needed(batch, batch.totals(start)), 1e-300)
        self.best, self.most, self.low = start.copy(), np.full(size, np.inf), np.full(size, -np.inf)
        self._evaluate()
        self.room = self.slack = np.maximum(-self.f, 1e-12)
        self.dual = 1.0 / (self.f.shape[1] * self.slack)

    def take(self, index: NDArray[np.intp]) -> Iterates:
        """The programs at `index`."""
        other = object.__new__(Iterates)
        for name in self.PER_PROGRAM:
            setattr(other, name, getattr(self, name)[index])
        return other

    def points(self) -> tuple[Floats, Floats]:
        """Points that keep every row, near the current ones, and the z that they need."""
        batch, n = self.batch, self.start.shape[1]
        priced, chains = batch.alpha.shape[1], self.f.shape[1] - 2 * n
        # Rows are convex: what the start has to spare makes good what is missed, in proportion.
        missed = np.maximum(self.f[:, priced:chains] + ROUNDING, 0.0)
        share = (missed / (missed + self.room[:, priced:chains])).max(axis=1, initial=0.0)[:, None]
        t = (1 - share) * self.x[:, :n] + share * self.start
        t = np.minimum(np.maximum(t, batch.lower), batch.upper)
        needed = _needed(batch, batch.totals(t))
        seen = self.most <= needed
        return np.where(seen[:, None], self.best, t), np.where(seen, self.most, needed)

    def converged(self, tolerance: float) -> NDArray[np.bool_]:
        """Whether bound and best point, or what steps can still gain, differ by the tolerance at most."""
        near = (self.slack * self.dual).sum(axis=1) <= 0.1 * tolerance
        kept = (self.f + self.slack <= HELD * self.room + ROUNDING).all(axis=1)
        return np.asarray((self.low >= (1 - tolerance) * self.most) | (near & kept))

    def step(self, still: NDArray[np.bool_]) -> None:
        """One step of every program but those that stand still."""
        missed = 1.0 + self.f / self.slack
        hessian = self._hessian()
        moved = self._direction(hessian, missed, missed)[1]
        # To first order a multiplier changes by -1 - moved: complementarity is kept.
        length = 1.0 / np.maximum(1.0, 0.5 + np.abs(moved + 0.5).max(axis=1, keepdims=True))
        second = moved * (1.0 + moved)
        product = self.slack * self.dual
        now = product.mean(axis=1, keepdims=True)
        then = (1.0 - length) * now - length**2 * (product * second).mean(axis=1, keepdims=True)
        # Beyond that slack times multiplier would be lost in rounding before every row is kept.
        centre = np.maximum((then / now) ** 2 * now, LEAST)
        aim = centre / product + second
        change, moved = self._direction(hessian, aim + missed, missed)
        grown = aim - 1.0 - moved
        if still.any():
            change[still], moved[still], grown[still] = 0.0, 0.0, 0.0
        # Nearer the optimum closer to the boundary: quadratic convergence.
        most = np.minimum(np.maximum(1.0 - now, 0.99), 0.9999)
        length = np.minimum(1.0, most / np.maximum(1e-300, -np.minimum(moved, grown).min(axis=1, keepdims=True)))
        self.x = self.x + length * change
        self.slack = self.slack * (1 + length * moved)
        self.dual = self.dual * (1 + length * grown)
        self._evaluate()
        self.slack = np.maximum(self.slack, -self.f)
        self._bound()

    def _evaluate(self) -> None:
        """Constraints and their gradients at the current x, and the z that it needs if it keeps every row."""
        batch, (size, p, m) = self.batch, self.batch.logs.shape
        n, k = self.start.shape[1], batch.alpha.shape[1]
        t = self.x[:, :n]
        self.z = np.exp(self.x[:, n]) * self.scale
        straight = (self.rows[:, :, :n] @ t[:, :, None])[:, :, 0]
        terms = straight[:, : p * m].reshape(size, p, m) + batch.logs
        top = terms.max(axis=2)
        shares = np.exp(terms - top[:, :, None])
        total = shares.sum(axis=2)
        self.weights = shares / total[:, :, None]
        self.f = f = np.empty((size, p + self.limits.shape[1]))
        f[:, :p] = top + np.log(total)
        needed = ((np.exp(f[:, :k]) - batch.constant) / batch.alpha).max(axis=1)
        rising = batch.alpha * self.z[:, None]
        right = rising + batch.constant
        f[:, :k] -= np.log(right)
        f[:, p:] = straight[:, p * (m + 1) :] - self.limits
        better = (f[:, k:].max(axis=1, initial=-np.inf) <= 0.0) & (needed < self.most)
        self.best[better], self.most[better] = t[better], needed[better]
        monomials = self.rows[:, : p * m].reshape(size, p, m, n + 1)
        monomials[:, :k, :, n] = (-rising / right)[:, :, None]
        self.rows[:, p * m : p * (m + 1)] = np.einsum("bpm,bpmn->bpn", self.weights, monomials)

    def _bound(self) -> None:
        """The tangent plane of the Lagrangian in (t, z), minimised over the box and 0 <= z <= `most`.

        It holds for any multipliers: rows are convex in (t, z), and the optimum is at most `most`.
        """
        batch, t = self.batch, self.x[:, :-1]
        chains = self.f.shape[1] - 2 * t.shape[1]
        slope = (self.dual[:, None, :chains] @ self._gradients()[:, :chains])[:, 0]
        in_t, in_z = slope[:, :-1], 1.0 + slope[:, -1]
        value = 1.0 + (self.f[:, :chains] * self.dual[:, :chains]).sum(axis=1)
        value += np.minimum(in_t * (batch.lower - t), in_t * (batch.upper - t)).sum(axis=1)
        value += np.minimum(-in_z, in_z * (self.most / self.z - 1.0))
        low = value * self.z
        self.low = np.where(np.isfinite(low), np.maximum(self.low, low), self.low)

    def _gradients(self) -> Floats:
        """(B, K + J + R + 2n, n + 1): those of the constraints."""
        return self.rows[:, self.weights[0].size :]

    def _hessian(self) -> Floats:
        """(B, n + 1, n + 1): the Lagrangian's, with what slacks and multipliers add to it."""
        size, p, m = self.weights.shape
        # The curvature of a posynomial: its monomials' squares, weighted, less the square of its gradient.
        monomials = (self.dual[:, :p, None] * self.weights).reshape(size, p * m)
        factors = np.concatenate((monomials, self.dual / self.slack), axis=1)
        factors[:, p * m : p * (m + 1)] -= self.dual[:, :p]
        hessian = self.rows.transpose(0, 2, 1) @ (self.rows * factors[:, :, None])
        diagonal = np.arange(hessian.shape[1])
        hessian[:, diagonal, diagonal] *= 1 + 1e-13
        return np.asarray(hessian)

    def _direction(self, hessian: Floats, push: Floats, missed: Floats) -> tuple[Floats, Floats]:
        """The change of x that a push on every multiplier makes, and the change of the slacks in their own size."""
        gradients = self._gradients()
        force = ((self.dual * push)[:, None] @ gradients)[:, 0]
        force[:, -1] += 1.0  # of z, which is minimised
        change = _solved(hessian, -force)
        return change, -(gradients @ change[:, :, None])[:, :, 0] / self.slack - missed


def _solved(matrices: Floats, right: Floats) -> Floats:
    """(B, n): the solutions of B systems of equations; NaN where a matrix is singular."""
    try:
        return np.asarray(np.linalg.solve(matrices, right[:, :, None])[:, :, 0], dtype=np.float64)
    except np.linalg.LinAlgError:
        if len(right) == 1:
            return np.full_like(right, np.nan)
        # One singular matrix must not take the others' solutions along.
        return np.concatenate([_solved(matrices[i : i + 1], right[i : i + 1]) for i in range(len(right))])


def _needed(batch: Batch, totals: Floats) -> Floats:
    """(B,): the z that epigraph rows need, from the values of all posynomials."""
    return np.asarray(((totals[:, : batch.alpha.shape[1]] - batch.constant) / batch.alpha).max(axis=1))
