"""Search for the strongest exponents, memory unit and segment length; the result is exact.

Floats choose exponents and candidates, `SegmentProgram.rationals` puts the exponents back into the
polytope in fractions, `best_segments` proves the number in integers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import exp, inf, log

import numpy as np

from optmap.base.arrays import Floats
from optmap.base.clock import NO_LIMIT, Clock
from optmap.bounds.compulsory import compulsory_loads
from optmap.bounds.exponents.candidates import Mixture, candidates
from optmap.bounds.exponents.convex import SegmentProgram
from optmap.bounds.exponents.maps import MapSystem, map_system
from optmap.bounds.exponents.polytope import Polytope, polytopes
from optmap.bounds.segments import ROUNDED, Curves, SegmentBound, Segments, best_segments, estimated_units
from optmap.bounds.units import Units, accounting, accountings, loads_of_units
from optmap.workloads.workload import Workload

ROUGH = 5
"""Vertices per polytope while ranking."""
ROUGH_SIZES = (1.5, 3.0, 12.0)
"""Segment sizes, in memories, at which polytopes are ranked."""
RANKED = 2
"""Polytopes (where lattices do not close) that are searched in full."""
EXACTED = 2
"""Candidates that are decided in integers, the best by estimate."""
FIRST, LOOKS = 2, 8
"""Segment sizes that are looked at before exponents are sought, roughly at first."""
CLOSE = 1e-6
"""Logs of segment sizes that are not told apart."""
TINY = 1e-9
"""What stands for a sum of exponents of 0, with which nothing is proved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExponentProof:
    """A proved bound with everything a certificate needs."""

    units: Units
    """The accounting."""
    polytope: Polytope
    """Where the exponents live."""
    exponents: dict[int, Fraction]
    """Non-zero exponent per map index."""
    segments: Segments
    """The integers of the segment argument."""
    loads_words: int
    """What the argument proves for loads."""


def ranked_proofs(
    workload: Workload, memory_words: int, *, beat: int | None = None, clock: Clock = NO_LIMIT
) -> list[ExponentProof]:
    """The proofs found, over polytopes and (under `assign`) prices of created words, the strongest first.

    Args:
        workload: the computation.
        memory_words: fast memory, in words.
        beat: loads that a proof must exceed; compulsory loads if None.
        clock: when to give up.

    Returns:
        Proofs of more than `beat` loads; none if the memory holds everything.

    Raises:
        LimitError: if the time is over.
    """
    system = map_system(workload)
    least = compulsory_loads(workload) if beat is None else beat
    found: list[ExponentProof] = []
    for units, needed in accountings(workload, memory_words, least):
        if system.dims:
            found += proofs(workload, system, units, needed, clock)
    return sorted((p for p in found if p.loads_words > least), key=lambda p: -p.loads_words)


def proofs(
    workload: Workload, system: MapSystem, units: Units, needed: int, clock: Clock = NO_LIMIT
) -> Iterator[ExponentProof]:
    """Proofs from the most promising polytopes, of those whose estimate reaches `needed` units."""
    found = list(polytopes(system, clock))
    if len(found) > RANKED:
        programs = {p: segment_program(system, p, units.weights) for p in found}
        promises = {p: _promise(program, units) for p, program in programs.items() if program is not None}
        found = sorted(promises, key=lambda p: -promises[p])[:RANKED]
    ranked: list[tuple[float, int, Polytope, dict[int, Fraction]]] = []
    for polytope in found:
        known = _looked_at(workload, polytope, units.mu)
        hope = known is not None and _may_exceed(known, units, needed, clock)
        program = segment_program(system, polytope, units.weights) if hope else None
        if program is None:
            continue
        columns = usable(system, polytope, units.weights)
        for candidate in candidates(program, units, clock):
            for promised, exponents in exact_exponents(program, columns, candidate, units):
                if promised > needed and tensor_sums(system, exponents):
                    ranked.append((-promised, len(ranked), polytope, exponents))
    proved = 0
    for promised, _, polytope, exponents in sorted(ranked, key=lambda entry: entry[:2])[:EXACTED]:
        clock.check()
        if -promised * (1 + ROUNDED) > proved:
            proof = prove_exponents(workload, system, polytope, units, exponents)
            if proof is not None:
                proved = max(proved, proof.segments.cost_units)
                yield proof


def usable(system: MapSystem, polytope: Polytope, weights: Mapping[str, int]) -> list[int]:
    """Maps a polytope allows, without those of tensors whose words cost nothing."""
    maps = system.maps
    tensors = [maps[i].tensor for i in polytope.allowed]
    return [i for i, t in zip(polytope.allowed, tensors, strict=True) if t is None or weights[t] > 0]


def segment_program(system: MapSystem, polytope: Polytope, weights: Mapping[str, int]) -> SegmentProgram | None:
    """The convex program over a polytope; None if no exponents are feasible."""
    columns = usable(system, polytope, weights)
    places = {i: k for k, i in enumerate(polytope.allowed)}
    names = list(dict.fromkeys(t for i in columns if (t := system.maps[i].tensor) is not None))
    rows = tuple((tuple(row[places[i]] for i in columns), right) for row, right in polytope.rows)
    if not names or any(right > 0 and not any(row) for row, right in rows):
        return None
    return SegmentProgram(
        rows=rows,
        owner=tuple(-1 if (t := system.maps[i].tensor) is None else names.index(t) for i in columns),
        log_sizes=np.array([log(system.maps[i].size) for i in columns]),
        weights=tuple(weights[name] for name in names),
    )


def _promise(program: SegmentProgram, units: Units) -> float:
    """Log of the loads beyond the memory that a polytope roughly promises: the best of a few segment sizes."""
    best = -inf
    for size in ROUGH_SIZES:
        K = max(min(size * units.memory, float(units.ceiling)), units.memory + 1.0)
        used, mixture = program.solve(K, rounds=ROUGH)
        level = float(program.value(mixture @ np.array(program.vertices)[used], K))
        best = max(best, log(K - units.memory) + log(units.operations) - level)
    return best


@lru_cache(maxsize=64)
def _looked_at(workload: Workload, polytope: Polytope, mu: Fraction) -> SegmentProgram | None:
    """The program that says what F is at least, for all memories: what it has found for one is a start for others.

    No proof depends on what it was asked before: wherever it starts, what it says holds, and it only says what need not
    be sought. Proofs come of programs of their own.
    """
    return segment_program(map_system(workload), polytope, accounting(workload, 1, mu).weights)


def _may_exceed(program: SegmentProgram, units: Units, needed: int, clock: Clock) -> bool:
    """Whether exponents may prove more than `needed` units; if not, they need not be sought.

    Let n U(M+T) + U(M+t) < G, all rounded down, with n >= 1. With sigma > 1, U is convex: for m = n + 1 and the mean K
    of n times M+T and M+t it is U(K) <= G/m + 1, and M + m(K - M) + 1 units are proved. F(K), the least log U(K), is
    concave in log K, hence at least its chords; at the ceiling it is log G. So `most` says of two sizes what is proved
    with a K between them, by what F is there at least: roughly at first, as that is often enough. With sigma <= 1,
    U(K) >= G K/ceiling: no more is proved than the ceiling if M > 2 sum w_t.
    """
    if needed < units.ceiling or units.memory <= 2 * sum(units.weights.values()):
        return True
    operations, memory = float(units.operations), units.memory
    end = log(units.ceiling), log(operations)

    def most(left: tuple[float, float], right: tuple[float, float]) -> tuple[float, float]:
        """The most units that are proved, and the log of K."""
        (start, level), slope = left, max((right[1] - left[1]) / (right[0] - left[0]), 1e-9)
        last = min(right[0], start + (log(operations / 2 + 1) - level) / slope)
        at = max(start, min(last, log(memory * slope / (slope - 1)) if slope > 1 else inf))
        rounded = 1 + 1 / max(1.0, exp(level) - 1)
        segments = exp(log(operations) - level - (at - start) * slope) * rounded
        return memory + 1 + segments * (exp(at) - memory), at

    for look, times, reached in ((program.floor, FIRST, False), (program.least, LOOKS, True)):
        points = [(log(memory), look(memory)), end]
        for _ in range(times):
            clock.check()
            limit, at = max(most(*pair) for pair in pairwise(points))
            if limit <= needed:
                return False
            if any(abs(at - known) < CLOSE for known, _ in points):
                break
            level = look(exp(at))
            if reached and memory + (exp(at) - memory) * operations / exp(level) > needed:
                return True
            points = sorted([*points, (at, level)])
    return True


def exact_exponents(
    program: SegmentProgram, columns: list[int], candidate: Mixture, units: Units
) -> list[tuple[float, dict[int, Fraction]]]:
    """Roundings of a candidate into the polytope: units that are promised, non-zero exponent per map index."""

    def cost(points: Floats) -> Floats:
        sigmas = np.maximum(program.sums(points).sum(axis=1), TINY)
        curves = Curves(constants=program.value(points, 1.0)[None, None, :], sigmas=sigmas[None, None, :])
        return -np.log(np.maximum(estimated_units(curves, units.memory, units.operations), 1.0))

    found = program.rationals(candidate.used, candidate.mixture, cost, EXACTED)
    return [(exp(-least), {i: x for i, x in zip(columns, values, strict=True) if x}) for least, values in found]


def prove_exponents(
    workload: Workload, system: MapSystem, polytope: Polytope, units: Units, exponents: Mapping[int, Fraction]
) -> ExponentProof | None:
    """The segment argument for given exponents (already inside the polytope)."""
    if not tensor_sums(system, exponents):
        return None
    bound = operations_bound(system, units, exponents)
    segments = best_segments(bound, units.memory, units.operations)
    if segments is None:
        return None
    return ExponentProof(
        units=units,
        polytope=polytope,
        exponents=dict(exponents),
        segments=segments,
        loads_words=loads_of_units(workload, units, segments.cost_units),
    )


def operations_bound(system: MapSystem, units: Units, exponents: Mapping[int, Fraction]) -> SegmentBound:
    """U for given exponents; at least one tensor must have a positive sum."""
    return SegmentBound(
        sums=tuple((s, units.weights[t]) for t, s in tensor_sums(system, exponents).items()),
        sizes=tuple((x, system.maps[i].size) for i, x in exponents.items() if system.maps[i].tensor is None and x),
    )


def tensor_sums(system: MapSystem, exponents: Mapping[int, Fraction]) -> dict[str, Fraction]:
    """S_t: the sum of the exponents of a tensor's accesses, for tensors where it is not 0."""
    sums: dict[str, Fraction] = {}
    for i, x in exponents.items():
        tensor = system.maps[i].tensor
        if tensor is not None and x:
            sums[tensor] = sums.get(tensor, Fraction(0)) + x
    return sums
