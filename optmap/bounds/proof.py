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

from optmap.bounds.compulsory import compulsory_loads, created_words, tensor_words
from optmap.bounds.convex import Array, SegmentProgram
from optmap.bounds.maps import MapSystem, map_system
from optmap.bounds.polytope import Polytope, polytopes
from optmap.bounds.segments import LARGEST_BITS, SegmentBound, Segments, best_segments, ranked_lengths
from optmap.clock import NO_LIMIT, Clock
from optmap.problem.padding import real_operations
from optmap.problem.workload import Semantics, Workload

ROUGH = 5
"""Vertices per polytope while ranking."""
ROUGH_SIZES = (1.5, 3.0, 12.0)
"""Segment sizes, in memories, at which polytopes are ranked."""
RANKED = 2
"""Polytopes (where lattices do not close) that are searched in full."""
FEW = 16
"""Segments below which their whole number decides where the best exponents are."""
CANDIDATES = 4
"""Mixtures per polytope whose exponents are rounded."""
EXACTED = 2
"""Candidates that are decided in integers, the best by estimate."""
LOOKS = 8
"""Segment sizes that are looked at before exponents are sought."""
CLOSE = 1e-6
"""Logs of segment sizes that are not told apart."""
SMALL = 64
"""Memory, in units, up to which segments of one and two units are tried as well."""
MUS = (Fraction(1), Fraction(1, 2), Fraction(0))
"""Weights of a created output word tried under `assign`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Units:
    """The segment argument's accounting: a loaded word costs b units, a created one a units."""

    mu: Fraction
    """a/b."""
    memory: int
    """Fast memory, in units."""
    weights: dict[str, int]
    """Units per element of every tensor; 0 only for the output with mu = 0."""
    operations: int
    """Points of the iteration space that are done."""
    ceiling: int
    """Units of all touched words together: longer segments cannot exist."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    """A mixture of vertices worth putting into integers."""

    value: float
    """Estimated cost in units."""
    units: float
    """Segment size K it was found for."""
    used: list[int]
    """Vertices of the mixture."""
    mixture: Array
    """Their weights."""


def accounting(workload: Workload, memory_words: int, mu: Fraction = Fraction(1)) -> Units:
    """Units for a memory size and a price of created output words.

    Operations on implicit padding need no load and may be left out. Those that remain touch real
    elements only, each of which was loaded; and the product inequality holds for any finite set of
    points, so that U bounds a segment's share of them as it bounds its share of the whole box.
    """
    a, b = mu.numerator, mu.denominator
    weights = {t.name: b * workload.weight(t) for t in workload.tensors}
    weights[workload.output.name] = a * workload.weight(workload.output)
    elements = tensor_words(workload)
    return Units(
        mu=mu,
        memory=b * memory_words,
        weights=weights,
        operations=real_operations(workload),
        ceiling=sum(words * (a if name == workload.output.name else b) for name, words in elements.items()),
    )


def accountings(workload: Workload, memory_words: int, least: int) -> Iterator[tuple[Units, int]]:
    """Every accounting that may prove something, and the units that stand for `least` loads.

    Args:
        workload: the computation.
        memory_words: fast memory, in words.
        least: loads, in words, that a proof must exceed.
    """
    created = created_words(workload)
    for mu in MUS if workload.semantics is Semantics.ASSIGN else MUS[:1]:
        units = accounting(workload, memory_words, mu)
        if units.memory < units.ceiling and 0 < units.operations.bit_length() <= LARGEST_BITS:
            yield units, mu.denominator * least + mu.numerator * created


def ranked_proofs(
    workload: Workload, memory_words: int, *, beat: int | None = None, clock: Clock = NO_LIMIT
) -> list[Proof]:
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
    found: list[Proof] = []
    for units, needed in accountings(workload, memory_words, least):
        if system.dims:
            found += proofs(workload, system, units, needed, clock)
    return sorted((p for p in found if p.loads_words > least), key=lambda p: -p.loads_words)


def proofs(
    workload: Workload, system: MapSystem, units: Units, needed: int, clock: Clock = NO_LIMIT
) -> Iterator[Proof]:
    """Proofs from the most promising polytopes, of those whose estimate reaches `needed` units."""
    found = [(p, segment_program(system, p, units.weights)) for p in polytopes(system, clock)]
    pairs = [(p, s) for p, s in found if s is not None]
    if len(pairs) > RANKED:
        pairs.sort(key=lambda pair: -_promise(pair[1], units))
        pairs = pairs[:RANKED]
    ranked: list[tuple[float, int, Polytope, dict[int, Fraction]]] = []
    for polytope, program in pairs:
        known = _looked_at(workload, polytope, units.mu)
        if known is None or not _may_exceed(known, units, needed, clock):
            continue
        columns = usable(system, polytope, units.weights)
        for candidate in _candidates(program, units, clock):
            exponents = exact_exponents(program, columns, candidate)
            if exponents is not None and tensor_sums(system, exponents):
                lengths = ranked_lengths(operations_bound(system, units, exponents), units.memory, units.operations)
                if lengths and lengths[0][0] > needed:
                    ranked.append((-lengths[0][0], len(ranked), polytope, exponents))
    for _, _, polytope, exponents in sorted(ranked, key=lambda entry: entry[:2])[:EXACTED]:
        clock.check()
        proof = prove_exponents(workload, system, polytope, units, exponents)
        if proof is not None:
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
    with a K between them. With sigma <= 1, U(K) >= G K/ceiling: no more is proved than the ceiling if M > 2 sum w_t.
    """
    if needed < units.ceiling or units.memory <= 2 * sum(units.weights.values()):
        return True
    operations, memory = float(units.operations), units.memory
    points = [(log(memory), program.least(memory)), (log(units.ceiling), log(operations))]

    def most(left: tuple[float, float], right: tuple[float, float]) -> tuple[float, float]:
        """The most units that are proved, and the log of K."""
        (start, level), slope = left, max((right[1] - left[1]) / (right[0] - left[0]), 1e-9)
        last = min(right[0], start + (log(operations / 2 + 1) - level) / slope)
        at = max(start, min(last, log(memory * slope / (slope - 1)) if slope > 1 else inf))
        rounded = 1 + 1 / max(1.0, exp(level) - 1)
        segments = exp(log(operations) - level - (at - start) * slope) * rounded
        return memory + 1 + segments * (exp(at) - memory), at

    for _ in range(LOOKS):
        clock.check()
        limit, at = max(most(*pair) for pair in pairwise(points))
        if limit <= needed:
            return False
        if any(abs(at - known) < CLOSE for known, _ in points):
            return True
        level = program.least(exp(at))
        if memory + (exp(at) - memory) * operations / exp(level) > needed:
            return True
        points = sorted([*points, (at, level)])
    return True


def _candidates(program: SegmentProgram, units: Units, clock: Clock) -> list[_Candidate]:
    """Stationary segment sizes from several starts, then the integer counts around the best."""
    total = log(units.operations)
    found: list[_Candidate] = []
    settled: list[float] = []
    for start in (3.0, 1.3, 12.0):
        K = min(start * units.memory, float(units.ceiling))
        for _ in range(8):
            clock.check()
            if any(abs(log(K / other)) < 0.02 for other in settled):
                break
            used, mixture = program.solve(K)
            point = mixture @ np.array(program.vertices)[used]
            sigma = float(program.sums(point).sum())
            rate = log(max(K - units.memory, 1e-9)) + total - float(program.value(point, K))
            found.append(_Candidate(value=units.memory + exp(rate), units=K, used=used, mixture=mixture))
            target = units.memory * sigma / (sigma - 1) if sigma > 1 + 1e-9 else inf
            target = min(max(target, units.memory + 1.0), float(units.ceiling))
            if abs(log(target / K)) < 1e-3:
                settled.append(K)
                break
            K = target
    if units.memory <= SMALL:
        for K in (units.memory + 1.0, units.memory + 2.0):
            used, mixture = program.solve(K)
            found.append(_Candidate(value=inf, units=K, used=used, mixture=mixture))
    best = max((c for c in found if c.value < inf), key=lambda c: c.value)
    count = (best.value - units.memory) / max(best.units - units.memory, 1e-9)
    if count < FEW:
        for whole in range(max(2, int(count)), int(count) + 2):
            found.append(_balanced(program, units, whole, best.units))
    ordered = sorted(found, key=lambda c: -c.value)
    distinct: list[_Candidate] = []
    for c in ordered:
        if all(abs(log(c.units / d.units)) > 1e-3 for d in distinct):
            distinct.append(c)
    return distinct[:CANDIDATES]


def _balanced(program: SegmentProgram, units: Units, count: int, start: float) -> _Candidate:
    """The segment size at which `count` segments just fail to hold all operations.

    log U* is concave in log K, so that Newton's steps approach from below after the first one.
    """
    K = start
    share = log(units.operations) - log(count)
    for _ in range(4):
        used, mixture = program.solve(K)
        point = mixture @ np.array(program.vertices)[used]
        sigma = max(float(program.sums(point).sum()), 1e-6)
        step = (share - float(program.value(point, K))) / sigma
        K = min(max(K * exp(min(max(step, -3.0), 3.0)), 1.0), float(units.ceiling) * 2)
        if abs(step) < 1e-5:
            break
    return _Candidate(value=units.memory + count * (K - units.memory), units=K, used=used, mixture=mixture)


def exact_exponents(program: SegmentProgram, columns: list[int], candidate: _Candidate) -> dict[int, Fraction] | None:
    """Round a candidate into the polytope: non-zero exponent per map index."""
    values = program.rationals(candidate.used, candidate.mixture, candidate.units)
    if values is None:
        return None
    return {i: x for i, x in zip(columns, values, strict=True) if x}


def prove_exponents(
    workload: Workload, system: MapSystem, polytope: Polytope, units: Units, exponents: Mapping[int, Fraction]
) -> Proof | None:
    """The segment argument for given exponents (already inside the polytope)."""
    if not tensor_sums(system, exponents):
        return None
    bound = operations_bound(system, units, exponents)
    segments = best_segments(bound, units.memory, units.operations)
    if segments is None:
        return None
    return Proof(
        units=units,
        polytope=polytope,
        exponents=dict(exponents),
        segments=segments,
        loads_words=loads_of_units(workload, units, segments.cost_units),
    )


def loads_of_units(workload: Workload, units: Units, cost: int) -> int:
    """Loads, in words, of a run that costs at least so many units."""
    if workload.semantics is not Semantics.ASSIGN:
        return cost
    created = units.mu.numerator * created_words(workload)
    return -((created - cost) // units.mu.denominator)


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
