"""What every mapping of a chain moves: inputs and outputs once, through every level."""

from __future__ import annotations

from optmap.bounds.chains.counts import chain_words, loaded_tensors, stored_tensors
from optmap.search.question import Question
from optmap.search.relaxation import Relaxation


def compulsory_relaxation(question: Question) -> Relaxation:
    """The objective of every word of inputs and outputs once across every boundary."""
    workload, machine = question.workload, question.machine
    names = [*loaded_tensors(workload), *(stored_tensors(workload) if question.objective.stores else ())]
    sizes = chain_words(workload)
    words = dict.fromkeys(range(len(machine.levels)), sum(sizes[name] for name in names))
    return Relaxation(
        value=float(question.objective.value(words, machine, workload.word_bits)),
        proved=True,
        formulation="compulsory traffic: every word of inputs and outputs once",
        tolerance=0.0,
    )
