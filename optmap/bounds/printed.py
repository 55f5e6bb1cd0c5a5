"""The lower bounds of the papers as printed, with their values: beside what is proved here, never in its place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor

from optmap.base.errors import InputError
from optmap.bounds.convolution import theorem15
from optmap.bounds.ioopt_formulas import figure6_contraction, figure6_convolution
from optmap.bounds.projective import optimal_duals, tile_bound, why_not_projective
from optmap.workloads.forms import contraction_form, convolution_form, why_no_convolution
from optmap.workloads.workload import Semantics, Workload

LOADED = "it counts the first touch of an output as a load, as under accumulate"
CONTRACTION = ("I*J + I*K + J*K", "2*I*J*(K-1)/sqrt(M) + ")
EDGES = {1: "K + 2*I + 2*J - 2 - M", 2: "K + 3*I + 3*J - I*J - 3 - M"}
"""Boundary terms of Figure 6 for one reduced dim, and for several."""
SMALL = "C + 4*F + B*Y + B*X + 2*B*X*Y - 2*B*X*Y*F - 2 - M"
CONVOLUTION = (
    "|Image| + |Filter| + |Out|",
    f"B*F*X*Y*(H*W*C - 1)/M + {SMALL}",
    f"2*B*X*Y*C*F*sqrt(H*W/M) - 2*B*X*Y*F/sqrt(H*W*M) + {SMALL}",
    f"2*X*Y*C*F*sqrt(B*H*W/M) - 2*X*Y*F*sqrt(B)/sqrt(H*W*M) + {SMALL}",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedTerm:
    """One formula of a paper at the extents and the memory; the paper's bound is the largest of its terms."""

    formula: str
    """As printed, with M for the words of the fast memory."""
    words: int
    """Its value, rounded down."""
    proved: bool
    """Whether it holds for this workload by the proofs of this package."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """What one paper says about a workload."""

    source: str
    """Paper, and theorem or figure."""
    terms: tuple[PrintedTerm, ...]
    notes: tuple[str, ...]
    """How it is to be read, one sentence each."""


def printed(workload: Workload, memory_words: int) -> tuple[Printed, ...]:
    """The printed bounds that are for a workload of this form.

    Args:
        workload: the computation.
        memory_words: fast memory M, in words.
    """
    makers: tuple[Callable[[Workload, int], Printed | None], ...] = (_theorem14, _theorem15, _figure6)
    return tuple(found for make in makers if (found := make(workload, memory_words)) is not None)


def _theorem14(workload: Workload, memory_words: int) -> Printed | None:
    """The bound on the operations of a tile that the optimal tile attains, for projective nests."""
    if why_not_projective(workload) is not None:
        return None
    duals = optimal_duals(workload, memory_words)
    return Printed(source="Dinh, Theorems 13 and 14", terms=(), notes=tuple(map(tile_bound, duals[:1])))


def _theorem15(workload: Workload, memory_words: int) -> Printed | None:
    """The terms for convolutions; the last one again with whole slices where the quotients are no proof."""
    if why_no_convolution(workload) is not None:
        return None
    loaded = workload.semantics is Semantics.ACCUMULATE
    paper, sound = (theorem15(workload, memory_words, exact_quotients=exact) for exact in (True, False))
    terms = [
        ("p_I*|Image| + p_F*|Filter| + p_O*|Out|", Fraction(paper.compulsory), loaded),
        ("C_p*G/M - M", paper.large_loops, loaded),
        (
            "2*sqrt(p_I*p_F*p_O)*G/sqrt(M*H*W/strides) - 2*M",
            paper.small_filter,
            loaded and paper.small_filter <= sound.small_filter,
        ),
    ]
    notes = ["method convolution proves as much or more, for an empty memory" if loaded else LOADED]
    if paper.small_filter != sound.small_filter:
        terms.append(("2*sqrt(p_I*p_F*p_O)*G/sqrt(M*slices) - 2*M", sound.small_filter, loaded))
        notes.append("slices: per window the smaller of image and filter/stride, rounded up, in place of H*W/strides")
    return Printed(source="Dinh, Theorem 15", terms=_terms(terms), notes=tuple(notes))


def _figure6(workload: Workload, memory_words: int) -> Printed | None:
    """The terms for contractions of two tensors and for convolutions with two windows."""
    formulas: tuple[str, ...]
    values: tuple[Fraction, ...]
    try:
        if why_no_convolution(workload) is None:
            values = figure6_convolution(workload, memory_words)
            formulas, groups = CONVOLUTION, _letters(workload)
        else:
            values = figure6_contraction(workload, memory_words)
            form = contraction_form(workload)
            formulas = (CONTRACTION[0], CONTRACTION[1] + EDGES[min(2, len(form.reduction))])
            groups = {"I": form.rows, "J": form.columns, "K": form.reduction}
    except InputError:
        return None
    loaded = workload.semantics is Semantics.ACCUMULATE
    letters = ", ".join(f"{letter} = {'*'.join(dims) or 1}" for letter, dims in groups.items())
    notes = (
        letters,
        "not proved where it has boundary terms, whose derivation is not public; no bound is taken from it",
        *([] if loaded else [LOADED]),
    )
    proofs = (loaded, *(False for _ in formulas[1:]))
    return Printed(source="IOOpt, Figure 6", terms=_terms([*zip(formulas, values, proofs, strict=True)]), notes=notes)


def _letters(workload: Workload) -> dict[str, tuple[str, ...]]:
    """The letters of Figure 6 for a convolution with two windows."""
    form = convolution_form(workload)
    (x, w), (y, h) = ((window.position, window.tap) for window in form.windows)
    return {"B": form.batch, "C": form.channels, "F": form.features, "X": (x,), "Y": (y,), "W": (w,), "H": (h,)}


def _terms(rows: Sequence[tuple[str, Fraction, bool]]) -> tuple[PrintedTerm, ...]:
    return tuple(PrintedTerm(formula=formula, words=floor(value), proved=proved) for formula, value, proved in rows)
