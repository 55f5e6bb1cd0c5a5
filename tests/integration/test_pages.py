"""What the pages of `docs` say can be typed: everything is a command, and what the how-to pages show is run.

`python docs/build.py`, a step of `python tests/longer.py`, runs the pages that show outputs and compares them.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextvars import copy_context
from pathlib import Path
from typing import Any

import onnx
import pytest
import typer
from cases import Run, some
from onnx import TensorProto, helper

from optmap.cli.app import app

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "docs"))

from making.blocks import Block, blocks  # noqa: E402 - from docs
from making.stage import GIVEN  # noqa: E402

DOCS = ROOT / "docs"
PAGES = {
    path.relative_to(DOCS).as_posix(): path
    for path in sorted(DOCS.rglob("*.md"))
    if "_build" not in path.relative_to(DOCS).parts
}
GROUP: Any = typer.main.get_command(app)
CONTEXT = GROUP.make_context("optmap", ["list"], resilient_parsing=True)
RUN = (
    "accelerators",
    "closed-forms",
    "from-timeloop",
    "read-a-certificate",
    "run-on-this-machine",
    "search",
    "sweep",
    "what-to-type",
)
"""How-to pages whose commands are run here."""
LONG = (
    "optmap sweep yolo_caches -o",
    "optmap plot yolo-caches",
    "optmap network resnet18 --machine i7-9700k",
    "optmap race ",
    "optmap compare yolo9000/Y9 ",
)
"""What takes seconds, has tests of its own and nothing else builds on; for the longer run."""


def of(page: str) -> list[Block]:
    """The blocks of a page."""
    return list(blocks(PAGES[page].read_text(encoding="utf-8")))


def commands(code: str) -> Iterator[list[str]]:
    """What follows `optmap` in the lines of a block, up to a comment, a pipe or another command."""
    for line in code.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] == ["optmap"]:
            ends = [i for i, word in enumerate(words) if word in ("|", ">", "&&", "2>&1", "||")]
            yield words[1 : min(ends, default=len(words))]


TYPED = [
    (page, words) for page in PAGES for block in of(page) if block.language == "sh" for words in commands(block.code)
]


def test_there_are_commands_on_many_pages() -> None:
    assert len(TYPED) > 100
    assert len({page for page, _ in TYPED}) > 12


@pytest.mark.parametrize(("page", "words"), TYPED, ids=lambda each: each if isinstance(each, str) else " ".join(each))
def test_a_command_has_arguments_and_options_that_there_are(page: str, words: list[str]) -> None:
    name, *arguments = words
    command = GROUP.get_command(CONTEXT, name)
    copy_context().run(command.make_context, name, arguments, parent=CONTEXT)  # plug-ins are noted, and not for others


def save_model(path: Path) -> None:
    """The ONNX file that an example reads: one convolution."""
    image = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])
    weights = helper.make_tensor_value_info("w", TensorProto.FLOAT, [4, 3, 3, 3])
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4, 6, 6])
    node = helper.make_node("Conv", ["x", "w"], ["y"], name="conv")
    graph = helper.make_graph([node], "one", [image, weights], [result])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)


@pytest.mark.parametrize("name", some(2, RUN))
def test_examples_run(name: str, optmap, tmp_path: Path) -> None:
    save_model(tmp_path / "model.onnx")
    for file, source in GIVEN.items():
        shutil.copy(ROOT / source, tmp_path / file)
    lines = [
        line
        for block in of(f"howto/{name}.md")
        if block.language == "sh" and block.runs
        for line in block.code.splitlines()
    ]
    assert lines
    for line in lines if Run.longer else [line for line in lines if not line.startswith(LONG)]:
        assert optmap(*shlex.split(line, comments=True)[1:], cwd=tmp_path).out


def test_what_takes_long_is_on_the_pages() -> None:
    lines = [line for name in RUN for block in of(f"howto/{name}.md") for line in block.code.splitlines()]
    assert all(any(line.startswith(long) for line in lines) for long in LONG)


@pytest.mark.parametrize(
    ("number", "said"),
    some(2, [(1, "certificate"), (2, "permutation"), (0, "above the relaxation by"), (3, "with narrow tiles")]),
    ids=str,
)
def test_python_examples_run_with_one_import(number: int, said: str, tmp_path: Path) -> None:
    examples = [block.code for block in of("howto/from-python.md") if block.language == "python"]
    assert len(examples) == 4
    example = examples[number]
    pyomo = ["import pyomo.environ as pyo"] if "pyo." in example else []
    assert re.findall(r"^\s*(?:import|from) .*", example, flags=re.MULTILINE) == ["import optmap", *pyomo]
    assert said in printed(example, tmp_path)


def test_the_example_of_a_counting_of_ones_own_runs(tmp_path: Path) -> None:
    (example,) = (block.code for block in of("howto/my-own-counting.md") if block.language == "python")
    assert "counting doubled" in printed(example, tmp_path)


def printed(example: str, folder: Path) -> str:
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
    named = re.findall(r"`([a-z_./]+)`", PAGES["explanation/folders.md"].read_text(encoding="utf-8"))
    assert len(named) >= 12
    for name in named:
        assert (ROOT / name).exists(), name
