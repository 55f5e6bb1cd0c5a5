"""Several functions timed in turns, so that what the machine does meanwhile meets all of them alike."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from math import ceil
from pathlib import Path
from time import monotonic

import numpy as np

from optmap.base.errors import InputError
from optmap.base.texts import several
from optmap.native.host.tables import read_topology
from optmap.native.run.clock import Called, warm_seconds

LEAST_SECONDS = 1e-3
"""Of a sample: shorter calls are timed several at a time."""
ROUSING = 0.02
"""Seconds of calls before the first round: vector units, pages and threads are awake then."""
LEAST_ROUNDS, MOST_ROUNDS = 5, 1000
"""Where a time says how many."""
Sampler = Callable[[], float]
"""Measures once: seconds per call."""


def roused(called: Called, *, seconds: float = ROUSING) -> int:
    """Call a function for a while, and say how many of its calls a sample takes."""
    once = warm_seconds(called, seconds=seconds / 2)
    if once < LEAST_SECONDS:  # a neighbour may have had the processor
        once = min(once, warm_seconds(called, seconds=seconds / 2))
    return max(1, ceil(LEAST_SECONDS / max(once, 1e-9)))


def warm_sampler(called: Called, calls: int) -> Sampler:
    """Samples of so many calls in a row, after one that is not timed: another function had the caches before."""

    def sample() -> float:
        warm_seconds(called)
        return warm_seconds(called, least=calls)

    return sample


def in_turns(
    samplers: Sequence[Sampler],
    *,
    rounds: int | None = None,
    seconds: float = 0.0,
    told: Callable[[int], None] = lambda number: None,
    seed: int = 0,
) -> tuple[tuple[float, ...], ...]:
    """Measure in turns, in every round in another order, so that none always follows the same other.

    Args:
        samplers: one per function.
        rounds: samples of each; if left out, as many as `seconds` hold, from `LEAST_ROUNDS` to `MOST_ROUNDS`.
        seconds: for all of them together.
        told: hears the number of every round before it.
        seed: of the orders.

    Returns:
        Samples per function and round.

    Raises:
        InputError: for no round.
    """
    if rounds is not None and rounds < 1:
        raise InputError(f"{rounds} rounds; at least one is needed")
    samples: list[list[float]] = [[] for _ in samplers]
    draw = np.random.default_rng(seed)
    end = monotonic() + seconds
    number = 0
    while number < (LEAST_ROUNDS if rounds is None else rounds) or (
        rounds is None and number < MOST_ROUNDS and monotonic() < end
    ):
        told(number)
        for place in draw.permutation(len(samplers)):
            samples[place].append(samplers[place]())
        number += 1
    return tuple(tuple(each) for each in samples)


@contextmanager
def pinned(threads: int, *, fewer: bool = False) -> Iterator[tuple[int, ...]]:
    """Keep this process on as many processors as it has threads, of different cores as long as there are such.

    Args:
        threads: that a call uses.
        fewer: whether they may share processors where there are fewer.

    Yields:
        The processors; empty where the system knows no such thing.

    Raises:
        InputError: if it may use fewer.
    """
    if not hasattr(os, "sched_setaffinity"):
        yield ()
        return
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < threads and not fewer:
        raise InputError(
            f"{several(threads, 'thread')} on {several(len(allowed), 'processor')} that this process may use; "
            "ask for fewer"
        )
    chosen = _apart(allowed, threads)
    _move(chosen)
    try:
        yield tuple(chosen)
    finally:
        _move(allowed)


def _apart(allowed: list[int], threads: int) -> list[int]:
    """The last processors, siblings of a core only where there are more threads than cores."""
    cores = read_topology(usable=tuple(allowed)).cpus
    siblings = [each for each in allowed if each not in cores]
    return sorted([*siblings, *cores][-threads:])


def _move(processors: list[int]) -> None:
    """Have all threads of this process there, also those that a library keeps for its next call."""
    os.sched_setaffinity(0, processors)
    with suppress(OSError):  # no such folder: threads begin where the one is that starts them
        for task in Path("/proc/self/task").iterdir():
            with suppress(OSError):  # it has ended meanwhile
                os.sched_setaffinity(int(task.name), processors)
