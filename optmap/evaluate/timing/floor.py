"""A time that no code goes below: multiply-adds at the peak of all threads, and data that must be read.

Every operation is a multiply-add at least, and a core begins no more of them than `Core.peak`. Of the data, every
element of an input that is touched enters the innermost memory, and under `accumulate` every output. What leaves
counts on no link: links carry both directions at once (`predict`). If caches are warm, a memory of M words may begin
with M words that are needed, so that a run of L loads makes one from an empty memory with L + M: M loads less than a
cold run's may do. A proved bound of a boundary may stand in for the elements touched.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from optmap.errors import InputError, LimitError
from optmap.evaluate.timing.results import Caches
from optmap.problem.machine import Bandwidth, Core, Level, Machine
from optmap.problem.padding import real_operations, real_projection
from optmap.problem.workload import Semantics, Workload


def core_of(machine: Machine) -> Core:
    """What a machine computes with.

    Raises:
        InputError: if it does not say.
    """
    if machine.core is None:
        raise InputError(
            f"machine {machine.name} does not say what a core computes with, so that there is no time: measure this "
            "machine with optmap detect, or write core: {vector_bytes: …, registers: …, fma_ports: …, fma_latency: …, "
            "load_ports: …} in its file"
        )
    return machine.core


def roof_cycles(workload: Workload, machine: Machine, threads: int = 1) -> Fraction:
    """Cycles of all multiply-adds that are done, at the peak of so many cores.

    Raises:
        InputError: for a machine without a core.
        LimitError: if padding ties so many dims together that the operations done cannot be counted.
    """
    return Fraction(real_operations(workload), core_of(machine).peak(workload.output.bits) * threads)


def rate(level: Level, threads: int) -> Fraction:
    """Bytes per cycle over a level's link outwards: of one instance, of all threads together if it is shared.

    Args:
        level: whose link.
        threads: that run; one alone gets the level's `core_bandwidth` if it has one.
    """
    alone: Bandwidth | None = level.core_bandwidth if threads == 1 else None
    return (alone or level.bandwidth).words(8)


def touched_words(workload: Workload) -> int:
    """Words that enter a memory that begins empty, at least: every element that is read, once.

    Under `accumulate` outputs enter, too. Tensors whose padding ties too much together to count do not count.
    """
    read: dict[str, int] = {}
    for number, tensor in enumerate(workload.inputs, start=1):
        read[tensor.name] = max(read.get(tensor.name, 0), _touched(workload, number))
    return sum(read.values()) + (_touched(workload, 0) if workload.semantics is Semantics.ACCUMULATE else 0)


def _touched(workload: Workload, number: int) -> int:
    tensor = workload.tensors[number]
    try:
        return workload.weight(tensor) * real_projection(workload, tensor)[1]
    except LimitError:
        return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """How code runs."""

    threads: int = 1
    caches: Caches = Caches.WARM
    """What they hold when a call begins."""


def data_cycles(workload: Workload, machine: Machine, number: int, words: int, running: Running) -> Fraction:
    """Cycles of what must be read over the link outside a level.

    Args:
        workload: what is computed.
        machine: capacities and bandwidths.
        number: of the level.
        words: that the busiest instance of the level loads if all begin empty, at least.
        running: with as many instances of a level that is not shared as there are threads.
    """
    level = machine.levels[number]
    if running.caches is Caches.WARM:
        inside = sum(
            each.capacity.words(workload.word_bits) * (running.threads if level.shared and not each.shared else 1)
            for each in machine.levels[: number + 1]
        )
        words = max(0, words - inside)
    return Fraction(words * workload.word_bits, 8) / rate(level, running.threads)


@lru_cache(maxsize=256)
def floor_cycles(workload: Workload, machine: Machine, running: Running) -> Fraction:
    """Cycles that no code for a workload goes below on a machine with a core.

    Args:
        workload: what is computed.
        machine: peak, capacities and bandwidths.
        running: threads and caches.

    Raises:
        InputError: for a machine without a core.
        LimitError: if padding ties so many dims together that the operations done cannot be counted.
    """
    least = touched_words(workload)
    data = [
        data_cycles(workload, machine, number, -(-least // (1 if level.shared else running.threads)), running)
        for number, level in enumerate(machine.levels)
    ]
    return max(roof_cycles(workload, machine, running.threads), *data)
