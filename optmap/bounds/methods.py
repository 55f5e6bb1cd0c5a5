"""The registry of lower-bound methods; unknown names are loud."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from optmap.bounds.asymptotic import brascamp_lieb
from optmap.bounds.best import best
from optmap.bounds.compulsory import compulsory
from optmap.bounds.convolution import convolution
from optmap.bounds.ioopt_formulas import ioopt, why_not_ioopt
from optmap.bounds.projective import projective, why_not_projective
from optmap.bounds.result import LowerBound
from optmap.errors import InputError
from optmap.names import choose
from optmap.problem.workload import Workload
from optmap.programs.windows import why_no_convolution


def _always(workload: Workload) -> str | None:
    """Every workload is within the scope of the method."""
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundMethod:
    """A named way to a lower bound."""

    description: str
    """One line for tables and `optmap list methods`."""
    run: Callable[[Workload, int], LowerBound]
    """(workload, fast memory in words) -> bound."""
    applies: Callable[[Workload], str | None] = _always
    """None if the method covers the workload, else the reason why not."""


METHODS: dict[str, BoundMethod] = {
    "compulsory": BoundMethod(description="every touched word moves once", run=compulsory),
    "brascamp_lieb": BoundMethod(
        description="exponents of the Brascamp-Lieb polytope, symbolic Omega form (Dinh, chapter 2; IOOpt, section 5)",
        run=brascamp_lieb,
    ),
    "projective": BoundMethod(
        description="duals of the tiling LP, small loop bounds included (Dinh, Theorems 13 and 14)",
        run=projective,
        applies=why_not_projective,
    ),
    "convolution": BoundMethod(
        description="mixed precision, strides and small filters (Dinh, Theorem 15)",
        run=convolution,
        applies=why_no_convolution,
    ),
    "ioopt": BoundMethod(
        description="small-dimension scenarios of contractions and convolutions (IOOpt, Figure 6)",
        run=ioopt,
        applies=why_not_ioopt,
    ),
    "best": BoundMethod(description="convex program over all maps, with a certificate", run=best),
}


def bounds(workload: Workload, memory_words: int, methods: Iterable[str] | None = None) -> tuple[LowerBound, ...]:
    """Lower bounds of a workload by several methods, in the order of the registry or as named.

    Args:
        workload: the computation.
        memory_words: fast memory, in words.
        methods: names from `METHODS`; None takes all that apply.

    Raises:
        UnknownNameError: for a name not in the registry.
        InputError: for a memory below one word, or a named method that does not apply.
    """
    if memory_words < 1:
        raise InputError(f"fast memory of {memory_words} words: it must hold at least one word")
    if methods is None:
        chosen = [m for m in METHODS.values() if m.applies(workload) is None]
        return tuple(m.run(workload, memory_words) for m in chosen)
    results = []
    for name in methods:
        choose("bound method", name, METHODS)
        reason = METHODS[name].applies(workload)
        if reason is not None:
            raise InputError(f"method {name} does not apply to {workload.name or workload.expression}: {reason}")
        results.append(METHODS[name].run(workload, memory_words))
    return tuple(results)
