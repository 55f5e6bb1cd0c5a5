"""`optmap import` as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper
from typer.testing import CliRunner

from optmap.cli.app import app


@pytest.fixture(name="model")
def model_file(tmp_path: Path) -> Path:
    """Two equal convolutions with a bias and activations, then a classifier on a dynamic batch."""
    kernel = [0.0] * (4 * 4 * 9)
    nodes = [
        helper.make_node("Conv", ["x", "k0", "b0"], ["a"], name="/one/Conv", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Conv", ["b", "k1"], ["c"], name="/two/Conv", pads=[1, 1, 1, 1]),
        helper.make_node("GlobalAveragePool", ["c"], ["d"]),
        helper.make_node("Flatten", ["d"], ["e"]),
        helper.make_node("Gemm", ["e", "w"], ["y"], name="head", transB=1),
    ]
    constants = [
        helper.make_tensor("k0", TensorProto.FLOAT, (4, 4, 3, 3), kernel),
        helper.make_tensor("k1", TensorProto.FLOAT, (4, 4, 3, 3), kernel),
        helper.make_tensor("b0", TensorProto.FLOAT, (4,), [0.0] * 4),
        helper.make_tensor("w", TensorProto.FLOAT, (10, 4), [0.0] * 40),
    ]
    image = helper.make_tensor_value_info("x", TensorProto.FLOAT, ("batch", 4, 8, 8))
    out = helper.make_tensor_value_info("y", TensorProto.FLOAT, ("batch", 10))
    graph = helper.make_graph(nodes, "small", [image], [out], constants)
    path = tmp_path / "small.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), str(path))
    return path


def run(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    return result.exit_code, result.stdout, result.stderr


def test_dynamic_dim_is_named_with_the_fix(model: Path) -> None:
    code, _, message = run("import", model)
    assert code == 2
    assert "batch (x[0])" in message
    assert "--dim batch=1" in message


def test_table_and_document(model: Path) -> None:
    code, text, _ = run("import", model, "--dim", "batch=2")
    assert code == 0
    assert "one.Conv" in text
    assert "GlobalAveragePool" in text
    code, text, _ = run("import", model, "--dim", "batch=2", "--json")
    document = json.loads(text)
    assert [(w["name"], w["count"]) for w in document["workloads"]] == [("one.Conv", 2), ("head", 1)]
    assert document["operations"] == 2 * (2 * 4 * 4 * 9 * 64) + 2 * 10 * 4
    skipped = {entry["operator"]: entry for entry in document["skipped"]}
    assert set(skipped) == {"bias of Conv", "Relu", "GlobalAveragePool", "Flatten"}
    assert skipped["Relu"]["elements"] == 2 * (2 * 4 * 64)
    assert all(entry["reason"] for entry in document["skipped"])


def test_the_file_is_a_workload_file(model: Path, tmp_path: Path) -> None:
    target = tmp_path / "small.yaml"
    assert run("import", model, "--dim", "batch=1", "-o", target)[0] == 0
    code, text, _ = run("show", f"{target}/one.Conv")
    assert code == 0
    assert "2 times in its network" in text
    code, text, _ = run("solve", f"{target}/head", "--memory", "64w", "--json")
    assert code == 0
    assert json.loads(text)["workload"]["extents"] == {"i": 1, "j": 10, "k": 4}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--dim", "batch"], "write NAME=SIZE"),
        (["--dim", "batch=x"], "whole number"),
        (["--dim", "batch=1", "--dim", "batch=2"], "given twice"),
        (["--dim", "batch=1", "--dim", "rows=2"], "no input has a dynamic dim rows"),
    ],
)
def test_bad_dims(model: Path, arguments: list[str], message: str) -> None:
    code, _, text = run("import", model, *arguments)
    assert code == 2
    assert message in text


def test_not_a_model(tmp_path: Path) -> None:
    path = tmp_path / "text.onnx"
    path.write_text("not a model", encoding="utf-8")
    code, _, text = run("import", path)
    assert code == 2
    assert "not an ONNX model" in text
