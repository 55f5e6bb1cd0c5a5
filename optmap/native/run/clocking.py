"""How long calls take: measured in C, in turns, so that what the machine does meanwhile meets all alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np

from optmap.native.run.kernel import Kernel
from optmap.native.run.layouts import Array

LEAST_SAMPLE = 1e-4
"""Seconds of a sample: shorter calls are timed several at a time."""
MOST_SAMPLES = 1000
"""Of one turn."""
TURNS = 5
WARMING = 0.1
"""Share of the time in which code runs before it is measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Seconds of one call, caches warm."""

    median: float
    """Half of the samples took no longer."""
    least: float
    """Of the fastest sample."""
    low: float
    """First decile of the samples: what others on the machine hardly disturb, so mappings are compared by it."""
    high: float
    """Ninth decile."""
    samples: int
    calls: int
    """Per sample."""

    @property
    def spread(self) -> float:
        """From the first decile to the ninth, as a share of the median."""
        return (self.high - self.low) / self.median if self.median else 0.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ready:
    """A kernel with the memory that it is timed on: output first."""

    kernel: Kernel
    memories: tuple[Array, ...]


def timings(ready: Sequence[Ready], seconds: float) -> tuple[Timing, ...]:
    """Time kernels in turns: A B C A B C, each as long as the others.

    Args:
        ready: what is timed.
        seconds: for all of them together; every one is called a few times, however long that takes.

    Returns:
        One timing each.
    """
    share = seconds / len(ready)
    plans = [_plan(each, share) for each in ready]
    found: list[list[Array]] = [[] for _ in ready]
    for _ in range(TURNS):
        for each, (samples, calls), own in zip(ready, plans, found, strict=True):
            each.kernel.call(*each.memories)  # another one had the caches
            own.append(each.kernel.clock(samples, calls, *each.memories))
    return tuple(_timing(np.concatenate(own), calls) for own, (_, calls) in zip(found, plans, strict=True))


def _plan(ready: Ready, share: float) -> tuple[int, int]:
    """Samples per turn and calls per sample, after a while of calls that wake vector units and touch all pages."""
    once = float(ready.kernel.clock(2, 1, *ready.memories).min())
    calls = ceil(LEAST_SAMPLE / max(once, 1e-9)) if once < LEAST_SAMPLE else 1
    warm = int(min(MOST_SAMPLES, WARMING * share / (once * calls)))
    if warm:
        once = float(np.median(ready.kernel.clock(warm, calls, *ready.memories)))
        calls = ceil(LEAST_SAMPLE / max(once, 1e-9)) if once < LEAST_SAMPLE else 1
    return max(1, min(MOST_SAMPLES, int((1 - WARMING) * share / TURNS / (once * calls)))), calls


def _timing(seconds: Array, calls: int) -> Timing:
    low, median, high = (float(each) for each in np.quantile(seconds, (0.1, 0.5, 0.9)))
    return Timing(
        median=median,
        least=float(seconds.min()),
        low=low,
        high=high,
        samples=len(seconds),
        calls=calls,
    )
