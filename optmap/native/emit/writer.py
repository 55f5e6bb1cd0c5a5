"""Text of C: lines and blocks, indented."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager

STEP = "  "
"""Indentation of one block; nests are deep."""


class Writer:
    """Collects the lines of a C file or of a part of one."""

    def __init__(self, depth: int = 0) -> None:
        self._lines: list[str] = []
        self._depth = depth

    def line(self, text: str = "") -> None:
        """One line at the depth of the current block; labels and directives of the preprocessor at none."""
        self._lines.append(text if not text or text.startswith("#") else STEP * self._depth + text)

    def lines(self, *texts: str) -> None:
        """Several lines; each text may hold line ends."""
        for text in texts:
            for line in text.splitlines():
                self.line(line)

    def comment(self, *texts: str) -> None:
        """A comment over one or more lines."""
        safe = [text.replace("*/", "* /").replace("/*", "/ *") for text in texts]
        for number, text in enumerate(safe):
            start = "/* " if number == 0 else " * "
            self.line(f"{start}{text}{' */' if number == len(safe) - 1 else ''}".rstrip())

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """`head { ... }` around what is written inside."""
        self.line(f"{head} {{".lstrip())
        self._depth += 1
        yield
        self._depth -= 1
        self.line("}")

    @contextmanager
    def blocks(self, heads: Iterable[str]) -> Iterator[None]:
        """Blocks inside each other, outermost first."""
        with ExitStack() as stack:
            for head in heads:
                stack.enter_context(self.block(head))
            yield

    def text(self) -> str:
        """All lines."""
        return "".join(f"{line}\n" for line in self._lines)
