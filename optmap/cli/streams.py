"""The streams of the process: stdout that tells when it cannot be written, whatever a command writes with."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any, TextIO, TypeVar

CLOSED = "it is closed"
Made = TypeVar("Made")


class OutputError(Exception):
    """Stdout cannot be written: a full disk, or nobody there to read.

    No `OptmapError`: there is nothing that a command could do about it, nor a document that could tell it.
    """

    exit_code = 1


class Output:
    """Stdout of a command: like the stream it writes to, but a failure has a type of its own.

    Args:
        stream: what it writes to; None if the process was started without.
    """

    def __init__(self, stream: TextIO | None) -> None:
        self._stream: TextIO = io.StringIO() if stream is None else stream
        self._broken = "" if stream is not None else CLOSED
        """Why nothing can be written; empty if it can."""
        self._lost = False
        """Whether something was not written."""
        self._over = False
        """Whether the command has ended: what outlives it, as a handler of a library's log, is not told any more."""

    def write(self, text: str) -> int:
        """Write text.

        Raises:
            OutputError: if that is not possible, or was not before.
        """
        if self._broken:
            self._lost = self._lost or bool(text)
        self._complain()
        return self._attempt(lambda: self._stream.write(text))

    def flush(self) -> None:
        """Hand over what was written.

        Raises:
            OutputError: if that is not possible, or was not before.
        """
        self._complain()
        self._attempt(self._stream.flush)

    def end(self) -> None:
        """Say that the command has ended, and with it anybody who could be told."""
        self._over = True

    def _attempt(self, work: Callable[[], Made]) -> Made:
        try:
            return work()
        except OSError as error:
            silence(self._stream)
            # Not once: libraries try whether a stream can be written, and take no for an answer.
            self._broken, self._lost = error.strerror or str(error), True
            raise OutputError(f"stdout: cannot be written: {self._broken}") from error

    def _complain(self) -> None:
        if self._lost and not self._over:
            raise OutputError(f"stdout: cannot be written: {self._broken}")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def silence(stream: TextIO) -> None:
    """Give what a broken stream still holds a place to go: Python would try again at its end, and complain."""
    with contextlib.suppress(OSError, ValueError):
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, stream.fileno())
        os.close(sink)
        stream.flush()


@contextlib.contextmanager
def command_streams() -> Iterator[None]:
    """Run a command with a stdout that tells when it fails, and with a stderr even if there is none."""
    before = sys.stdout, sys.stderr
    if None in before:
        _occupy()
    for stream in before:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # names of files may be no text
    sys.stdout = output = Output(before[0])
    sys.stderr = io.StringIO() if before[1] is None else before[1]
    try:
        yield
    finally:
        output.end()
        sys.stdout, sys.stderr = before


def _occupy() -> None:
    """Open what the process was started without: no file of a command may get the number of a stream."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        continue
    os.close(number)
