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
    floor = bounds(answer.workload, memory, ["best"])[0]
    if answer.exact < floor.total_words:
        raise ContradictionError(
            f"{answer.workload.title}: the mapping moves {answer.exact:,} words, the bound says {floor.total_words:,} "
            "at least; please report both"
        )
    between = (level.name, answer.machine.memory)
    if floor.certificate is None:
        return answer
    proof = BoundaryCertificate(between=between, words=floor.total_words, certificate=floor.certificate)
    return replace(answer, floor=WordsFloor(value=floor.total_words, certificates=(proof,)))
