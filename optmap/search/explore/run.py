"""From a question to the best mapping that a strategy proposes."""

from __future__ import annotations

from contextlib import nullcontext
from fractions import Fraction
from typing import Any

import numpy as np

from optmap.base.errors import InfeasibleError, LimitError
from optmap.base.texts import several
from optmap.files.machines import machine_document
from optmap.files.reading import fingerprint
from optmap.files.workloads import workload_document
from optmap.search.accelerators.wires import answered, searched
from optmap.search.explore.driver import End, Trace, drive
from optmap.search.explore.journal import Journal
from optmap.search.explore.protocol import Brief, Strategy
from optmap.search.explore.settings import settings_of, values_of
from optmap.search.found import Found
from optmap.search.question import Question

FLOATS = Fraction(1, 10**12)
"""Relative distance within which the batched evaluator's numbers are the exact ones: a proof is one up to that."""


def run(strategy: Strategy, question: Question) -> Found:
    """Explore, and hand in the best.

    Raises:
        InputError: for a setting that the strategy has not.
        InfeasibleError: if a strategy that looked at all there is met no valid mapping.
        LimitError: if none was met within the budget, or before the strategy gave up.
        StrategyError: for a strategy that does not keep to the protocol.
    """
    brief = brief_of(strategy, question)
    journal = journal_of(question, brief, judge="model")
    trace = Trace(settings=values_of(brief.settings))
    judged = drive(strategy, brief, trace, evaluations=question.evaluations, clock=question.clock, journal=journal)
    with journal or nullcontext():
        for _ in judged:
            _tell(question, trace, brief)
    return answered(question, _found(question, strategy, trace))


def brief_of(strategy: Strategy, question: Question) -> Brief[Any]:
    """What a strategy is asked; raises InputError for a setting that it has not."""
    free = searched(question)
    return Brief(
        fabric=free.fabric,
        merit=free.merit,
        counting=free.counting,
        settings=settings_of(strategy.settings, question.settings, question.method),
        rng=np.random.default_rng(question.seed),
        evaluations=question.evaluations,
    )


def journal_of(question: Question, brief: Brief[Any], *, judge: str) -> Journal | None:
    """The journal of a search, if there is to be one.

    Args:
        question: what is asked.
        brief: the same, as the strategy is asked it.
        judge: `model`, or `own` for a function of the user's, which a file cannot tell apart.

    Raises:
        InputError: for a file that is no journal of this search.
    """
    if question.journal is None:
        return None
    fabric = question.fabric
    workload = {key: own for key, own in workload_document(fabric.workload).items() if key not in ("name", "count")}
    machine = {key: own for key, own in machine_document(fabric.machine).items() if key != "name"}
    search: dict[str, object] = {
        "workload": fingerprint(workload),
        "machine": fingerprint(machine),
        "method": question.method,
        "objective": question.merit.value,
        "counting": question.counting.name,
        "judge": judge,
        "seed": question.seed,
        "settings": values_of(brief.settings),
        **({"constraints": question.constraints.text} if question.constraints else {}),
    }
    return Journal(question.journal, search)


def _tell(question: Question, trace: Trace, brief: Brief[Any]) -> None:
    """Progress: mappings of as many as there will be, where that is known."""
    most = min((number for number in (question.evaluations, brief.tally.total) if number), default=0)
    said = "" if most else f"{several(trace.evaluations, 'mapping')}, "
    question.tell(f"{said}best {trace.value:.4g}", min(trace.evaluations, most), most)


def _found(question: Question, strategy: Strategy, trace: Trace) -> Found:
    if trace.best is None:
        text = f"{several(trace.evaluations, 'mapping was', 'mappings were')} looked at, none of them valid"
        if trace.proof is not None:
            raise InfeasibleError(f"no mapping is valid: {trace.proof.text}")
        if trace.end is End.STRATEGY:
            raise LimitError(f"method {question.method} gave up: {text}; --method exact says whether there is one")
        raise LimitError(f"{text}; raise the time limit or the number of evaluations")
    return Found(
        mapping=trace.best,
        claimed=trace.value,
        bound=0 if trace.proof is None else Fraction(trace.value) * (1 - FLOATS),
        proved=trace.proof is not None,
        proof="" if trace.proof is None else trace.proof.text,
        space=strategy.space,
        evaluations=trace.evaluations,
        late=trace.end is End.TIME,
        trace=trace,
    )
