"""Convolution algorithms compared: volumes by hand, floors, and the shape of Dinh's Figure 4.3.1."""

from __future__ import annotations

from math import sqrt

import pytest
from cases import some

from optmap.base.errors import InputError
from optmap.baselines import ALGORITHMS, blocked, compare_algorithms, fft, im2col, naive, product_words, winograd
from optmap.bounds import compulsory_loads, output_words
from optmap.bounds.convolution import convolution
from optmap.workloads.builders import conv2d, matmul
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Semantics


def _mixed(batch=1000, stride=1):
    """conv2_x of ResNet-50 (or its first layer) with outputs of two words."""
    if stride == 2:
        args = {"n": batch, "k": 64, "c": 3, "h": 112, "w": 112, "r": 7, "s": 7}
    else:
        args = {"n": batch, "k": 64, "c": 64, "h": 56, "w": 56, "r": 3, "s": 3}
    text = f"Out[n,k,h,w] = In[n,c,{stride}*h+r,{stride}*w+s] * Ker[k,c,r,s]"
    return parse_workload(text, args, bytes={"Out": 8, "In": 4, "Ker": 4})


def test_rows_have_the_bound_first_and_only_algorithms_after_it():
    rows = compare_algorithms(_mixed(batch=2), [4096, 65536])
    assert [r.algorithm for r in rows] == ["bound", *ALGORITHMS] * 2
    assert [r.memory_words for r in rows] == [4096] * 6 + [65536] * 6
    for row in rows:
        bound = convolution(_mixed(batch=2), row.memory_words).total_words
        assert row.ratio == pytest.approx(row.traffic_words / bound)


@pytest.mark.parametrize("stride", some([2], [1, 2]))
def test_direct_algorithms_stay_above_the_bound_and_all_above_one_touch(stride):
    workload = _mixed(batch=20, stride=stride)
    once = compulsory_loads(workload) + output_words(workload)
    for memory in (600, 65536, 2**24):
        bound = convolution(workload, memory).total_words
        for name, volume in ALGORITHMS.items():
            assert volume(workload, memory) >= once
            if name in ("blocked", "im2col", "naive"):  # the others do other operations
                assert volume(workload, memory) >= bound


def test_figure_4_3_1_in_words():
    # Blocking overtakes im2col and FFT beyond a memory size and drops to the bound; naive stays far above.
    workload = _mixed()
    small = {r.algorithm: r.ratio for r in compare_algorithms(workload, [1024])}
    large = {r.algorithm: r.ratio for r in compare_algorithms(workload, [2**18])}
    assert large["blocked"] < min(large["im2col"], large["winograd"], large["fft"])
    assert large["blocked"] < 1.1
    assert small["fft"] < small["blocked"]
    assert small["naive"] > 50
    first = {r.algorithm: r.ratio for r in compare_algorithms(_mixed(stride=2), [2**18])}
    assert first["blocked"] < first["im2col"] < first["fft"] < first["winograd"] < first["naive"]


def test_everything_that_fits_moves_once():
    workload = conv2d(c=2, k=3, h=6, w=6, r=3, s=3, semantics=Semantics.ASSIGN)
    once = compulsory_loads(workload) + output_words(workload)
    assert {volume(workload, 10**6) for volume in ALGORITHMS.values()} == {once}


def test_naive_by_hand():
    workload = conv2d(c=4, k=3, h=10, w=10, r=3, s=3, semantics=Semantics.ASSIGN)
    assert naive(workload, 50) == 2 * workload.operations + 300
    assert naive(workload, 100) == naive(workload, 50)


def test_im2col_copies_unless_it_is_the_image():
    pointwise = conv2d(c=8, k=8, h=10, w=10, r=1, s=1, semantics=Semantics.ASSIGN)
    assert im2col(pointwise, 40) == product_words(100, 8, 8, (1, 1, 1), 40)
    workload = conv2d(c=8, k=8, h=10, w=10, r=3, s=3, semantics=Semantics.ASSIGN)
    matrix = 100 * 8 * 9
    assert im2col(workload, 40) == 8 * 12 * 12 + matrix + product_words(100, 8, 72, (1, 1, 1), 40)


def test_winograd_by_hand():
    # F(2x2, 3x3) on 8x8 outputs: 16 tiles of 16 points.
    workload = conv2d(c=5, k=7, h=8, w=8, r=3, s=3, semantics=Semantics.ASSIGN)
    transformed = 16 * (16 * 5 + 5 * 7 + 16 * 7)
    arrays = 5 * 100 + 7 * 5 * 9 + 7 * 64
    assert winograd(workload, 60) == pytest.approx(arrays + transformed + 16 * product_words(16, 7, 5, (1, 1, 1), 60))
    strided = conv2d(c=5, k=7, h=16, w=16, r=3, s=3, stride=2, semantics=Semantics.ASSIGN)
    # Two parts of 2 taps per axis: tiles of 3x3 points, four times the channels.
    arrays = 5 * 17 * 17 + 7 * 5 * 9 + 7 * 64
    transformed = 9 * (16 * 20 + 20 * 7 + 16 * 7)
    assert winograd(strided, 60) == pytest.approx(arrays + transformed + 9 * product_words(16, 7, 20, (1, 1, 1), 60))


def test_fft_by_hand():
    workload = conv2d(c=5, k=7, h=8, w=8, r=3, s=3, n=2, semantics=Semantics.ASSIGN)
    planes = 100 * (2 * 5 + 5 * 7 + 2 * 7)
    arrays = 2 * 5 * 100 + 7 * 5 * 9 + 2 * 7 * 64
    products = 50 * product_words(2, 7, 5, (2, 2, 2), 200)
    assert fft(workload, 200) == pytest.approx(arrays + planes + products)  # a plane fits: one pass
    products = 50 * product_words(2, 7, 5, (2, 2, 2), 20)
    assert fft(workload, 20) == pytest.approx(arrays + 3 * planes + products)  # two passes


def test_product_words_against_its_bound_and_limits():
    n, memory = 1000, 1023
    attained = product_words(n, n, n, (1, 1, 1), memory)
    t = sqrt(memory + 1) - 1  # T^2 + 2T = M
    assert attained == pytest.approx(2 * n**3 / t + n * n)
    assert attained >= 2 * n**3 / sqrt(memory)
    assert product_words(4, 1000, 1000, (1, 1, 1), 10_000) == 4000 + 4000 + 10**6  # the left factor stays
    assert product_words(1000, 4, 1000, (1, 1, 1), 10_000) == 4000 + 4000 + 10**6
    thin = product_words(1000, 3, 500, (1, 1, 1), 100)
    assert thin >= 1000 * 500 + 3 * 500 + 3000
    assert thin <= 1000 * 3 * 500 * (1 / 3 + 1 / 24) + 3000
    with pytest.raises(InputError, match="3 words"):
        product_words(2, 2, 2, (1, 1, 1), 2)
    heavy = product_words(500, 500, 500, (1, 1, 2), 4096)
    assert heavy >= 2 * sqrt(2) * 500**3 / sqrt(4096)


def test_blocked_falls_with_memory_and_needs_a_convolution():
    workload = _mixed(batch=4)
    volumes = [blocked(workload, m) for m in (512, 4096, 32768, 2**22)]
    assert volumes[0] > volumes[1] > volumes[2] > volumes[3]
    assert volumes[3] == compulsory_loads(workload) + output_words(workload)
    with pytest.raises(InputError, match="convolution"):
        compare_algorithms(matmul(i=2, j=2, k=2), [100])
