"""IOOpt's lower bounds: small-dimension scenarios, re-derived, and Figure 6 as printed.

The scenarios fix which dims are small; exponents minimise first the sum over the tensors, then the
share of the small dims. The bounds reported here follow from the exponents alone, with the closed
form for an empty memory; the printed formulas add boundary terms whose derivation is not public,
so they are reproduced but never reported as proved.
Source: IOOpt, sections 5.2-5.4 and Figure 6.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import prod

from optmap.base.errors import InputError
from optmap.bounds.compulsory import compulsory_loads
from optmap.bounds.convolution import large_loops_volume
from optmap.bounds.fixed_exponents import VolumeBound, strongest
from optmap.bounds.result import LowerBound
from optmap.bounds.roots import floor_sqrt
from optmap.workloads.forms import ContractionForm, contraction_form, convolution_form, why_no_convolution
from optmap.workloads.workload import Semantics, Workload

METHOD = "ioopt"
HALF, ONE = Fraction(1, 2), Fraction(1)


def why_not_ioopt(workload: Workload) -> str | None:
    """None for contractions of two tensors and convolutions, else why it is neither."""
    try:
        contraction_form(workload)
    except InputError as error:
        return None if why_no_convolution(workload) is None else f"no contraction ({error}) and no convolution"
    return None


def ioopt(workload: Workload, memory_words: int) -> LowerBound:
    """The best of IOOpt's small-dimension scenarios and of compulsory traffic, re-derived.

    Args:
        workload: a contraction of two tensors or a convolution, by structure.
        memory_words: fast memory, in words.

    Raises:
        InputError: if the workload is neither.
    """
    reason = why_not_ioopt(workload)
    if reason is not None:
        raise InputError(reason)
    volumes = tuple(scenarios(workload).values())
    return strongest(METHOD, workload, memory_words, volumes, ("exponents of IOOpt's small-dimension scenarios",))


def scenarios(workload: Workload) -> dict[str, VolumeBound]:
    """Volume bound per scenario, named by its small dims; scenarios without a bound are left out.

    Raises:
        InputError: if the workload is neither a contraction of two tensors nor a convolution.
    """
    if why_no_convolution(workload) is None:
        return _convolution_scenarios(workload)
    return _contraction_scenarios(workload, contraction_form(workload))


def figure6_contraction(workload: Workload, memory_words: int) -> tuple[Fraction, Fraction]:
    """The two terms of Figure 6's lower bound for a contraction, as printed, in words.

    With I, J, K the groups of shared dims: 2·I·J·(K-1)/sqrt(S) plus boundary terms, which the
    figure prints in one way for a single reduced dim and in another for several.

    Raises:
        InputError: if the workload is no contraction of two tensors, a dim is in all three, or they have
            several element sizes.
    """
    form = contraction_form(workload)
    _one_size(workload)
    if form.batch:
        raise InputError(f"{workload.title}: Figure 6 has no dim in all three tensors; {form.batch[0]} is one")
    i, j, k = form.group_sizes(workload)
    leading = floor_sqrt(Fraction((2 * i * j * (k - 1)) ** 2, memory_words))
    if len(form.reduction) == 1:
        edges = -2 + k - memory_words + 2 * i + 2 * j
    else:
        edges = -3 + k - memory_words + 3 * i + 3 * j - i * j
    return Fraction(compulsory_loads(workload.with_semantics(Semantics.ACCUMULATE))), edges + leading


def figure6_convolution(workload: Workload, memory_words: int) -> tuple[Fraction, Fraction, Fraction, Fraction]:
    """The four terms of Figure 6's lower bound for a 2D convolution, as printed, in words.

    Raises:
        InputError: if the workload is no convolution with two windows of stride and dilation 1, or has several
            element sizes.
    """
    form = convolution_form(workload)
    _one_size(workload)
    if len(form.windows) != 2 or any(w.stride * w.dilation != 1 for w in form.windows) or form.groups:
        raise InputError(f"{workload.title}: Figure 6 is for two windows with stride and dilation 1 and no groups")
    n = workload.extents
    s = memory_words
    x, y = (n[w.position] for w in form.windows)
    hw = prod(n[w.tap] for w in form.windows)
    b, c, f = (prod(n[d] for d in dims) for dims in (form.batch, form.channels, form.features))
    edges = -2 - s + c + 4 * f + b * y + b * x + 2 * b * x * y - 2 * b * x * y * f

    def rooted(factor: int, under: Fraction) -> Fraction:
        return floor_sqrt(factor**2 * under)

    taps, lost = Fraction(hw, s), Fraction(1, hw * s)
    return (
        Fraction(compulsory_loads(workload.with_semantics(Semantics.ACCUMULATE))),
        edges + Fraction(b * f * x * y * (hw * c - 1), s),
        edges + rooted(2 * b * x * y * c * f, taps) - rooted(2 * b * x * y * f, lost),
        edges + rooted(2 * x * y * c * f, b * taps) - rooted(2 * x * y * f, b * lost),
    )


def _one_size(workload: Workload) -> None:
    if any(workload.weight(t) > 1 for t in workload.tensors):
        raise InputError(f"{workload.title}: Figure 6 has one element size for all tensors")


def _contraction_scenarios(workload: Workload, form: ContractionForm) -> dict[str, VolumeBound]:
    """The eight choices of small groups; all three small leaves compulsory traffic only.

    With one group small, the tensor without it has exponent 1 and the group's size exponent 1. With
    two small, one of the two tensors that hold the large group has exponent 1: the better of the two
    cases in which only the group that it lacks is small.
    """
    names = [t.name for t in form.tensors]
    weights = [workload.weight(t) for t in form.tensors]
    groups = dict(zip(("rows", "columns", "reduction"), form.group_sizes(workload), strict=True))
    lacking = {"rows": 2, "columns": 1, "reduction": 0}  # position of the tensor without the group
    found = {
        "none": VolumeBound(tensors=tuple(zip(names, weights, (HALF,) * 3, strict=True))),
    }
    for group, size in groups.items():
        exponents = tuple(ONE if i == lacking[group] else Fraction(0) for i in range(3))
        found[group] = VolumeBound(
            tensors=tuple(zip(names, weights, exponents, strict=True)), sizes=((group, size, ONE),)
        )
    for pair in combinations(groups, 2):
        found["+".join(pair)] = found[min(pair, key=lambda g: groups[g])]
    return found


def _convolution_scenarios(workload: Workload) -> dict[str, VolumeBound]:
    """The five scenarios of section 6: none; taps; taps and batch; all but c and f; all but f, x, y."""
    form = convolution_form(workload)
    n = workload.extents
    taps = [(w.tap, n[w.tap]) for w in form.windows]
    positions = [(w.position, n[w.position]) for w in form.windows]
    batch, channels = [(d, n[d]) for d in form.batch], [(d, n[d]) for d in form.channels]

    def volume(
        exponents: tuple[Fraction, Fraction, Fraction], small: list[tuple[str, int]], z: Fraction
    ) -> VolumeBound:
        tensors = zip(form.tensors, exponents, strict=True)
        return VolumeBound(
            tensors=tuple((t.name, workload.weight(t), s) for t, s in tensors),
            sizes=tuple((f"L[{d}]", size, z) for d, size in small),
        )

    zero = Fraction(0)
    return {
        "none": large_loops_volume(workload, form),
        "taps": volume((HALF, HALF, HALF), taps, HALF),
        "taps+batch": volume((HALF, HALF, HALF), taps + batch, HALF),
        "taps+batch+positions": volume((zero, ONE, zero), batch + positions, ONE),
        "taps+batch+channels": volume((zero, zero, ONE), channels + taps, ONE),
    }
