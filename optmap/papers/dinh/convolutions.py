"""Dinh, sections 4.1 and 4.2: Theorem 15 with its lemmas, the lifted tiling, and what is wrong in them."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import prod, sqrt

from optmap.api import bound, solve
from optmap.bounds.convolution import precision_constant, theorem15
from optmap.files import library
from optmap.papers.dinh.chapter2 import convolution_maps
from optmap.papers.exponents import least_sum, rank_conditions
from optmap.papers.items import Collected, Rows
from optmap.papers.proving import verified
from optmap.papers.rows import claimed, held, improved, refuted
from optmap.programs.lifted import lifted_lp
from optmap.programs.loglp_face import lifted_face
from optmap.solvers.exact import linear_program, solve_exact
from optmap.workloads.builders import conv2d
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Workload

CONVOLUTIONS, VALUES = Collected(), Collected()
LAYERS = ("conv1", "conv2", "conv3", "conv4", "conv5")
MEMORIES = (1024, 16384, 262144)


@CONVOLUTIONS.item("Theorem 15", "Communication of a convolution", where="section 4.1")
def theorem_15() -> Rows:
    """On ResNet-50's layers beside what is proved; and a mapping that moves less than its third term."""
    for name, memory in product(LAYERS, MEMORIES):
        workload = library.workload(f"resnet50/{name}")
        printed = theorem15(workload, memory, exact_quotients=True)
        report = bound(workload, memory=f"{memory}w", methods="best")
        yield improved(
            f"{name}, M = {memory:,}: words",
            printed.words,
            report.outermost.best.total_words,
            proved=verified(report),
            more=True,
        )
    layer = conv2d(n=2, k=64, c=32, h=56, w=56, r=1, s=1, stride=2)
    printed = theorem15(layer, 4096, exact_quotients=True)
    answer = solve(layer, memory="4096w", objective="traffic", semantics="assign", method="mopt")
    yield refuted(
        "1x1, stride 2, n = 2, k = 64, c = 32, image 56 x 56, M = 4,096: words, at least",
        printed.small_filter_words,
        int(answer.exact),
        counterexample=f"a mapping, checked, moves {int(answer.exact):,} words: the filter is smaller than the stride",
        false=verified(answer) and answer.exact < printed.small_filter_words,
    )
    yield claimed(
        "the same with the slices that there are",
        "a bound",
        theorem15(layer, 4096).words,
        holds=theorem15(layer, 4096).words <= answer.exact,
    )
    for p, constant in (((1, 1, 1), Fraction(9, 4)), ((1, 1, 2), Fraction(4)), ((1, 1, 4), Fraction(8))):
        yield held(f"C_p of precisions {p}", constant, precision_constant(*p))
    memory, strides = 1000, 4
    filters = Fraction(64 * memory * strides, 81)
    second, third = Fraction(9, 4 * memory) ** 2, Fraction(4 * strides) / (filters * memory)
    yield claimed(
        "filter at which terms two and three meet: 64*M*strides/81",
        "meet",
        "meet" if second == third else "do not meet",
        holds=second == third,
    )


@CONVOLUTIONS.item("Lemma 16", "Every element moves once", where="section 4.1.1")
def lemma_16() -> Rows:
    """Beside the elements that are touched: where the stride exceeds the filter they are fewer than |Input|."""
    layer = conv2d(n=1, k=8, c=4, h=8, w=8, r=1, s=1, stride=2)
    whole, touched = 4 * 8 * 8, next(iter(layer.inputs)).footprint(layer.extents)
    answer = solve(layer, memory="4096w", objective="traffic", semantics="assign", method="mopt")
    yield refuted(
        "1x1, stride 2: words moved with |Input| as the whole image",
        whole + 32 + 128,
        int(answer.exact),
        counterexample=f"{touched} of {whole} elements are read; with those the lemma holds",
        false=verified(answer) and answer.exact < whole + 32 + 128,
    )


@CONVOLUTIONS.item("Table of rank constraints", "The polytope (4.1.6) of a convolution", where="section 4.1.2")
def rank_constraints() -> Rows:
    """Over the lattice of kernels; the exponents are minimised, where `maximizing` is printed."""
    maps = convolution_maps(2)
    printed = {(1, (1, 1, 0)), (1, (1, 0, 1)), (1, (0, 1, 1)), (2, (1, 1, 1))}
    rows = {(size, tuple(ranks)) for ranks, size in zip(*rank_conditions(maps, 7), strict=True)}
    implied = sum(_implied(size, ranks) for size, ranks in rows)
    yield claimed(
        f"of {len(rows)} rank conditions of the lattice, those that (4.1.6) implies",
        "all",
        implied,
        holds=implied == len(rows),
    )
    yield held("least sum of exponents", 2, least_sum(maps, 7)[0] or 0)
    most = solve_exact(
        linear_program([-1] * 3, [list(r) for _, r in printed], row_lower=[n for n, _ in printed], upper=[1] * 3)
    )
    found = -(most.objective or Fraction(0))
    yield refuted(
        "maximizing s_I + s_F + s_O over these constraints",
        2,
        float(found),
        counterexample=f"exponents of 1 meet them and add up to {found}; the least sum is 2",
        false=found != 2,
    )


def _implied(size: int, ranks: Sequence[int]) -> bool:
    """Whether (4.1.6) implies that the exponents, at most 1 each, meet a rank condition."""
    four = [[1, 1, 0], [1, 0, 1], [0, 1, 1], [1, 1, 1]]
    least = solve_exact(linear_program(list(ranks), four, row_lower=[1, 1, 1, 2], upper=[1] * 3)).objective
    return least is not None and least >= size


@CONVOLUTIONS.item("Lemma 18", "Three tensors within a triangle of sizes", where="section 4.1.2")
def lemma_18() -> Rows:
    """On small convolutions, beside the words of a mapping that is the best of its space."""
    yield from _below_mappings((1, 1, 1))


@CONVOLUTIONS.item("Lemma 19", "One tensor heavier than the others", where="section 4.1.2")
def lemma_19() -> Rows:
    """On small convolutions; and the exponent s_j + s_k in its proof, which is s_k + s_l."""
    yield from _below_mappings((1, 1, 4))
    words, (image, filters, outputs) = 24, (4, 1, 1)
    operations = {(w, r) for w, r in product(range(6), repeat=2) if 4 <= w + r <= 6}
    used = (
        image * len({w + r for w, r in operations})
        + filters * len({r for _, r in operations})
        + outputs * len({w for w, _ in operations})
    )
    printed = words**2 / 4 / image * (1 / (filters + outputs)) ** 1.5
    yield refuted(
        "operations with 24 words, p = (4, 1, 1), exponent s_j + s_k = 3/2",
        f"<= {printed:.4g}",
        len(operations),
        counterexample=f"positions and taps with 4 <= w + r <= 6: {len(operations)} operations, {used} words",
        false=used <= words and len(operations) > printed,
    )


def _below_mappings(p: tuple[int, int, int]) -> Rows:
    """The second term beside mappings of layers with a large filter."""
    for memory in (12, 40, 160):
        layer = parse_workload(
            "Out[k,w,h] += In[c,w+r,h+s]*Ker[k,c,r,s]",
            {"k": 2, "c": 2, "w": 8, "h": 8, "r": 8, "s": 8},
            bytes={"In": p[0], "Ker": p[1], "Out": p[2]},
        )
        answer = solve(layer, memory=f"{memory}w", objective="traffic", method="mopt", time_limit=20)
        term = theorem15(layer, memory).large_loops
        yield claimed(
            f"p = {p}, 8x8 filters, M = {memory}: least words by the lemma",
            f"<= {float(answer.exact):,.0f}",
            round(float(term), 1),
            holds=term <= answer.exact,
        )


@CONVOLUTIONS.item("Lemma 20", "The small-filter bound", where="section 4.1.3")
def lemma_20() -> Rows:
    """Slices of a 7x7 filter with stride 2, and the codomains of the lifted maps."""
    pairs = len({(r // 2, s // 2) for r, s in product(range(7), repeat=2)})
    yield refuted(
        "pairs (x'_r, x'_s) of a 7x7 filter with stride 2: L_r*L_s/(strides)",
        12.25,
        pairs,
        counterexample="counted: ceil(7/2) per axis",
        false=pairs != 12.25,
    )
    lp = lifted_lp(lifted((4, 4, 4, 8, 8, 6, 6, 2, 2)), capacity=64)
    kept = {digit.name for digit in lp.digits} - {
        digit.name for digit in lp.digits if digit.factor > 1 and not digit.low
    }
    image, filters = (
        max(len(kept.intersection(digits)) for label, digits, _ in lp.rows if label.startswith(name))
        for name in ("In", "Ker")
    )
    yield refuted(
        "indices of phi'_I and phi'_F",
        "4 and 6",
        f"{image} and {filters}",
        counterexample="(b,c,w,r'',h,s'') and (c,k,r'',s''), printed beside them, and in the lifted program",
        false=(image, filters) != (4, 6),
    )
    conv1 = library.workload("resnet50/conv1")
    printed, sound = (theorem15(conv1, 1024, exact_quotients=exact).small_filter_words for exact in (True, False))
    yield refuted(
        "conv1, M = 1,024: words that the proof gives",
        printed,
        sound,
        counterexample="its sum runs over 16 slices, where the formula has 12.25",
        false=sound < printed,
    )


@CONVOLUTIONS.item("Linear program (4.2.1)", "Blocks of the lifted convolution", where="section 4.2")
def lifted_program() -> Rows:
    """For a 1x1 filter with stride 2 as printed, with M = 4,096; and as it is solved here."""
    # of the rows only these two are about r': log sigma + lambda_r' <= log L_r, lambda_r' >= 0
    stride, taps = Fraction(1, 12), Fraction(0)
    found = solve_exact(linear_program([-1], [[1]], row_upper=[taps - stride]))
    yield refuted(
        "1x1 filter, stride 2: a block",
        "exists",
        "infeasible" if found.objective is None else "exists",
        counterexample="log_M 2 + lambda_r' <= log_M 1 with lambda_r' >= 0",
        false=found.objective is None,
    )
    volume = lifted_face(conv2d(n=1, k=64, c=64, h=56, w=56, r=1, s=1, stride=2), 4096, limit=1).volume
    yield claimed(
        "operations of the block with min(stride, L_r) in its place", "a block", round(volume, 3), holds=volume >= 1
    )


def five_values(args: Sequence[int], memory: int) -> tuple[float, ...]:
    """The values that the communication is said to take, and M where all fits; args: b c k w h r s, strides."""
    b, c, k, w, h, r, s, across, down = args
    slices = [max(1.0, r / across), max(1.0, s / down)]
    low = min(r, across) * min(s, down)
    image = max(b * c * x * y * low for x in (w, slices[0]) for y in (h, slices[1]))
    g = prod(args[:7])
    return g / memory, g / sqrt(prod(slices) * memory), image, c * k * r * s, b * k * w * h, memory


def lifted(args: Sequence[int]) -> Workload:
    """A convolution of nine numbers: b c k w h r s, strides along w and h."""
    b, c, k, w, h, r, s, across, down = args
    text = f"Out[b,k,w,h] += In[b,c,{across}*w+r,{down}*h+s] * Ker[k,c,r,s]"
    return parse_workload(text, {"b": b, "c": c, "k": k, "w": w, "h": h, "r": r, "s": s})


def _steps_exceed(args: Sequence[int]) -> bool:
    """Whether the filter has more steps of the stride than there are outputs, along w or h."""
    _, _, _, w, h, r, s, across, down = args
    return r > across * w or s > down * h


def _over_the_largest(args: Sequence[int], memory: int) -> float:
    """The optimum of the program over the largest of the five values."""
    found = prod(args[:7]) * memory / lifted_face(lifted(args), memory, limit=1).volume
    return found / max(five_values(args, memory))


@VALUES.item("Five values", "The communication takes one of five values", where="section 4.2, after Algorithm 8")
def the_five_values() -> Rows:
    """The optimum of the program over the largest of the five: 1 if it is one of them."""
    for args, memory in (
        ((1, 64, 64, 56, 56, 3, 3, 1, 1), 8192),
        ((1, 3, 64, 112, 112, 7, 7, 2, 2), 8192),
        ((32, 512, 512, 7, 7, 3, 3, 1, 1), 65536),
    ):
        over = _over_the_largest(args, memory)
        yield claimed(
            f"{args}, M = {memory:,}: over the largest of five", "1", round(over, 9), holds=abs(over - 1) < 1e-9
        )
    for args, memory in (
        ((256, 256, 256, 1, 1, 2, 128, 1, 2), 256),
        ((256, 2, 1000, 1, 4, 16, 128, 1, 2), 256),
        ((256, 256, 256, 1, 1, 16, 16, 1, 1), 256),
    ):
        over = _over_the_largest(args, memory)
        yield refuted(
            f"{args}, M = {memory}: over the largest of five",
            1,
            round(over, 6),
            counterexample="the program solved: the filter over its stride exceeds the image, which limits the slices",
            false=over > 1.001 and _steps_exceed(args),
        )
