"""How long calls of compiled code take, and how much that varies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic

import numpy as np

from optmap.native.run.clock import Call
from optmap.native.run.kernel import Kernel
from optmap.native.run.layouts import Array
from optmap.native.run.turns import ROUSING, in_turns, pinned, roused, warm_sampler

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
    call: Call
    """The kernel on this memory."""


def timings(ready: Sequence[Ready], seconds: float) -> tuple[Timing, ...]:
    """Time kernels in turns.

    Args:
        ready: what is timed.
        seconds: for all of them together; every one is called a few times, however long that takes.

    Returns:
        One timing each.
    """
    begun = monotonic()
    with pinned(max((each.kernel.code.threads for each in ready), default=1), fewer=True):
        return _timed(ready, begun, seconds)


def _timed(ready: Sequence[Ready], begun: float, seconds: float) -> tuple[Timing, ...]:
    counts = [roused(each.call, seconds=min(ROUSING, WARMING * seconds / len(ready))) for each in ready]
    samplers = [warm_sampler(each.call, calls) for each, calls in zip(ready, counts, strict=True)]
    found = in_turns(samplers, seconds=seconds - (monotonic() - begun))
    return tuple(_timing(np.array(samples), calls) for samples, calls in zip(found, counts, strict=True))


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
