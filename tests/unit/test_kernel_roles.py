"""What dims and operands are to a vector kernel, and how many registers its tile takes."""

import pytest
from register_shapes import register_shape

from optmap import workload as named
from optmap.files.library import list_workloads
from optmap.kernels.kernel_roles import KernelKind, kernel_roles, outer_product_dims
from optmap.machines.core import Core
from optmap.mappings.levels import LevelMapping, Mapping
from optmap.workloads.builders import conv1d, conv2d, matmul, mttkrp
from optmap.workloads.parser import parse_workload

CORE = Core(vector_bytes=64, registers=32, fma_ports=2, fma_latency=4, load_ports=2)
SIZES = {"c": 8, "k": 32, "h": 14, "w": 14, "r": 3, "s": 3}


def told(workload):
    roles = kernel_roles(workload)
    weights, images = workload.tensors[roles.weights].name, workload.tensors[roles.images].name
    return roles.kind, roles.vector, weights, images, roles.points, roles.shared, roles.reduction


@pytest.mark.parametrize(
    "layer",
    [
        conv2d(**SIZES),
        conv2d(**SIZES, stride=2),
        conv2d(**SIZES, dilation=(2, 3)),
        conv2d(**SIZES | {"r": 1, "s": 1}),
        conv2d(**SIZES).with_padding("implicit"),
    ],
)
def test_dense_convolutions_run_vectors_along_filters(layer):
    assert told(layer) == ("outer-product", "k", "Ker", "In", ("n", "h", "w"), (), ("c", "r", "s"))


def test_groups_are_shared():
    assert told(conv2d(**SIZES, groups=2)) == (
        "outer-product", "k", "Ker", "In", ("n", "h", "w"), ("g",), ("c", "r", "s")
    )  # fmt: skip


def test_one_dimensional_convolution():
    layer = conv1d(f=32, x=20, c=8, w=3)
    assert told(layer) == ("outer-product", "f", "Filter", "Image", ("x",), (), ("c", "w"))


def test_depthwise():
    layer = conv2d(c=8, h=14, w=14, r=3, s=3, depthwise=True)
    assert told(layer) == ("depthwise", "c", "Ker", "In", ("n", "h", "w"), (), ("r", "s"))


def test_elementwise_product_is_depthwise_without_points():
    found = kernel_roles(parse_workload("O[i,j] += A[i,j] * B[i,j]", {"i": 4, "j": 9}))
    assert (found.kind, found.vector, found.points, found.shared) == (KernelKind.DEPTHWISE, "j", (), ("i",))


def test_products_run_vectors_along_the_columns_of_the_output():
    assert told(matmul(i=6, j=7, k=8)) == ("outer-product", "j", "B", "A", ("i",), (), ("k",))
    batched = parse_workload("C[b,i,j] += A[b,i,k] * B[b,k,j]", {"b": 2, "i": 6, "j": 7, "k": 8})
    assert told(batched) == ("outer-product", "j", "B", "A", ("i",), ("b",), ("k",))


def test_every_output_dim_of_a_contraction_has_one_role():
    for name in list_workloads():
        if name.startswith("tccg/"):
            layer = named(name)
            roles = kernel_roles(layer)
            dims = (roles.vector, *roles.filters, *roles.points, *roles.shared)
            assert sorted(dims) == sorted(layer.output.dims)
            assert set(roles.filters) | {roles.vector} <= layer.tensors[roles.weights].dims - set(roles.points)
            assert roles.reduction == layer.reduction_dims


@pytest.mark.parametrize(
    "text",
    [
        "y[i] += A[i,j] * x[j]",  # no dim that only the vector has
        "O[x,y] += A[x+r] * B[y+r]",  # only windows
        "O[x,y] += A[2*x,r] * B[2*y,r]",  # only every second element
        "O[x,x+y] += A[x,r] * B[y,r]",  # a diagonal
    ],
)
def test_no_vector_kernel(text):
    dims = "ij" if "i" in text else "xyr"
    assert kernel_roles(parse_workload(text, dict.fromkeys(dims, 4))) is None


def test_three_operands_are_plain():
    assert kernel_roles(mttkrp(i=4, j=4, k=4, l=4)) is None


def test_padding_of_weights_is_plain():
    text = "O[k,h] = I[h+r in 1..6] * W[k,r+x in 1..3]"
    assert kernel_roles(parse_workload(text, {"k": 4, "h": 6, "r": 3, "x": 2})) is None


def test_pairs_put_windows_last():
    pairs = list(outer_product_dims(conv2d(**SIZES)))
    assert pairs[0] == ("k", "w")
    assert [vector for vector, _ in pairs].index("h") > [vector for vector, _ in pairs].index("n")


def test_register_shape():
    layer = conv2d(**SIZES)
    tile = dict.fromkeys(layer.dims, 1) | {"k": 24, "h": 2, "w": 3, "c": 8}
    mapping = Mapping(levels=(LevelMapping(level="Reg", tile=tile, permutation=layer.dims, spatial={}),))
    shape = register_shape(layer, mapping, CORE)
    assert (shape.vectors, shape.points, shape.registers) == (2, 6, 12 + 2 + 1)
    wide = conv2d(**SIZES, bytes=8)
    assert register_shape(wide, mapping, CORE).vectors == 3
    assert register_shape(mttkrp(i=4, j=4, k=4, l=4), mapping, CORE) is None
