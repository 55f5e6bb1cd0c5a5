"""Method `brascamp_lieb`: exponents, the symbolic Omega form, and what they prove in integers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import log

import numpy as np

from optmap.bounds.best import power_text
from optmap.bounds.compulsory import output_words
from optmap.bounds.convex import SegmentProgram
from optmap.bounds.lifting import Digit
from optmap.bounds.maps import MapSystem, map_system
from optmap.bounds.polytope import Polytope, polytopes
from optmap.bounds.proof import Proof, accounting, prove_exponents
from optmap.bounds.result import LowerBound
from optmap.names import choose
from optmap.problem.workload import Workload
from optmap.solvers.exact import linear_program, solve_exact

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


def brascamp_lieb(workload: Workload, memory_words: int) -> LowerBound:
    """The asymptotic bound with the scenario of small dims that proves most at this memory.

    The number of loads is what these exponents prove in integers (`prove_exponents`), 0 if nothing.

    Args:
        workload: the computation.
        memory_words: fast memory, in words.

    Source: Dinh, chapter 2.3 and section 4.1; IOOpt, section 5 and Figure 3 (small dims).
    """
    system = map_system(workload)
    units = accounting(workload, memory_words)
    best: tuple[int, int, Scenario, Proof | None] | None = None
    for rank, small in enumerate(_choices(workload, memory_words)):
        scenario = smallest_sigma(workload, small, system=system)
        if scenario is None:
            continue
        proof = prove_exponents(workload, system, scenario.polytope, units, scenario.exponents)
        key = (max(proof.loads_words, 0) if proof else 0, -rank)
        if best is None or key > best[:2]:
            best = (*key, scenario, proof)
    if best is None:
        return LowerBound(method="brascamp_lieb", loads_words=0, stores_words=output_words(workload), expression="0")
    scenario = best[2]
    return LowerBound(
        method="brascamp_lieb",
        loads_words=best[0],
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
    points = "*".join(d for d, n in workload.sizes if n > 1)
    power = scenario.sigma - 1
    below = [f"M{power_text(power)}"] if power > 0 else []
    above = [f"M{power_text(-power)}"] if power < 0 else []
    for i, x in scenario.exponents.items():
        if system.maps[i].tensor is None:
            below.append(f"|{system.maps[i].name.removeprefix('z:dim ')}|{power_text(x)}")
    text = " * ".join([points, *above])
    if below:
        text += f" / ({' * '.join(below)})" if len(below) > 1 else f" / {below[0]}"
    return f"Omega({text})"


def _choices(workload: Workload, memory_words: int) -> Iterator[tuple[str, ...]]:
    """No small dims, then all dims up to each of the shortest extents below the root of the memory."""
    yield ()
    lengths = sorted({n for _, n in workload.sizes if n > 1 and n * n <= memory_words})
    for limit in lengths[:THRESHOLDS]:
        yield tuple(d for d, n in workload.sizes if 1 < n <= limit)


def _in_polytope(workload: Workload, system: MapSystem, polytope: Polytope, small: tuple[str, ...]) -> Scenario | None:
    columns = [
        i
        for i in polytope.allowed
        if (source := system.maps[i].source) is None or (isinstance(source, Digit) and source.dim in small)
    ]
    names = list(dict.fromkeys(t for i in columns if (t := system.maps[i].tensor) is not None))
    places = {i: k for k, i in enumerate(polytope.allowed)}
    rows = tuple((tuple(row[places[i]] for i in columns), right) for row, right in polytope.rows)
    if any(right > sum(row) for row, right in rows):
        return None
    weights = {t.name: workload.weight(t) for t in workload.tensors}
    program = SegmentProgram(
        rows=rows,
        owner=tuple(-1 if (t := system.maps[i].tensor) is None else names.index(t) for i in columns),
        log_sizes=np.array([log(system.maps[i].size) for i in columns]),
        weights=tuple(weights[name] for name in names),
    )
    used, mixture = program.solve(LARGE)
    values = program.rationals(used, mixture, LARGE)
    if values is None:
        return None
    proved = solve_exact(
        linear_program([int(o >= 0) for o in program.owner], [r for r, _ in rows], [b for _, b in rows])
    )
    if sum(x for x, o in zip(values, program.owner, strict=True) if o >= 0) != proved.objective:
        values = proved.x
    exponents = {i: x for i, x in zip(columns, values, strict=True) if x}
    sigma = sum((x for i, x in exponents.items() if system.maps[i].tensor is not None), Fraction(0))
    return Scenario(small=small, polytope=polytope, exponents=exponents, sigma=sigma)
