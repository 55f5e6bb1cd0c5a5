"""About how long a sweep takes: from times that it has stored, or from a few of its points that are tried."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import sqrt

from optmap.base.clock import Clock
from optmap.sweeps.plan import Seconds, curves, first_grid, machine_at
from optmap.sweeps.points import GridPoint, make_point
from optmap.sweeps.spec import SweepSpec
from optmap.workloads.builders import matmul

TRIED = 3
"""Points per method that are tried: of the workload with the fewest operations, of a middle one, of that with most."""
TRIAL_S = 1.5
"""Time limit of each, in seconds."""
TRIALS_S = 6.0
"""Time after which no more are tried, in seconds."""
SPREAD = 2.0
"""How far times of other points may be from the mean of what is stored."""
NONE = Seconds(least=0.0, about=0.0, most=0.0)
Measure = Callable[[GridPoint], float]
"""Answers a point and keeps nothing; how long that took, in seconds."""


def estimate(
    spec: SweepSpec,
    missing: Mapping[str, int],
    measured: Mapping[str, float],
    measure: Measure | None = None,
) -> Seconds:
    """How long the points that are missing take one after another.

    Args:
        spec: what is wanted.
        missing: points to answer, by method.
        measured: mean seconds per point, by method, where some are stored.
        measure: tries a point.
    """
    total, clock = NONE, Clock.after(TRIALS_S)
    for method, number in missing.items():
        if number <= 0:
            continue
        if method in measured:
            mean = measured[method]
            one = Seconds(least=mean / SPREAD, about=mean, most=mean * SPREAD)
        else:
            one = _of(spec, _tried(trials(spec, method)[:number], measure or answer_time, clock))
        total = total.plus(one.times(number))
    return total


def trials(spec: SweepSpec, method: str) -> list[GridPoint]:
    """Points of a method that are tried, the quickest first, as far as that can be told."""
    found, grid = list(curves(spec)), first_grid(spec)
    order = sorted(range(len(found)), key=lambda number: found[number].workload.operations)
    made = dict[str, GridPoint]()
    for part in range(TRIED):
        number = order[part * (len(order) - 1) // (TRIED - 1)]
        curve, amounts = found[number], grid[number]
        machine = machine_at(spec, curve, amounts[part * (len(amounts) - 1) // (TRIED - 1)])
        options = spec.options.of(method)
        options = options.having(time_limit=min(options.time_limit, TRIAL_S))
        point = make_point(curve.workload, machine, level=curve.level, method=method, options=options, seed=spec.seed)
        made.setdefault(point.input_hash, point)
    return list(made.values())


def _tried(tries: Sequence[GridPoint], measure: Measure, clock: Clock) -> list[float]:
    """Seconds of points, as far as there is time for them."""
    return [measure(point) for point in tries if not clock.late]


def _of(spec: SweepSpec, seconds: Sequence[float]) -> Seconds:
    """A point, from the times of some; those that ran into the limit of a trial may take up to the sweep's own."""
    limit = spec.options.time_limit
    if not seconds:
        return Seconds(least=0.0, about=sqrt(min(1.0, limit) * limit), most=limit)
    ends = [limit if each >= TRIAL_S and limit > TRIAL_S else each for each in seconds]
    about = [sqrt(low * high) for low, high in zip(seconds, ends, strict=True)]
    return Seconds(least=min(seconds), about=sum(about) / len(about), most=max(ends))


def answer_time(point: GridPoint) -> float:
    """Answer a point in this process and keep nothing; what is loaded for the first of a kind does not count."""
    from optmap.sweeps.answers import answer_point

    answer_point(replace(point, workload=matmul(i=2, j=2, k=2)))
    begun = time.monotonic()
    answer_point(point)
    return time.monotonic() - begun
