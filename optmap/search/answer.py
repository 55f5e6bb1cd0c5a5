"""From what a method found to the answer: every number is counted again, every promise looked at."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import prod

from optmap.errors import CheckError
from optmap.evaluate import BoundaryTraffic, Running, count_mapping, evaluate_cost, floor_cycles
from optmap.evaluate.spatial.count import NEST_EXACT, count_nest
from optmap.evaluate.spatial.results import SpatialCost
from optmap.evaluate.spatial.wires import wire_notes
from optmap.evaluate.timing import Prediction
from optmap.problem.demanded import as_demanded
from optmap.problem.fabric import Fabric, fabric_of
from optmap.problem.mapping import Mapping
from optmap.problem.nest import Nest, mapping_of
from optmap.problem.options import TileRule
from optmap.search.accelerators.result import AcceleratorResult, MapspaceSearch
from optmap.search.compulsory import compulsory
from optmap.search.found import SAME, Found
from optmap.search.question import Question
from optmap.search.result import Relaxation, SolveResult, conclusion
from optmap.search.versions import versions
from optmap.solvers.status import Stop
from optmap.texts import several


def cost_of(question: Question, mapping: Mapping) -> float | None:
    """The objective of a mapping in per-level form, which methods compare; None if it does not fit.

    Args:
        question: what is asked.
        mapping: a candidate.

    Raises:
        InputError: if the mapping does not belong to workload and machine.
    """
    report = evaluate_cost(question.workload, question.machine, mapping, question.capacity)
    return _objective(question, report.boundaries) if report.fits else None


def assemble(question: Question, found: Found, *, seconds: float) -> SolveResult | AcceleratorResult:
    """The answer, with every number recounted from the mapping in exact integers.

    Args:
        question: what was asked, and of which method.
        found: what it found.
        seconds: time it took.

    Raises:
        InputError: if the mapping does not belong to workload and machine.
        CheckError: if the mapping does not fit (of a method that is not known for that), is not of the kind that was
            asked for, costs something else than the search claimed, or less than a proved bound. One that only the
            counting that was asked for has fit is handed on, and the answer says that it does not.
    """
    return _of_a_nest(question, found, seconds) if question.machine.meshed else _of_tiles(question, found, seconds)


def _of_tiles(question: Question, found: Found, seconds: float) -> SolveResult:
    workload, machine, objective = question.workload, question.machine, question.objective
    mapping, prediction = found.tiles, found.prediction
    mapping.check(workload, machine)
    report, boundaries = count_mapping(workload, machine, mapping, found.held, question.capacity, prediction=prediction)
    if prediction is not None:
        cost = exact = prediction.cycles
        relaxation = _floor_relaxation(question, mapping, prediction)
    else:
        cost, exact = _objective(question, report.boundaries), _objective(question, boundaries)
        relaxation = found.relaxation or _compulsory_relaxation(question, mapping)
    _check_kept(question, mapping, report.broken)
    _check_claims(found, cost, _proved(relaxation))
    ways = prod(parts for level in mapping.levels for parts in level.spatial.values())
    if ways > question.cores:
        raise CheckError(
            f"the mapping found splits the work {ways} ways; {several(question.cores, 'core')} may be used"
        )
    if question.tiles is TileRule.DIVISORS:
        _check_divisors(question, mapping)
    bound = min(cost, max(_proved(relaxation), float(found.bound or 0.0)))
    if relaxation.proved:  # what is attained may come out above the cost in the last digits
        relaxation = replace(relaxation, value=min(relaxation.value, bound))
    unit = objective.unit(machine)
    return SolveResult(
        workload=workload,
        machine=machine,
        method=question.method,
        objective=objective.name,
        capacity=question.capacity,
        tiles=question.tiles,
        stop=conclusion(cost, bound, late=found.late),
        point=found.point,
        mapping=mapping,
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
        seed=question.seed,
        versions=versions(),
        notes=(*question.notes, *found.notes),
        held=found.held,
        constraints=question.constraints,
        space=_space(question, found),
        prediction=prediction,
        options=found.options,
    )


def _of_a_nest(question: Question, found: Found, seconds: float) -> AcceleratorResult:
    fabric, nest = question.fabric, found.nest
    cost = count_nest(nest, fabric, question.counting)
    value = cost.merit(question.merit)
    mapping = as_demanded(mapping_of(nest, fabric), question.constraints)
    _check_kept(question, mapping, () if found.may_not_fit else cost.broken)
    _check_claims(found, value, found.bound or 0)
    if question.tiles is TileRule.DIVISORS and nest.tiles()[-1] != fabric.extents:
        raise CheckError("the mapping found pads dims, but divisors were asked for")
    exact = cost if question.counting == NEST_EXACT else count_nest(nest, fabric)
    return AcceleratorResult(
        fabric=fabric_of(question.workload, question.machine),
        method=question.method,
        merit=question.merit,
        counting=question.counting,
        tiles=question.tiles,
        constraints=question.constraints,
        stop=_stop(found, cost, exact),
        nest=nest,
        mapping=mapping,
        count=cost,
        exact=exact,
        search=MapspaceSearch(
            bound=min(Fraction(found.bound or 0), value),
            proved=found.proved,
            proof=found.proof,
            space=_space(question, found),
            evaluations=found.evaluations,
            seconds=seconds,
            trace=found.trace,
            curve=found.curve if found.trace is None else tuple(found.trace.curve),
        ),
        seconds=seconds,
        seed=question.seed,
        versions=versions(),
        notes=(
            *question.notes,
            *found.notes,
            *_padding_note(nest, fabric),
            *wire_notes(fabric, question.counting),
        ),
    )


def _check_kept(question: Question, mapping: Mapping, broken: tuple[str, ...]) -> None:
    """Hold the mapping against its machine and what was demanded."""
    if broken:
        raise CheckError(f"the mapping found is not valid on its machine: {'; '.join(broken)}")
    for item, level in question.constraints.broken(mapping):
        raise CheckError(f"the mapping found does not meet the constraint {item.text}: {item.found(level)}")


def _check_claims(found: Found, cost: Fraction | float, least: Fraction | float) -> None:
    """Hold the recounted cost against what is claimed of it, and what is proved to be the least."""
    value = Fraction(cost)
    if found.claimed is not None and abs(value - Fraction(found.claimed)) > SAME * value:
        raise CheckError(
            f"the search claims a cost of {float(found.claimed):.12g}, the recount finds {float(cost):.12g}"
        )
    if value < Fraction(least) * (1 - Fraction(SAME)):
        raise CheckError(f"the mapping costs {float(cost):.12g}, below the proved bound {float(least):.12g}")


def _stop(found: Found, *counts: SpatialCost) -> Stop:
    """Why the search of a nest ended."""
    if any(count.broken for count in counts):
        return Stop.INFEASIBLE
    if found.proved:
        return Stop.OPTIMAL
    return Stop.late() if found.late else Stop.SEARCH_ENDED


def _space(question: Question, found: Found) -> str:
    """The mappings among which the method looked for the best: only those that meet the constraints."""
    if not question.constraints:
        return found.space
    return f"{found.space}; among mappings with the constraints {question.constraints.text}".removeprefix("; ")


def _padding_note(nest: Nest, fabric: Fabric) -> tuple[str, ...]:
    """What was padded, if anything."""
    sizes = zip(fabric.dims, fabric.extents, nest.tiles()[-1], strict=True)
    grown = [f"{dim} from {extent:,} to {size:,}" for dim, extent, size in sizes if size != extent]
    return (f"padded: {', '.join(grown)}; the work on padding is counted",) if grown else ()


def _objective(question: Question, rows: tuple[BoundaryTraffic, ...]) -> float:
    return float(question.objective.of(rows, question.machine, question.workload.word_bits))


def _proved(relaxation: Relaxation) -> float:
    return relaxation.value if relaxation.proved else 0.0


def _check_divisors(question: Question, mapping: Mapping) -> None:
    """Every tile divides what is outside it, unless the machine imposes it."""
    outer = question.workload.extents
    for level, own in zip(reversed(question.machine.levels), reversed(mapping.levels), strict=True):
        for dim, size in own.tile.items():
            if outer[dim] % size and level.microkernel is None:
                raise CheckError(f"level {own.level}: {dim}={size} does not divide {outer[dim]}, as was asked for")
        outer = {dim: -(-size // own.spatial.get(dim, 1)) for dim, size in own.tile.items()}


def _floor_relaxation(question: Question, mapping: Mapping, prediction: Prediction) -> Relaxation:
    """What no code goes below in time."""
    running = Running(threads=prediction.threads, caches=prediction.caches)
    return _counted(
        mapping,
        value=float(floor_cycles(question.workload, question.machine, running)),
        formulation="multiply-adds at the peak of all threads, and every element touched once over every link",
    )


def _compulsory_relaxation(question: Question, mapping: Mapping) -> Relaxation:
    """What every mapping moves, at the boundaries outside of which nothing is split."""
    words = compulsory(question.workload, question.objective)
    split = [number for number, level in enumerate(mapping.levels) if prod(level.spatial.values()) > 1]
    whole = dict.fromkeys(range(max(split, default=0), len(mapping.levels)), words)
    return _counted(
        mapping,
        value=float(question.objective.value(whole, question.machine, question.workload.word_bits)),
        formulation="compulsory traffic: every word of every tensor once",
    )


def _counted(mapping: Mapping, *, value: float, formulation: str) -> Relaxation:
    """A relaxation that needs no program."""
    return Relaxation(
        value=value,
        proved=True,
        formulation=formulation,
        tolerance=0.0,
        method="counting",
        classes=tuple(level.permutation for level in mapping.levels),
        tiles=tuple({d: float(n) for d, n in level.tile.items()} for level in mapping.levels),
        cross_check=None,
    )
