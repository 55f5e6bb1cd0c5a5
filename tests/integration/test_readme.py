"""What the README says can be typed."""

from __future__ import annotations

import os
import re
import shlex
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "docs"))

from making.blocks import blocks  # noqa: E402 - from docs
from making.stage import START_OF_README  # noqa: E402

README = (ROOT / "README.md").read_text(encoding="utf-8")
MOST_LINES = 150


def test_two_commands_do_everything_and_ci_runs_the_second() -> None:
    first, second = (block.code.strip() for block in list(blocks(README))[:2])
    assert first.startswith(
        "python3 -m venv .venv && .venv/bin/pip install -c constraints.txt . && .venv/bin/optmap solve "
    )
    assert second.startswith(".venv/bin/pip install --no-compile -c constraints.txt '.[test]' && ")
    assert "\n" not in first + second
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert second in script.splitlines()
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


def test_it_is_short_and_names_files_that_are_there() -> None:
    assert len(README.splitlines()) <= MOST_LINES
    linked = re.findall(r"\]\(([^)#:]+)\)", README)
    assert len(linked) >= 10
    assert not [name for name in linked if not (ROOT / name).exists()]


def test_every_command_of_the_table_runs(optmap, tmp_path: Path) -> None:
    """Those that end soon; the others are on pages whose examples are run."""
    table = README.split("## What to type")[1].split("## ")[0]
    commands = [line for line in re.findall(r"`(optmap [^`]+)`", table) if not line.startswith(LONG)]
    assert len(commands) > 5
    for line in commands:
        assert optmap(*shlex.split(line)[1:], cwd=tmp_path).out


def test_the_example_is_run_with_the_pages() -> None:
    example = README[README.index(START_OF_README) :]
    assert "--plot figures" in next(blocks(example)).code
    assert "docs/pictures/r9.png" in example


LONG = (
    "optmap network ",
    "optmap curve ",
    "optmap compare ",
    "optmap import ",
    "optmap detect ",
    "optmap run ",
    "optmap solve resnet18/R11",
)
"""What takes seconds, or reads a file that is nowhere here."""
