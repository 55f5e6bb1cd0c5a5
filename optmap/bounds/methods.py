"""The registry of lower-bound methods; unknown names are loud."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from optmap.base.errors import InputError
from optmap.base.names import choose
from optmap.base.texts import several
from optmap.bounds.result import LowerBound
from optmap.workloads.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundMethod:
    """A named way to a lower bound."""

    description: str
    """One line for tables and `optmap list bounds`."""
    run: Callable[[Workload, int], LowerBound]
    """The bound for a fast memory of so many words; imports its module when it is called."""
    applies: Callable[[Workload], str | None] = lambda workload: None
    """None if the method covers a workload, else the reason why not."""


def _compulsory(workload: Workload, memory_words: int) -> LowerBound:
    from optmap.bounds.compulsory import compulsory

    return compulsory(workload, memory_words)


def _brascamp_lieb(workload: Workload, memory_words: int) -> LowerBound:
    from optmap.bounds.asymptotic import brascamp_lieb

    return brascamp_lieb(workload, memory_words)


def _projective(workload: Workload, memory_words: int) -> LowerBound:
    from optmap.bounds.projective import projective

    return projective(workload, memory_words)


def _why_not_projective(workload: Workload) -> str | None:
    from optmap.bounds.projective import why_not_projective

    return why_not_projective(workload)


def _convolution(workload: Workload, memory_words: int) -> LowerBound:
    from optmap.bounds.convolution import convolution

    return convolution(workload, memory_words)


def _why_no_convolution(workload: Workload) -> str | None:
    from optmap.workloads.forms import why_no_convolution

    return why_no_convolution(workload)


def _ioopt(workload: Workload, memory_words: int) -> LowerBound:
    from optmap.bounds.ioopt_formulas import ioopt

    return ioopt(workload, memory_words)


def _why_not_ioopt(workload: Workload) -> str | None:
    from optmap.bounds.ioopt_formulas import why_not_ioopt

    return why_not_ioopt(workload)


def _halo(workload: Workload, memory_words: int) -> LowerBound:
    from optmap.bounds.best import halo

    return halo(workload, memory_words)


def _why_no_windows(workload: Workload) -> str | None:
    from optmap.bounds.best import why_no_windows

    return why_no_windows(workload)


def _best(workload: Workload, memory_words: int) -> LowerBound:
    from optmap.bounds.best import best

    return best(workload, memory_words)


BOUNDS: dict[str, BoundMethod] = {
    "compulsory": BoundMethod(
        description="every touched word moves once",
        run=_compulsory,
    ),
    "brascamp_lieb": BoundMethod(
        description="exponents of the Brascamp-Lieb polytope, symbolic Omega form (Dinh, chapter 2; IOOpt, section 5)",
        run=_brascamp_lieb,
    ),
    "projective": BoundMethod(
        description="duals of the tiling LP, small loop bounds included (Dinh, Theorems 13 and 14)",
        run=_projective,
        applies=_why_not_projective,
    ),
    "convolution": BoundMethod(
        description="mixed precision, strides and small filters (Dinh, Theorem 15)",
        run=_convolution,
        applies=_why_no_convolution,
    ),
    "ioopt": BoundMethod(
        description="small-dimension scenarios of contractions and convolutions (IOOpt, Figure 6)",
        run=_ioopt,
        applies=_why_not_ioopt,
    ),
    "halo": BoundMethod(
        description="windows of two to four taps per axis that overlap: tiles need their halo; with a certificate",
        run=_halo,
        applies=_why_no_windows,
    ),
    "best": BoundMethod(
        description="the strongest of a convex program over maps, halos, classes of taps, visits, passes; certified",
        run=_best,
    ),
}


def _floor(method: str, *arguments: str) -> Callable[[Workload, int], LowerBound]:
    def run(workload: Workload, memory_words: int) -> LowerBound:
        from optmap.bounds.chains.floors import floor_by

        return floor_by(method, arguments, workload, memory_words)

    return run


CHAIN_BOUNDS: dict[str, BoundMethod] = {
    "compulsory": BoundMethod(
        description="every word of an input is loaded once, every word of an output stored once; certified",
        run=_floor("compulsory"),
    ),
    "alone": BoundMethod(
        description="statements one by one, less what may stay between them; certified",
        run=_floor("alone", "alone"),
    ),
    "joined": BoundMethod(
        description="two statements as one product with a longer reduction; certified",
        run=_floor("joined", "joined"),
    ),
    "lines": BoundMethod(
        description="two statements as one product, cut by loads of any of its tensors; certified",
        run=_floor("lines", "lines"),
    ),
    "finishing": BoundMethod(
        description="two statements as one product, when its first row or column is nearly done; certified",
        run=_floor("finishing", "finishing"),
    ),
    "shared": BoundMethod(
        description="products that share a tensor, cut by its loads: branches and masks, too; certified",
        run=_floor("shared", "shared"),
    ),
    "barrier": BoundMethod(
        description="two products with a function of whole rows between them, whose rows wait; certified",
        run=_floor("barrier", "barrier"),
    ),
    "best": BoundMethod(
        description="groups of statements, each by the strongest of these arguments; certified",
        run=_floor("best", "joined", "lines", "finishing", "shared", "barrier", "alone"),
    ),
}
"""The same for what is more than one product of tensors."""


def methods_for(workload: Workload) -> dict[str, BoundMethod]:
    """The methods that bound a workload."""
    return BOUNDS if workload.is_product else CHAIN_BOUNDS


def bounds(workload: Workload, memory_words: int, methods: Iterable[str] | None = None) -> tuple[LowerBound, ...]:
    """Lower bounds of a workload by several methods, in the order of the registry or as named.

    Args:
        workload: the computation.
        memory_words: fast memory, in words.
        methods: names from `methods_for`; None takes all that apply.

    Raises:
        UnknownNameError: for a name not in the registry.
        InputError: for a memory below one word, or a named method that does not apply.
    """
    if memory_words < 1:
        raise InputError(f"fast memory of {several(memory_words, 'word')}: it must hold at least one word")
    known = methods_for(workload)
    if methods is None:
        chosen = [m for m in known.values() if m.applies(workload) is None]
        return tuple(m.run(workload, memory_words) for m in chosen)
    results = []
    for name in methods:
        choose("bound method", name, known)
        reason = known[name].applies(workload)
        if reason is not None:
            raise InputError(f"method {name} does not apply to {workload.title}: {reason}")
        results.append(known[name].run(workload, memory_words))
    return tuple(results)
