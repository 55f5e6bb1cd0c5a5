"""A time that no code goes below: multiply-adds at the peak of all threads, and data that must be read.

Every operation is a multiply-add at least, and a core begins no more of them than `Core.peak`. Of the data, every
element of an input that is touched enters the innermost memory, and under `accumulate` every output. What leaves
counts on no link: links carry both directions at once (`predict`). If caches are warm, a memory of M words may begin
with M words that are needed, so that a run of L loads makes one from an empty memory with L + M: M loads less than a
cold run's may do. A proved bound of a boundary may stand in for the elements touched.

**Several instances.** So many threads use no more instances of a level than there are, and no more than threads; the
busiest one loads its part at least. Inside an instance there are as many of an inner level as the fanouts in between
multiply to, none of them without a thread: all may begin full. A core gets no more over a link than it gets alone, so
that an instance gets that for each of its threads at most.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import prod

from optmap.base.errors import InputError, LimitError
from optmap.base.texts import several
from optmap.count.timing.results import Caches
from optmap.machines.core import Core
from optmap.machines.machine import Machine
from optmap.workloads.padding import real_operations, real_projection
from optmap.workloads.workload import Semantics, Workload

MULTIPLY_ADDS = "multiply-adds"
"""Name of the arithmetic among what a time cannot be below; the others are boundaries."""


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


def first_cache(machine: Machine) -> int:
    """Number of the first level that is no register file: 1 if the first holds no more than the core's registers."""
    core = core_of(machine)
    return int(machine.levels[0].capacity.bytes(8 * core.vector_bytes) <= core.registers * core.vector_bytes)


def core_with_room(machine: Machine) -> Core:
    """The core, with no more registers than there is room for in the level that stands for them, if one does."""
    core, level = core_of(machine), machine.levels[0]
    if not first_cache(machine):
        return core
    room = int(level.capacity.bytes(8 * core.vector_bytes)) // level.buffering // core.vector_bytes
    return replace(core, registers=max(1, min(core.registers, room)))


@dataclass(frozen=True, slots=True, kw_only=True)
class TimePart:
    """One of the times that no code goes below: an amount over a rate."""

    name: str
    """`multiply-adds`, or the name of a boundary: `L2 - L3`."""
    amount: int
    """Multiply-adds that are done, or words that the busiest instance loads if all begin empty, at least."""
    held: int
    """Of these words, those that caches may hold when the call begins, at most."""
    per_cycle: Fraction
    """Multiply-adds of all threads, or words over the link."""

    @property
    def cycles(self) -> Fraction:
        """At least so many."""
        return max(0, self.amount - self.held) / self.per_cycle


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """How code runs."""

    threads: int = 1
    caches: Caches = Caches.WARM
    """What they hold when a call begins."""


def roof(workload: Workload, machine: Machine, running: Running) -> TimePart:
    """All multiply-adds that are done, at the peak of all threads.

    Raises:
        InputError: for a machine without a core.
        LimitError: if padding ties so many dims together that the operations done cannot be counted.
    """
    amount, bits = _multiply_adds(workload)
    peak = core_of(machine).peak(bits) * running.threads
    return TimePart(name=MULTIPLY_ADDS, amount=amount, held=0, per_cycle=Fraction(peak))


def _multiply_adds(workload: Workload) -> tuple[int, int]:
    """Multiply-adds that are done at least, and bits of the smallest elements that they add up.

    Of a chain, statements that add up products of two tensors or more have one at every point; of the others, of those
    with implicit padding, and of those with a dim that no input has, for which a product may be used again, none are
    counted.
    """
    if workload.is_product:
        return real_operations(workload), workload.output.bits
    counted = [
        each
        for each in workload.statements
        if each.multiplies
        and len(each.inputs) > 1
        and each.output.dims <= frozenset[str]().union(*(access.dims for access in each.inputs))
        and not each.has_ranges
    ]
    done = sum(each.points(workload.extents) for each in counted)
    return done, min((each.output.bits for each in counted), default=workload.word_bits)


def check_threads(machine: Machine, threads: int) -> None:
    """Refuse more threads than cores.

    Raises:
        InputError: if the machine has fewer cores.
    """
    if threads > machine.cores:
        raise InputError(
            f"machine {machine.name} has {several(machine.cores, 'core')}, not {threads}: ask for fewer threads, or "
            "write cores in its file and shared: true at the level that they share"
        )


def instances_used(machine: Machine, number: int, threads: int) -> int:
    """Instances of a level that so many threads use, at most."""
    return min(threads, prod(level.fanout for level in machine.levels[number + 1 :]))


def rate(machine: Machine, number: int, threads: int, word_bits: int) -> Fraction:
    """Bytes per cycle over a level's link outwards, of one instance and all the threads inside it.

    Args:
        machine: whose levels.
        number: of the level.
        threads: that run.
        word_bits: size of one word (`Workload.word_bits`), in which a machine may count.
    """
    level = machine.levels[number]
    inside = min(threads, prod(each.fanout for each in machine.levels[: number + 1]))
    words = level.bandwidth.words(word_bits)
    if level.core_bandwidth is not None:
        words = min(words, level.core_bandwidth.words(word_bits) * inside)
    return words * word_bits / 8


def held_inside(machine: Machine, number: int, threads: int, word_bits: int) -> int:
    """Words in one instance of a level and everything inside it that so many threads use.

    Args:
        machine: whose levels.
        number: of the level.
        threads: that run.
        word_bits: size of one word (`Workload.word_bits`).
    """
    levels = machine.levels[: number + 1]
    return sum(
        level.capacity.words(word_bits) * min(threads, prod(outer.fanout for outer in levels[place + 1 :]))
        for place, level in enumerate(levels)
    )


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


def link(workload: Workload, machine: Machine, number: int, words: int, running: Running) -> TimePart:
    """What must be read over the link outside a level.

    Args:
        workload: what is computed.
        machine: capacities and bandwidths.
        number: of the level.
        words: that the busiest of `instances_used` loads if all begin empty, at least.
        running: threads and caches.
    """
    bits, warm = workload.word_bits, running.caches is Caches.WARM
    return TimePart(
        name=" - ".join(machine.boundaries[number]),
        amount=words,
        held=held_inside(machine, number, running.threads, bits) if warm else 0,
        per_cycle=8 * rate(machine, number, running.threads, bits) / bits,
    )


@lru_cache(maxsize=256)
def floor_cycles(workload: Workload, machine: Machine, running: Running) -> Fraction:
    """Cycles that no code for a workload goes below on a machine with a core.

    Args:
        workload: what is computed.
        machine: peak, capacities and bandwidths.
        running: threads and caches.

    Raises:
        InputError: for a machine without a core, or with fewer cores than threads.
        LimitError: if padding ties so many dims together that the operations done cannot be counted.
    """
    check_threads(machine, running.threads)
    least = touched_words(workload)
    links = [
        link(workload, machine, number, -(-least // instances_used(machine, number, running.threads)), running)
        for number in range(len(machine.levels))
    ]
    return max(part.cycles for part in (roof(workload, machine, running), *links))
