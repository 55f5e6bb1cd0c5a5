"""The code blocks of a page: which there are, how they are run, and whether what the page shows is what they print.

What stands behind the language of a block says what is done with it:

    ```sh                    commands; all are run, in the folder of the page
    ```sh exit=3             they end with this code
    ```sh longer             they take long: only `python tests/longer.py` runs them
    ```sh shown              they are not run: they measure, need a cluster, or something else that is not everywhere
    ```python                a program, run as a file of its own
    ```yaml file=mine.yaml   a file, written into the folder of the page

A ```text block right behind one that is run is what that prints. There `[...]` stands for what is left out or differs
from run to run: whole lines, where it stands on a line of its own, and else the rest of its line up to what follows.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

LEFT_OUT = "[...]"
FENCE = re.compile(r"^(`{3,})([^`\n]*)\n(.*?)^\1[ \t]*$", re.MULTILINE | re.DOTALL)
RUN = ("sh", "python")
"""Languages of blocks that are run."""
MASKS = (
    (re.compile(r"^(time {2,}).*$", re.MULTILINE), rf"\1{LEFT_OUT}"),
    (re.compile(r"(?<![\w.,=])\d+(?:,\d{3})*(?:\.\d+)?(?:e-\d+)? (?=(?:ms|s|seconds|per second)\b)"), f"{LEFT_OUT} "),
    (re.compile(r"\boptmap \d+\.\d+\.\d+\b"), f"optmap {LEFT_OUT}"),
)
"""What differs from run to run, and what is shown in its place."""
TIMEOUT_S = 600
"""Of one block."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A fenced block of a page."""

    language: str
    words: tuple[str, ...]
    """What stands behind the language."""
    code: str
    line: int
    """Of the fence, from 1."""
    span: tuple[int, int]
    """Where its code begins and ends in the text of the page."""
    ends: int
    """Where the block ends in the text of the page."""

    @property
    def file(self) -> str:
        """The file that it is written to, or nothing."""
        return self._said("file=", "")

    @property
    def code_expected(self) -> int:
        """The exit code that it ends with."""
        return int(self._said("exit=", "0"))

    def _said(self, start: str, otherwise: str) -> str:
        return next((word.removeprefix(start) for word in self.words if word.startswith(start)), otherwise)

    @property
    def runs(self) -> bool:
        """Whether it is run with the page."""
        return self.language in RUN and not self.file and not {"longer", "shown"} & set(self.words)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """A block that was run, beside what the page shows of it."""

    block: Block
    shown: Block | None
    """The block with its output; None if the page shows none."""
    said: str
    """What it printed, with masks."""
    code: int
    error: str
    """What it printed to stderr."""

    @property
    def ended_well(self) -> bool:
        """Whether it ended with the code that the page says."""
        return self.code == self.block.code_expected

    @property
    def stale(self) -> bool:
        """Whether the page shows something else than it printed."""
        return self.shown is not None and not matches(self.shown.code, self.said)


def blocks(text: str) -> Iterator[Block]:
    """The fenced blocks of a page, in order; those of MyST's directives have a language that begins with a brace."""
    return map(block_of, FENCE.finditer(text))


def block_of(found: re.Match[str]) -> Block:
    """A block of a page, as `FENCE` found it."""
    language, *words = found[2].split() or [""]
    return Block(
        language=language,
        words=tuple(words),
        code=found[3],
        line=found.string.count("\n", 0, found.start()) + 1,
        span=found.span(3),
        ends=found.end(),
    )


def with_outputs(text: str) -> Iterator[tuple[Block, Block | None]]:
    """Every block but outputs, with the output that the page shows of it."""
    output = None
    for one, two in pairwise([*blocks(text), None]):
        if one is None or one is output:
            continue
        between = "" if two is None else text[one.ends : two.span[0]].split("```", maxsplit=1)[0]
        output = two if one.runs and two is not None and two.language == "text" and not between.strip() else None
        yield one, output


def shows_output(text: str) -> bool:
    """Whether a page shows what one of its blocks prints or draws, so that whoever builds the site runs it."""
    pictures = re.search(r"!\[[^\]]*\]\((?!https?:)", text)
    return any(shown is not None for _, shown in with_outputs(text)) or bool(
        pictures and any(block.runs for block in blocks(text))
    )


def run_page(text: str, folder: Path, environment: Mapping[str, str], python: str) -> Iterator[Ran]:
    """Run the blocks of a page one after the other, in one folder.

    Args:
        text: of the page.
        folder: where its files are; there already.
        environment: of the commands.
        python: the interpreter of programs.
    """
    for block, shown in with_outputs(text):
        if block.file:
            (folder / block.file).write_text(block.code, encoding="utf-8")
        elif block.runs:
            done = subprocess.run(
                _command(block, folder, python),
                capture_output=True,
                text=True,
                cwd=folder,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                timeout=TIMEOUT_S,
                check=False,
            )
            yield Ran(block=block, shown=shown, said=masked(done.stdout), code=done.returncode, error=done.stderr)


def _command(block: Block, folder: Path, python: str) -> Sequence[str]:
    if block.language == "python":
        file = folder / "example.py"
        file.write_text(block.code, encoding="utf-8")
        return [python, file.name]
    return ["bash", "-e", "-o", "pipefail", "-c", block.code]


def masked(said: str) -> str:
    """What was printed, without what differs from run to run and blanks at the ends of lines."""
    for pattern, shown in MASKS:
        said = pattern.sub(shown, said)
    lines = [line.rstrip() for line in said.rstrip().splitlines()]
    return "".join(f"{line}\n" for line in lines)


def matches(shown: str, said: str) -> bool:
    """Whether an output is what a page shows of it, up to what the page leaves out."""
    lines = [
        "(?:.*\n)*?" if line == f"{LEFT_OUT}\n" else ".*?".join(map(re.escape, line.split(LEFT_OUT)))
        for line in shown.splitlines(keepends=True)
    ]
    return re.fullmatch("".join(lines), said) is not None


def renewed(shown: str, said: str) -> str:
    """What a page shows from now on: what was said, with the lines left out that were left out before."""
    if matches(shown, said):
        return shown
    parts = [part.splitlines() for part in re.split(rf"(?m)^{re.escape(LEFT_OUT)}\n", shown)]
    if len(parts) == 1:
        return said
    lines, at, kept = said.splitlines(), 0, []
    for number, part in enumerate(parts):
        if number:
            kept.append(LEFT_OUT)
        if not part:
            continue
        begin = _found(part[0], lines, at) if number else 0
        end = _found(part[-1], lines, begin) if begin is not None and number < len(parts) - 1 else len(lines) - 1
        if begin is None or end is None:
            return said
        kept += lines[begin : end + 1]
        at = end + 1
    return "".join(f"{line}\n" for line in kept)


def _found(line: str, lines: Sequence[str], start: int) -> int | None:
    """Where a line stands, from a place on; numbers in it may have changed."""

    def words(text: str) -> list[str]:
        return re.sub(r"[\d.,%]+", "", text).split()

    return next((i for i in range(start, len(lines)) if words(lines[i]) == words(line)), None)


def updated(text: str, ran: Sequence[Ran]) -> str:
    """The text of a page with the outputs of its blocks."""
    for each in reversed([one for one in ran if one.stale and one.ended_well]):
        assert each.shown is not None
        begin, end = each.shown.span
        text = text[:begin] + renewed(each.shown.code, each.said) + text[end:]
    return text
