"""Mapping and lower bound side by side."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from math import prod

from optmap.bounds.best import best
from optmap.bounds.hierarchy import fast_side_words, instance_words, separating_dims
from optmap.bounds.result import LowerBound
from optmap.clock import NO_LIMIT, Clock
from optmap.errors import ContradictionError, OptmapError
from optmap.evaluate import Running, data_cycles, instances_used, roof_cycles
from optmap.evaluate.timing import Prediction
from optmap.problem.objective import OBJECTIVES
from optmap.problem.workload import Workload
from optmap.search.result import BoundaryCertificate, ProvedBound, SolveResult

ROUNDED = 1e-9
"""Share of a predicted time that its floats may be off."""


@lru_cache(maxsize=1024)
def certified_bound(workload: Workload, memory_words: int, clock: Clock = NO_LIMIT) -> LowerBound:
    """Method `best`, computed once per workload and capacity.

    Raises:
        LimitError: if the time is over before it is known.
    """
    return best(workload, memory_words, clock)


def with_bound(result: SolveResult, clock: Clock = NO_LIMIT) -> SolveResult:
    """The result with the strongest certified bound on `exact` and the gap between the two.

    The bound of every boundary is that of a two-level memory with the capacity of its fast side; the
    objective is formed of them as `exact` is formed of the traffic.

    Args:
        result: a mapping.
        clock: when boundaries that look less important are left out, with a note.

    Raises:
        ContradictionError: if the mapping moves fewer words than a bound allows.
    """
    found: dict[int, BoundaryCertificate] = {}
    notes: list[str] = []
    for level in _by_weight(result):
        where = " - ".join(result.machine.boundaries[level])
        try:
            clock.check()
            found[level] = _certificate(result, level, clock)
        except ContradictionError:
            raise
        except OptmapError as error:
            notes.append(f"no bound at {where}: {error}")
    if result.prediction is not None:
        return replace(timed(result, result.prediction, found), notes=(*result.notes, *notes))
    exact = _objective(result, _moved(result))
    cost = _objective(result, {level: report.traffic_words for level, report in enumerate(result.levels)})
    # Only the same values without their rounding: a method may count its objective in a way of its own.
    result = replace(
        result,
        exact=plain(exact) if float(exact) == result.exact else result.exact,
        cost=plain(cost) if float(cost) == result.cost else result.cost,
    )
    if not found:
        return replace(result, notes=(*result.notes, *notes))
    value = _objective(result, {level: proof.words for level, proof in found.items()})
    return replace(
        result,
        bound=ProvedBound(value=plain(value), unit=result.exact_unit, method="best"),
        gap=float(exact / value - 1) if value else None,
        certificates=tuple(found[level] for level in sorted(found)),
        notes=(*result.notes, *notes),
    )


def timed(result: SolveResult, prediction: Prediction, found: dict[int, BoundaryCertificate]) -> SolveResult:
    """The result with the bound on its time: arithmetic at the peak, and what must be read over bandwidth.

    Args:
        result: predicted.
        prediction: its time.
        found: certificates by boundary; none of a boundary whose bound is not known.

    Raises:
        ContradictionError: if the time predicted is below the bound.
    """
    workload, machine = result.workload, result.machine
    running = Running(threads=prediction.threads, caches=prediction.caches)
    roof = roof_cycles(workload, machine, running.threads)
    data = [data_cycles(workload, machine, level, proof.words, running) for level, proof in found.items()]
    value = max([roof, *data])
    if prediction.cycles < value * (1 - Fraction(ROUNDED)):
        raise ContradictionError(
            f"{workload.title} on {machine.name}: {prediction.cycles:,.0f} cycles are predicted, below the bound of "
            f"{float(value):,.0f}: one of the two is wrong; please report workload and machine"
        )
    return replace(
        result,
        bound=ProvedBound(value=plain(value), unit="cycles", method="best"),
        gap=float(Fraction(result.exact) / value - 1) if value else None,
        certificates=tuple(found[level] for level in sorted(found)),
    )


def plain(value: Fraction) -> float:
    """A number for documents and tables: a whole one as an integer, however large, else the nearest float."""
    return value.numerator if value.denominator == 1 else float(value)


def _certificate(result: SolveResult, level: int, clock: Clock) -> BoundaryCertificate:
    """The bound at the boundary outside a level, compared with what the mapping moves there."""
    workload, machine = result.workload, result.machine
    outside = [at.spatial for at in result.mapping.levels[level + 1 :]]
    split = {dim for spatial in outside for dim, ways in spatial.items() if ways > 1}
    if split - separating_dims(workload):
        raise OptmapError("instances share output elements, and partial sums are outside the bound's model")
    instances = prod(ways for spatial in outside for ways in spatial.values())
    if result.prediction is not None:  # other code may use more instances for as many threads
        instances = instances_used(machine, level, result.prediction.threads)
    bound = certified_bound(workload, fast_side_words(machine, level, workload.word_bits), clock)
    words = instance_words(bound, instances, loads_only=not OBJECTIVES[result.objective].stores)
    moved = _moved(result)[level]
    inner, outer = machine.boundaries[level]
    if words > moved and result.prediction is None:  # a timed tile may be larger than its cache
        raise ContradictionError(
            f"{workload.title} on {machine.name}: the mapping moves {moved:,} words between {inner} and {outer}, fewer "
            f"than the bound of {words:,} allows: one of the two is wrong; please report workload and machine"
        )
    return BoundaryCertificate(
        between=(inner, outer), instances=instances, words=words, certificate=bound.certificate or {}
    )


def _moved(result: SolveResult) -> dict[int, int]:
    """Words of the objective that cross every boundary, by level."""
    return OBJECTIVES[result.objective].words(result.boundaries, result.machine)


def _objective(result: SolveResult, words: dict[int, int]) -> Fraction:
    """The objective of words per boundary, in its unit."""
    return OBJECTIVES[result.objective].value(words, result.machine, result.workload.word_bits)


def _by_weight(result: SolveResult) -> list[int]:
    """Levels, the one that costs most first."""
    weight = OBJECTIVES[result.objective].alone(_moved(result), result.machine, result.workload.word_bits)
    return sorted(weight, key=lambda level: -weight[level])
