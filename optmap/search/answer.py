"""From what a method found to the answer: every number is counted again, every promise looked at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from optmap.base.clock import current, limited
from optmap.base.errors import CheckError
from optmap.base.texts import plain, several
from optmap.count.both_forms import count_mapping
from optmap.count.levels.cost import evaluate_cost
from optmap.count.meshes.count import NEST_EXACT, count_nest
from optmap.count.meshes.in_turn import count_in_turn
from optmap.count.meshes.wires import wire_notes
from optmap.count.timing import Prediction
from optmap.count.timing.floor import Running, floor_cycles
from optmap.count.trees import count_tree
from optmap.machines.fabric import Fabric
from optmap.machines.form import FormName
from optmap.mappings.demanded import as_demanded
from optmap.mappings.levels import Mapping
from optmap.mappings.nest import Nest, mapping_of, nest_of
from optmap.questions.form import form_on
from optmap.questions.options import TileRule
from optmap.search.accelerators.hopeless import refuse_hopeless
from optmap.search.floors import Number
from optmap.search.found import SAME, Found
from optmap.search.question import Question
from optmap.search.relaxation import Relaxation
from optmap.search.result import Answer, MappingCount, ended, reaches
from optmap.search.space.compulsory import compulsory
from optmap.search.space.search_space import refuse_small
from optmap.search.versions import versions
from optmap.solvers.status import PointKind, Stop

COUNTED_S = 10.0
"""Time for counting a tree that was found, however late the search ended, in seconds."""


def cost_of(question: Question, mapping: Mapping) -> float | None:
    """The objective of a mapping in per-level form, which methods compare; None if it does not fit.

    Args:
        question: what is asked.
        mapping: a candidate.

    Raises:
        InputError: if the mapping does not belong to workload and machine.
    """
    report = evaluate_cost(question.workload, question.machine, mapping, question.capacity)
    if not report.fits:
        return None
    return float(report.value_of(question.objective, question.workload, question.machine))


@dataclass(frozen=True, slots=True)
class _Handling:
    """What is done with mappings of one form: nested tiles, a nest, or a tree of several statements."""

    count: Callable[[Question, Found], tuple[MappingCount, MappingCount]]
    """As methods compare mappings, and exactly."""
    tiles: Callable[[Question, Found], Any]
    """It as tiles, or as the tree that it is."""
    check: Callable[[Question, Found], None]
    """Raises what is not as it was asked for."""
    notes: Callable[[Question, Found], tuple[str, ...]]
    """What a reader should know of it."""
    refuse_hopeless: Callable[[Question], None]
    """Refuses what no mapping can meet, before anything is searched."""


def _tile_count(question: Question, found: Found) -> tuple[MappingCount, MappingCount]:
    rule, prediction = question.capacity, found.prediction
    return count_mapping(question.workload, question.machine, found.tiles, found.held, rule, prediction=prediction)


def _checked(question: Question, found: Found) -> Mapping:
    found.tiles.check(question.workload, question.machine)
    return found.tiles


def _check_tiles(question: Question, found: Found) -> None:
    """Cores that are used, and tiles that divide what is outside them."""
    ways = found.tiles.ways
    if ways > question.cores:
        raise CheckError(
            f"the mapping found splits the work {ways} ways; {several(question.cores, 'core')} may be used"
        )
    if question.tiles is TileRule.DIVISORS:
        _check_divisors(question, found.tiles)


def _nest_count(question: Question, found: Found) -> tuple[MappingCount, MappingCount]:
    nest, fabric, mode = found.nest, question.fabric, question.counting
    count = count_nest(nest, fabric, mode)
    return count, count if mode == NEST_EXACT else count_nest(nest, fabric)


def _check_padding(question: Question, found: Found) -> None:
    """Dims that are padded though divisors were asked for."""
    if question.tiles is TileRule.DIVISORS and found.nest.tiles()[-1] != question.fabric.extents:
        raise CheckError("the mapping found pads dims, but divisors were asked for")


def _nest_notes(question: Question, found: Found) -> tuple[str, ...]:
    return (*_padding_note(found.nest, question.fabric), *wire_notes(question.fabric, question.counting))


TILES = _Handling(
    count=_tile_count, tiles=_checked, check=_check_tiles, notes=lambda *_: (), refuse_hopeless=refuse_small
)
NEST = _Handling(
    count=_nest_count,
    tiles=lambda question, found: as_demanded(mapping_of(found.nest, question.fabric), question.constraints),
    check=_check_padding,
    notes=_nest_notes,
    refuse_hopeless=refuse_hopeless,
)


def _tree_count(question: Question, found: Found) -> tuple[MappingCount, MappingCount]:
    with limited(current().ending(COUNTED_S)):  # without its count there is no answer, however late the search ended
        count: MappingCount = count_tree(found.tree, rule=question.capacity)
    return count, count


TREE = _Handling(
    count=_tree_count,
    tiles=lambda question, found: found.tree,
    check=lambda *_: None,
    notes=lambda *_: (),
    refuse_hopeless=lambda _: None,  # a method of chains says what it needs
)


def _turn_count(question: Question, found: Found) -> tuple[MappingCount, MappingCount]:
    count = count_in_turn(found.tree, question.counting)
    return count, count if question.counting == NEST_EXACT else count_in_turn(found.tree)


IN_TURN = replace(TREE, count=_turn_count)
HANDLINGS = {FormName.TILES: TILES, FormName.NEST: NEST}
OF_CHAINS = {FormName.TILES: TREE, FormName.NEST: IN_TURN}
"""What is done with the mappings of chains, by the form that a statement has there."""


def handling(question: Question) -> _Handling:
    """What is done with the mappings that a question is answered by."""
    return (HANDLINGS if question.workload.is_product else OF_CHAINS)[form_on(question.machine).name]


def counted(question: Question, found: Found) -> tuple[MappingCount, MappingCount]:
    """A mapping, counted as methods compare it, and exactly.

    Args:
        question: that it answers.
        found: the mapping, what it holds, and the prediction of its time where that is the objective.

    Raises:
        InputError: if the mapping does not belong to workload and machine.
    """
    return handling(question).count(question, found)


def assemble(question: Question, found: Found, *, seconds: float) -> Answer[Any, Any]:
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
    form = handling(question)
    if form is NEST and isinstance(found.mapping, Mapping):  # a method may write either
        found = replace(found, mapping=nest_of(found.mapping, question.fabric))
    mapping = form.tiles(question, found)
    count, exact = form.count(question, found)
    fits = not (count.broken or exact.broken)
    if count.broken and not found.may_not_fit:
        raise CheckError(f"the mapping found is not valid on its machine: {'; '.join(count.broken)}")
    for item, level in question.constraints.broken(mapping):
        raise CheckError(f"the mapping found does not meet the constraint {item.text}: {item.found(level)}")
    form.check(question, found)
    cost = count.value_of(question.objective, question.workload, question.machine)
    known = _relaxation(question, found, mapping)
    least = found.bound or 0
    if known is not None and known.proved:
        least = max(known.value, float(least))
    _check_claims(found, cost, least)
    bound = min(cost, Fraction(least)) if count.fractions else min(float(cost), float(least))
    if known is None:
        known = Relaxation(value=plain(Fraction(bound)), proved=bound > 0, formulation=found.proof, tolerance=0.0)
    elif known.proved:  # what is attained may come out above the cost in the last digits
        known = replace(known, value=min(known.value, float(bound)))
    proved = found.proved or (not count.fractions and reaches(cost, bound))
    return Answer(
        question=replace(question, progress=None),
        found=replace(
            found,
            relaxation=known,
            bound=bound,
            proved=proved,
            point=found.point if fits else PointKind.NONE,
            space=_space(question, found),
            seconds=seconds,
            curve=found.curve if found.trace is None else tuple(found.trace.curve),
        ),
        mapping=mapping,
        count=count,
        exact_count=exact,
        stop=ended(proved=proved, late=found.late) if fits else Stop.INFEASIBLE,
        seconds=seconds,
        versions=versions(),
        notes=(*question.notes, *found.notes, *form.notes(question, found)),
    )


def beside(answer: Answer[Any, Any]) -> tuple[Answer[Any, Any], ...]:
    """The next best mappings that were handed in with an answer's, each an answer of its own; nothing says how good.

    Args:
        answer: as `assemble` made it.
    """
    found = replace(answer.found, others=(), claimed=None, proved=False, late=False)
    return tuple(
        assemble(answer.question, replace(found, mapping=other), seconds=answer.seconds)
        for other in answer.found.others
    )


def _relaxation(question: Question, found: Found, mapping: Mapping) -> Relaxation | None:
    """What is known to be below the cost of any mapping; None for the bound of the search alone."""
    if found.prediction is not None:
        return _floor_relaxation(question, mapping, found.prediction)
    if found.relaxation is None and question.objective.merit is None:
        return _compulsory_relaxation(question, mapping)
    return found.relaxation


def _check_claims(found: Found, cost: Number, least: Number) -> None:
    """Hold the recounted cost against what is claimed of it, and what is proved to be the least."""
    value = Fraction(cost)
    if found.claimed is not None and abs(value - Fraction(found.claimed)) > SAME * value:
        raise CheckError(
            f"the search claims a cost of {float(found.claimed):.12g}, the recount finds {float(cost):.12g}"
        )
    if value < Fraction(least) * (1 - Fraction(SAME)):
        raise CheckError(f"the mapping costs {float(cost):.12g}, below the proved bound {float(least):.12g}")


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
    return Relaxation.counted(
        mapping,
        float(floor_cycles(question.workload, question.machine, running)),
        "multiply-adds at the peak of all threads, and every element touched once over every link",
    )


def _compulsory_relaxation(question: Question, mapping: Mapping) -> Relaxation:
    """What every mapping moves, at the boundaries outside of which nothing is split."""
    words = compulsory(question.workload, question.objective)
    split = [number for number, level in enumerate(mapping.levels) if level.ways > 1]
    whole = dict.fromkeys(range(max(split, default=0), len(mapping.levels)), words)
    value = question.objective.value(whole, question.machine, question.workload.word_bits)
    return Relaxation.counted(mapping, float(value))
