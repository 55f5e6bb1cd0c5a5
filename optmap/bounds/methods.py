"""The registry of lower-bound methods; unknown names are loud."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from optmap.bounds.result import LowerBound
from optmap.errors import InputError
from optmap.lazy import named
from optmap.names import choose
from optmap.problem.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundMethod:
    """A named way to a lower bound; its module is imported when it is used."""

    description: str
    """One line for tables and `optmap list bounds`."""
    function: str
    """`module:function` under `optmap`, of workload and fast memory in words."""
    scope: str = ""
    """`module:function` under `optmap` that says why a workload is not covered; empty: all are."""

    def run(self, workload: Workload, memory_words: int) -> LowerBound:
        """The bound for a fast memory of so many words."""
        found: LowerBound = named(self.function)(workload, memory_words)
        return found

    def applies(self, workload: Workload) -> str | None:
        """None if the method covers the workload, else the reason why not."""
        reason: str | None = named(self.scope)(workload) if self.scope else None
        return reason


BOUNDS: dict[str, BoundMethod] = {
    "compulsory": BoundMethod(
        description="every touched word moves once",
        function="bounds.compulsory:compulsory",
    ),
    "brascamp_lieb": BoundMethod(
        description="exponents of the Brascamp-Lieb polytope, symbolic Omega form (Dinh, chapter 2; IOOpt, section 5)",
        function="bounds.asymptotic:brascamp_lieb",
    ),
    "projective": BoundMethod(
        description="duals of the tiling LP, small loop bounds included (Dinh, Theorems 13 and 14)",
        function="bounds.projective:projective",
        scope="bounds.projective:why_not_projective",
    ),
    "convolution": BoundMethod(
        description="mixed precision, strides and small filters (Dinh, Theorem 15)",
        function="bounds.convolution:convolution",
        scope="problem.forms:why_no_convolution",
    ),
    "ioopt": BoundMethod(
        description="small-dimension scenarios of contractions and convolutions (IOOpt, Figure 6)",
        function="bounds.ioopt_formulas:ioopt",
        scope="bounds.ioopt_formulas:why_not_ioopt",
    ),
    "halo": BoundMethod(
        description="windows of two to four taps per axis that overlap: tiles need their halo; with a certificate",
        function="bounds.best:halo",
        scope="bounds.best:why_no_windows",
    ),
    "best": BoundMethod(
        description="the strongest of a convex program over maps, halos, classes of taps, visits, passes; certified",
        function="bounds.best:best",
    ),
}


def bounds(workload: Workload, memory_words: int, methods: Iterable[str] | None = None) -> tuple[LowerBound, ...]:
    """Lower bounds of a workload by several methods, in the order of the registry or as named.

    Args:
        workload: the computation.
        memory_words: fast memory, in words.
        methods: names from `BOUNDS`; None takes all that apply.

    Raises:
        UnknownNameError: for a name not in the registry.
        InputError: for a memory below one word, or a named method that does not apply.
    """
    if memory_words < 1:
        raise InputError(f"fast memory of {memory_words} words: it must hold at least one word")
    if methods is None:
        chosen = [m for m in BOUNDS.values() if m.applies(workload) is None]
        return tuple(m.run(workload, memory_words) for m in chosen)
    results = []
    for name in methods:
        choose("bound method", name, BOUNDS)
        reason = BOUNDS[name].applies(workload)
        if reason is not None:
            raise InputError(f"method {name} does not apply to {workload.title}: {reason}")
        results.append(BOUNDS[name].run(workload, memory_words))
    return tuple(results)
