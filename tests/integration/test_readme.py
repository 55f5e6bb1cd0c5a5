"""What the README says can be typed."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import onnx
import pytest
from cases import Run
from onnx import TensorProto, helper

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def test_two_commands_do_everything_and_ci_runs_the_second() -> None:
    first, second = (block.strip() for block in blocks("sh")[:2])
    assert first.startswith(
        "python3 -m venv .venv && .venv/bin/pip install -c constraints.txt . && .venv/bin/optmap solve "
    )
    assert second.startswith(".venv/bin/pip install -c constraints.txt '.[test]' && ")
    assert "\n" not in first + second
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert second in script.splitlines()
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


def save_model(path: Path) -> None:
    """The ONNX file that an example reads: one convolution."""
    image = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])
    weights = helper.make_tensor_value_info("w", TensorProto.FLOAT, [4, 3, 3, 3])
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4, 6, 6])
    node = helper.make_node("Conv", ["x", "w"], ["y"], name="conv")
    graph = helper.make_graph([node], "one", [image, weights], [result])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)


LONG = (
    "optmap sweep yolo_caches -o",
    "optmap plot yolo-caches",
    "optmap network resnet18 --machine i7-9700k",
    "optmap race ",
    "optmap compare yolo9000/Y9 ",
)
"""What takes seconds, has tests of its own and nothing else builds on; for the longer run."""


def test_examples_run(optmap, tmp_path: Path) -> None:
    save_model(tmp_path / "model.onnx")
    shutil.copy(ROOT / "tests" / "data" / "timeloop_conformance.json", tmp_path / "records.json")
    lines = [line for block in blocks("sh") for line in block.splitlines() if line.startswith("optmap ")]
    assert len(lines) >= 9
    assert all(any(line.startswith(long) for line in lines) for long in LONG)
    for line in lines if Run.longer else [line for line in lines if not line.startswith(LONG)]:
        assert optmap(*shlex.split(line, comments=True)[1:], cwd=tmp_path).out


@pytest.mark.parametrize(
    ("number", "said"),
    [(1, "above the relaxation by"), (2, "certificate"), (3, "permutation"), (4, "with narrow tiles")],
    ids=str,
)
def test_python_examples_run_with_one_import(number: int, said: str, tmp_path: Path) -> None:
    examples = blocks("python")
    assert len(examples) == 7  # the last two have tests of their own
    example = examples[number]
    pyomo = ["import pyomo.environ as pyo"] if "pyo." in example else []
    assert re.findall(r"^\s*(?:import|from) .*", example, flags=re.MULTILINE) == ["import optmap", *pyomo]
    assert said in _printed(example, tmp_path)


def test_the_example_of_a_counting_of_ones_own_runs(tmp_path: Path) -> None:
    assert "counting doubled" in _printed(blocks("python")[0], tmp_path)


def _printed(example: str, folder: Path) -> str:
    """What an example prints that is run from a folder, where it ends well."""
    file = folder / "example.py"
    file.write_text(example, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(file)],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_folders_named_exist() -> None:
    table = README.split("## Where things are")[1].split("## ")[0]
    named = re.findall(r"`([a-z_./]+)`", table)
    assert len(named) >= 12
    for name in named:
        assert (ROOT / name).exists(), name
