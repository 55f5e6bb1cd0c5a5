"""Methods on accelerators that solve a mathematical program."""

from __future__ import annotations

import time
from fractions import Fraction

from optmap.base.errors import LimitError
from optmap.search.accelerators.hopeless import no_mapping
from optmap.search.accelerators.wires import answered, searched
from optmap.search.allocation.allocation import PROVED, solve_allocation
from optmap.search.allocation.cosa import solve_cosa
from optmap.search.curve import Improvement
from optmap.search.exact.search import ExactAnswer, search_nest
from optmap.search.found import PERFECT, SAME, Found
from optmap.search.question import Question
from optmap.solvers.outer import MARGIN

FIRST = 0.4
"""Part of the time that the search which gives the program its start may take."""
KEPT = "perfect factors, every tensor kept wherever the machine lets it be"
"""Mappings among which CoSA's program looks."""


def solve_by_program(question: Question) -> Found:
    """The allocation program, cut off by the mapping of the exact search.

    Raises:
        InputError: for a workload that the program is not for.
        InfeasibleError: if no mapping fits.
        LimitError: if none was found in time.
        SolverUnavailableError: without HiGHS.
    """
    return answered(question, _by_program(searched(question)))


def _by_program(question: Question) -> Found:
    """The answer to a question of a machine whose wires cost nothing."""
    clock, begun = question.clock, time.monotonic()
    fabric, merit, counting = question.fabric, question.merit, question.counting
    soon = clock.share(FIRST)
    first = search_nest(fabric, merit=merit, counting=counting, clock=soon, progress=question.tell)
    if first.nest is None and not soon.late:
        raise no_mapping(question)
    if clock.late:
        return _not_begun(first)
    try:
        found = solve_allocation(
            fabric, merit=merit, counting=counting, clock=clock, start=first.nest, progress=question.tell
        )
    except LimitError:  # while its tables were being made
        return _not_begun(first)
    if found.nest is None:
        raise LimitError("no mapping was found in time; raise the time limit")
    evaluations, curve = first.evaluations + found.evaluations, first.curve
    if found.nest != first.nest and found.value is not None:
        curve = (*curve, Improvement(evaluations, time.monotonic() - begun, float(found.value)))
    return Found(
        mapping=found.nest,
        claimed=found.value,
        bound=found.bound,
        proved=found.value is not None and found.bound >= found.value * (1 - Fraction(SAME)),
        proof=f"allocation program, {found.iterations} solved by HiGHS with tangents, {MARGIN:g} taken off the bound",
        space=PERFECT,
        evaluations=evaluations,
        late=found.late,
        curve=curve,
        notes=(f"solved to {100 * PROVED:g} %, as near as its solver is trusted",) if found.proved else (),
    )


def _not_begun(first: ExactAnswer) -> Found:
    """The mapping that the program would have begun with, where there is no time left for it.

    Raises:
        LimitError: if there is none.
    """
    if first.nest is None:
        raise LimitError("no mapping was found in time; raise the time limit")
    return Found(
        mapping=first.nest,
        claimed=first.value,
        bound=first.bound,
        proof="search over labels, cut short before the allocation program began",
        space=PERFECT,
        evaluations=first.evaluations,
        late=True,
        curve=first.curve,
    )


def solve_by_cosa(question: Question) -> Found:
    """CoSA's program; its mapping may not fit, and the answer then says where.

    Raises:
        InfeasibleError: if the program has no point.
        LimitError: if none was found in time.
        SolverUnavailableError: without HiGHS.
    """
    found = solve_cosa(question.fabric, counting=question.counting, clock=question.clock)
    notes = [f"CoSA minimises its own objective ({found.objective:.6g} in logs to base 2), whatever is asked for"]
    notes += [f"does not fit: {each.text}" for each in found.overflows]
    return Found(mapping=found.nest, space=KEPT, evaluations=1, late=found.late, may_not_fit=True, notes=tuple(notes))
