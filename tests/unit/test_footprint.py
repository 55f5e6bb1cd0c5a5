"""Exact footprints against enumeration of the index values."""

from itertools import product
from math import gcd

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import tiles, workloads

from optmap.base.errors import LimitError
from optmap.workloads.access import Subscript
from optmap.workloads.builders import conv2d
from optmap.workloads.halo import distinct_values, pair_values, value_mask


def _values(coefficients, extents):
    points = product(*(range(e) for e in extents))
    return {sum(c * x for c, x in zip(coefficients, point, strict=True)) for point in points}


terms = st.lists(st.tuples(st.integers(1, 12), st.integers(1, 7)), min_size=0, max_size=4)


@given(terms)
def test_distinct_values_equal_enumeration(pairs):
    coefficients = tuple(c for c, _ in pairs)
    extents = tuple(e for _, e in pairs)
    assert distinct_values(coefficients, extents) == len(_values(coefficients, extents))


@given(terms)
def test_value_mask_holds_exactly_the_values(pairs):
    coefficients = tuple(c for c, _ in pairs)
    extents = tuple(e for _, e in pairs)
    mask = value_mask(coefficients, extents)
    assert {i for i in range(mask.bit_length()) if mask >> i & 1} == _values(coefficients, extents)


def test_closed_form_of_pairs_in_full():
    for m, n, a, b in product(range(1, 7), range(1, 7), range(1, 9), range(1, 9)):
        if gcd(m, n) == 1:
            assert pair_values(m, n, a, b) == len(_values((m, n), (a, b))), (m, n, a, b)


@given(st.integers(1, 6), st.integers(1, 9), st.integers(1, 12))
def test_strided_window_is_the_smaller_of_two_counts(stride, taps, positions):
    expected = min(positions * taps, stride * (positions - 1) + taps)
    assert distinct_values((stride, 1), (positions, taps)) == expected


def test_large_extents_need_no_enumeration():
    big = 10**12
    assert distinct_values((1,), (big,)) == big
    assert distinct_values((2, 3), (big, big)) == 5 * (big - 1) - 2 + 1
    assert distinct_values((1, 1, 1), (big, big, 3)) == 2 * (big - 1) + 2 + 1
    assert distinct_values((1, 10, 10 * big), (5, big, 7)) == 5 * big * 7


def test_too_wide_to_enumerate_is_a_typed_error():
    with pytest.raises(LimitError, match="too wide to enumerate"):
        distinct_values((3, 5, 7), (10**9, 10**9, 10**9))


@given(st.data())
def test_footprint_of_every_tensor_of_random_workloads(data):
    workload = data.draw(workloads(max_extent=5, max_operations=300))
    tile = data.draw(tiles(workload.extents))
    for tensor in workload.tensors:
        touched = {
            tuple(sum(c * point[d] for d, c in axis.terms) + axis.offset for axis in tensor.axes)
            for values in product(*(range(tile[d]) for d in workload.dims))
            for point in [dict(zip(workload.dims, values, strict=True))]
        }
        shared = sum(len(axis.dims) for axis in tensor.axes) != len(tensor.dims)
        if shared:  # a dim in two subscripts: the product over the axes counts a box around the set
            assert tensor.footprint(tile) >= len(touched)
        else:
            assert tensor.footprint(tile) == len(touched)


def test_offsets_move_words_but_do_not_add_any():
    tile = {"h": 4, "r": 3}
    assert Subscript(terms=(("h", 1), ("r", 1)), offset=9).count(tile) == 6


def test_resnet_first_layer_in_words():
    layer = conv2d(k=64, c=3, h=224, w=224, r=7, s=7, stride=2)
    image, filters = layer.inputs
    assert image.footprint(layer.extents) == 3 * 229 * 229
    assert filters.footprint(layer.extents) == 64 * 3 * 49
    assert layer.output.footprint(layer.extents) == 64 * 112 * 112


def test_one_by_one_with_stride_touches_a_quarter():
    layer = conv2d(k=1, c=1, h=56, w=56, r=1, s=1, stride=2)
    assert layer.inputs[0].footprint(layer.extents) == 28 * 28
