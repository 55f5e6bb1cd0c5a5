"""Several ways to compute the same, timed in turns with warm or flushed caches."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from optmap.evaluate.timing.results import Caches
from optmap.native.bench.clock import cold_seconds
from optmap.native.bench.contender import Contender
from optmap.native.bench.statistics import order
from optmap.native.run.turns import Sampler, in_turns, roused, warm_sampler

COLD_CALLS = 2
"""Of a sample with flushed caches."""
CHOOSING = 9
"""Rounds by which the best of several ways is chosen."""
NEAR = 1.5
"""Ways this much slower than the best in the first samples are not looked at again."""


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
    """The fastest, by samples that nothing else is said from: two of each, then those near the best in turns.

    What is reported is measured anew, or the chosen one would look better than it is.
    """
    if len(ways) == 1:
        return 0
    samplers = [sampler_of(each, caches) for each in ways]
    once = [min(sample() for _ in range(2)) for sample in samplers]
    near = [number for number, seconds in enumerate(once) if seconds <= NEAR * min(once)]
    return near[order(in_turns([samplers[number] for number in near], rounds=CHOOSING))[0]]
