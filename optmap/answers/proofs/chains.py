"""The floor of a chain beside its mapping."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from optmap.base.clock import Clock
from optmap.base.errors import ContradictionError
from optmap.base.texts import several
from optmap.bounds import bounds
from optmap.bounds.hierarchy import fast_side_words
from optmap.count.timing.roofline import roofline
from optmap.search.floors import BoundaryCertificate, WordsFloor
from optmap.search.result import Answer


def with_chain_floor(answer: Answer[Any, Any], clock: Clock) -> Answer[Any, Any]:
    """An answer with what no schedule of its statements goes below.

    The floor of every boundary is that of one memory with the capacity of its fast side; the objective is formed of
    them as it is formed of the words that move.

    Args:
        answer: a mapping tree on a machine without meshes, by one core.
        clock: not looked at: a floor takes a fraction of a second.

    Raises:
        ContradictionError: if the mapping moves fewer words.
    """
    workload, machine, objective = answer.workload, answer.machine, answer.question.objective
    moved, proofs = objective.words(answer.count.moved, machine), dict[int, BoundaryCertificate]()
    for level, between in enumerate(machine.boundaries):
        floor = bounds(workload, fast_side_words(machine, level, workload.word_bits), ["best"])[0]
        words = floor.total_words if objective.stores else floor.loads_words
        if moved[level] < words:
            raise ContradictionError(
                f"{workload.title}: {objective.counts} of the mapping between {' and '.join(between)} are "
                f"{several(moved[level], 'word')}, the bound says {words:,} at least; please report both"
            )
        if floor.certificate is not None:
            proofs[level] = BoundaryCertificate(between=between, words=words, certificate=floor.certificate)
    if not proofs:
        return answer
    value = roofline(objective, {level: proof.words for level, proof in proofs.items()}, workload, machine)
    return replace(answer, floor=WordsFloor(value=value, certificates=tuple(proofs.values())))
