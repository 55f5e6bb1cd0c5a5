"""Method `brascamp_lieb`: exponents, the symbolic Omega form, and what they prove in integers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import log

import numpy as np

from optmap.base.names import choose
from optmap.bounds.best import power_text
from optmap.bounds.compulsory import output_words
from optmap.bounds.exponents.convex import SegmentProgram
from optmap.bounds.exponents.lifting import DimDigit
from optmap.bounds.exponents.maps import MapSystem, map_system
from optmap.bounds.exponents.polytope import Constraint, Polytope, polytopes
from optmap.bounds.exponents.proof import prove_exponents
from optmap.bounds.result import LowerBound
from optmap.bounds.units import accounting
from optmap.solvers.exact import linear_program, solve_exact
from optmap.workloads.workload import Workload

METHOD = "brascamp_lieb"
LARGE = 1e300
"""Segment size at which sigma outweighs every constant."""
THRESHOLDS = 4
"""Scenarios of small dims tried, from the shortest dims on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """Exponents of one choice of small dims."""

    small: tuple[str, ...]
    """Dims whose extents count as constants."""
    polytope: Polytope
    """Where the exponents live."""
    exponents: dict[int, Fraction]
    """Non-zero exponent per map index."""
    sigma: Fraction
    """Sum of the tensors' exponents: loads grow as M^(1 - sigma)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    """A scenario with what its exponents prove in integers."""

    scenario: Scenario
    loads_words: int
    """0 if nothing."""


def brascamp_lieb(workload: Workload, memory_words: int) -> LowerBound:
    """The asymptotic bound with the scenario of small dims that proves most at this memory.

    The number of loads is what these exponents prove in integers (`prove_exponents`), 0 if nothing.

    Args:
        workload: the computation.
        memory_words: fast memory, in words.

    Source: Dinh, chapter 2.3 and section 4.1; IOOpt, section 5 and Figure 3 (small dims).
    """
    system = map_system(workload)
    candidates = _candidates(workload, system, memory_words)
    if not candidates:
        return _bound_of_a_point(workload)
    strongest = max(candidates, key=lambda candidate: candidate.loads_words)  # the first one on a tie
    return _bound_of(workload, system, strongest)


def _candidates(workload: Workload, system: MapSystem, memory_words: int) -> list[_Candidate]:
    """One candidate per choice of small dims that has exponents, fewest small dims first."""
    units = accounting(workload, memory_words)
    found = []
    for small in _choices(workload, memory_words):
        scenario = smallest_sigma(workload, small, system=system)
        if scenario is not None:
            proof = prove_exponents(workload, system, scenario.polytope, units, scenario.exponents)
            found.append(_Candidate(scenario=scenario, loads_words=max(proof.loads_words, 0) if proof else 0))
    return found


def _bound_of_a_point(workload: Workload) -> LowerBound:
    """No dim is longer than 1: there are no exponents."""
    return LowerBound(method=METHOD, loads_words=0, stores_words=output_words(workload), expression="0")


def _bound_of(workload: Workload, system: MapSystem, candidate: _Candidate) -> LowerBound:
    """What a scenario says: its Omega form, and the loads proved."""
    scenario = candidate.scenario
    return LowerBound(
        method=METHOD,
        loads_words=candidate.loads_words,
        stores_words=output_words(workload),
        exponents={system.maps[i].name: x for i, x in scenario.exponents.items()},
        expression=omega_text(workload, system, scenario),
        assumptions=(
            "the fast memory starts empty",
            f"small dims: {', '.join(scenario.small)}" if scenario.small else "no small dims",
        ),
    )


def smallest_sigma(
    workload: Workload, small: Iterable[str] = (), *, system: MapSystem | None = None
) -> Scenario | None:
    """Exponents with the smallest sigma (proved in fractions), and among those a small constant.

    Args:
        workload: the computation.
        small: dims whose size maps may be used.
        system: the maps of the workload, if at hand.

    Returns:
        None if every dim is 1 long.

    Raises:
        UnknownNameError: if a small dim is not a dim of the workload.
    """
    chosen = tuple(small)
    for dim in chosen:
        choose("dim", dim, workload.dims, where=workload.expression)
    system = system or map_system(workload)
    if not system.dims:
        return None
    best: Scenario | None = None
    for polytope in polytopes(system):
        found = _in_polytope(workload, system, polytope, chosen)
        if found is not None and (best is None or found.sigma < best.sigma):
            best = found
    return best


def omega_text(workload: Workload, system: MapSystem, scenario: Scenario) -> str:
    """`Omega(i*j*k / M^(1/2))`: operations over M^(sigma-1) and the constants of small dims."""
    above, below = ["*".join(d for d, n in workload.sizes if n > 1)], []
    power = scenario.sigma - 1
    if power > 0:
        below.append(f"M{power_text(power)}")
    elif power < 0:  # exponents of small dims alone: more memory, more words
        above.append(f"M{power_text(-power)}")
    below += _small_factors(system, scenario)
    return f"Omega({_quotient(above, below)})"


def _small_factors(system: MapSystem, scenario: Scenario) -> list[str]:
    """`|r|^(1/2)` per size map that has an exponent."""
    used = [(system.maps[i], x) for i, x in scenario.exponents.items()]
    return [f"|{m.name.removeprefix('z:dim ')}|{power_text(x)}" for m, x in used if m.tensor is None]


def _quotient(above: list[str], below: list[str]) -> str:
    text = " * ".join(above)
    if not below:
        return text
    return f"{text} / ({' * '.join(below)})" if len(below) > 1 else f"{text} / {below[0]}"


def _choices(workload: Workload, memory_words: int) -> Iterator[tuple[str, ...]]:
    """No small dims, then all dims up to each of the shortest extents below the root of the memory."""
    yield ()
    lengths = sorted({n for _, n in workload.sizes if n > 1 and n * n <= memory_words})
    for limit in lengths[:THRESHOLDS]:
        yield tuple(d for d, n in workload.sizes if 1 < n <= limit)


def _in_polytope(workload: Workload, system: MapSystem, polytope: Polytope, small: tuple[str, ...]) -> Scenario | None:
    """The scenario of one polytope; None if it has no exponents, or the program for a small constant finds none."""
    columns = _usable(system, polytope, small)
    rows = _rows_of(polytope, columns)
    if any(right > sum(row) for row, right in rows):
        return None  # a constraint needs the size of a dim that is not small
    values = _small_constant(workload, system, columns, rows)
    if values is None:
        return None
    counted = [system.maps[i].tensor is not None for i in columns]
    least = solve_exact(linear_program([int(c) for c in counted], [r for r, _ in rows], [b for _, b in rows]))
    if _sigma(values, counted) != least.objective:
        values = least.x  # floats led to a vertex nearby; sigma comes first
    return Scenario(
        small=small,
        polytope=polytope,
        exponents={i: x for i, x in zip(columns, values, strict=True) if x},
        sigma=_sigma(values, counted),
    )


def _usable(system: MapSystem, polytope: Polytope, small: tuple[str, ...]) -> list[int]:
    """Maps that may have an exponent: of tensors, and sizes of the small dims."""

    def usable(source: object) -> bool:
        return source is None or (isinstance(source, DimDigit) and source.dim in small)

    return [i for i in polytope.allowed if usable(system.maps[i].source)]


def _rows_of(polytope: Polytope, columns: Sequence[int]) -> tuple[Constraint, ...]:
    """The constraints of a polytope on some of its maps, the others having exponent 0."""
    places = {i: k for k, i in enumerate(polytope.allowed)}
    return tuple((tuple(row[places[i]] for i in columns), right) for row, right in polytope.rows)


def _small_constant(
    workload: Workload, system: MapSystem, columns: Sequence[int], rows: tuple[Constraint, ...]
) -> Sequence[Fraction] | None:
    """Exponents with a small constant among those with the smallest sigma, as floats find them, in fractions."""
    maps = [system.maps[i] for i in columns]
    names = list(dict.fromkeys(m.tensor for m in maps if m.tensor is not None))
    weights = {t.name: workload.weight(t) for t in workload.tensors}
    program = SegmentProgram(
        rows=rows,
        owner=tuple(-1 if m.tensor is None else names.index(m.tensor) for m in maps),
        log_sizes=np.array([log(m.size) for m in maps]),
        weights=tuple(weights[name] for name in names),
    )
    used, mixture = program.solve(LARGE)
    found = program.rationals(used, mixture, lambda points: program.value(points, LARGE))
    return found[0][1] if found else None


def _sigma(values: Sequence[Fraction], counted: Sequence[bool]) -> Fraction:
    """Sum of the tensors' exponents."""
    return sum((x for x, tensor in zip(values, counted, strict=True) if tensor), Fraction(0))
