"""The verb `curve`: what the best mapping moves over all capacities of one memory."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, nan
from typing import TYPE_CHECKING, Annotated, Any, Unpack

from optmap.base.clock import Clock
from optmap.base.errors import InfeasibleError, InputError
from optmap.base.share import Share
from optmap.base.texts import several
from optmap.base.values import quoted
from optmap.files.inputs import MemoryInput, WorkloadInput, capacities_of, workload_of
from optmap.questions.option import Here, Opt, declared, taking, values_of
from optmap.search.options import ObjectiveOption, ProgressOption, TimeLimitOption, WorkloadOptions
from optmap.sweeps.options import JobsOption

if TYPE_CHECKING:
    from optmap.answers.over_capacity.capacity_curve import CapacityCurve, CurvePoint
    from optmap.search.result import Answer
    from optmap.sweeps.capacities import Capacities
    from optmap.workloads.workload import Workload


def _percent(value: object, name: str, _where: str) -> float:
    """A finite number from 0 on, or the text of one."""
    try:
        found = nan if isinstance(value, bool) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        found = nan
    if not 0 <= found < inf:
        raise InputError(f"{name} is {quoted(value)}; give a percentage from 0 on, such as 10 or 2.5")
    return found


class CurveOptions(WorkloadOptions, total=False):
    """Options of `curve`."""

    memory: Annotated[
        MemoryInput | Sequence[MemoryInput] | None,
        Opt(
            help="A range: 4KiB:4MiB; from the least that anything fits in to where all stays, if left out.",
            metavar="SIZE:SIZE",
        ),
    ]
    objective: Annotated[ObjectiveOption, Here(help="traffic (if left out) or loads.")]
    within: Annotated[
        float,
        Opt(
            help="Percent by which words of neighbours may differ; 0 for every step.",
            detail="Between two capacities the mapping of the smaller one fits, so that no more words move there.",
            default=10.0,
            read=_percent,
            metavar="PERCENT",
        ),
    ]
    time_limit: Annotated[TimeLimitOption, Here(help="Of the whole curve.")]
    jobs: Annotated[
        JobsOption,
        Here(detail="A curve that is done soon takes one; what is found does not depend on their number."),
    ]
    progress: ProgressOption


CURVE = declared(CurveOptions)
"""The options of `curve`, by name."""


@taking(CurveOptions)
def curve(workload: WorkloadInput, **options: Unpack[CurveOptions]) -> CapacityCurve:
    """Words that the best mapping moves, as a step function of the capacity of one memory, with the floor beneath.

    Every point is the answer of `solve` at its capacity, or at a larger one where a mapping that is not proved to be
    the best leaves room. Of a chain also what moves where every statement is done by itself.

    Args:
        workload: as for `solve`.
        **options: as they are declared.

    Raises:
        InputError: for anything that cannot be accepted.
        InfeasibleError: if nothing fits in the largest capacity.

    Examples:
        >>> traced = optmap.curve("C[i,j] = A[i,k]*B[k,j]", extents="i=8,j=8,k=8", memory="16w:64w", within=50)
        >>> traced.points[0].room_words, traced.points[0].words
        (16, 384)
    """
    from optmap.answers.over_capacity.capacity_curve import NEAR, CapacityCurve, Tracer, front_of, room_of
    from optmap.bounds.methods import bounds
    from optmap.sweeps.capacities import Capacities

    asked = values_of(CURVE, options)
    problem = workload_of(workload, asked["extents"], asked["semantics"], asked["padding"])
    objective = asked["objective"] or "traffic"
    if objective not in ("traffic", "loads"):
        raise InputError(f"objective {objective}: a curve is of words of one memory; use traffic or loads")
    least, most = _range(problem, asked["memory"])
    clock, progress = Clock.after(asked["time_limit"]), asked["progress"]
    answers = Capacities(
        problem,
        objective,
        clock,
        jobs=asked["jobs"],
        tell=lambda text: None if progress is None else progress(text, Share.limited(0.0, clock.left)),
    )
    tracer = Tracer(ask=answers.mappings, within=asked["within"] / 100, clock=clock)
    with answers.session():
        found = tracer.trace(least, most)
        if not found:
            raise InfeasibleError(f"{problem.title}: nothing fits into {several(most, 'word')}")
        (floor,) = bounds(problem, most, ("compulsory",))
        words = floor.total_words if objective == "traffic" else floor.loads_words
        knee = tracer.knee(found, int(NEAR * words))
        front = front_of(found if knee is None else (*found, knee))
        points = _points(tracer.thinned(front, knee), answers)
    return CapacityCurve(
        workload=found[0].workload,
        objective=objective,
        within=asked["within"],
        compulsory_words=words,
        points=points,
        knee=None if knee is None else next(each for each in points if each.room_words == room_of(knee)),
        complete=not clock.late,
    )


def _range(workload: Workload, memory: object) -> tuple[int, int]:
    """The least and the largest capacity, in words."""
    if memory is None:
        sizes = {each.name: workload.weight(each) * each.footprint(workload.extents) for each in workload.accesses}
        return 1, sum(sizes.values())
    ends = [capacity.words(workload.word_bits) for capacity in capacities_of(memory, 2)]
    if len(ends) != 2 or ends[0] >= ends[1]:
        raise InputError("memory: a curve goes over a range of capacities, such as 4KiB:4MiB")
    return int(ends[0]), int(ends[1])


def _points(found: Sequence[Answer[Any, Any]], answers: Capacities) -> tuple[CurvePoint, ...]:
    """Mappings beside the floors where they fit, and beside what moves with nothing fused."""
    from optmap.answers.over_capacity.capacity_curve import CurvePoint, room_of, words_of

    rooms = [room_of(each) for each in found]
    alone: list[Answer[Any, Any] | None] = [None] * len(found)
    if len(found[0].workload.statements) > 1:
        alone = answers.apart(rooms)
    return tuple(
        CurvePoint(answer=answer, floor=floor, apart=None if apart is None else words_of(apart))
        for answer, floor, apart in zip(found, answers.floors(rooms), alone, strict=True)
    )
