"""Many small geometric programs at once: a primal-dual interior point vectorised over programs.

Each program of a batch is, in logarithms t of the variables,

    minimise z   subject to   log p_k(t) <= log(alpha_k z + constant_k)   (epigraph rows)
                              log q_j(t) <= 0                             (capacities)
                              A t <= b,  lower <= t <= upper              (chains and box)

with posynomials p_k, q_j: jointly convex in (t, z), because the logarithm of an affine function is
concave. All programs of a batch share the shape (number of variables, terms per posynomial), so one
step (`Iterates.step`) is a handful of array operations for all of them.

The lower bound returned with each point does not rest on convergence: it is the Lagrangian at the
multipliers found, minimised over the box through its tangent plane, hence valid for any
multipliers up to the rounding of a float. The iterates use y = log z, in which rows without a
constant are linear; the set of t that a y allows is convex and grows with y, so a stationary point
is the global optimum also with constants. The bound is always taken in (t, z).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from optmap.base.arrays import Floats
from optmap.programs.posynomial import GeometricProgram
from optmap.solvers.iterates import NO_TERM, Batch, Iterates
from optmap.solvers.status import PointKind, Solution, Stop

Settled = Callable[[Floats, Floats], NDArray[np.bool_]]
"""Of which programs (B,) enough is known, from the least z (B,) reached and the bounds (B,) on it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSolution:
    """What is known of each program of a batch."""

    point: Floats
    """(B, n): a t that keeps every row; NaN where there is none."""
    value: Floats
    """(B,): z at that point; infinite where there is none."""
    bound: Floats
    """(B,): lower bound on z; infinite for programs without a start, -infinite where arithmetic
    broke down."""
    iterations: int
    """Newton steps taken by the slowest program."""


def solve_batch(
    batch: Batch,
    *,
    start: Floats,
    tolerance: float = 1e-8,
    settled: Settled | None = None,
    max_iterations: int = 80,
) -> BatchSolution:
    """Solve all programs of a batch.

    Args:
        batch: the programs.
        start: (B, n) points strictly inside every capacity, chain and box; rows that are NaN
            mark programs without such a point, reported as infeasible.
        tolerance: relative distance of z and its bound at which a program is done.
        settled: asked after every step which programs are done as well; their bound may be weak.
        max_iterations: Newton steps at most; the bounds stay valid wherever it stops.
    """
    point = np.full(start.shape, np.nan)
    value, bound = np.full(len(start), np.inf), np.full(len(start), np.inf)
    live = np.flatnonzero(np.isfinite(start).all(axis=1))
    work = Iterates(batch[live], start[live])
    done = np.zeros(live.size, dtype=bool)
    steps = 0
    with np.errstate(all="ignore"):  # what overflows is found broken
        while live.size:
            work.step(done)
            steps += 1
            value[live], bound[live] = work.most, work.low
            broken = ~np.isfinite(work.f).all(axis=1)
            done |= work.converged(tolerance) | broken
            if settled is not None:
                done |= settled(value, bound)[live]
            if steps < max_iterations and 2 * done.sum() < done.size and not broken.any():
                continue  # programs that are done stand still: few copies of all arrays
            finished = np.flatnonzero(done | (steps == max_iterations))
            point[live[finished]], value[live[finished]] = work.take(finished).points()
            rest = np.flatnonzero(~done & (steps < max_iterations))
            live, work, done = live[rest], work.take(rest), done[rest]
    tried = np.isfinite(start).all(axis=1)
    # Where arithmetic broke down nothing is known: no bound, no point.
    failed = tried & ~(np.isfinite(value) & np.isfinite(bound))
    point[failed], value[failed], bound[failed] = np.nan, np.inf, -np.inf
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
    most = max(p.terms for p in rows)
    exponents, logs = np.zeros((len(rows), most, n)), np.full((len(rows), most), NO_TERM)
    for row, p in enumerate(rows):
        exponents[row, : p.terms], logs[row, : p.terms] = p.exponents, np.log(p.coefficients)
    linear = np.zeros((len(program.chain), n))
    for k, (i, j) in enumerate(program.chain):
        linear[k, i], linear[k, j] = 1.0, -1.0
    return Batch(
        exponents=exponents[None],
        logs=logs[None],
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
    inside = (batch.totals(t[None])[:, batch.alpha.shape[1] :] < 1).all() and (batch.chains(t[None]) < 0).all()
    inside = inside and (program.lower < t).all() and (t < program.upper).all()
    found = solve_batch(batch, start=np.where(inside, t, np.nan)[None])
    solved = bool(np.isfinite(found.value[0]) and np.isfinite(found.bound[0]))
    return Solution(
        stop=Stop.OPTIMAL if solved else Stop.ERROR,
        point=PointKind.GLOBAL_OPTIMUM if solved else PointKind.NONE,
        objective=float(found.value[0]) if solved else None,
        bound=float(found.bound[0]) if solved else None,
        values=dict(zip(program.names, found.point[0].tolist(), strict=True)) if solved else {},
        seconds=time.perf_counter() - began,
        iterations=found.iterations,
        solver="batch",
        message="converged" if solved else "no bound was found from this start",
    )
