"""Mapping and lower bound side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from math import prod
from types import MappingProxyType

from optmap.answers.proofs.boundaries import BoundReport
from optmap.answers.proofs.time_floor import TimeFloor, time_floor
from optmap.base.clock import NO_LIMIT, Clock
from optmap.base.errors import ContradictionError, LimitError, OptmapError
from optmap.base.texts import several
from optmap.bounds.best import best, met
from optmap.bounds.compulsory import compulsory
from optmap.bounds.hierarchy import fast_side_words, instance_words, separating_dims
from optmap.bounds.methods import bounds
from optmap.bounds.result import LowerBound
from optmap.count.timing import Prediction
from optmap.count.timing.floor import Running, instances_used
from optmap.machines.machine import Machine
from optmap.search.floors import BoundaryCertificate, WordsFloor
from optmap.search.result import TileAnswer, reaches
from optmap.workloads.workload import Workload

RUNNING = Running()
"""One thread, caches warm."""


@lru_cache(maxsize=1024)
def certified_bound(workload: Workload, memory_words: int, clock: Clock = NO_LIMIT) -> LowerBound:
    """Method `best`, computed once per workload and capacity.

    Raises:
        LimitError: if the time is over before it is known.
    """
    if not workload.is_product:
        return bounds(workload, memory_words, ["best"])[0]
    return best(workload, memory_words, clock)


def bound_in_time(
    workload: Workload, memory_words: int, clock: Clock, between: tuple[str, str], notes: list[str]
) -> LowerBound:
    """Method `best`, or compulsory traffic where that is not known in time.

    Args:
        workload: the computation.
        memory_words: fast memory, in words.
        clock: when to give up.
        between: the boundary, for a note that is added where that happened.
        notes: of the answer.
    """
    try:
        return certified_bound(workload, memory_words, clock)
    except LimitError as error:
        found = met(workload, memory_words)
        notes.append(f"the bound at {' - '.join(between)} is compulsory traffic: {error}")
        return found


def with_bound(result: TileAnswer, clock: Clock = NO_LIMIT) -> TileAnswer:
    """The result with the strongest certified bound on `exact` and the gap between the two.

    The bound of every boundary is that of a two-level memory with the capacity of its fast side; the
    objective is formed of them as `exact` is formed of the traffic.

    Args:
        result: a mapping.
        clock: when boundaries that look less important get compulsory traffic alone, with a note.

    Raises:
        ContradictionError: if the mapping moves fewer words than a bound allows.
    """
    if result.prediction is not None:
        return _timed(result, result.prediction, clock)
    found: dict[int, BoundaryCertificate] = {}
    notes: list[str] = []
    for level in _by_weight(result):
        with _noted(result.machine, level, notes):
            found[level] = _certificate(result, level, clock, notes)
    if not found:
        return result.noting(*notes)
    value = _objective(result, {level: proof.words for level, proof in found.items()})
    cost = _objective(result, {level: report.traffic_words for level, report in enumerate(result.count.levels)})
    if value and reaches(cost, value):
        # No mapping costs less than it moves, and none moves less than the bound: nothing of the space is better.
        result = result.claiming(result.cost)
    proofs = tuple(found[level] for level in sorted(found))
    return replace(result.noting(*notes), floor=WordsFloor(value=value, certificates=proofs))


def proved_floor(
    workload: Workload,
    machine: Machine,
    running: Running = RUNNING,
    *,
    levels: Sequence[int] | None = None,
    known: Mapping[int, LowerBound] = MappingProxyType({}),
    clock: Clock = NO_LIMIT,
) -> TimeFloor:
    """The bound in time, with the certified words of every boundary.

    Args:
        workload: what is computed.
        machine: with a core.
        running: threads, and what caches hold when a call begins.
        levels: whose boundaries are looked at, in this order; None for all, inner first.
        known: what method `best` found there already, by level.
        clock: when boundaries that are left get compulsory traffic alone, with a note.

    Raises:
        InputError: for a machine without a core, or with fewer cores than threads.
        LimitError: if padding ties so many dims together that the operations done cannot be counted.
    """
    found: dict[int, LowerBound] = {}
    notes: list[str] = []
    for level in range(len(machine.levels)) if levels is None else levels:
        with _noted(machine, level, notes):
            memory = fast_side_words(machine, level, workload.word_bits)
            if not workload.is_product:  # of a chain all instances that are used count as one
                memory *= instances_used(machine, level, running.threads)
            found[level] = known.get(level) or bound_in_time(workload, memory, clock, machine.boundaries[level], notes)
    return time_floor(workload, machine, running, found, tuple(notes))


def with_time(report: BoundReport, running: Running) -> BoundReport:
    """A report with the bound in time, which rests on its bounds by method `best` where it has them.

    Args:
        report: of a machine with a core.
        running: threads, and what caches hold when a call begins.

    Raises:
        InputError: as `proved_floor`.
        LimitError: as `proved_floor`.
    """
    known = {
        level: bound
        for level, row in enumerate(report.boundaries)
        for bound in row.bounds
        if bound.method == "best" and (report.workload.is_product or row.instances == 1)
    }
    return replace(report, time=proved_floor(report.workload, report.machine, running, known=known))


@contextmanager
def _noted(machine: Machine, level: int, notes: list[str]) -> Iterator[None]:
    """Goes on without the bound of a boundary that cannot be had, with a note."""
    try:
        yield
    except ContradictionError:
        raise
    except OptmapError as error:
        notes.append(f"no bound at {' - '.join(machine.boundaries[level])}: {error}")


def _timed(result: TileAnswer, prediction: Prediction, clock: Clock) -> TileAnswer:
    """The result with the bound on its time.

    Raises:
        ContradictionError: if the time predicted is below the bound, or what is moved.
    """
    workload, machine = result.workload, result.machine
    running = Running(threads=prediction.threads, caches=prediction.caches)
    whole = [level for level in _by_weight(result) if not _splits_outputs(result, level)]
    floor = proved_floor(workload, machine, running, levels=whole, clock=clock)
    for proof in floor.proofs:
        moved = _moved(result)[machine.boundaries.index(proof.between)]
        _check_moved(result, proof.between, moved=moved, least=proof.words)
    if prediction.cycles < floor.cycles:
        raise ContradictionError(
            f"{workload.title} on {machine.name}: {prediction.cycles:,.0f} cycles are predicted, below the bound of "
            f"{float(floor.cycles):,.0f}: one of the two is wrong; please report workload and machine"
        )
    words = WordsFloor(value=floor.cycles, certificates=floor.proofs)
    return replace(result.noting(*floor.notes), floor=words)


def _splits_outputs(result: TileAnswer, level: int) -> bool:
    """Whether instances of a level share output elements: their partial sums are outside the bound's model."""
    outside = [at.spatial for at in result.mapping.levels[level + 1 :]]
    split = {dim for spatial in outside for dim, ways in spatial.items() if ways > 1}
    return bool(split - separating_dims(result.workload))


def _certificate(result: TileAnswer, level: int, clock: Clock, notes: list[str]) -> BoundaryCertificate:
    """The bound at the boundary outside a level, compared with what the mapping moves there."""
    workload, machine = result.workload, result.machine
    if _splits_outputs(result, level):
        raise OptmapError("instances share output elements, and partial sums are outside the bound's model")
    instances = prod(at.ways for at in result.mapping.levels[level + 1 :])
    memory = fast_side_words(machine, level, workload.word_bits)
    moved, loads_only = _moved(result)[level], not result.question.objective.stores
    least = instance_words(compulsory(workload, memory), instances, loads_only=loads_only)
    # Traffic that is compulsory is its own proof that no bound is above it.
    between = machine.boundaries[level]
    bound = met(workload, memory) if moved <= least else bound_in_time(workload, memory, clock, between, notes)
    words = instance_words(bound, instances, loads_only=loads_only)
    _check_moved(result, between, moved=moved, least=words)
    return BoundaryCertificate(between=between, instances=instances, words=words, certificate=bound.certificate or {})


def _check_moved(result: TileAnswer, between: tuple[str, str], *, moved: int, least: int) -> None:
    """Hold the words that a mapping moves across a boundary against those of a bound.

    Raises:
        ContradictionError: if they are fewer.
    """
    if least > moved:
        raise ContradictionError(
            f"{result.workload.title} on {result.machine.name}: the mapping moves {several(moved, 'word')} between "
            f"{' and '.join(between)}, fewer than the bound of {least:,} allows: one of the two is wrong; "
            "please report workload and machine"
        )


def _moved(result: TileAnswer) -> dict[int, int]:
    """Words of the objective that cross every boundary, by level."""
    return result.question.objective.words(result.exact_count.boundaries, result.machine)


def _objective(result: TileAnswer, words: dict[int, int]) -> Fraction:
    """The objective of words per boundary, in its unit."""
    return result.question.objective.value(words, result.machine, result.workload.word_bits)


def _by_weight(result: TileAnswer) -> list[int]:
    """Levels, the one that costs most first."""
    weight = result.question.objective.alone(_moved(result), result.machine, result.workload.word_bits)
    return sorted(weight, key=lambda level: -weight[level])
