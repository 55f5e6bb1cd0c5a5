"""Nodes of ONNX graphs are read in an order that their values allow; cycles are refused with their nodes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper
from onnx_models import OPSET, model, tensor

from optmap.base.errors import InputError
from optmap.onnx_import import import_model
from optmap.onnx_import.order import put_in_order

PATH = Path("net.onnx")


def relu(name: str, reads: str, writes: str) -> onnx.NodeProto:
    return helper.make_node("Relu", [reads], [writes], name=name)


def test_a_cycle_is_refused_with_its_nodes(tmp_path: Path) -> None:
    nodes = [
        relu("before", "x", "a"),
        helper.make_node("Add", ["a", "d"], ["b"], name="join"),
        relu("back", "b", "d"),
        relu("behind", "d", "y"),
    ]
    path = tmp_path / "net.onnx"
    onnx.save(model(nodes, [tensor("x", (2, 3))]), str(path))
    with pytest.raises(InputError, match=r"net\.onnx: nodes read each other in a cycle: ") as caught:
        import_model(path)
    assert "Add 'join'" in str(caught.value)
    assert "Relu 'back'" in str(caught.value)
    assert "before" not in str(caught.value)
    assert "behind" not in str(caught.value)


@pytest.mark.parametrize("nodes", [[relu("own", "y", "y")], [relu("", "y", "y")]])
def test_a_node_that_reads_itself_is_refused(nodes: Sequence[onnx.NodeProto]) -> None:
    with pytest.raises(InputError, match=r"cycle: Relu '(own|y)'"):
        put_in_order(model(nodes, []), PATH)


def test_a_cycle_through_a_body_is_refused() -> None:
    body = helper.make_graph([relu("inside", "y", "t")], "body", [], [tensor("t", (2,))])
    other = helper.make_graph([relu("other", "x", "e")], "other", [], [tensor("e", (2,))])
    node = helper.make_node("If", ["p"], ["y"], name="choice", then_branch=body, else_branch=other)
    with pytest.raises(InputError, match="cycle: If 'choice'"):
        put_in_order(model([node], [tensor("p", (), TensorProto.BOOL), tensor("x", (2,))]), PATH)


def test_a_cycle_inside_a_body_is_refused() -> None:
    nodes = [relu("one", "b", "a"), relu("two", "a", "b")]
    body = helper.make_graph(nodes, "body", [], [tensor("b", (2,))])
    node = helper.make_node("If", ["p"], ["y"], then_branch=body, else_branch=body)
    with pytest.raises(InputError, match=r"cycle: Relu '(one|two)', Relu '(one|two)'"):
        put_in_order(model([node], [tensor("p", (), TensorProto.BOOL)]), PATH)


def test_a_body_may_hide_what_is_around_it() -> None:
    body = helper.make_graph([relu("inside", "x", "y"), relu("last", "y", "t")], "body", [], [tensor("t", (2,))])
    node = helper.make_node("If", ["p"], ["y"], then_branch=body, else_branch=body)
    put_in_order(model([node], [tensor("p", (), TensorProto.BOOL), tensor("x", (2,))]), PATH)


def test_functions_that_call_each_other_in_a_cycle_are_refused(tmp_path: Path) -> None:
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("mine", 1)]
    functions = [
        helper.make_function(
            "mine", name, ["a"], ["b"], [helper.make_node(callee, ["a"], ["b"], domain="mine")], opsets
        )
        for name, callee in (("F", "G"), ("G", "F"))
    ]
    made = model(
        [helper.make_node("F", ["x"], ["y"], domain="mine")],
        [tensor("x", (2, 3))],
        opsets={"": OPSET, "mine": 1},
        functions=functions,
    )
    path = tmp_path / "net.onnx"
    onnx.save(made, str(path))
    with pytest.raises(InputError, match=r"functions of the model call each other in a cycle: [FG], [FG]"):
        import_model(path)


def test_a_function_may_call_another_of_its_name(tmp_path: Path) -> None:
    """Functions of one name are told apart by their overloads."""
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("mine", 1)]
    inner = helper.make_node("MatMul", ["a", "a"], ["b"], name="product")
    outer = helper.make_node("F", ["a"], ["b"], domain="mine", overload="inner")
    functions = [
        helper.make_function("mine", "F", ["a"], ["b"], [body], opsets, overload=overload)
        for overload, body in (("inner", inner), ("outer", outer))
    ]
    made = model(
        [helper.make_node("F", ["x"], ["y"], domain="mine", overload="outer")],
        [tensor("x", (3, 3))],
        opsets={"": OPSET, "mine": 1},
        functions=functions,
    )
    path = tmp_path / "net.onnx"
    onnx.save(made, str(path))
    (found,) = import_model(path).workloads
    assert found.expression == "C[i,j] = A[i,k] * A[k,j]"


@pytest.mark.parametrize("nodes", [[relu("a", "x", "y"), relu("b", "x", "y")], [relu("a", "y", "x")]])
def test_a_value_that_is_written_twice_is_refused(nodes: Sequence[onnx.NodeProto]) -> None:
    with pytest.raises(InputError, match=r"Relu '[ab]' writes '[xy]', which .* has already"):
        put_in_order(model(nodes, [tensor("x", (2,))], outputs=[tensor("y", None)]), PATH)


def test_nodes_in_any_order_are_the_same_model(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("MatMul", ["h", "w"], ["y"], name="second"),
        helper.make_node("MatMul", ["x", "w"], ["h"], name="first"),
    ]
    path = tmp_path / "net.onnx"
    onnx.save(model(nodes, [tensor("x", (2, 4)), tensor("w", (4, 4))], outputs=[tensor("y", None)]), str(path))
    assert [w.names for w in import_model(path).workloads] == [("first", "second")]


@given(st.integers(1, 12), st.data())
def test_any_graph_is_sorted_or_has_the_cycle_that_is_named(count: int, data: st.DataObject) -> None:
    """Each node reads some values; without a cycle all are put behind what they read, with one it is a real one."""
    values = st.integers(0, count - 1)
    reads = data.draw(st.lists(st.lists(values, max_size=2), min_size=count, max_size=count))
    nodes = [helper.make_node("Sum", [f"v{n}" for n in own] or ["x"], [f"v{at}"]) for at, own in enumerate(reads)]
    made = model(nodes, [tensor("x", (2,))])
    reach = {at: set(own) for at, own in enumerate(reads)}
    for _ in range(count):
        reach = {at: own.union(*(reach[n] for n in own)) for at, own in reach.items()}
    if any(at in own for at, own in reach.items()):
        with pytest.raises(InputError, match="cycle") as caught:
            put_in_order(made, PATH)
        named = [
            int(part.partition("'")[2][1:-1])
            for part in str(caught.value).partition("cycle: ")[2].split(";")[0].split(", ")
        ]
        assert all(after in reads[before] for before, after in zip(named, [*named[1:], named[0]], strict=True))
    else:
        put_in_order(made, PATH)
        seen = {"x"}
        for node in made.graph.node:
            assert set(node.input) <= seen
            seen |= set(node.output)
        assert len(made.graph.node) == count
