"""From what a method found to the answer: every number is counted again, every promise looked at."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from optmap.errors import CheckError
from optmap.evaluate import BoundaryTraffic, CostReport, Running, count_mapping, evaluate_cost, floor_cycles
from optmap.evaluate.timing import Prediction
from optmap.problem.code_options import CodeOptions
from optmap.problem.held import Held
from optmap.problem.mapping import Mapping
from optmap.problem.options import TileRule
from optmap.search.compulsory import compulsory
from optmap.search.request import Request
from optmap.search.result import Relaxation, SolveResult, conclusion
from optmap.search.versions import versions
from optmap.solvers.status import Point

SAME = 1e-9
"""Relative distance within which a search's floating-point cost is the exact one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a method hands in: a mapping, and what it knows about it. Only the mapping is needed."""

    mapping: Mapping
    held: Held | None = None
    """Of one level: how long every tensor is kept; None where the loop order alone decides."""
    claimed: float | None = None
    """Its cost as the search counted it, to be compared with the recount."""
    relaxation: Relaxation | None = None
    """What is proved, or at least solved, below it; None for what every mapping moves."""
    bound: float | None = None
    """Proved lower bound on the cost of every mapping in `space`; None for that of the relaxation."""
    point: Point = Point.FEASIBLE
    """What is known of the relaxed point behind it."""
    late: bool = False
    """Whether the time ran out."""
    notes: tuple[str, ...] = ()
    """What a reader should know."""
    prediction: Prediction | None = None
    """Of its time, where that is the objective."""
    options: CodeOptions | None = None
    """Of the code whose time it is."""
    space: str = ""
    """The mappings among which the method looks for the best, in words."""


def cost_of(request: Request, mapping: Mapping) -> float | None:
    """The objective of a mapping in per-level form, which methods compare; None if it does not fit.

    Args:
        request: what is asked.
        mapping: a candidate.

    Raises:
        InputError: if the mapping does not belong to workload and machine.
    """
    report = evaluate_cost(request.workload, request.machine, mapping, request.capacity)
    return _objective(request, report.boundaries) if report.fits else None


def assemble(request: Request, method: str, found: Found, *, seconds: float) -> SolveResult:
    """The answer, with every number recounted from the mapping in exact integers.

    Args:
        request: what was asked.
        method: name of the method.
        found: what it found.
        seconds: time it took.

    Raises:
        InputError: if the mapping does not belong to workload and machine.
        CheckError: if the mapping does not fit, is not of the kind that was asked for, costs something
            else than the search claimed, or less than a proved bound.
    """
    workload, machine, objective = request.workload, request.machine, request.objective
    found.mapping.check(workload, machine)
    prediction = found.prediction
    report, boundaries = count_mapping(
        workload, machine, found.mapping, found.held, request.capacity, prediction=prediction
    )
    if prediction is not None:
        cost = exact = prediction.cycles
        relaxation = _floor_relaxation(request, found.mapping, prediction)
    else:
        cost, exact = _objective(request, report.boundaries), _objective(request, boundaries)
        relaxation = found.relaxation or _compulsory_relaxation(request, found.mapping)
    _check(request, found, relaxation, report, cost)
    bound = min(cost, max(_proved(relaxation), found.bound or 0.0))
    if relaxation.proved:  # what is attained may come out above the cost in the last digits
        relaxation = replace(relaxation, value=min(relaxation.value, bound))
    unit = objective.unit(machine)
    return SolveResult(
        workload=workload,
        machine=machine,
        method=method,
        objective=objective.name,
        capacity=request.capacity,
        tiles=request.tiles,
        stop=conclusion(cost, bound, late=found.late),
        point=found.point,
        mapping=found.mapping,
        levels=report.levels,
        boundaries=boundaries,
        cost=cost,
        cost_unit=unit,
        exact=exact,
        exact_unit=unit,
        bottleneck=report.bottleneck,
        relaxation=relaxation,
        integer_bound=bound,
        integer_gap=relaxation.gap(cost),
        seconds=seconds,
        seed=request.seed,
        versions=versions(),
        notes=found.notes,
        held=found.held,
        constraints=request.constraints,
        space=_space(request, found),
        prediction=prediction,
        options=found.options,
    )


def _space(request: Request, found: Found) -> str:
    """The mappings among which the method looked for the best: only those that meet the constraints."""
    if not request.constraints:
        return found.space
    return f"{found.space}; among mappings with the constraints {request.constraints.text}".removeprefix("; ")


def _objective(request: Request, rows: tuple[BoundaryTraffic, ...]) -> float:
    return float(request.objective.of(rows, request.machine, request.workload.word_bits))


def _proved(relaxation: Relaxation) -> float:
    return relaxation.value if relaxation.proved else 0.0


def _check(request: Request, found: Found, relaxation: Relaxation, report: CostReport, cost: float) -> None:
    """Hold the mapping against what was asked and what is claimed of it."""
    if not report.fits:
        raise CheckError("the mapping found does not fit its machine: the search and the evaluation disagree")
    ways = prod(parts for level in found.mapping.levels for parts in level.spatial.values())
    if ways > request.cores:
        raise CheckError(f"the mapping found splits the work {ways} ways, but {request.cores} cores were asked for")
    for item, level in request.constraints.broken(found.mapping):
        raise CheckError(f"the mapping found does not meet the constraint {item.text}: {item.found(level)}")
    if found.claimed is not None and abs(cost - found.claimed) > SAME * cost:
        raise CheckError(f"the search claims a cost of {found.claimed:.9g}, the evaluation finds {cost:.9g}")
    if cost < _proved(relaxation) * (1 - SAME):
        raise CheckError(f"the mapping costs {cost:.9g}, below the proved bound {relaxation.value:.9g}")
    if request.tiles is TileRule.DIVISORS:
        _check_divisors(request, found.mapping)


def _check_divisors(request: Request, mapping: Mapping) -> None:
    """Every tile divides what is outside it, unless the machine imposes it."""
    outer = request.workload.extents
    for level, own in zip(reversed(request.machine.levels), reversed(mapping.levels), strict=True):
        for dim, size in own.tile.items():
            if outer[dim] % size and level.microkernel is None:
                raise CheckError(f"level {own.level}: {dim}={size} does not divide {outer[dim]}, as was asked for")
        outer = {dim: -(-size // own.spatial.get(dim, 1)) for dim, size in own.tile.items()}


def _floor_relaxation(request: Request, mapping: Mapping, prediction: Prediction) -> Relaxation:
    """What no code goes below in time."""
    running = Running(threads=prediction.threads, caches=prediction.caches)
    return Relaxation(
        value=float(floor_cycles(request.workload, request.machine, running)),
        proved=True,
        formulation="multiply-adds at the peak of all threads, and every element touched once over every link",
        tolerance=0.0,
        method="counting",
        classes=tuple(level.permutation for level in mapping.levels),
        tiles=tuple({d: float(n) for d, n in level.tile.items()} for level in mapping.levels),
        cross_check=None,
    )


def _compulsory_relaxation(request: Request, mapping: Mapping) -> Relaxation:
    """What every mapping moves, at the boundaries outside of which nothing is split."""
    words = compulsory(request.workload, request.objective)
    split = [number for number, level in enumerate(mapping.levels) if prod(level.spatial.values()) > 1]
    whole = dict.fromkeys(range(max(split, default=0), len(mapping.levels)), words)
    return Relaxation(
        value=float(request.objective.value(whole, request.machine, request.workload.word_bits)),
        proved=True,
        formulation="compulsory traffic: every word of every tensor once",
        tolerance=0.0,
        method="counting",
        classes=tuple(level.permutation for level in mapping.levels),
        tiles=tuple({d: float(n) for d, n in level.tile.items()} for level in mapping.levels),
        cross_check=None,
    )
