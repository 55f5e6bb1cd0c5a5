"""`mopt`: all loop orders and levels at once, the relaxation proved, the integers searched."""

from __future__ import annotations

from dataclasses import replace

from optmap.base.errors import CheckError
from optmap.questions.options import IntegerRule, TileRule
from optmap.search.found import Found
from optmap.search.question import Question
from optmap.search.relax.cross_check import cross_check, other_solver, solver_title
from optmap.search.relax.tree import TOLERANCE, RelaxationResult, relax
from optmap.search.relaxation import Relaxation
from optmap.search.space.conflict import refuse_conflict
from optmap.search.space.search_space import Setting, setting_of
from optmap.search.whole.chain_answer import found_chain, machine_notes, mapping_of
from optmap.search.whole.chain_costs import IntegerPoint
from optmap.search.whole.integers import integer_search
from optmap.solvers.status import PointKind

FORMULATION = (
    "epigraph over all levels and loop orders, tile sizes real, filter-like extents integer; "
    "one geometric program per loop orders and filter extents"
)
CROSS_CHECK_TOLERANCE = 1e-5
"""Relative distance at which two solvers contradict each other."""


def solve(question: Question) -> Found:
    """The mapping with the least bottleneck, and the proved relaxation.

    Raises:
        InfeasibleError: if nothing fits, with the smallest fix.
        CheckError: if another solver contradicts the relaxation.
    """
    clock, setting = question.clock, setting_of(question)
    refuse_conflict(setting)
    question.tell("relaxation over all loop orders")
    relaxation = relax(setting, clock=clock)
    if question.integers is IntegerRule.FLOOR:
        from optmap.search.whole.floor import floor_and_balance

        point, bound, late = floor_and_balance(setting, relaxation.best), relaxation.bound, False
        others: tuple[IntegerPoint, ...] = ()
    else:
        divisors = question.tiles is TileRule.DIVISORS
        found = integer_search(
            setting, relaxation, divisors=divisors, clock=clock, progress=question.tell, top=question.top
        )
        point, bound, late, others = found.point, found.bound, found.stop.cut_short, found.others
    handed = handed_in(question, setting, relaxation, point, bound=bound, late=late)
    return replace(handed, others=tuple(mapping_of(setting, other) for other in others))


def handed_in(
    question: Question,
    setting: Setting,
    relaxation: RelaxationResult,
    point: IntegerPoint,
    *,
    bound: float,
    late: bool = False,
) -> Found:
    """Whole tiles below which a relaxation was solved.

    Args:
        question: what was asked.
        setting: the setting that was searched.
        relaxation: its relaxation.
        point: the integer point found.
        bound: proved lower bound on the bottleneck of integer mappings.
        late: whether the time ran out.

    Raises:
        CheckError: if another solver contradicts the relaxation.
    """
    return found_chain(
        question,
        setting,
        point,
        relaxation_report(setting, relaxation, attained=point.value),
        claimed=point.value,
        bound=bound,
        late=late or not relaxation.proved,
        known=PointKind.GLOBAL_OPTIMUM if relaxation.proved else PointKind.FEASIBLE,
        notes=machine_notes(setting),
    )


def relaxation_report(setting: Setting, result: RelaxationResult, *, attained: float) -> Relaxation:
    """The relaxation as the answer shows it, its best program solved again by the other solver.

    Args:
        setting: the setting that was searched.
        result: what was solved; out of time, what is proved until then.
        attained: cost of a mapping, which is a point of the relaxation, too.

    Raises:
        CheckError: if that finds a value below the proved bound, and that is one of programs.
    """
    checked = cross_check(setting, result.best) if result.best.node and result.proved else None
    if checked is not None and checked < result.bound * (1 - CROSS_CHECK_TOLERANCE):
        if result.bound > max(setting.least_costs) * (1 + CROSS_CHECK_TOLERANCE):
            raise CheckError(
                f"{other_solver(setting)} reaches {checked:.9g}, below the bound {result.bound:.9g}: one of the two is "
                "wrong; please report the workload and the machine"
            )
        checked = None  # the bound is every word once, which its program may not know
    return Relaxation(
        value=result.bound,
        proved=result.bound > 0,
        formulation=FORMULATION,
        tolerance=TOLERANCE if result.proved else max(0.0, min(attained, result.best.value) / result.bound - 1),
        method=f"{solver_title(setting)}, best first over {result.programs} convex programs"
        + (f", {result.unproved} of them without a dual bound" if result.unproved else ""),
        classes=result.best.permutations,
        tiles=result.best.tiles,
        cross_check=checked,
        checked_by=other_solver(setting),
    )
