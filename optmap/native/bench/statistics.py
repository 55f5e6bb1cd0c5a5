"""Numbers of paired samples: ratio of two ways with its spread, and means over layers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from optmap.base.errors import InputError

DRAWS = 2000
"""Bootstrap samples behind an interval."""
COVERED = 0.95
"""Of an interval."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """How many times longer another way takes: above 1, ours is faster."""

    median: float
    """Median over rounds of theirs over ours of the same round: a clock that drifts meets both."""
    minima: float
    """Shortest of theirs over shortest of ours: no neighbour disturbs it, one moment of a faster clock does."""
    low: float
    """Lower end of the interval of the median, at `COVERED`, by the bootstrap over rounds."""
    high: float
    """Upper end of the interval of the median."""


def paired_ratio(ours: Sequence[float], theirs: Sequence[float], *, seed: int = 0) -> Ratio:
    """The ratio of two ways that were timed in the same rounds.

    Args:
        ours: seconds per round.
        theirs: seconds of the same rounds.
        seed: of the bootstrap; the same samples and seed give the same interval.

    Raises:
        InputError: for no rounds, different numbers of them, or times that are not positive.
    """
    mine, other = np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)
    if mine.shape != other.shape or mine.ndim != 1 or mine.size == 0:
        raise InputError(f"{mine.size} rounds of ours, {other.size} of theirs; both need the same rounds, at least one")
    if not (np.all(np.isfinite(mine)) and np.all(np.isfinite(other)) and min(mine.min(), other.min()) > 0):
        raise InputError("a time is not positive; samples are seconds")
    paired = other / mine
    drawn = np.random.default_rng(seed).integers(0, paired.size, size=(DRAWS, paired.size))
    low, high = np.quantile(np.median(paired[drawn], axis=1), [(1 - COVERED) / 2, (1 + COVERED) / 2])
    return Ratio(
        minima=float(other.min() / mine.min()), median=float(np.median(paired)), low=float(low), high=float(high)
    )


def order(samples: Sequence[Sequence[float]]) -> tuple[int, ...]:
    """Numbers of ways that were timed in the same rounds, the fastest first.

    Each sample is held against the mean of its round, and the median over rounds decides.

    Args:
        samples: seconds per way and round.
    """
    logs = np.log(np.asarray(samples, dtype=float))
    typical = np.median(logs - logs.mean(axis=0), axis=1)
    return tuple(int(number) for number in np.argsort(typical, kind="stable"))


def geometric_mean(values: Sequence[float]) -> float:
    """The number whose logarithm is the mean of the logarithms.

    Raises:
        InputError: for no values, or one that is not positive.
    """
    numbers = np.asarray(values, dtype=float)
    if numbers.size == 0 or not np.all(numbers > 0):
        raise InputError("a geometric mean needs at least one number, all positive")
    return float(np.exp(np.mean(np.log(numbers))))
