"""Several ways to compute the same, timed in turns with warm or flushed caches."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import inf
from time import monotonic

from optmap.count.timing.results import Caches
from optmap.native.bench.clock import cold_seconds
from optmap.native.bench.contender import Contender
from optmap.native.bench.statistics import order
from optmap.native.run.turns import Sampler, in_turns, roused, warm_sampler

COLD_CALLS = 2
"""Of a sample with flushed caches."""
CHOOSING = 15
"""Rounds by which the best of several ways is chosen."""
LEAST_SAMPLES = 2
"""Of a way before it is left out: what disturbs one sample tells nothing."""
CHOOSING_SECONDS = 15.0
"""After which a choice takes no further round, once it has more than `LEAST_SAMPLES`."""


def interleaved(
    contenders: Sequence[Contender], *, rounds: int, caches: Caches = Caches.WARM
) -> tuple[tuple[float, ...], ...]:
    """Time ways in turns; with cold caches every call is flushed for and timed by itself.

    Args:
        contenders: ready to be called.
        rounds: samples of each.
        caches: what they hold.

    Returns:
        Seconds per call, per contender and round.

    Raises:
        InputError: for no round, or cold caches where lines cannot be thrown out.
    """
    return in_turns([sampler_of(each, caches) for each in contenders], rounds=rounds)


def sampler_of(contender: Contender, caches: Caches) -> Sampler:
    """What measures a contender, which is awake then."""
    calls = roused(contender)
    if caches is Caches.COLD:
        return partial(cold_seconds, contender, COLD_CALLS)
    return warm_sampler(contender, calls)


def best_way(ways: Sequence[Contender], caches: Caches) -> int:
    """The fastest, by samples that nothing else is said from, in turns.

    After n rounds those ways are left out that were in all of them more than 1/n slower than the fastest of the round:
    half as much after two, a fifteenth after fifteen. Where calls take so long that the time is over before, fewer
    rounds decide. What is reported is measured anew, or the chosen one would look better than it is.

    Args:
        ways: at least one, ready to be called.
        caches: what they hold.
    """
    if len(ways) == 1:
        return 0
    samplers = [sampler_of(each, caches) for each in ways]
    samples: list[list[float]] = [[] for _ in ways]
    behind = [inf] * len(ways)
    left = list(range(len(ways)))
    end = monotonic() + CHOOSING_SECONDS
    for number in range(CHOOSING):
        if len(left) == 1 or (number > LEAST_SAMPLES and monotonic() > end):
            break
        took = [seconds for (seconds,) in in_turns([samplers[way] for way in left], rounds=1, seed=number)]
        for way, seconds in zip(left, took, strict=True):
            samples[way].append(seconds)
            behind[way] = min(behind[way], seconds / min(took) - 1)
        if number + 1 >= LEAST_SAMPLES:
            left = [way for way in left if behind[way] <= 1 / (number + 1)]
    return left[order([samples[way] for way in left])[0]]
