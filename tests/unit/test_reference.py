"""The reference that every run is compared with: the statement, point by point, and what rounding explains."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from cases import cases
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import workloads

from optmap.base.errors import CheckError, LimitError
from optmap.native import TensorLayout, buffers_of, judge, terms, tolerated, trials_of
from optmap.workloads.builders import contraction, conv2d, matmul, mttkrp
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Semantics, Workload


def plain_buffers(workload: Workload):
    layouts = tuple(TensorLayout.plain(len(tensor.axes)) for tensor in workload.tensors)
    return buffers_of(workload, layouts, tuple(False for _ in layouts))


def literal(workload: Workload, trial, kind=np.float64):
    """The statement, point by point, in numbers of a kind."""
    buffers = plain_buffers(workload)
    out = np.zeros(buffers[0].shape, kind) if trial.start is None else trial.start.astype(kind)
    for point in product(*(range(n) for _, n in workload.sizes)):
        at = dict(zip(workload.dims, point, strict=True))
        places = []
        for tensor, buffer in zip(workload.tensors, buffers, strict=True):
            index = [axis.offset + sum(c * at[d] for d, c in axis.terms) for axis in tensor.axes]
            if any(a.real and not a.real[0] <= i <= a.real[1] for a, i in zip(tensor.axes, index, strict=True)):
                break
            places.append(tuple(i - o for i, o in zip(index, buffer.origin, strict=True)))
        else:
            factor = kind(1)
            for tensor, place in zip(workload.inputs, places[1:], strict=True):
                factor = factor * kind(trial.inputs[tensor.name][place])
            out[places[0]] += factor
    return out


@settings(max_examples=cases(20, 60))
@given(
    workload=workloads(max_operations=400),
    semantics=st.sampled_from(Semantics),
    implicit=st.booleans(),
    seed=st.integers(0, 9),
)
def test_the_reference_is_the_statement_point_by_point(
    workload: Workload, semantics: Semantics, implicit: bool, seed: int
) -> None:
    workload = workload.with_semantics(semantics)
    if implicit and workload.real_ranges:
        workload = workload.with_padding("implicit")
    real, whole = trials_of(workload, plain_buffers(workload), seed)
    assert np.array_equal(literal(workload, whole), whole.expected)
    assert not whole.tolerance.any()
    assert np.allclose(literal(workload, real), real.expected, rtol=0, atol=1e-12)
    single = literal(workload, real, np.float32)
    verdict = judge((real,), (single,), 1)
    assert verdict.wrong == 0
    assert verdict.share <= 1


@pytest.mark.parametrize(
    ("workload", "count"),
    [
        (conv2d(k=4, c=3, h=5, w=6, r=3, s=3, padding="same"), 27),
        (conv2d(c=6, h=7, w=7, r=3, s=3, stride=2, depthwise=True, padding="same"), 9),
        (conv2d(k=4, c=4, h=5, w=5, r=3, s=3, groups=2, dilation=2), 18),
        (mttkrp(i=4, j=3, k=5, l=2), 10),
        (parse_workload("Out[h+r] += In[h]*K[r]", {"h": 9, "r": 3}), 3),
        (parse_workload("D[i,i] += A[i,j]*B[j,i]", {"i": 4, "j": 3}), 12),
        (parse_workload("G[r,s] += In[h+r,w+s]*E[h,w]", {"h": 6, "w": 5, "r": 3, "s": 2}), 30),
        (parse_workload("S[i,j] += A[k,i]*A[k,j]", {"i": 4, "j": 3, "k": 5}), 5),
    ],
    ids=lambda value: value.title if isinstance(value, Workload) else str(value),
)
def test_products_per_output(workload: Workload, count: int) -> None:
    if workload.real_ranges:
        workload = workload.with_padding("implicit")
    trials = trials_of(workload, plain_buffers(workload))
    verdict = judge(trials, tuple(literal(workload, trial) for trial in trials), count)
    assert (verdict.wrong, verdict.exact) == (0, True)
    assert terms(workload) == count


def test_a_single_product_that_is_left_out_is_found() -> None:
    workload = matmul(i=8, j=8, k=4096)
    trials = trials_of(workload, plain_buffers(workload))
    outputs = [trial.expected.astype(np.float32) for trial in trials]
    for trial, out in zip(trials, outputs, strict=True):
        left, right = trial.inputs.values()
        out[3, 5] -= left[3, 77] * right[77, 5]
    verdict = judge(trials, tuple(outputs), 4096)
    assert verdict.wrong == 1
    assert verdict.places[0].index == (3, 5)
    with pytest.raises(
        CheckError, match=r"(?s)1 wrong of all 64 outputs.*\[3,5\] is [-0-9.]+, must be [-0-9.]+ exactly"
    ):
        verdict.demand("matmul")


def test_what_is_no_number_is_wrong() -> None:
    workload = matmul(i=2, j=2, k=2).with_semantics(Semantics.ASSIGN)
    trials = trials_of(workload, plain_buffers(workload))
    outputs = [trial.expected.astype(np.float32) for trial in trials]
    outputs[0][1, 1] = np.nan
    verdict = judge(trials, tuple(outputs), 2)
    assert (verdict.wrong, verdict.places[0].index) == (1, (1, 1))
    assert verdict.share == np.inf


def test_a_sample_of_a_large_output_is_named_and_right() -> None:
    workload = conv2d(k=16, c=16, h=64, w=64, r=3, s=3, padding="same").with_padding("implicit")
    everything = trials_of(workload, plain_buffers(workload))
    trials = trials_of(workload, plain_buffers(workload), most=4096)
    outputs = tuple(trial.expected for trial in everything)
    for trial, out in zip(trials, outputs, strict=True):  # the sample comes first in the draw: other numbers
        assert trial.expected.size <= 4096 < out.size
    found = judge(trials, tuple(_full(workload, trial) for trial in trials), 144)
    assert (found.wrong, found.checked < found.outputs) == (0, True)
    assert f"{found.checked:,} of 65,536 outputs (a seeded sample) right" in found.text
    for own, size in zip(trials[0].places, (1, 16, 64, 64), strict=True):
        assert own[0] == 0
        assert own[-1] == size - 1


def _full(workload: Workload, trial):
    """The convolution by shifted sums, another way than the reference takes."""
    image, kernel = (trial.inputs[name].astype(np.float64) for name in ("In", "Ker"))
    rim = np.pad(image, ((0, 0), (0, 0), (1, 1), (1, 1)))
    parts = [
        np.tensordot(kernel[:, :, r, s], rim[:, :, r : r + 64, s : s + 64], (1, 1)).transpose(1, 0, 2, 3)
        for r in range(3)
        for s in range(3)
    ]
    return sum(parts) + (0 if trial.start is None else trial.start)


def test_tolerance_is_that_of_the_number_of_terms() -> None:
    size = np.ones(1)
    assert tolerated(9, 2, 32, size)[0] == pytest.approx(11 * 2.0**-24, rel=1e-5)
    assert tolerated(9, 2, 64, size)[0] == pytest.approx(22 * 2.0**-53, rel=1e-5)
    assert tolerated(9, 3, 32, size)[0] > tolerated(9, 2, 32, size)[0]
    with pytest.raises(LimitError, match="too many"):
        tolerated(2**24, 2, 32, size)


def test_contractions_in_any_order_of_dims() -> None:
    workload = contraction("li-ijk-kjl", {"i": 3, "j": 4, "k": 5, "l": 2})
    trials = trials_of(workload, plain_buffers(workload))
    for trial in trials:
        first, second = (each.astype(np.float64) for each in trial.inputs.values())
        product_ = np.einsum("ijk,kjl->li", first, second) + (0 if trial.start is None else trial.start)
        assert np.allclose(product_, trial.expected, rtol=0, atol=1e-9)
