"""What the terminal sees: documents on stdout, messages and progress on stderr, exit codes."""

from __future__ import annotations

import functools
import os
import sys
import threading
import time
from collections.abc import Callable
from contextvars import ContextVar
from types import TracebackType
from typing import ParamSpec

import typer

from optmap.errors import OptmapError

Parameters = ParamSpec("Parameters")

PATIENCE_S = 2.0
"""Work that takes longer than this reports progress, in seconds."""
REFRESH_S = 0.25
"""How often progress is redrawn, in seconds."""
INTERRUPTED = 130


_SAID: ContextVar[bool] = ContextVar("said", default=False)
"""Whether the running command has written its answer."""


def say(text: str) -> None:
    """Write text to stdout, ending in exactly one newline."""
    _SAID.set(True)
    sys.stdout.write(text.rstrip("\n") + "\n")


def complain(message: str) -> None:
    """Write an error message to stderr; what a file put into it cannot steer the terminal."""
    sys.stderr.write(f"error: {printable(message)}\n")


def printable(text: str) -> str:
    """The text with everything but line ends that does not print written as its code point."""
    return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)


def say_error(error: OptmapError) -> None:
    """Write an error as the one JSON document on stdout; nothing if a document is there already."""
    if _SAID.get():
        return
    from optmap.problem.io.files import to_json

    kind = type(error).__name__
    say(to_json({"schema": "optmap.error/1", "error": {"kind": kind, "message": str(error), "exit": error.exit_code}}))


def guarded(command: Callable[Parameters, int | None]) -> Callable[Parameters, None]:
    """Turn what a command returns or raises into an exit code.

    A command returns its exit code (None is 0). An `OptmapError` becomes a message and the code
    of its type; an interrupt becomes 130; a reader that closed the pipe ends the command quietly.
    """

    @functools.wraps(command)
    def run(*args: Parameters.args, **kwargs: Parameters.kwargs) -> None:
        _SAID.set(False)
        try:
            code = command(*args, **kwargs) or 0
            sys.stdout.flush()
        except OptmapError as error:
            if kwargs.get("as_json"):
                say_error(error)
            sys.stdout.flush()
            complain(str(error))
            code = error.exit_code
        except KeyboardInterrupt:
            complain("interrupted")
            code = INTERRUPTED
        except BrokenPipeError:
            # Python would flush stdout once more at exit and complain; give it a place to write.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = 0
        raise typer.Exit(code)

    return run


class Progress:
    """A line on stderr for work that takes more than two seconds, only on a terminal.

    Use as a context manager and as the `progress(text, fraction)` callback of a search.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._fraction: float | None = None
        self._start = time.monotonic()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._draw, daemon=True)
        self._shown = sys.stderr.isatty()

    def __call__(self, text: str, fraction: float) -> None:
        """Say what is being done and how much of it is done (0 to 1)."""
        self._text, self._fraction = text, fraction

    def __enter__(self) -> Progress:
        if self._shown:
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        if self._shown:
            self._thread.join()

    def _draw(self) -> None:
        if self._done.wait(PATIENCE_S):
            return
        while not self._done.wait(REFRESH_S):
            share = "" if self._fraction is None else f" {100 * self._fraction:3.0f} %"
            seconds = time.monotonic() - self._start
            sys.stderr.write(f"\r\x1b[K{self._text}{share} ({seconds:.0f} s)")
            sys.stderr.flush()
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
