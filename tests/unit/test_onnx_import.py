"""Workloads of small ONNX models that are made here; sizes follow from the ONNX operator definitions."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from cases import cases
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from onnx_models import FLOAT, OPSET, model, tensor, weights

import optmap
from optmap.base.errors import InputError
from optmap.files.network import network
from optmap.files.workloads import read_workloads
from optmap.onnx_import import CONTROL, ELEMENTWISE, QUANTISED, UNKNOWN, ImportedModel, import_model, workloads_yaml
from optmap.onnx_import.graph import _element_bits
from optmap.report.merged import names_text
from optmap.workloads.padding import real_operations
from optmap.workloads.workload import Workload


@pytest.fixture(name="read")
def reader(tmp_path: Path) -> Callable[..., ImportedModel]:
    def read(made: onnx.ModelProto, **dims: int) -> ImportedModel:
        path = tmp_path / "net.onnx"
        onnx.save(made, str(path))
        return import_model(path, dims)

    return read


Read = Callable[..., ImportedModel]


def one(found: ImportedModel) -> Workload:
    assert len(found.workloads) == 1
    return found.workloads[0]


def conv(read: Read, x: Sequence[int], w: Sequence[int], kind: str = "Conv", **attributes: object) -> Workload:
    node = helper.make_node(kind, ["x", "w"], ["y"], name="layer", **attributes)
    return one(read(model([node], [tensor("x", x)], [weights("w", w)])))


def test_plain_convolution(read: Read) -> None:
    found = conv(read, (2, 3, 9, 10), (8, 3, 3, 3))
    assert found.expression == "Out[n,k,h,w] = In[n,c,h+r,w+s] * Ker[k,c,r,s]"
    assert found.extents == {"n": 2, "k": 8, "c": 3, "r": 3, "s": 3, "h": 7, "w": 8}
    assert (found.name, found.count) == ("layer", 1)


def test_stride_dilation_and_uneven_pads(read: Read) -> None:
    # Along h: (11 + 0 + 1 - 2*2 - 1) // 2 + 1 = 4; along w: (13 + 2 + 0 - 1*2 - 1) // 3 + 1 = 5.
    found = conv(read, (1, 4, 11, 13), (6, 4, 3, 3), strides=[2, 3], dilations=[2, 1], pads=[0, 2, 1, 0])
    assert found.expression == "Out[n,k,h,w] = In[n,c,2*h+2*r,3*w+s in 2..14] * Ker[k,c,r,s]"
    assert (found.extents["h"], found.extents["w"]) == (4, 5)


@pytest.mark.parametrize(
    ("mode", "extents"), [("SAME_UPPER", (6, 7)), ("SAME_LOWER", (6, 7)), ("VALID", (5, 6)), ("NOTSET", (5, 6))]
)
def test_automatic_pads(read: Read, mode: str, extents: tuple[int, int]) -> None:
    found = conv(read, (1, 4, 11, 13), (6, 4, 3, 3), strides=[2, 2], auto_pad=mode)
    assert (found.extents["h"], found.extents["w"]) == extents


def test_groups(read: Read) -> None:
    found = conv(read, (1, 8, 5, 5), (12, 2, 3, 3), group=4)
    assert found.expression == "Out[n,g,k,h,w] = In[n,g,c,h+r,w+s] * Ker[g,k,c,r,s]"
    assert [found.extents[dim] for dim in "gkc"] == [4, 3, 2]
    assert found.operations == 12 * 2 * 9 * 9


def test_depthwise(read: Read) -> None:
    found = conv(read, (1, 8, 5, 5), (8, 1, 3, 3), group=8)
    assert found.expression == "Out[n,c,h,w] = In[n,c,h+r,w+s] * Ker[c,r,s]"
    assert found.extents["c"] == 8


def test_depthwise_with_multiplier_keeps_both_channels(read: Read) -> None:
    found = conv(read, (1, 8, 5, 5), (16, 1, 3, 3), group=8)
    assert [found.extents[dim] for dim in "gkc"] == [8, 2, 1]


@pytest.mark.parametrize(("rank", "subscript"), [(1, "w+s"), (3, "d+q,h+r,w+s")])
def test_other_numbers_of_spatial_axes(read: Read, rank: int, subscript: str) -> None:
    found = conv(read, (1, 2, *[6] * rank), (4, 2, *[3] * rank))
    assert str(found.inputs[0]) == f"In[n,c,{subscript}]"
    assert found.operations == 8 * 12**rank


def test_transposed_convolution_has_windows_in_its_output(read: Read) -> None:
    found = conv(
        read, (1, 6, 4, 5), (6, 3, 3, 3), kind="ConvTranspose", strides=[2, 2], pads=[1, 0, 0, 1], output_padding=[1, 1]
    )
    assert found.expression == "Out[n,k,2*h+r in 1..8,2*w+s] = In[n,c,h,w] * Ker[c,k,r,s]"
    assert found.extents == {"n": 1, "k": 3, "c": 6, "r": 3, "s": 3, "h": 4, "w": 5}
    assert found.reduction_dims == ("c",)


def test_transposed_convolution_with_groups(read: Read) -> None:
    found = conv(read, (1, 6, 4, 5), (6, 4, 3, 3), kind="ConvTranspose", group=2)
    assert str(found.inputs[1]) == "Ker[g,c,k,r,s]"
    assert [found.extents[dim] for dim in "gck"] == [2, 3, 4]
    depthwise = conv(read, (1, 6, 4, 5), (6, 1, 3, 3), kind="ConvTranspose", group=6)
    assert str(depthwise.inputs[1]) == "Ker[c,r,s]"


@settings(max_examples=cases(20, 60), deadline=None)
@given(st.data())
def test_operations_without_padding_are_those_of_the_reference(data: st.DataObject) -> None:
    """With ones everywhere the sum of the output is the number of products of two elements."""
    kind = data.draw(st.sampled_from(["Conv", "ConvTranspose"]))
    ints = [data.draw(st.integers(1, top)) for top in (5, 6, 3, 4, 3, 3, 2, 2)]
    h, w, r, s, *steps = ints
    attributes: dict[str, object] = {"strides": steps[:2], "dilations": steps[2:]}
    mode = data.draw(st.sampled_from(["pads", "SAME_UPPER", "SAME_LOWER", "VALID"] if kind == "Conv" else ["pads"]))
    if mode == "pads":
        attributes["pads"] = [data.draw(st.integers(0, 3)) for _ in range(4)]
    else:
        attributes["auto_pad"] = mode
    node = helper.make_node(kind, ["x", "w"], ["y"], name="layer", **attributes)
    made = model([node], [tensor("x", (1, 2, h, w)), tensor("w", (2, 2, r, s))])
    ones = {"x": np.ones((1, 2, h, w), np.float32), "w": np.ones((2, 2, r, s), np.float32)}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "net.onnx"
        onnx.save(made, str(path))
        try:
            imported = import_model(path, {})
        except InputError:  # the filter is larger than the padded image
            return
        if not imported.workloads:  # nothing is left of the output
            return
        found = one(imported)
        expected = ReferenceEvaluator(made).run(None, ones)[0].sum()
    assert real_operations(found) == expected


def product(read: Read, a: Sequence[int], b: Sequence[int]) -> Workload:
    node = helper.make_node("MatMul", ["a", "b"], ["c"], name="mm")
    return one(read(model([node], [tensor("a", a), tensor("b", b)])))


@pytest.mark.parametrize(
    ("a", "b", "expression", "extents"),
    [
        ((4, 5), (5, 6), "C[i,j] = A[i,k] * B[k,j]", (4, 6, 5)),
        ((7, 4, 5), (5, 6), "C[i,j] = A[i,k] * B[k,j]", (28, 6, 5)),
        ((7, 4, 5), (7, 5, 6), "C[b,i,j] = A[b,i,k] * B[b,k,j]", (7, 4, 6, 5)),
        ((2, 3, 4, 5), (2, 1, 5, 6), "C[b,i,j] = A[b,i,k] * B[b,k,j]", (2, 12, 6, 5)),
        ((3, 1, 4, 5), (2, 5, 6), "C[i,j] = A[i,k] * B[k,j]", (12, 12, 5)),
        ((5,), (5, 6), "C[i,j] = A[i,k] * B[k,j]", (1, 6, 5)),
        ((4, 5), (5,), "C[i,j] = A[i,k] * B[k,j]", (4, 1, 5)),
    ],
)
def test_batched_products(
    read: Read, a: Sequence[int], b: Sequence[int], expression: str, extents: tuple[int, ...]
) -> None:
    found = product(read, a, b)
    assert found.expression == expression
    assert tuple(found.extents.values()) == extents


def test_words_of_batched_products_are_those_of_the_tensors(read: Read) -> None:
    found = product(read, (2, 3, 4, 5), (2, 1, 5, 6))
    sizes = {tensor.name: tensor.footprint(found.extents) for tensor in found.tensors}
    assert sizes == {"A": 2 * 3 * 4 * 5, "B": 2 * 5 * 6, "C": 2 * 3 * 4 * 6}


@pytest.mark.parametrize(
    ("flags", "a", "b", "statement"),
    [
        ({}, (4, 5), (5, 6), "C[i,j] = A[i,k] * B[k,j]"),
        ({"transA": 1}, (5, 4), (5, 6), "C[i,j] = A[k,i] * B[k,j]"),
        ({"transB": 1}, (4, 5), (6, 5), "C[i,j] = A[i,k] * B[j,k]"),
        ({"transA": 1, "transB": 1, "alpha": 0.5}, (5, 4), (6, 5), "C[i,j] = A[k,i] * B[j,k]"),
    ],
)
def test_general_product(
    read: Read, flags: dict[str, float], a: Sequence[int], b: Sequence[int], statement: str
) -> None:
    node = helper.make_node("Gemm", ["a", "b"], ["c"], **flags)
    found = one(read(model([node], [tensor("a", a), tensor("b", b)])))
    assert found.expression == statement
    assert found.extents == {"i": 4, "j": 6, "k": 5}


@pytest.mark.parametrize("bias", [(6,), (4, 6), (1, 6)])
def test_the_third_operand_of_a_product_is_beside_it(read: Read, bias: Sequence[int]) -> None:
    node = helper.make_node("Gemm", ["a", "b", "c"], ["y"])
    found = read(model([node], [tensor("a", (4, 5)), tensor("b", (5, 6)), tensor("c", bias)]))
    assert one(found).expression == "C[i,j] = A[i,k] * B[k,j]"
    assert [(entry.operator, entry.elements) for entry in found.skipped] == [("bias of Gemm", int(np.prod(bias)))]


def test_a_tensor_read_twice_is_one_tensor(read: Read) -> None:
    node = helper.make_node("Gemm", ["a", "a"], ["c"], transB=1)
    found = one(read(model([node], [tensor("a", (4, 5))])))
    assert found.expression == "C[i,j] = A[i,k] * A[j,k]"


def einsum(read: Read, equation: str, *shapes: Sequence[int]) -> Workload:
    names = [f"x{number}" for number in range(len(shapes))]
    node = helper.make_node("Einsum", names, ["y"], equation=equation)
    inputs = [tensor(name, shape) for name, shape in zip(names, shapes, strict=True)]
    return one(read(model([node], inputs, outputs=[tensor("y", None)])))


@pytest.mark.parametrize(
    ("equation", "shapes", "expression", "extents"),
    [
        ("ik,kj->ij", [(4, 5), (5, 6)], "Out[i,j] = A[i,k] * B[k,j]", {"i": 4, "k": 5, "j": 6}),
        ("ik, kj", [(4, 5), (5, 6)], "Out[i,j] = A[i,k] * B[k,j]", {"i": 4, "k": 5, "j": 6}),
        (
            "bhqd,bhkd->bhqk",
            [(2, 3, 4, 5), (2, 3, 6, 5)],
            "Out[b,h,q,k] = A[b,h,q,d] * B[b,h,k,d]",
            {"b": 2, "h": 3, "q": 4, "d": 5, "k": 6},
        ),
        (
            "...ik,kj->...ij",
            [(7, 4, 5), (5, 6)],
            "Out[e0,i,j] = A[e0,i,k] * B[k,j]",
            {"e0": 7, "i": 4, "k": 5, "j": 6},
        ),
        ("...k,...k", [(7, 5), (1, 5)], "Out[e0] = A[e0,k] * B[k]", {"e0": 7, "k": 5}),
        ("ii->i", [(4, 4)], "Out[i] = A[i]", {"i": 4}),
        ("ijk,jl,kl->il", [(2, 3, 4), (3, 5), (4, 5)], "Out[i,l] = A[i,j,k] * B[j,l] * C[k,l]", None),
    ],
)
def test_einsum(
    read: Read, equation: str, shapes: Sequence[Sequence[int]], expression: str, extents: dict[str, int] | None
) -> None:
    found = einsum(read, equation, *shapes)
    assert found.expression == expression
    assert extents is None or found.extents == extents


@pytest.mark.parametrize(
    ("equation", "shapes", "message"),
    [
        ("i1,kj->ij", [(4, 5), (5, 6)], "term 'i1'|Rank of input 0"),
        ("ijk,kj->ij", [(4, 5), (5, 6)], "does not fit|Rank of input 0"),
        ("ik,kj->iz", [(4, 5), (5, 6)], "output 'iz'|invalid|Einsum"),
    ],
)
def test_bad_einsum(read: Read, equation: str, shapes: Sequence[Sequence[int]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        einsum(read, equation, *shapes)


def test_equal_shapes_are_one_workload_with_a_count(read: Read) -> None:
    nodes = [
        helper.make_node("Conv", [f"x{i}", f"w{i}"], [f"x{i + 1}"], name=f"/stage/{i}/Conv", pads=[1, 1, 1, 1])
        for i in range(3)
    ]
    constants = [weights("w0", (4, 2, 3, 3)), weights("w1", (4, 4, 3, 3)), weights("w2", (4, 4, 3, 3))]
    found = read(model(nodes, [tensor("x0", (1, 2, 6, 6))], constants))
    assert [(w.name, w.count) for w in found.workloads] == [("stage.0.Conv", 1), ("stage.1.Conv", 2)]
    assert [w.names for w in found.workloads] == [("/stage/0/Conv",), ("/stage/1/Conv", "/stage/2/Conv")]
    assert found.operations == sum(w.operations * w.count for w in found.workloads) == 36 * 4 * 9 * (2 + 4 + 4)


@pytest.mark.longer
def test_merged_layers_keep_all_their_names(read: Read, tmp_path: Path) -> None:
    names = [*(f"/layers.{i}/up" for i in range(11)), "/head {odd}"]
    nodes = [helper.make_node("MatMul", ["a", "b"], [f"c{i}"], name=name) for i, name in enumerate(names)]
    found = read(model(nodes, [tensor("a", (2, 3)), tensor("b", (3, 4))]))
    (row,) = found.to_dict()["workloads"]
    assert (row["count"], row["names"]) == (12, names)
    text = '/layers.{0-10}/up, "/head {odd}"'
    assert text in str(found)
    path = tmp_path / "net.yaml"
    path.write_text(workloads_yaml(found), encoding="utf-8")
    layers = network(path)
    assert layers.to_dict()["layers"][0]["names"] == names
    assert text in str(layers)
    assert text in str(layers.layers[0])
    sums = optmap.network(path, memory="8w")
    assert [each["names"] for each in sums.to_dict()["layers"]] == [names]
    assert text in str(sums)
    on_accelerator = optmap.network(path, machine="gemmini", method="random", jobs=1, time_limit=5)
    assert [each["names"] for each in on_accelerator.to_dict()["layers"]] == [names]
    assert text in str(on_accelerator)
    path.write_text(workloads_yaml(found).replace("count: 12", "count: 11"), encoding="utf-8")
    with pytest.raises(InputError, match="names: 12 names of a layer that occurs 11 times"):
        network(path)


@given(st.lists(st.from_regex(r"[a-c./_]{0,3}([0-9]{1,3}[a-c.]{0,2}){0,3}", fullmatch=True), max_size=30))
@settings(max_examples=cases(15, 100))
def test_names_on_one_line_lose_none(names: list[str]) -> None:
    """Every entry is written out again; what comes out are the names, as often as they are there."""
    text = names_text(names)
    found: list[str] = []
    for entry in re.findall(r'(?:"[^"]*"|[^,{]*(?:{[^}]*})?[^,{]*)(?:, |$)', text) if text else []:
        own = entry.removesuffix(", ")
        again = re.fullmatch(r"(.*) \((\d+) times\)", own)
        own, times = (again[1], int(again[2])) if again else (own, 1)
        spread = re.fullmatch(r"(.*)\{(.*)\}(.*)", own)
        if spread is None:
            found += [own.strip('"')] * times
            continue
        for part in spread[2].split(","):
            first, _, last = part.partition("-")
            found += [f"{spread[1]}{n}{spread[3]}" for n in range(int(first), int(last or first) + 1)]
    found = found[: len(names)] if not names or found[len(names) :] == [""] else found
    assert sorted(found) == sorted(names)


def test_names_stay_apart(read: Read) -> None:
    nodes = [
        helper.make_node("MatMul", ["a", "b"], ["c"], name="x/y"),
        helper.make_node("MatMul", ["c", "d"], ["e"], name="X.y"),
    ]
    inputs = [tensor("a", (2, 3)), tensor("b", (3, 4)), tensor("d", (4, 5))]
    assert [w.name for w in read(model(nodes, inputs)).workloads] == ["x.y", "X.y-2"]


def test_everything_else_is_listed_with_its_reason(read: Read) -> None:
    nodes = [
        helper.make_node("Conv", ["x", "w", "bias"], ["a"]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Relu", ["b"], ["c"]),
        helper.make_node("MaxPool", ["c"], ["d"], kernel_shape=[2, 2]),
        helper.make_node("Mystery", ["d"], ["e"], domain="some.vendor"),
    ]
    constants = [weights("w", (4, 2, 3, 3)), weights("bias", (4,))]
    found = read(
        model(
            nodes,
            [tensor("x", (1, 2, 6, 6))],
            constants,
            outputs=[tensor("e", (1,))],
            opsets={"": OPSET, "some.vendor": 1},
        )
    )
    listed = {entry.operator: entry for entry in found.skipped}
    assert list(listed) == ["bias of Conv", "Relu", "MaxPool", "some.vendor.Mystery"]
    assert (listed["Relu"].count, listed["Relu"].elements, listed["Relu"].reason) == (2, 4 * 64, ELEMENTWISE)
    assert listed["bias of Conv"].elements == 4
    assert listed["some.vendor.Mystery"].reason == UNKNOWN
    assert sum(entry.count for entry in found.skipped) == len(nodes) - 1 + 1  # the bias is no node


def test_quantised_products_are_named_as_missing(read: Read) -> None:
    node = helper.make_node("MatMulInteger", ["a", "b"], ["c"])
    kinds = [tensor("a", (2, 3), TensorProto.UINT8), tensor("b", (3, 4), TensorProto.UINT8)]
    found = read(model([node], kinds, outputs=[tensor("c", (2, 4), TensorProto.INT32)]))
    assert not found.workloads
    assert [(entry.operator, entry.reason) for entry in found.skipped] == [("MatMulInteger", QUANTISED)]
    with pytest.raises(InputError, match="nothing to write"):
        workloads_yaml(found)


def test_bodies_of_control_flow_are_named_not_counted(read: Read) -> None:
    def body(name: str) -> onnx.GraphProto:
        return helper.make_graph([helper.make_node("MatMul", ["a", "b"], [name])], name, [], [tensor(name, (2, 4))])

    node = helper.make_node("If", ["p"], ["y"], then_branch=body("t"), else_branch=body("e"))
    inputs = [tensor("p", (), TensorProto.BOOL), tensor("a", (2, 3)), tensor("b", (3, 4))]
    found = read(model([node], inputs))
    assert not found.workloads
    assert [entry.reason for entry in found.skipped] == [f"{CONTROL}; not counted in it: 2 MatMul"]


def test_functions_of_the_model_are_opened(read: Read) -> None:
    inside = helper.make_function(
        "mine",
        "Twice",
        ["a", "b"],
        ["c"],
        [helper.make_node("MatMul", ["a", "b"], ["t"]), helper.make_node("MatMul", ["t", "b"], ["c"])],
        [helper.make_opsetid("", OPSET)],
    )
    node = helper.make_node("Twice", ["x", "w"], ["y"], domain="mine")
    inputs = [tensor("x", (3, 4)), tensor("w", (4, 4))]
    found = read(model([node], inputs, opsets={"": OPSET, "mine": 1}, functions=[inside]))
    assert [w.count for w in found.workloads] == [2]
    assert not found.skipped


def test_element_sizes(read: Read) -> None:
    node = helper.make_node("MatMul", ["a", "b"], ["c"])
    half = TensorProto.FLOAT16
    operands = [tensor("a", (2, 3), half), tensor("b", (3, 4), half)]
    found = one(read(model([node], operands, outputs=[tensor("c", None, half)])))
    assert [t.bytes for t in found.tensors] == [2, 2, 2]


def test_dynamic_dims_are_named_and_can_be_given(read: Read) -> None:
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    made = model([node], [tensor("x", ("batch", 3))], [weights("w", (3, 4))])
    with pytest.raises(InputError, match=r"dynamic dims batch \(x\[0\]\).*--dim batch=1"):
        read(made)
    assert one(read(made, batch=5)).extents == {"i": 5, "j": 4, "k": 3}
    with pytest.raises(InputError, match="no input has a dynamic dim rows"):
        read(made, batch=5, rows=2)
    with pytest.raises(InputError, match="dim batch is 0"):
        read(made, batch=0)


def test_unnamed_dynamic_dims_go_by_their_place(read: Read) -> None:
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    made = model([node], [tensor("x", (None, 3))], [weights("w", (3, 4))])
    with pytest.raises(InputError, match=r"--dim x\[0\]=1"):
        read(made)
    assert one(read(made, **{"x[0]": 7})).extents["i"] == 7


def test_shapes_that_depend_on_data_are_an_error(read: Read) -> None:
    nodes = [helper.make_node("NonZero", ["x"], ["n"]), helper.make_node("Cast", ["n"], ["f"], to=FLOAT)]
    nodes.append(helper.make_node("MatMul", ["f", "w"], ["y"], name="late"))
    made = model(nodes, [tensor("x", (4, 4)), tensor("w", (9, 2))])
    with pytest.raises(InputError, match=r"MatMul 'late': dim 1 .*of input A 'f' is not known"):
        read(made)


@pytest.mark.parametrize("opset", [11, 13, 17])
def test_shapes_computed_in_the_graph_are_followed(read: Read, opset: int) -> None:
    def numbers(name: str, values: list[int] | int) -> onnx.TensorProto:
        return onnx.numpy_helper.from_array(np.array(values, np.int64), name)

    unsqueeze = (
        helper.make_node("Unsqueeze", ["n"], ["n1"], axes=[0])
        if opset < 13
        else helper.make_node("Unsqueeze", ["n", "first"], ["n1"])
    )
    nodes = [
        helper.make_node("Shape", ["x"], ["all"]),
        helper.make_node("Gather", ["all", "zero"], ["n"]),
        unsqueeze,
        helper.make_node("Concat", ["n1", "rest"], ["shape"], axis=0),
        helper.make_node("Reshape", ["x", "shape"], ["heads"]),
        helper.make_node("MatMul", ["heads", "w"], ["y"], name="late"),
    ]
    constants = [numbers("zero", 0), numbers("rest", [16, 4, 8]), numbers("first", [0]), weights("w", (8, 5))]
    made = model(nodes, [tensor("x", ("batch", 16, 32))], constants, opsets={"": opset})
    found = one(read(made, batch=2))
    assert (found.name, found.extents) == ("late", {"i": 2 * 16 * 4, "j": 5, "k": 8})


def test_contradicting_shapes(read: Read) -> None:
    with pytest.raises(InputError, match=r"net\.onnx: (shapes cannot be inferred|MatMul)"):
        product(read, (4, 5), (6, 7))
    with pytest.raises(InputError, match=r"net\.onnx: (shapes cannot be inferred|Conv)"):
        conv(read, (1, 5, 6, 6), (4, 2, 3, 3), group=2)


def test_an_empty_tensor_computes_nothing(read: Read) -> None:
    node = helper.make_node("MatMul", ["a", "b"], ["c"])
    found = read(model([node], [tensor("a", (3, 5))], [weights("b", (5, 0))]))
    assert not found.workloads
    assert [entry.operator for entry in found.skipped] == ["MatMul"]


@pytest.mark.parametrize("content", [b"", b"\x00\x01nonsense", b"workloads: {}\n"])
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "bad.onnx"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"bad\.onnx: not an ONNX model"):
        import_model(path)
    with pytest.raises(InputError, match="no such file"):
        import_model(tmp_path / "none.onnx")
    with pytest.raises(InputError, match="cannot be read"):
        import_model(tmp_path)


def test_the_written_file_holds_the_same_workloads(read: Read, tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["y"], name="c1", group=2, strides=[2, 2]),
        helper.make_node("Relu", ["y"], ["z"]),
    ]
    found = read(model(nodes, [tensor("x", (1, 4, 9, 9))], [weights("w", (6, 2, 3, 3))]))
    path = tmp_path / "net.yaml"
    path.write_text(workloads_yaml(found), encoding="utf-8")
    again = read_workloads(path)["c1"]
    assert (again.name, again.count) == ("net/c1", 1)
    assert (again.expression, again.sizes) == (found.workloads[0].expression, found.workloads[0].sizes)
    assert "Skipped: 1 x Relu" in path.read_text(encoding="utf-8")


def walked(workload: Workload, arrays: dict[str, np.ndarray], shape: Sequence[int]) -> np.ndarray:
    """The statement of a workload, executed point by point on arrays without padding."""
    out = np.zeros(shape)
    dims = workload.dims
    for point in np.ndindex(*workload.extents.values()):
        at = dict(zip(dims, point, strict=True))
        value = 1.0
        for tensor_ in workload.inputs:
            value *= arrays[tensor_.name][tuple(sum(c * at[d] for d, c in axis.terms) for axis in tensor_.axes)]
        out[tuple(sum(c * at[d] for d, c in axis.terms) for axis in workload.output.axes)] += value
    return out


# The evaluator of ONNX cannot do transposed convolutions with groups.
KINDS = [("Conv", 1), ("Conv", 2), ("ConvTranspose", 1)]


@pytest.mark.parametrize(("kind", "groups"), KINDS)
@settings(max_examples=8, deadline=None, derandomize=True)
@given(
    window=st.sampled_from([(1, 1, 1), (1, 1, 2), (1, 2, 2), (2, 1, 2), (2, 2, 2), (2, 1, 1)]), seed=st.integers(0, 9)
)
def test_statements_compute_what_onnx_computes(
    tmp_path_factory: pytest.TempPathFactory, kind: str, groups: int, window: tuple[int, int, int], seed: int
) -> None:
    """The walked statement equals the result of the reference evaluator of ONNX (no padding)."""
    stride, dilation, taps = window
    random = np.random.default_rng(seed)
    x = random.integers(-3, 4, (1, 4, 4, 3)).astype(np.float32)
    w_shape = (6, 4 // groups, taps, taps) if kind == "Conv" else (4, 6 // groups, taps, taps)
    w = random.integers(-3, 4, w_shape).astype(np.float32)
    node = helper.make_node(
        kind, ["x", "w"], ["y"], strides=[stride] * 2, dilations=[dilation] * 2, group=groups, kernel_shape=[taps] * 2
    )
    made = model([node], [tensor("x", x.shape), tensor("w", w.shape)])
    path = tmp_path_factory.mktemp("m") / "m.onnx"
    onnx.save(made, str(path))
    workload = one(import_model(path))
    expected = ReferenceEvaluator(made).run(None, {"x": x, "w": w})[0]
    if groups > 1:
        sides = {"In": (1, groups, 4 // groups, 4, 3)}
        first, second = (6, 4) if kind == "Conv" else (4, 6)
        sides["Ker"] = (groups, first // groups, second // groups, taps, taps)
        shape = (1, groups, 6 // groups, *expected.shape[2:])
    else:
        sides, shape = {"In": x.shape, "Ker": w.shape}, expected.shape
    arrays = {"In": x.reshape(sides["In"]), "Ker": w.reshape(sides["Ker"])}
    assert np.array_equal(walked(workload, arrays, shape).reshape(expected.shape), expected)


@pytest.mark.parametrize(
    ("kind", "bits"),
    [
        ("FLOAT", 32),
        ("DOUBLE", 64),
        ("FLOAT16", 16),
        ("BFLOAT16", 16),
        ("FLOAT8E4M3FN", 8),
        ("FLOAT8E5M2FNUZ", 8),
        ("FLOAT4E2M1", 4),
        ("INT8", 8),
        ("INT4", 4),
        ("UINT4", 4),
        ("UINT16", 16),
        ("BOOL", 8),
        ("COMPLEX64", 64),
    ],
)
def test_element_types_have_their_bits(kind: str, bits: int) -> None:
    assert _element_bits(onnx, TensorProto.DataType.Value(kind)) == bits


def test_mixed_types_survive_as_yaml(read: Read, tmp_path: Path) -> None:
    node = helper.make_node("MatMul", ["a", "b"], ["c"])
    kinds = [tensor("a", (2, 3), TensorProto.FLOAT16), tensor("b", (3, 4), TensorProto.FLOAT16)]
    made = read(model([node], kinds, outputs=[tensor("c", (2, 4), TensorProto.FLOAT16)]))
    (found,) = made.workloads
    small = found.with_accesses([found.output, found.inputs[0], replace(found.inputs[1], bits=4)])
    path = tmp_path / "model.yaml"
    path.write_text(workloads_yaml(replace(made, workloads=(small,))))
    assert [[t.bits for t in again.tensors] for again in read_workloads(path).values()] == [[16, 16, 4]]
