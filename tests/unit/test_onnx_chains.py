"""Chains of two products in an ONNX graph, against what blocks of known networks are and against what elements do."""

from __future__ import annotations

from itertools import pairwise
from math import prod
from pathlib import Path

import numpy as np
import onnx
import pytest
from cases import cases
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from onnx_blocks import Graph, bert, gpt, llama, mobilenet
from onnx_models import integers, model, tensor

from optmap.onnx_import import LinkedModel, import_chains
from optmap.workloads.workload import Semantics

LARGE = "Add combines it with a tensor as large, which is no constant"
ATTENTION = "S[b,m,l] = A[b,m,k] * B[b,l,k]; C[b,m,n] = S[b,m,l] * D[b,l,n]"
PAIR = "S[m,l] = A[m,k] * B[l,k]; C[m,n] = S[m,l] * D[l,n]"
node = helper.make_node


def linked(made: onnx.ModelProto, folder: Path) -> LinkedModel:
    path = folder / "net.onnx"
    onnx.save(made, str(path))
    return import_chains(path)


def chains(found: LinkedModel) -> dict[str, tuple[str, dict[str, int], int]]:
    """Statements, extents and occurrences by the products of the first occurrence."""
    return {
        " > ".join(found.products[number] for number in each.pairs[0]): (
            each.workload.expression,
            each.workload.extents,
            len(each.pairs),
        )
        for each in found.chains
    }


def reasons(found: LinkedModel) -> dict[str, str]:
    return {found.products[each.product]: each.reason for each in found.unlinked}


def small(nodes: list[onnx.NodeProto], shape: tuple[int, ...] = (4, 3), **numbers: list[int]) -> onnx.ModelProto:
    """Nodes that read an x, with square weights w and v of three rows and more constants of whole numbers."""
    graph = Graph()
    graph.weights("w", 3, 3)
    graph.weights("v", 3, 3)
    constants = [*graph.constants.values(), *(integers(name, values) for name, values in numbers.items())]
    return model(nodes, [tensor("x", shape)], constants)


def test_a_bert_layer(tmp_path: Path) -> None:
    found = linked(bert(2, 16, 2, 4), tmp_path)
    assert chains(found) == {
        "layer.0.q > layer.0.scores": (
            "S[g,m,l] = A[m,k] * B[g,l,k]; C[g,m,n] = S[g,m,l] * D[g,l,n]",
            {"g": 2, "m": 16, "l": 4, "k": 8, "n": 16},
            4,  # keys, too
        ),
        "layer.0.v > layer.0.values": (
            "S[g,m,l] = A[l,k] * B[g,m,k]; C[g,m,n] = S[g,m,l] * D[g,l,n]",
            {"g": 2, "m": 4, "l": 16, "k": 8, "n": 16},
            2,
        ),
        "layer.0.scores > layer.0.values": (ATTENTION, {"b": 2, "m": 16, "l": 16, "k": 4, "n": 4}, 2),
        "layer.0.values > layer.0.out": (
            "S[g,m,l] = A[g,m,k] * B[g,l,k]; C[m,n] = S[g,m,l] * D[g,l,n]",
            {"g": 2, "m": 16, "l": 4, "k": 16, "n": 8},
            2,
        ),
        "layer.0.up > layer.0.down": (PAIR, {"m": 16, "l": 32, "k": 8, "n": 8}, 2),
    }
    passed = {each.layers: each.passed for each in found.chains}
    assert passed["layer.0.scores", "layer.0.values"] == ("Div", "Add", "Softmax")
    assert passed["layer.0.up", "layer.0.down"] == ("Add", "Mul", "Div", "Erf", "Add", "Mul")
    assert reasons(found) == {f"layer.{n}.{name}": LARGE for n in (0, 1) for name in ("out", "down")}
    assert {each.workload.semantics for each in found.chains} == {Semantics.ASSIGN}


def test_a_vision_transformer_has_the_same_without_a_mask(tmp_path: Path) -> None:
    found = linked(bert(1, 16, 2, 4, vit=True), tmp_path)
    assert len(found.chains) == 5
    passed = {each.layers: each.passed for each in found.chains}
    assert passed["layer.0.scores", "layer.0.values"] == ("Div", "Softmax")


def test_a_gpt_block(tmp_path: Path) -> None:
    """One projection is split into three tensors; a Gemm works on flattened tokens, between reshapes."""
    found = linked(gpt(1, 16, 2, 4), tmp_path)
    assert list(chains(found)) == ["h.0.scores > h.0.values", "h.0.values > h.0.out", "h.0.up > h.0.down"]
    assert chains(found)["h.0.scores > h.0.values"][:1] == (ATTENTION,)
    assert chains(found)["h.0.up > h.0.down"] == (PAIR, {"m": 16, "l": 32, "k": 8, "n": 8}, 1)
    assert reasons(found) == {
        "h.0.qkv": "its result goes through Split, which is not looked through",
        "h.0.out": LARGE,
        "h.0.down": LARGE,
    }


def test_a_llama_block(tmp_path: Path) -> None:
    """All queries of a group are rows of one product; rotary parts and the gate are no functions in place."""
    found = linked(llama(16, 2, 3, 4), tmp_path)
    assert list(chains(found)) == [
        "v > attention.values",
        "attention.scores > attention.values",
        "attention.values > out",
    ]
    assert chains(found)["attention.scores > attention.values"] == (
        ATTENTION,
        {"b": 2, "m": 48, "l": 16, "k": 4, "n": 4},
        1,
    )
    assert reasons(found) == {
        "q": "its result goes through Slice, which is not looked through",
        "k": "its result goes through Slice, which is not looked through",
        "out": LARGE,
        "gate": LARGE.replace("Add", "Mul"),
        "up": LARGE.replace("Add", "Mul"),
        "down": LARGE,
    }


def test_windows_are_named(tmp_path: Path) -> None:
    found = linked(mobilenet(8, 4), tmp_path)
    window = " is a Conv with windows, strides or groups; chains are of products of whole tensors"
    assert found.chains == ()
    assert reasons(found) == {
        "block.0.expand": f"what reads it{window}",
        "block.0.depthwise": f"it{window}",
        "block.0.project": LARGE,
        "block.1.expand": f"what reads it{window}",
        "block.1.depthwise": f"it{window}",
        "block.1.project": LARGE,
    }


def test_convolutions_of_one_tap_are_products(tmp_path: Path) -> None:
    graph = Graph()
    x = graph.add("Conv", "x", graph.weights("w", 6, 4, 1, 1), name="one")
    x = graph.add("Relu", x)
    graph.add("Conv", x, graph.weights("v", 5, 6, 1, 1), name="two")
    found = linked(graph.finished(tensor("x", (2, 4, 7, 7))), tmp_path)
    assert chains(found) == {
        "one > two": (
            "S[m,l] = A[m,k] * B[l,k]; C[m,n] = S[m,l] * D[l,n]",
            {"m": 98, "l": 6, "k": 4, "n": 5},
            1,
        )
    }


NO_CHAINS: dict[str, tuple[list[onnx.NodeProto], str]] = {
    "output": ([node("Relu", ["s"], ["y"])], "its result is an output of the model, which is stored in any case"),
    "twice": (
        [node("MatMul", ["s", "v"], ["y"]), node("MatMul", ["s", "w"], ["z"])],
        "its result is read by 2 products; a chain has one reader",
    ),
    "by_itself": (
        [node("Transpose", ["s"], ["t"]), node("MatMul", ["s", "t"], ["y"])],
        "its result is read by 2 products; a chain has one reader",
    ),
    "added": ([node("Gemm", ["x", "v", "s"], ["y"])], "Gemm adds it, and does not multiply by it"),
    "normalised": (
        [node("LayerNormalization", ["s", "scale"], ["t"]), node("MatMul", ["t", "v"], ["y"])],
        "its result goes through LayerNormalization, which is not looked through",
    ),
    "columns": (
        [node("Softmax", ["s"], ["t"], axis=0), node("MatMul", ["t", "v"], ["y"])],
        "a softmax goes over other dims than the second product sums over, so that it has to be complete first",
    ),
    "part_of_rows": (
        [
            node("Reshape", ["s", "cube"], ["t"]),
            node("Softmax", ["t"], ["p"], axis=-1),
            node("Reshape", ["p", "flat"], ["q"]),
            node("MatMul", ["q", "tall"], ["y"]),
        ],
        "a softmax goes over other dims than the second product sums over, so that it has to be complete first",
    ),
    "behind_a_softmax": (
        [node("Softmax", ["s"], ["t"]), node("Relu", ["t"], ["u"]), node("MatMul", ["u", "v"], ["y"])],
        "Relu follows a softmax, whose rows have to be complete before it",
    ),
    "other_order": (
        [
            node("Reshape", ["s", "cube"], ["t"]),
            node("Transpose", ["t"], ["u"], perm=[1, 0, 2]),
            node("Add", ["t", "u"], ["a"]),
            node("MatMul", ["a", "v"], ["y"]),
        ],
        "Add combines its elements with others of its own",
    ),
    "smaller": (
        [
            node("Cast", ["s"], ["t"], to=TensorProto.FLOAT16),
            node("Cast", ["v"], ["h"], to=TensorProto.FLOAT16),
            node("MatMul", ["t", "h"], ["y"]),
        ],
        "its elements have another size where they are read",
    ),
    "broadcast": (
        [node("Unsqueeze", ["s", "zero"], ["t"]), node("Add", ["t", "wide"], ["u"]), node("MatMul", ["u", "v"], ["y"])],
        "Add broadcasts it",
    ),
    "same_data": (
        [node("Reshape", ["x", "turned"], ["t"]), node("MatMul", ["s", "t"], ["y"])],
        "two operands are parts of one tensor that may overlap",
    ),
    "dead": ([node("Relu", ["s"], ["t"]), node("MatMul", ["x", "v"], ["y"])], "no product reads it"),
    "diagonal": (
        [node("Reshape", ["s", "cube"], ["t"]), node("Einsum", ["t", "v"], ["y"], equation="aab,cd->bc")],
        "not all of its elements are read, or not in an order that is followed",
    ),
    "three": (
        [node("Einsum", ["s", "v", "w"], ["y"], equation="ab,bc,cd->ad")],
        "what reads it is a product of 3 tensors; chains are of products of two",
    ),
}
"""What becomes of the product s of x and w, and why that makes no chain."""


@pytest.mark.parametrize(("nodes", "reason"), NO_CHAINS.values(), ids=NO_CHAINS)
def test_what_is_no_chain_has_its_reason(nodes: list[onnx.NodeProto], reason: str, tmp_path: Path) -> None:
    made = small(
        [node("MatMul", ["x", "w"], ["s"], name="first"), *nodes],
        turned=[3, 4],
        zero=[0],
        cube=[2, 2, 3],
        flat=[2, 6],
    )
    graph = Graph()
    graph.weights("scale", 3)
    graph.weights("wide", 2, 1, 1)
    graph.weights("tall", 6, 2)
    made.graph.initializer.extend(graph.constants.values())
    assert reasons(linked(made, tmp_path))["first"] == reason


def test_an_output_in_the_middle_stays_one(tmp_path: Path) -> None:
    nodes = [node("MatMul", ["x", "w"], ["s"], name="first"), node("Relu", ["s"], ["t"])]
    made = small([*nodes, node("MatMul", ["t", "v"], ["y"], name="second")])
    assert list(chains(linked(made, tmp_path))) == ["first > second"]
    made.graph.output.append(tensor("t", None))
    assert "is an output of the model" in reasons(linked(made, tmp_path))["first"]


def test_shapes_that_are_read_are_no_readers(tmp_path: Path) -> None:
    nodes = [node("MatMul", ["x", "w"], ["s"], name="first"), node("Shape", ["s"], ["n"])]
    nodes += [node("Reshape", ["s", "n"], ["t"]), node("MatMul", ["t", "v"], ["y"], name="second")]
    assert list(chains(linked(small(nodes), tmp_path))) == ["first > second"]


def test_a_body_that_reads_it_is_a_reader(tmp_path: Path) -> None:
    body = helper.make_graph([node("Identity", ["s"], ["i"])], "body", [], [tensor("i", None)])
    nodes = [node("MatMul", ["x", "w"], ["s"], name="first"), node("MatMul", ["s", "v"], ["y"])]
    nodes.append(node("If", ["flag"], ["z"], then_branch=body, else_branch=body))
    made = small(nodes)
    made.graph.input.append(tensor("flag", (), TensorProto.BOOL))
    made.graph.output.append(tensor("y", None))
    assert reasons(linked(made, tmp_path))["first"] == "its result goes through If, which is not looked through"


@pytest.mark.parametrize(("fill", "found"), [(0.0, True), (1.0, False), (0.5, False)])
def test_rows_without_a_number_may_be_zero(fill: float, found: bool, tmp_path: Path) -> None:
    nodes = [
        node("MatMul", ["x", "w"], ["s"], name="first"),
        node("Softmax", ["s"], ["p"], axis=-1),
        node("IsNaN", ["p"], ["none"]),
        node("Where", ["none", "fill", "p"], ["q"]),
        node("MatMul", ["q", "v"], ["y"]),
    ]
    made = small(nodes)
    made.graph.initializer.append(helper.make_tensor("fill", TensorProto.FLOAT, (), [fill]))
    assert bool(linked(made, tmp_path).chains) is found


@pytest.mark.parametrize(("opset", "axis", "found"), [(17, None, True), (12, None, False), (12, -1, True)])
def test_older_softmaxes_go_over_all_axes_behind(opset: int, axis: int | None, found: bool, tmp_path: Path) -> None:
    attributes = {} if axis is None else {"axis": axis}
    nodes = [node("MatMul", ["x", "w"], ["s"], name="first"), node("Softmax", ["s"], ["p"], **attributes)]
    made = small([*nodes, node("MatMul", ["p", "v"], ["y"])], (2, 4, 3))
    made.opset_import[0].version = opset
    assert bool(linked(made, tmp_path).chains) is found


@pytest.mark.parametrize(("places", "found"), [((0, 2), True), ((0, 0), False)])
def test_parts_of_one_tensor_are_told_apart(places: tuple[int, int], found: bool, tmp_path: Path) -> None:
    """Queries, keys and values that are gathered from one projection."""
    nodes = [
        node("Gather", ["x", f"at_{number}"], [f"part_{number}"], axis=0) for number in dict.fromkeys((*places, 1))
    ]
    nodes += [
        node("Transpose", ["part_1"], ["k"], perm=[1, 0]),
        node("MatMul", [f"part_{places[0]}", "k"], ["s"], name="scores"),
        node("MatMul", ["s", f"part_{places[1]}"], ["y"]),
    ]
    made = model(nodes, [tensor("x", (3, 4, 3))], [integers(f"at_{number}", number) for number in range(3)])
    assert bool(linked(made, tmp_path).chains) is found


@st.composite
def paths(draw: st.DrawFn) -> tuple[list[int], list[int], list[int], bool]:
    """Digits of the intermediate, their order where it is read, which of them are one axis there, and on which side."""
    order = draw(st.permutations(range(5)))
    ends = sorted(draw(st.sets(st.integers(1, 4), min_size=1, max_size=2)))
    return [2, 2, 3, 2, 2], order, ends, draw(st.booleans())


@given(path=paths())
@settings(max_examples=cases(12, 60))
def test_dims_are_those_along_which_elements_depend(
    path: tuple[list[int], list[int], list[int], bool], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Of random reshapes and transposes: which elements an operand's elements reach, counted one by one."""
    digits, order, ends, turned = path
    shape = [prod(digits[place] for place in order[low:high]) for low, high in pairwise([0, *ends, 5])]
    other = [*shape[:-2], 3, shape[-2]] if turned else [*shape[:-2], shape[-1], 3]
    nodes = [
        node("MatMul", ["a", "b"], ["s"], name="first"),
        node("Reshape", ["s", "digits"], ["d5"]),
        node("Transpose", ["d5"], ["t5"], perm=list(order)),
        node("Reshape", ["t5", "shape"], ["t"]),
        node("MatMul", ["d", "t"] if turned else ["t", "d"], ["c"], name="second"),
    ]
    inputs = {"a": [2, 6, 2], "b": [2, 4], "d": other}
    made = model(
        nodes,
        [tensor(name, size) for name, size in inputs.items()],
        [integers("digits", digits), integers("shape", shape)],
    )
    found = linked(made, tmp_path_factory.mktemp("path"))
    (chain,) = found.chains
    workload = chain.workload
    assert workload.operations == sum(each.operations for each in found.model.workloads for _ in range(each.count))
    run = ReferenceEvaluator(made)
    values = {name: np.random.default_rng(0).random(size, np.float32) + 1 for name, size in inputs.items()}
    whole = run.run(None, values)[0]
    dims = {access.name.lower(): set(access.dims) for access in workload.accesses}
    for name, value in values.items():
        reached = 0
        for place in np.ndindex(*value.shape):
            changed = value.copy()
            changed[place] += 1
            reached += int((run.run(None, {**values, name: changed})[0] != whole).sum())
        assert reached == prod(workload.extents[dim] for dim in dims[name] | dims["c"])
        assert value.size == prod(workload.extents[dim] for dim in dims[name])
