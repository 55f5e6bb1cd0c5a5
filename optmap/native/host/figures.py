"""What is measured: jobs of the probes, and the figures that come out, each with its spread."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from optmap.base.share import Share, Tell
from optmap.native.host.probes import Probe, Probes, Slices
from optmap.native.host.tables import Topology

PASSES = 8
"""A stream's buffer is as many times what the memory inside holds, so that nothing is found there again."""
BEYOND = 4
"""The stream from the unbounded memory: as many times the outermost cache."""
NEARBY = 4096
"""Bytes that the innermost cache of every processor holds."""
SHARES = (8, 4, 2)
"""Parts of the outermost cache whose streams show how much of it there is."""


class Measured(StrEnum):
    """What a job measures."""

    LATENCY = "latency"
    """Cycles from one multiply-add to the next on its sum."""
    PEAK = "peak"
    """Vector multiply-adds."""
    LOADS = "loads"
    """Bytes of vectors that come from nearby."""
    READ = "read"
    """Bytes that a stream of loads takes over a link."""
    WRITE = "write"
    """Bytes that a stream of stores writes; what comes in before and goes out afterwards is not counted."""
    DEPTH = "depth"
    """As read, of a part of the outermost cache."""


PROBES = {Measured.LATENCY: Probe.FMA_LATENCY, Measured.PEAK: Probe.FMA, Measured.WRITE: Probe.WRITE}
"""The others read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """A number that was measured many times."""

    median: float
    low: float
    """One in ten is lower."""
    high: float
    """One in ten is higher: what there is when nobody else uses it."""
    best: float
    """One in a hundred is higher."""
    count: int
    """How many times."""

    def scaled(self, factor: float) -> Spread:
        """The same in another unit."""
        low, median, high, best = (factor * value for value in (self.low, self.median, self.high, self.best))
        return Spread(median=median, low=low, high=high, best=best, count=self.count)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One thing to measure."""

    quantity: Measured
    threads: int
    place: int = -1
    """Number of the cache whose content is streamed, inner first; one more for the memory."""
    size: int = 0
    """Bytes of each thread's buffer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """What one job measured."""

    job: Job
    per_cycle: Spread
    """All threads together, per cycle of their own clock."""
    clock_hz: Spread
    """Of the first thread."""

    @property
    def per_second(self) -> Spread:
        """The same per second."""
        return self.per_cycle.scaled(self.clock_hz.median)


def spread(values: list[float]) -> Spread:
    """Median and deciles.

    Args:
        values: one at least.
    """
    ranked = sorted(values)
    last = len(ranked) - 1
    low, middle, high, best = (ranked[round(share * last)] for share in (0.1, 0.5, 0.9, 0.99))
    return Spread(median=middle, low=low, high=high, best=best, count=len(ranked))


def figure_of(job: Job, rounds: list[tuple[Slices, ...]]) -> Figure:
    """A figure from what the threads measured in every round; rates of threads are added up.

    Args:
        job: what was measured.
        rounds: slices per thread.
    """
    threads = [spread([rate for one in rounds for rate in one[number].rates]) for number in range(len(rounds[0]))]
    total = Spread(
        median=sum(each.median for each in threads),
        low=sum(each.low for each in threads),
        high=sum(each.high for each in threads),
        best=sum(each.best for each in threads),
        count=min(each.count for each in threads),
    )
    clock = spread([clock for one in rounds for clock in one[0].clocks])
    return Figure(job=job, per_cycle=total, clock_hz=clock)


def jobs_of(topology: Topology, *, memory_bytes: int, quick: bool) -> tuple[Job, ...]:
    """Everything there is to measure on a machine.

    Args:
        topology: its cores and caches.
        memory_bytes: most that all buffers may take together.
        quick: leave out what no machine file needs: stores, and private links under all threads.
    """
    cores, caches = len(topology.cpus), topology.caches
    teams = (1, cores) if cores > 1 else (1,)
    found = [Job(quantity=Measured.LATENCY, threads=1)]
    found += [Job(quantity=Measured.PEAK, threads=team) for team in teams]
    found.append(Job(quantity=Measured.LOADS, threads=1, size=NEARBY))
    for place in range(len(caches) + 1):
        for team in teams:
            size = stream_size(topology, place, team, memory_bytes)
            common = place == len(caches) or len(caches[place].cpus) > 1
            if size and (team == 1 or common or not quick):
                found.append(Job(quantity=Measured.READ, threads=team, place=place, size=size))
            if size and team == 1 and not quick:
                found.append(Job(quantity=Measured.WRITE, threads=team, place=place, size=size))
    if len(caches) > 1:
        near = max(job.size for job in found if job.place < len(caches))
        parts = (caches[-1].size // share for share in SHARES)
        found += [
            Job(quantity=Measured.DEPTH, threads=1, place=len(caches) - 1, size=part)
            for part in parts
            if near < part <= memory_bytes
        ]
    return tuple(found)


def stream_size(topology: Topology, place: int, threads: int, memory_bytes: int) -> int:
    """Bytes per thread of a stream out of one memory that finds nothing in the memories inside it.

    Args:
        topology: cores and caches.
        place: number of the cache, inner first; one more for the memory.
        threads: that stream at the same time.
        memory_bytes: most that all buffers may take together.

    Returns:
        0 where a thread's share of the memory is no larger than what is inside.
    """
    caches = topology.caches
    inner = caches[place - 1].size if place else 0
    if place == len(caches):
        size = min(BEYOND * inner, memory_bytes) // threads
        return size if size * threads >= 2 * inner else 0
    share = caches[place].size // min(threads, max(len(caches[place].cpus), 1))
    if share <= inner:
        return 0
    return max(min(PASSES * inner, share // 2), min(2 * inner, share)) if place else share // 2


def measure(
    probes: Probes, topology: Topology, jobs: tuple[Job, ...], *, rounds: int, seconds: float, progress: Tell
) -> tuple[Figure, ...]:
    """Do all jobs in turn, several times over, so that a disturbance falls on every one of them alike.

    What one thread does moves to another core with every round: neighbours below a hypervisor may share one core only.

    Args:
        probes: compiled loops.
        topology: whose processors are used.
        jobs: what to measure.
        rounds: how often.
        seconds: per job and round.
        progress: told before every job.
    """
    seen: dict[Job, list[tuple[Slices, ...]]] = {job: [] for job in jobs}
    for turn in range(rounds):
        for number, job in enumerate(jobs):
            progress(f"measuring {job.quantity.value}", Share.counted(turn * len(jobs) + number, rounds * len(jobs)))
            cpus = topology.cpus if job.threads > 1 else (topology.cpus[turn % len(topology.cpus)],)
            seen[job].append(probes.measure(PROBES.get(job.quantity, Probe.READ), cpus, seconds, job.size))
    return tuple(figure_of(job, found) for job, found in seen.items())
