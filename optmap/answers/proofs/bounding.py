"""What holds for every schedule, beside an answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from optmap.answers.proofs.beside import with_bound
from optmap.answers.proofs.chain_meshes import with_turn_floor
from optmap.answers.proofs.chains import with_chain_floor
from optmap.answers.proofs.floor import with_floor
from optmap.base.clock import Clock
from optmap.count.meshes.results import SpatialCost
from optmap.count.meshes.turn_results import InTurnCount
from optmap.count.results import CostReport
from optmap.count.trees import TreeCount
from optmap.search.result import Answer

FLOORS: dict[str, Callable[[Answer[Any, Any], Clock], Answer[Any, Any]]] = {
    CostReport.kind: with_bound,
    SpatialCost.kind: with_floor,
    TreeCount.kind: with_chain_floor,
    InTurnCount.kind: with_turn_floor,
}
"""Per kind of count what puts the floor beside an answer."""


def bounded(answer: Answer[Any, Any], clock: Clock, *, full: bool) -> Answer[Any, Any]:
    """An answer with the bound of every schedule and the gap to it.

    Args:
        answer: what was found; the bound holds for what the machine can run.
        clock: when to give up what is not known at once.
        full: whether relaxation and integer bound are proved for the checker, too.

    Raises:
        ContradictionError: if the mapping costs less.
    """
    found = FLOORS[answer.count.kind](answer, clock) if answer.fits else answer
    if not full:
        return found
    from optmap.answers.proofs.proofs import with_proof

    return with_proof(found, clock)
