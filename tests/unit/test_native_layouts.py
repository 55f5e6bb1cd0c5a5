"""Where elements lie: NumPy's way and C's way, and the definition that both follow."""

from __future__ import annotations

import ctypes
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optmap.base.errors import InputError
from optmap.kernels.code_options import ActivationLayout
from optmap.kernels.kernel_roles import kernel_roles
from optmap.native import (
    Buffer,
    TensorLayout,
    activation_layouts,
    buffers_of,
    build_library,
    load_library,
    pack,
    unpack,
)
from optmap.native.emit.packing import write_packing
from optmap.native.emit.writer import Writer
from optmap.workloads.builders import conv2d, matmul
from optmap.workloads.parser import parse_workload


@st.composite
def layouts(draw):
    """A shape, and a layout of it in which axes are cut into up to three pieces."""
    shape = tuple(draw(st.lists(st.integers(1, 7), min_size=0, max_size=4)))
    pieces = []
    for axis in range(len(shape)):
        inner = draw(st.lists(st.integers(2, 4), max_size=2))
        blocks = [1]
        for factor in inner:
            blocks.insert(0, blocks[0] * factor)
        pieces.append([(axis, block) for block in blocks])
    order = []
    while any(pieces):
        rest = draw(st.sampled_from([p for p in pieces if p]))
        order.append(rest.pop(0))
    return shape, TensorLayout(order=tuple(order))


def place(layout: TensorLayout, shape: tuple[int, ...], index: tuple[int, ...]) -> int:
    """The definition: a mixed-radix number, read digit by digit from the slowest."""
    found = 0
    for at, (axis, block) in enumerate(layout.order):
        slower = [each for other, each in layout.order[:at] if other == axis]
        radix = slower[-1] // block if slower else -(-shape[axis] // block)
        found = found * radix + (index[axis] // block) % radix
    return found


@given(case=layouts())
def test_packing_follows_the_definition_and_comes_back(case: tuple[tuple[int, ...], TensorLayout]) -> None:
    shape, layout = case
    values = np.arange(1, 1 + int(np.prod(shape)), dtype=np.float64).reshape(shape)
    packed = pack(layout, values)
    expected = np.zeros(layout.size(shape))
    for index in product(*map(range, shape)):
        expected[place(layout, shape, index)] = values[index]
    assert np.array_equal(packed, expected)
    assert np.array_equal(unpack(layout, packed, shape), values)


def test_generated_packing_agrees_with_numpy(tmp_path: Path) -> None:
    cases = [
        ((5, 7, 3), ((0, 4), (1, 1), (2, 1), (0, 1))),
        ((70, 6, 3, 3), ((0, 32), (1, 4), (2, 1), (3, 1), (1, 1), (0, 1))),
        ((33, 2), ((1, 1), (0, 16), (0, 4), (0, 1))),
        ((1, 1), ((0, 8), (1, 1), (0, 1))),
        ((), ()),
    ]
    out = Writer()
    buffers = [
        Buffer(tensor="K", shape=shape, origin=(0,) * len(shape), bits=32, layout=TensorLayout(order=order))
        for shape, order in cases
    ]
    for number, buffer in enumerate(buffers):
        out.line(f"void pack_{number}(const float *restrict plain, float *restrict packed);")
        write_packing(out, f"void pack_{number}", "float", buffer, threads=1 + number % 2)
    flags = ("-O1", "-fopenmp", "-Wall", "-Wextra", "-Werror")
    library = load_library(build_library(out.text(), flags=flags, folder=tmp_path))
    for number, buffer in enumerate(buffers):
        values = np.asarray(np.random.default_rng(number).standard_normal(buffer.shape), np.float32)
        found = np.full(buffer.layout.size(buffer.shape), np.nan, np.float32)
        getattr(library, f"pack_{number}")(
            *(each.ctypes.data_as(ctypes.c_void_p) for each in (np.ascontiguousarray(values), found))
        )
        assert np.array_equal(found, pack(buffer.layout, values))


def test_channels_are_what_the_kernel_makes_of_them() -> None:
    def orders(workload, layout, lanes=16):
        return [each.order for each in activation_layouts(workload, kernel_roles(workload), layout, lanes)]

    dense = conv2d(k=64, c=3, h=8, w=8, r=3, s=3)
    assert orders(dense, ActivationLayout.NCHW) == [TensorLayout.plain(4).order] * 3
    last = ((0, 1), (2, 1), (3, 1), (1, 1))
    assert orders(dense, ActivationLayout.NHWC) == [last, last, TensorLayout.plain(4).order]
    blocks = ((0, 1), (1, 16), (2, 1), (3, 1), (1, 1))
    assert orders(dense, ActivationLayout.BLOCKED) == [blocks, last, TensorLayout.plain(4).order]  # three fill no block
    grouped = conv2d(k=64, c=64, h=8, w=8, r=3, s=3, groups=2)
    assert orders(grouped, ActivationLayout.NHWC)[:2] == [((0, 1), (3, 1), (4, 1), (1, 1), (2, 1))] * 2
    assert orders(grouped, ActivationLayout.BLOCKED)[1] == ((0, 1), (1, 1), (2, 16), (3, 1), (4, 1), (2, 1))
    depthwise = conv2d(c=32, h=8, w=8, r=3, s=3, depthwise=True)
    assert orders(depthwise, ActivationLayout.NHWC) == [last, last, TensorLayout.plain(3).order]
    assert orders(matmul(i=8, j=8, k=8), ActivationLayout.NHWC) == [TensorLayout.plain(2).order] * 3


def test_what_is_no_layout_is_refused() -> None:
    with pytest.raises(InputError, match="each must divide the one before"):
        TensorLayout(order=((0, 6), (0, 4), (0, 1)))
    with pytest.raises(InputError, match="not one of a tensor with 2 subscripts"):
        pack(TensorLayout.plain(1), np.zeros((2, 2)))
    with pytest.raises(InputError, match="has 4 elements there"):
        unpack(TensorLayout.plain(1), np.zeros(5), (4,))


def test_what_cannot_be_addressed_or_computed_is_refused() -> None:
    def sized(text, **extents):
        workload = parse_workload(text, extents)
        buffers_of(workload, tuple(TensorLayout.plain(len(t.axes)) for t in workload.tensors), (False,) * 3)

    sized("C[i,j] += A[i,k]*B[k,j]", i=2**29, j=2**29, k=2)
    with pytest.raises(InputError, match=r"C spans more than 2\^62 bytes"):
        sized("C[i,j] += A[i,k]*B[k,j]", i=2**31, j=2**31, k=2)
    with pytest.raises(InputError, match=r"A spans more than 2\^62 bytes"):
        sized("C[i] += A[4611686018427387904*i]*B[i]", i=2)
    small = parse_workload("C[i] += A[i]*B[i]", {"i": 4}, bytes=2)
    with pytest.raises(InputError, match="elements of 16 bits"):
        buffers_of(small, (TensorLayout.plain(1),) * 3, (False,) * 3)
