"""Theorem 15: communication of a convolution with mixed precision, both cases, strides, dilation.

Source: Dinh's dissertation, chapter 4.1, with these changes, all re-derived: any number of windows;
rounded quotients where the stride does not divide the filter; the smaller of filter and image per
window (`Window.slices`); groups (a dim of all three tensors), which the same exponents cover.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt, prod

from optmap.bounds.compulsory import compulsory_loads
from optmap.bounds.fixed_exponents import VolumeBound, strongest
from optmap.bounds.result import LowerBound
from optmap.bounds.roots import floor_sqrt
from optmap.workloads.forms import ConvolutionForm, convolution_form
from optmap.workloads.padding import real_operations
from optmap.workloads.workload import Semantics, Workload

METHOD = "convolution"
HALF = Fraction(1, 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Theorem15:
    """The three terms of Theorem 15 as printed, in words; the bound is their maximum."""

    compulsory: int
    """p_I·|Input| + p_F·|Filter| + p_O·|Output|, Input being the accessed elements."""
    large_loops: Fraction
    """C_p·G/M - M (Lemmas 18 and 19)."""
    small_filter: Fraction
    """2·sqrt(p_I·p_F·p_O)·G/sqrt(slices·M) - 2M (Lemma 20), the root rounded down."""
    small_filter_words: int
    """The last term rounded up, exactly."""

    @property
    def words(self) -> int:
        """The bound as a whole number of words."""
        return max(
            self.compulsory, -(-self.large_loops.numerator // self.large_loops.denominator), self.small_filter_words
        )


def convolution(workload: Workload, memory_words: int) -> LowerBound:
    """The bounds behind Theorem 15 for an empty fast memory, at least as large as its three terms.

    Args:
        workload: a convolution by structure, whatever its names.
        memory_words: fast memory, in words.

    Raises:
        InputError: if the workload is no convolution.
    """
    form = convolution_form(workload)
    volumes = (large_loops_volume(workload, form), small_filter_volume(workload, form))
    return strongest(METHOD, workload, memory_words, volumes, ("image, filter and output do not overlap",))


def theorem15(workload: Workload, memory_words: int, *, exact_quotients: bool = False) -> Theorem15:
    """The printed terms of Theorem 15, valid for a fast memory that starts with any content.

    Args:
        workload: a convolution by structure.
        memory_words: fast memory M, in words.
        exact_quotients: use the printed quotients L_r/stride, which is no proof where the stride
            does not divide L_r (7x7 with stride 2 has 4 slices, not 3.5), instead of sound slices.

    Raises:
        InputError: if the workload is no convolution.
    """
    form = convolution_form(workload)
    extents = workload.extents
    weights = [workload.weight(t) for t in form.tensors]
    g = real_operations(workload)
    slices = Fraction(prod(w.slices(extents[w.position], extents[w.tap]) for w in form.windows))
    if exact_quotients:
        slices = prod((Fraction(extents[w.tap], w.stride) for w in form.windows), start=Fraction(1))
    square = Fraction(4 * prod(weights) * g * g) / (slices * memory_words)
    rounded = isqrt(-(-square.numerator // square.denominator) - 1) + 1 if g else 0
    return Theorem15(
        compulsory=compulsory_loads(workload.with_semantics(Semantics.ACCUMULATE)),
        large_loops=precision_constant(*weights) * g / memory_words - memory_words,
        small_filter=floor_sqrt(square) - 2 * memory_words,
        small_filter_words=rounded - 2 * memory_words,
    )


def precision_constant(image: int, kernel: int, output: int) -> Fraction:
    """C_p of Theorem 15 from the words per element of the three tensors."""
    p = sorted((image, kernel, output))
    if p[2] <= p[0] + p[1]:
        return Fraction(sum(p) ** 2, 4)
    return Fraction(p[2] * (p[0] + p[1]))


def large_loops_volume(workload: Workload, form: ConvolutionForm) -> VolumeBound:
    """Exponents that add up to 2: no slicing, every window family needs s_I + s_F + s_O >= 2.

    Exponents proportional to the words per element (Lemma 18), or 1 for a tensor that is heavier
    than the two others together (Lemma 19); none exceeds 1, so any two add up to 1 or more.
    """
    weights = [workload.weight(t) for t in form.tensors]
    total = sum(weights)
    heavy = [p for p in weights if 2 * p > total]
    if heavy:
        exponents = [Fraction(1) if p in heavy else Fraction(p, total - heavy[0]) for p in weights]
    else:
        exponents = [Fraction(2 * p, total) for p in weights]
    names = [t.name for t in form.tensors]
    return VolumeBound(tensors=tuple(zip(names, weights, exponents, strict=True)))


def small_filter_volume(workload: Workload, form: ConvolutionForm) -> VolumeBound:
    """Exponents 1/2 for every tensor and for the number of slices of each window.

    Per choice of the fixed digits q the accesses are projective, |V_q| <= sqrt(I·F_q·O_q); filter
    parts of different taps and output parts of different positions are disjoint, so the sum over q is
    at most sqrt(I·F·O·slices) by Cauchy-Schwarz.
    """
    extents = workload.extents
    return VolumeBound(
        tensors=tuple((t.name, workload.weight(t), HALF) for t in form.tensors),
        sizes=tuple(
            (f"slices[{w.position},{w.tap}]", w.slices(extents[w.position], extents[w.tap]), HALF) for w in form.windows
        ),
    )
