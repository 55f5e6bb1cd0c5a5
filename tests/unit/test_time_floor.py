"""The floor of time on machines whose caches serve several cores: against every way to share the work."""

from __future__ import annotations

import itertools
from fractions import Fraction
from functools import lru_cache
from math import prod

import pytest
from cases import cases
from host_machines import level
from hypothesis import given, settings
from hypothesis import strategies as st

from optmap import api
from optmap.base.errors import InputError
from optmap.checker import check_document
from optmap.count.timing.floor import Running, floor_cycles
from optmap.count.timing.predict import predict
from optmap.count.timing.results import Caches
from optmap.machines.core import Core
from optmap.machines.machine import Level, Machine
from optmap.workloads.amounts import Bandwidth
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Semantics, Workload
from tests.strategies import mappings

TINY = Core(vector_bytes=4, registers=64, fma_ports=1, fma_latency=1, load_ports=1)
Point = tuple[int, ...]


def clustered(*caches: tuple[int, int, int], slow: tuple[int, ...] = (), shared: bool = True) -> Machine:
    """Caches of (bytes, bytes per cycle, fanout), inner first; `slow`: what one core gets of each, 0 for all of it."""
    alone = itertools.chain(slow, itertools.repeat(0))
    levels = tuple(
        level(
            f"L{number}",
            size,
            rate,
            fanout=fanout,
            inclusive=False,
            shared=shared and number == len(caches),
            core_bandwidth=Bandwidth(amount=own) if own else None,
        )
        for number, ((size, rate, fanout), own) in enumerate(zip(caches, alone, strict=False), 1)
    )
    return Machine(name="clustered", levels=levels, core=TINY)


@lru_cache(maxsize=64)
def shares_of_work(points: tuple[Point, ...], threads: int) -> tuple[tuple[frozenset[Point], ...], ...]:
    """Every way to hand points to threads, of those that differ in which thread is which only one."""
    owners = itertools.product(range(threads), repeat=len(points))
    found = {
        frozenset(frozenset(p for p, o in zip(points, owner, strict=True) if o == t) for t in range(threads))
        for owner in owners
    }
    return tuple(order for work in found for order in set(itertools.permutations(padded(work, threads))))


def padded(work: frozenset[frozenset[Point]], threads: int) -> tuple[frozenset[Point], ...]:
    """With threads that do nothing."""
    return (*work, *[frozenset()] * (threads - len(work)))


@lru_cache(maxsize=4096)
def needed(workload: Workload, points: frozenset[Point]) -> int:
    """Words that are read for some points."""
    read = workload.tensors if workload.semantics is Semantics.ACCUMULATE else workload.inputs
    found = set()
    for point in points:
        at = dict(zip(workload.dims, point, strict=True))
        for tensor in read:
            found.add((tensor.name, *(a.offset + sum(c * at[d] for d, c in a.terms) for a in tensor.axes)))
    return len(found)


def least_time(workload: Workload, machine: Machine, threads: int, caches: Caches) -> Fraction:
    """The least time of all ways to share the work and to place threads on cores, each link by itself.

    Every memory that a thread is below begins full of what is needed there, if caches are warm; nothing is loaded
    twice. No run is faster.
    """
    points = tuple(itertools.product(*(range(workload.extents[d]) for d in workload.dims)))
    assert machine.core is not None
    best: Fraction | None = None
    for work in shares_of_work(points, threads):
        for cores in itertools.combinations(range(machine.cores), threads) if threads > 1 else [(0,)]:
            times = [Fraction(max(map(len, work)), machine.core.peak(32))]
            width = 1
            for number, memory in enumerate(machine.levels):
                width *= memory.fanout
                for instance in {core // width for core in cores}:
                    inside = [t for t, core in enumerate(cores) if core // width == instance]
                    words = needed(workload, frozenset[Point]().union(*(work[t] for t in inside)))
                    if caches is Caches.WARM:
                        words = max(0, words - room(machine, number, [cores[t] for t in inside]))
                    rate = Fraction(memory.bandwidth.amount)
                    if memory.core_bandwidth is not None:
                        rate = min(rate, len(inside) * Fraction(memory.core_bandwidth.amount))
                    times.append(4 * words / rate)
            best = max(times) if best is None else min(best, max(times))
    assert best is not None
    return best


def room(machine: Machine, number: int, cores: list[int]) -> int:
    """Words in all memories up to a level that some cores are below."""
    total, width = 0, 1
    for memory in machine.levels[: number + 1]:
        width *= memory.fanout
        total += memory.capacity.words(32) * len({core // width for core in cores})
    return total


TINY_WORK = [
    parse_workload("C[i] += A[i]", {"i": 4}),
    parse_workload("C[i,j] += A[i]*B[j]", {"i": 2, "j": 2}),
    parse_workload("C[i] = A[i,k]*B[k]", {"i": 2, "k": 2}),
    parse_workload("O[h] = I[h+r]*W[r]", {"h": 2, "r": 2}),
]
FANOUTS = [(1, 1), (1, 2), (2, 1), (2, 2), (1, 4), (4, 1)]


@pytest.mark.parametrize("fanouts", FANOUTS)
@pytest.mark.parametrize("caches", Caches)
def test_no_way_to_share_the_work_is_faster_than_the_floor(fanouts: tuple[int, int], caches: Caches) -> None:
    inner, outer = fanouts
    for slow, rates in [((), (8, 1)), ((0, 1), (2, 2)), ((1, 1), (1, 8)), ((), (1, 3))]:
        machine = clustered((4, rates[0], inner), (8, rates[1], outer), slow=slow, shared=bool(slow))
        for threads, workload in itertools.product(range(1, min(machine.cores, 3) + 1), TINY_WORK):
            floor = floor_cycles(workload, machine, Running(threads=threads, caches=caches))
            assert floor <= least_time(workload, machine, threads, caches)


def test_a_cache_of_two_cores_begins_with_what_both_their_caches_hold() -> None:
    """Four words are needed by two threads below one cache of one word, whose own caches hold one each."""
    workload = parse_workload("C[i] = A[i]", {"i": 4})
    machine = clustered((4, 4, 1), (4, 1, 2))
    assert floor_cycles(workload, machine, Running(threads=2)) == 4 * (4 - 1 - 2)
    assert floor_cycles(workload, machine, Running(threads=1)) == 4 * (4 - 1 - 1)
    private = clustered((4, 4, 1), (4, 1, 2), shared=False)
    assert floor_cycles(workload, private, Running(threads=2)) == 4 * (4 - 1 - 2)


def test_two_threads_get_no_more_than_twice_what_one_gets() -> None:
    workload = parse_workload("C[i] = A[i]", {"i": 64})
    machine = clustered((4, 64, 1), (4, 16, 4), slow=(0, 3))
    times = [floor_cycles(workload, machine, Running(threads=threads, caches=Caches.COLD)) for threads in (1, 2, 3, 4)]
    assert times == [Fraction(4 * 64, rate) for rate in (3, 6, 9, 12)]


def test_more_threads_than_cores_are_refused() -> None:
    workload = parse_workload("C[i] = A[i]", {"i": 64})
    with pytest.raises(InputError, match="has 2 cores, not 3"):
        floor_cycles(workload, clustered((4, 64, 1), (4, 16, 2)), Running(threads=3))


@st.composite
def machines(draw: st.DrawFn) -> Machine:
    """Two to four caches, growing, in clusters of one, two or four."""
    caches: list[tuple[int, int, int]] = []
    levels: list[Level] = []
    size = draw(st.integers(16, 400))
    for number in range(draw(st.integers(2, 4))):
        left = 4 // prod(fanout for _, _, fanout in caches)
        fanout = draw(st.sampled_from([n for n in (1, 2, 4) if n <= left]))
        rate = draw(st.sampled_from([1, 3, 8, 32]))
        caches.append((size, rate, fanout))
        alone = draw(st.sampled_from([None, 1, 2, 5]))
        levels.append(
            level(
                f"L{number}",
                size,
                rate,
                fanout=fanout,
                inclusive=False,
                shared=draw(st.booleans()),
                core_bandwidth=None if alone is None else Bandwidth(amount=alone),
                line_bytes=draw(st.sampled_from([None, 4, 16])),
            )
        )
        size *= draw(st.integers(1, 6))
    core = Core(vector_bytes=draw(st.sampled_from([4, 16])), registers=64, fma_ports=2, fma_latency=3, load_ports=1)
    return Machine(name="random", levels=tuple(levels), core=core)


@settings(max_examples=cases(20, 60), deadline=None)
@given(st.data())
def test_no_prediction_is_below_the_floor_on_caches_of_several_cores(data: st.DataObject) -> None:
    workload = data.draw(st.sampled_from(WORK))
    machine = data.draw(machines())
    tiles = data.draw(mappings(workload, machine))
    caches = data.draw(st.sampled_from(list(Caches)))
    ways = prod(n for each in tiles.levels for n in each.spatial.values())
    threads = data.draw(st.integers(ways, machine.cores))
    found = predict(workload, machine, tiles, threads=threads, caches=caches)
    assert found.floor_cycles <= found.cycles * (1 + 1e-12)


WORK = [
    parse_workload("C[i,j] += A[i,k]*B[k,j]", {"i": 6, "j": 8, "k": 5}),
    parse_workload("C[i,j] = A[i,k]*B[k,j]", {"i": 9, "j": 4, "k": 7}),
    parse_workload("O[k,h,w] = I[c,h+r,w+s]*W[k,c,r,s]", {"k": 4, "c": 3, "h": 5, "w": 4, "r": 3, "s": 2}),
    parse_workload("O[k,h] += I[k,2*h+r]*W[k,r]", {"k": 6, "h": 7, "r": 3}),
]


@pytest.mark.parametrize("threads", [1, 2])
def test_a_solution_on_clusters_holds_before_the_checker(threads: int) -> None:
    machine = clustered((256, 16, 1), (1024, 2, 2), (8192, 1, 2), slow=(0, 1, 1))
    found = api.solve(WORK[1], machine=machine, objective="time", cores=threads, time_limit=5)
    assert found.bound is not None
    assert found.bound.value >= found.prediction.floor_cycles
    check_document(found.to_dict())
