"""The answer to one point: its row, its solution document, and the certificate of its bound."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from optmap.answers.documents.solution import solution_document
from optmap.answers.proofs.beside import bound_in_time
from optmap.api import solve
from optmap.base.clock import Clock, current, limited, stopping
from optmap.base.errors import CheckError, ContradictionError, InfeasibleError, InputError, LimitError, OptmapError
from optmap.base.texts import several
from optmap.bounds.compulsory import compulsory
from optmap.bounds.hierarchy import fast_side_words
from optmap.count.meshes.results import SpatialCost
from optmap.count.results import CostReport
from optmap.files.machines import machine_document
from optmap.files.mappings import mapping_document
from optmap.files.workloads import workload_document
from optmap.machines.machine import Level, Machine
from optmap.questions.form import form_on
from optmap.search.result import Answer, NestAnswer, TileAnswer
from optmap.solvers.status import Stop
from optmap.sweeps.method_settings import settings_for
from optmap.sweeps.points import GridPoint, blank_row, certificate_name, load_plugins, read_task
from optmap.sweeps.records.rows import Row, as_dict
from optmap.sweeps.spec import BOUND
from optmap.version import __version__
from optmap.workloads.workload import Workload

if TYPE_CHECKING:
    from optmap.bounds.result import LowerBound

STOPS: tuple[tuple[type[OptmapError], str], ...] = (
    (InfeasibleError, "infeasible"),
    (LimitError, "time_limit"),
    (CheckError, "check"),
    (OptmapError, "error"),
)
"""What an error says about a point, the most special first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PointAnswer:
    """What is kept of a point."""

    row: Row
    solution: dict[str, object] | None = None
    """Document of the mapping or of the bound; None without an answer."""
    certificate: dict[str, object] | None = None
    """Certificate of the bound, named by `row.certificate`; None without one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelBound:
    """The bound on the traffic across the outer boundary of one level."""

    level: str
    memory_words: int
    """What the levels up to this one can hold together."""
    bound: LowerBound
    """Of one memory of that size."""
    words: int
    """Loads and stores of the busiest instance, at least."""
    cycles: Fraction
    """Words over the bandwidth of the level."""


def answer_text(text: str) -> str:
    """Answer a point given as a line of text, as a line of text: what a worker does.

    Whatever goes wrong inside costs this point alone: the error becomes its row.
    """
    try:
        load_plugins(text)
    except InputError as error:
        answer = PointAnswer(
            row=replace(blank_row(read_task(text), stop="error", error=str(error)), version=__version__)
        )
    else:
        answer = answer_point(read_task(text))
    return json.dumps(
        {
            "row": as_dict(answer.row),
            "solution": answer.solution,
            "certificate": answer.certificate,
        },
        separators=(",", ":"),
        allow_nan=False,
    )


def answer_point(point: GridPoint) -> PointAnswer:
    """Answer a point; an error becomes its row."""
    begun = time.perf_counter()
    work: Callable[[GridPoint], PointAnswer] = _answer_bound if point.method == BOUND else _answer_mapping
    try:
        with limited(Clock.after(point.options.time_limit)):
            made = work(point)
        if stopping() and made.row.stop != Stop.INTERRUPTED:
            # Its search was over, but bounds that were sought since are what little was known at once.
            raise LimitError("interrupted before its bounds were known")
    except OptmapError as error:
        stop = next(name for kind, name in STOPS if isinstance(error, kind))
        stop = Stop.late().value if stop == Stop.TIME_LIMIT else stop
        made = PointAnswer(row=blank_row(point, stop=stop, error=str(error)))
    except Exception as error:  # noqa: BLE001 - a defect in one solve must not end a sweep of thousands
        made = PointAnswer(row=blank_row(point, stop="error", error=f"{type(error).__name__}: {error}"))
    seconds = time.perf_counter() - begun
    return replace(made, row=replace(made.row, seconds=seconds, version=__version__))


def level_bounds(workload: Workload, machine: Machine, cores: int, notes: list[str]) -> tuple[LevelBound, ...]:
    """Lower bounds on loads and stores across the outer boundaries of the levels, inner first.

    With several cores only the levels that serve all of them are bounded: what one core has to do
    is not known before the mapping.

    Args:
        workload: the computation.
        machine: its levels, inner to outer.
        cores: cores in use.
        notes: gets one for every level whose bound was not known in time.

    Raises:
        InputError: for an inclusive level that holds fewer words than one inside it.
    """
    machine.check_inclusion(workload.word_bits)
    shared = next((n for n, level in enumerate(machine.levels) if level.shared), len(machine.levels))
    made = []
    for number, level in enumerate(machine.levels):
        held = fast_side_words(machine, number, workload.word_bits)
        if held < 1 or (cores > 1 and number < shared):
            continue
        bound = bound_in_time(workload, held, current().ending(), machine.boundaries[number], notes)
        made.append(_level_bound(workload, level, held, bound, bound.total_words))
    return tuple(made)


def _level_bound(workload: Workload, level: Level, held: int, bound: LowerBound, words: int) -> LevelBound:
    cycles = words / level.bandwidth.words(workload.word_bits)
    return LevelBound(level=level.name, memory_words=held, bound=bound, words=words, cycles=cycles)


def _mapping_bounds(workload: Workload, result: TileAnswer, cores: int, notes: list[str]) -> tuple[LevelBound, ...]:
    """The bounds that a mapping is compared with, with notes; with several cores those of its own split."""
    if cores == 1:
        return level_bounds(workload, result.machine, cores, notes)
    made = []
    words = {proof.between[0]: proof.words for proof in result.certificates}
    for number, level in enumerate(result.machine.levels):
        if level.name in words:
            held = fast_side_words(result.machine, number, workload.word_bits)
            bound = bound_in_time(workload, held, current().ending(), result.machine.boundaries[number], notes)
            made.append(_level_bound(workload, level, held, bound, words[level.name]))
    return tuple(made)


def _with_bound(point: GridPoint, row: Row, machine: Machine, found: tuple[LevelBound, ...]) -> PointAnswer:
    """A row with the bound of its machine, and the certificate for its level."""
    row = replace(row, compulsory_words=compulsory(point.workload, 1).total_words)
    mine = next((each for each in found if each.level == point.level), None)
    if found:
        row = replace(row, bound=float(max(each.cycles for each in found)), bound_unit=machine.cost_unit)
    if mine is None:
        return PointAnswer(row=row)
    certificate = mine.bound.certificate
    name = "" if certificate is None else certificate_name(point.workload, mine.memory_words)
    row = replace(row, bound_words=mine.words, bound_method=mine.bound.method, certificate=name)
    if row.traffic_words is not None and mine.words:
        row = replace(row, traffic_gap=float(Fraction(row.traffic_words, mine.words) - 1))
    return PointAnswer(row=row, certificate=certificate)


def _machine(point: GridPoint) -> Machine:
    innermost = point.options.innermost
    return point.machine if innermost is None else point.machine.from_level(innermost)


def _answer_bound(point: GridPoint) -> PointAnswer:
    machine = _machine(point)
    if not form_on(machine).floors_apart:
        raise InputError("on accelerators every mapping comes with its floor; leave the method bound out")
    notes: list[str] = []
    found = level_bounds(point.workload, machine, point.options.cores, notes)
    if not found:
        raise InfeasibleError(f"no level of {machine.name} holds a word of {point.workload.title}")
    stop = Stop.late() if notes else Stop.OPTIMAL
    made = _with_bound(point, blank_row(point, stop=stop.value), machine, found)
    document: dict[str, object] = {
        "schema": "optmap.sweep-bound/1",
        "workload": workload_document(point.workload),
        "machine": machine_document(machine),
        "level": point.level,
        "bounds": [_bound_document(each) for each in found],
        **({"stop": stop.value} if notes else {}),
    }
    return replace(made, row=replace(made.row, point="bound"), solution=document)


def _bound_document(found: LevelBound) -> dict[str, object]:
    bound = found.bound
    return {
        "level": found.level,
        "memory_words": found.memory_words,
        "method": bound.method,
        "loads_words": bound.loads_words,
        "stores_words": bound.stores_words,
        "total_words": bound.total_words,
        "exponents": {name: str(value) for name, value in bound.exponents.items()},
        "expression": bound.expression,
        "assumptions": list(bound.assumptions),
        "certificate": bound.certificate,
    }


def _answer_mapping(point: GridPoint) -> PointAnswer:
    own = {"settings": settings_for(point.options.settings, point.method), "seed": point.seed}
    asked = {**point.options.values, **own, "machine": point.machine, "method": point.method}
    result = solve(point.workload, **asked)
    return KEPT[result.count.kind](point, result)


def _kept_of_tiles(point: GridPoint, result: TileAnswer) -> PointAnswer:
    """The words across the boundary of the point's level, beside their bound."""
    notes = list(result.notes)
    found = _mapping_bounds(point.workload, result, point.options.cores, notes)
    result = replace(result, notes=tuple(dict.fromkeys(notes)))
    words = _traffic(result)
    for each in found:
        if words[each.level] < each.words:
            raise ContradictionError(
                f"{point.workload.title}: the mapping moves {several(words[each.level], 'word')} outside {each.level}, "
                f"the bound is {each.words:,}: one of the two is wrong; please report the point"
            )
    row = replace(_solved_row(point, result), traffic_words=words.get(point.level), integer_gap=result.integer_gap)
    made = _with_bound(point, row, result.machine, found)
    # Bound and gap are those of the solve: of its objective, which need not be the bottleneck.
    unit = made.row.bound_unit if result.bound is None else row.bound_unit
    row = replace(made.row, bound=row.bound, bound_unit=unit)
    return replace(made, row=row, solution=solution_document(result))


def _kept_of_a_nest(point: GridPoint, result: NestAnswer) -> PointAnswer:
    """Energy, cycles, and how much the search looked at."""
    found, count = result.found, result.count
    row = replace(
        _solved_row(point, result),
        semantics=result.workload.semantics.value,
        tiles=result.tiles.value,
        counting=result.counting.name,
        energy_pj=float(count.energy_pj),
        cycles=count.cycles,
        edp=float(count.edp),
        utilisation=float(count.utilisation),
        search_bound=float(result.integer_bound),
        evaluations=found.evaluations,
        valid_share=None if found.trace is None else found.trace.valid_share,
        seconds_to_best=found.seconds_to_best,
        bound_method="" if result.bound is None else "floor",
    )
    return PointAnswer(row=row, solution=solution_document(result))


KEPT: dict[str, Callable[[GridPoint, Any], PointAnswer]] = {
    CostReport.kind: _kept_of_tiles,
    SpatialCost.kind: _kept_of_a_nest,
}
"""Per kind of count what is kept of an answer."""


def _traffic(result: TileAnswer) -> dict[str, int]:
    """Exact words across the outer boundary of every level."""
    words = {level.name: 0 for level in result.machine.levels}
    for entry in result.boundaries:
        words[entry.between[0]] += entry.words
    return words


def _solved_row(point: GridPoint, result: Answer[Any, Any]) -> Row:
    """What the row of every answer has."""
    return replace(
        blank_row(point, stop=result.stop.value),
        objective=result.objective,
        cost=float(result.cost),
        cost_unit=result.cost_unit,
        exact=float(result.exact),
        bound=None if result.bound is None else float(result.bound.value),
        bound_unit=result.cost_unit,
        gap=None if result.gap is None else float(result.gap),
        proved=result.proved,
        within=result.within,
        point=result.point.value,
        mapping=json.dumps(mapping_document(result.mapping)["levels"]),
    )
