"""The floor of a chain beside its mapping."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from optmap.base.clock import Clock
from optmap.base.errors import ContradictionError
from optmap.bounds import bounds
from optmap.search.floors import BoundaryCertificate, WordsFloor
from optmap.search.result import Answer


def with_chain_floor(answer: Answer[Any, Any], clock: Clock) -> Answer[Any, Any]:
    """An answer with what no schedule of its statements goes below.

    Args:
        answer: a mapping tree on a machine of one level.
        clock: not looked at: the floor takes a fraction of a second.

    Raises:
        ContradictionError: if the mapping moves fewer words.
    """
    level = answer.machine.levels[-1]
    memory = level.most_words(answer.workload.word_bits)
    objective = answer.question.objective
    floor = bounds(answer.workload, memory, ["best"])[0]
    words = floor.total_words if objective.stores else floor.loads_words
    if answer.exact < words:
        raise ContradictionError(
            f"{answer.workload.title}: {objective.counts} of the mapping are {answer.exact:,} words, the bound says "
            f"{words:,} at least; please report both"
        )
    between = (level.name, answer.machine.memory)
    if floor.certificate is None:
        return answer
    proof = BoundaryCertificate(between=between, words=words, certificate=floor.certificate)
    return replace(answer, floor=WordsFloor(value=words, certificates=(proof,)))
