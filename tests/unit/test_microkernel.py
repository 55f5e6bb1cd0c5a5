"""The register tile of the outer-product microkernel."""

from optmap.kernels.microkernel import microkernel_permutation, microkernel_tile
from optmap.machines.core import Microkernel
from optmap.workloads.builders import conv2d, matmul
from optmap.workloads.parser import parse_workload

KERNEL = Microkernel(vector=16, broadcast=6)


def large(tile):
    return {d: n for d, n in tile.items() if n > 1}


def test_convolution_spans_channels_and_columns():
    layer = conv2d(c=8, k=64, h=14, w=14, r=3, s=3)
    assert large(microkernel_tile(layer, KERNEL)) == {"k": 16, "w": 6}
    assert microkernel_permutation(layer) == ("n", "k", "h", "w", "c", "r", "s")


def test_never_beyond_the_extents():
    layer = conv2d(c=8, k=5, h=4, w=4, r=3, s=3)
    assert large(microkernel_tile(layer, KERNEL)) == {"k": 5, "w": 4}


def test_matmul_has_one():
    tile = microkernel_tile(matmul(i=100, j=100, k=100), KERNEL)
    assert sorted(large(tile).values()) == [6, 16]
    assert tile["k"] == 1


def test_no_outer_product_no_microkernel():
    assert microkernel_tile(conv2d(c=8, h=14, w=14, r=3, s=3, depthwise=True), KERNEL) is None
    assert microkernel_tile(parse_workload("y[i] += A[i,j] * x[j]", {"i": 9, "j": 9}), KERNEL) is None
