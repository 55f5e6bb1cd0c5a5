"""Questions as they are typed at the shell, and what optmap answers to them.

A file of `questions/` has a question per line: what is typed after `optmap`, or several commands with ` && ` between
them. They run in an empty folder beside `hosts`, `records`, `documents` and `inputs`. Two commands are of this script:
`cat FILE` shows a text that a command wrote, `rows FOLDER` the rows of a sweep. A comment at the end of a line has
marks:

    sample       is in the test suite, too
    process      runs in a process of its own, as from a shell
    within 1e-6  how far numbers may be apart, relatively; the reason stands above
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BESIDE = {
    "hosts": ROOT / "tests" / "data" / "hosts",
    "records": ROOT / "tests" / "data",
    "documents": ROOT / "tests" / "data" / "documents",
    "inputs": HERE / "inputs",
}
"""Folders that questions find where they run."""
COLUMNS = "100"
"""Width of the terminal that help and messages are wrapped for."""
os.environ["OPTMAP_COLUMNS"] = "0"  # answers as they are, whatever the page
WITHIN = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A line of a file of questions."""

    group: str
    """Name of the file."""
    text: str
    """What is typed."""
    sample: bool = False
    process: bool = False
    within: float = WITHIN
    """How far numbers of the answer may be apart, relatively."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What one command left behind."""

    code: int
    out: str
    err: str


def questions(only: str = "") -> list[Question]:
    """All questions in which the regular expression `only` is found; `GROUP: TEXT` is searched."""
    found = [each for file in sorted((HERE / "questions").glob("*.txt")) for each in _of_file(file)]
    if repeated := {each.text for each in found if sum(each.text == other.text for other in found) > 1}:
        raise SystemExit(f"asked twice: {sorted(repeated)}")
    return [each for each in found if re.search(only, f"{each.group}: {each.text}")]


def _of_file(file: Path) -> Iterator[Question]:
    for line in file.read_text(encoding="utf-8").splitlines():
        text, _, marks = line.partition("  # ")
        if not text.strip() or text.startswith("#"):
            continue
        within = re.search(r"within (\S+)", marks)
        yield Question(
            group=file.stem,
            text=text.strip(),
            sample="sample" in marks,
            process="process" in marks,
            within=float(within[1]) if within else WITHIN,
        )


def ask(question: Question, jobs: int = 2) -> list[Said]:
    """What the commands of a question say, in a folder of their own.

    Args:
        question: the question.
        jobs: number that stands for `{jobs}`: what is answered does not depend on it.
    """
    with tempfile.TemporaryDirectory() as name:
        return run_in(Path(name), question, jobs)


def run_in(folder: Path, question: Question, jobs: int) -> list[Said]:
    """What the commands of a question say, run in a folder; after one that fails the others are not run."""
    said: list[Said] = []
    for link, target in BESIDE.items():
        (folder / link).symlink_to(target)
    for command in question.text.replace("{jobs}", str(jobs)).split(" && "):
        said.append(_run(shlex.split(command), folder, process=question.process))
        if said[-1].code:
            break
    return said


def _run(args: list[str], folder: Path, *, process: bool) -> Said:
    if args[0] in HERE_ONLY:
        try:
            return Said(code=0, out=HERE_ONLY[args[0]](folder / args[1]), err="")
        except FileNotFoundError:
            there = sorted(str(path.relative_to(folder)) for path in (folder / args[1]).parent.glob("*"))
            return Said(code=2, out="", err=f"{args[1]} is not there, but {', '.join(there)}")
    return _in_a_process(args, folder) if process else _in_this_one(args, folder)


def _in_a_process(args: list[str], folder: Path) -> Said:
    env = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": COLUMNS}
    command = [sys.executable, "-m", "optmap", *args]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    return Said(code=done.returncode, out=done.stdout, err=done.stderr)


def _in_this_one(args: list[str], folder: Path) -> Said:
    from optmap.cli import main

    out, err = io.StringIO(), io.StringIO()
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = COLUMNS
    try:
        with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(args)
    finally:
        del os.environ["COLUMNS"]
        os.environ |= {} if before is None else {"COLUMNS": before}
    return Said(code=code, out=out.getvalue(), err=err.getvalue())


def _rows(folder: Path) -> str:
    """The rows of a sweep as one JSON document."""
    import optmap

    rows: Any = optmap.read_sweep(folder)
    return f'{{"rows": {rows.to_json(orient="records", double_precision=15)}}}'


HERE_ONLY = {"cat": lambda file: file.read_text(encoding="utf-8"), "rows": _rows}
