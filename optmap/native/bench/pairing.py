"""Several ways to compute the same, timed in turns, so that what the machine does meanwhile meets them all."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from optmap.errors import InputError
from optmap.evaluate.timing.results import Caches
from optmap.native.bench.clock import cold_seconds, warm_seconds
from optmap.native.bench.contender import Contender
from optmap.native.bench.statistics import order

LEAST_SECONDS = 1e-3
"""Of a sample: shorter ones are several calls."""
COLD_CALLS = 2
"""Of a sample with flushed caches."""
ROUSING = 0.02
"""Seconds of calls before the first round: vector units, pages and threads are awake then."""


def interleaved(
    contenders: Sequence[Contender], *, rounds: int, caches: Caches = Caches.WARM
) -> tuple[tuple[float, ...], ...]:
    """Time ways in turns, in every round in another order, so that none always follows the same other.

    A sample is of calls that take `LEAST_SECONDS`, after one call that is not timed (another way had the caches
    before); with cold caches every call is flushed for and timed by itself.

    Args:
        contenders: ready to be called.
        rounds: samples of each.
        caches: what they hold.

    Returns:
        Seconds per call, per contender and round.

    Raises:
        InputError: for no round, or cold caches where lines cannot be thrown out.
    """
    if rounds < 1:
        raise InputError(f"{rounds} rounds; at least one is needed")
    for contender in contenders:
        warm_seconds(contender, seconds=ROUSING)
    samples: list[list[float]] = [[] for _ in contenders]
    draw = np.random.default_rng(0)
    for _ in range(rounds):
        for number in draw.permutation(len(contenders)):
            samples[number].append(one_sample(contenders[number], caches))
    return tuple(tuple(each) for each in samples)


def one_sample(contender: Contender, caches: Caches) -> float:
    """Seconds per call, of calls that take `LEAST_SECONDS`, after one that is not timed."""
    if caches is Caches.COLD:
        return cold_seconds(contender, COLD_CALLS)
    warm_seconds(contender)
    return warm_seconds(contender, seconds=LEAST_SECONDS)


def fastest(contenders: Sequence[Contender], *, rounds: int, caches: Caches = Caches.WARM) -> tuple[int, ...]:
    """Numbers of ways, the fastest first.

    These samples choose; what is reported is measured anew, or the chosen one would look better than it is.
    """
    return order(interleaved(contenders, rounds=rounds, caches=caches))


@contextmanager
def pinned(threads: int) -> Iterator[tuple[int, ...]]:
    """Keep this process on as many processors as it has threads, the last of those that it may use.

    Yields:
        The processors; empty where the system knows no such thing.

    Raises:
        InputError: if it may use fewer.
    """
    if not hasattr(os, "sched_setaffinity"):
        yield ()
        return
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < threads:
        raise InputError(f"{threads} threads on {len(allowed)} processors that this process may use; ask for fewer")
    chosen = allowed[-threads:]
    os.sched_setaffinity(0, chosen)
    try:
        yield tuple(chosen)
    finally:
        os.sched_setaffinity(0, allowed)
