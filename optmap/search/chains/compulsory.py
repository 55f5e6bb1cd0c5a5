"""What is known and said of every mapping of a chain."""

from __future__ import annotations

from optmap.bounds.chains.counts import chain_words, loaded_tensors, stored_tensors
from optmap.count.timing.roofline import roofline
from optmap.search.question import Question
from optmap.search.relaxation import Relaxation

ROOFLINE = (
    "the time is a roofline of one core: its multiply-adds at the peak, and what is loaded over every link into caches "
    "that begin empty, all at once; no code is looked at"
)
"""What the time of a mapping tree is."""


def compulsory_relaxation(question: Question) -> Relaxation:
    """The objective of every word of inputs and outputs once across every boundary."""
    workload, machine = question.workload, question.machine
    names = [*loaded_tensors(workload), *(stored_tensors(workload) if question.objective.stores else ())]
    sizes = chain_words(workload)
    words = dict.fromkeys(range(len(machine.levels)), sum(sizes[name] for name in names))
    return Relaxation(
        value=float(roofline(question.objective, words, workload, machine)),
        proved=True,
        formulation="compulsory traffic: every word of inputs and outputs once",
        tolerance=0.0,
    )


def notes_of(question: Question) -> tuple[str, ...]:
    """What a reader of a mapping of a chain should know."""
    notes = ("nothing is computed again",)
    return (*notes, ROOFLINE) if question.objective.timed else notes
