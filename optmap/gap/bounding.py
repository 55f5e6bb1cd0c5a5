"""What holds for every schedule, beside an answer."""

from __future__ import annotations

from optmap.clock import Clock
from optmap.gap.beside import with_bound
from optmap.gap.floor import with_floor
from optmap.search.accelerators.result import AcceleratorResult
from optmap.search.result import SolveResult


def bounded(result: SolveResult | AcceleratorResult, clock: Clock, *, full: bool) -> SolveResult | AcceleratorResult:
    """An answer with the bound of every schedule and the gap to it.

    Args:
        result: what was found.
        clock: when to give up what is not known at once.
        full: whether relaxation and integer bound are proved for the checker, too.

    Raises:
        ContradictionError: if the mapping costs less.
    """
    if isinstance(result, AcceleratorResult):
        return with_floor(result, clock) if result.fits else result  # it holds for what the machine can run
    result = with_bound(result, clock)
    if not full:
        return result
    from optmap.gap.proofs import with_proof

    return with_proof(result, clock)
