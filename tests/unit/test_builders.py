"""Builders: the statement each one writes, and what it refuses."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optmap.base.errors import InputError
from optmap.workloads.builders import contraction, conv1d, conv2d, matmul, mmc, mttkrp, sddmm, tcl, ttmc
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Semantics


def test_dense_convolution():
    layer = conv2d(k=64, c=3, h=224, w=112, r=7, s=5, stride=2, name="R1")
    assert layer.name == "R1"
    assert layer.expression == "Out[n,k,h,w] += In[n,c,2*h+r,2*w+s] * Ker[k,c,r,s]"
    assert layer.sizes == (("n", 1), ("k", 64), ("c", 3), ("r", 7), ("s", 5), ("h", 112), ("w", 56))
    assert layer.reduction_dims == ("c", "r", "s")


def test_stride_and_dilation_may_differ_per_axis():
    layer = conv2d(k=1, c=1, h=10, w=10, r=3, s=3, stride=(1, 3), dilation=(2, 1))
    assert layer.expression == "Out[n,k,h,w] += In[n,c,h+2*r,3*w+s] * Ker[k,c,r,s]"
    assert (layer.extents["h"], layer.extents["w"]) == (10, 4)


def test_grouped_convolution_has_extents_per_group():
    layer = conv2d(n=2, k=12, c=8, h=5, w=5, r=3, s=3, groups=4)
    assert layer.expression == "Out[n,g,k,h,w] += In[n,g,c,h+r,w+s] * Ker[g,k,c,r,s]"
    assert layer.dims == ("n", "g", "k", "c", "r", "s", "h", "w")
    assert [layer.extents[d] for d in "gkc"] == [4, 3, 2]


def test_depthwise_convolution_has_no_output_channels_of_its_own():
    layer = conv2d(c=32, h=112, w=112, r=3, s=3, depthwise=True)
    assert layer.expression == "Out[n,c,h,w] += In[n,c,h+r,w+s] * Ker[c,r,s]"
    assert layer.dims == ("n", "c", "r", "s", "h", "w")
    assert layer == conv2d(c=32, k=32, h=112, w=112, r=3, s=3, depthwise=True)


@given(st.integers(1, 12), st.integers(1, 5), st.integers(1, 4), st.integers(1, 3))
def test_output_extents_equal_counted_positions(size, taps, stride, dilation):
    same = conv2d(k=1, c=1, h=size, w=1, r=taps, s=1, stride=stride, dilation=dilation)
    assert same.extents["h"] == len(range(0, size, stride))
    inside = [x for x in range(0, size, stride) if x + dilation * (taps - 1) < size]
    if inside:
        valid = conv2d(k=1, c=1, h=size, w=1, r=taps, s=1, stride=stride, dilation=dilation, padding="valid")
        assert valid.extents["h"] == len(inside)
    else:
        with pytest.raises(InputError, match=r"filter spans .* along h .*padding=same"):
            conv2d(k=1, c=1, h=size, w=1, r=taps, s=1, stride=stride, dilation=dilation, padding="valid")


def test_the_accessed_input_is_what_a_padded_convolution_reads():
    layer = conv2d(k=1, c=1, h=9, w=9, r=3, s=2, stride=2, dilation=(2, 1))
    read = {
        (2 * h + 2 * r, 2 * w + s)
        for h, w, r, s in product(range(layer.extents["h"]), range(layer.extents["w"]), range(3), range(2))
    }
    assert layer.inputs[0].footprint(layer.extents) == len(read)


def test_element_sizes_and_semantics_are_handed_on():
    layer = conv2d(k=1, c=1, h=2, w=2, r=1, s=1, bytes={"Out": 4, "In": 1, "Ker": 1}, semantics=Semantics.ASSIGN)
    assert [t.bytes for t in layer.tensors] == [4, 1, 1]
    assert layer.semantics is Semantics.ASSIGN


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"k": 0}, "conv2d: k is 0"),
        ({"c": -1}, "conv2d: c is -1"),
        ({"h": 1.5}, "conv2d: h is 1.5"),
        ({"r": True}, "conv2d: r is True"),
        ({"n": "2"}, "conv2d: n is '2'"),
        ({"stride": 0}, "conv2d: stride is 0"),
        ({"stride": (1, 2, 3)}, "stride is .*one for h and one for w"),
        ({"stride": "2"}, "conv2d: stride is '2'"),
        ({"dilation": (1, 0)}, "conv2d: dilation is 0"),
        ({"padding": "full"}, "padding is 'full'; use same or valid"),
        ({"padding": "valid", "h": 2}, "filter spans 3 along h but the input has 2"),
        ({"groups": 3}, "groups=3 must divide k=4 and c=4"),
        ({"groups": 2, "depthwise": True}, "exclude each other"),
        ({"depthwise": True, "k": 5}, "depthwise has k = c = 4, but k is 5"),
        ({"depthwise": "yes"}, "use true or false"),
        ({"k": None}, r"k \(output channels\) is missing"),
    ],
)
def test_convolutions_that_are_refused(change, words):
    good = {"k": 4, "c": 4, "h": 8, "w": 8, "r": 3, "s": 3}
    with pytest.raises(InputError, match=words):
        conv2d(**{**good, **change})


def test_the_other_builders_write_the_papers_statements():
    built = {
        conv1d(f=2, x=3, c=4, w=5): "Out[f,x] += Image[c,x+w] * Filter[f,c,w]",
        conv1d(f=2, x=3, c=4, w=5, stride=2, dilation=3): "Out[f,x] += Image[c,2*x+3*w] * Filter[f,c,w]",
        matmul(i=2, j=3, k=4): "C[i,j] += A[i,k] * B[k,j]",
        contraction("abc-bda-dc", [2, 3, 4, 5]): "Out[a,b,c] += A[b,d,a] * B[d,c]",
        mttkrp(i=2, j=3, k=4, l=5): "Out[i,j] += A[i,k,l] * B[k,j] * C[l,j]",
        sddmm(i=2, j=3, k=4): "Out[i,j] += A[i,j] * B[i,k] * C[k,j]",
        ttmc(i=2, j=3, k=4, l=5, m=6): "Out[i,l,m] += A[i,j,k] * B[j,l] * C[k,m]",
        mmc(i=2, j=3, k=4, l=5): "Out[i,l] += A[i,j] * B[j,k] * C[k,l]",
        tcl(i=2, j=3, k=4, l=5, m=6, n=7): "Out[l,m,n] += A[i,j,k] * B[i,l] * C[j,m] * D[k,n]",
    }
    for workload, text in built.items():
        assert workload.expression == text
        assert list(workload.extents.values()) == list(range(2, 2 + len(workload.dims)))
        assert parse_workload(text, workload.extents, name=workload.name) == workload


def test_contraction_sizes_by_letter_or_in_order():
    by_letter = contraction("ab-ac-cb", {"c": 4, "a": 2, "b": 3})
    assert by_letter == contraction("ab-ac-cb", [2, 3, 4])
    assert by_letter.sizes == (("a", 2), ("b", 3), ("c", 4))
    assert by_letter.name == "ab-ac-cb"


@pytest.mark.parametrize(
    ("spec", "sizes", "words"),
    [
        ("ab-ac", [1, 2, 3], "dashes between"),
        ("ab-ac-c1", [1, 2, 3], "dashes between"),
        (12, [1, 2, 3], "dashes between"),
        ("ab-ac-cb", [1, 2], "2 sizes for 3 letters; give one each for a, b, c"),
        ("ab-ac-cb", {"a": 1, "b": 2}, "no extent for dim c"),
        ("ab-ac-cb", {"a": 1, "b": 2, "c": 3, "d": 4}, "extent for d, which no tensor uses"),
        ("ab-ac-cb", [1, 2, 0], "extent of c is 0"),
        ("ab-ac-cb", "123", "give a list of whole numbers"),
        ("ab-ac-cb", 3, "give a list of whole numbers"),
    ],
)
def test_contractions_that_are_refused(spec, sizes, words):
    with pytest.raises(InputError, match=words):
        contraction(spec, sizes)


def test_other_builders_refuse_bad_sizes():
    with pytest.raises(InputError, match="conv1d: w is 0"):
        conv1d(f=1, x=1, c=1, w=0)
    with pytest.raises(InputError, match=r"matmul: extent of k is -2"):
        matmul(i=1, j=1, k=-2)
