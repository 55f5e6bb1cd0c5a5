"""What the terminal sees: documents on stdout, messages on stderr, exit codes."""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from enum import Enum
from typing import Any, ParamSpec

import typer

from optmap.base.clock import SIGNALS, stop_on_signals, stopping
from optmap.base.errors import InputError, LimitError, OneStatementError, OptmapError
from optmap.base.starting import INTERRUPTED, begun
from optmap.cli.streams import silence

Parameters = ParamSpec("Parameters")

COLUMNS = 80
"""Of the page that answers are written for."""
LIMIT_REACHED = LimitError.exit_code
"""Exit code of an answer that a limit or a signal cut short."""


class Told(Enum):
    """How much is said on stderr beside answers."""

    NOTHING = 0
    """Errors alone."""
    TERMINAL = 1
    """Notes, and on a terminal progress."""
    EVERYTHING = 2
    """Notes, and progress as lines, on a terminal or not."""


_SAID: ContextVar[bool] = ContextVar("said", default=False)
"""Whether the running command has written its answer."""
_CONTEXT: ContextVar[typer.Context | None] = ContextVar("context", default=None)
"""Of the running command: what was typed."""
_TOLD: ContextVar[Told] = ContextVar("told", default=Told.TERMINAL)
"""How much is said beside answers."""
_WIDE: ContextVar[bool] = ContextVar("wide", default=False)
"""Whether tables may be as wide as they are."""
_PLUGINS: ContextVar[tuple[str, ...]] = ContextVar("plugins", default=())
"""Modules to import before the command runs."""


def say(text: str) -> None:
    """Write text to stdout, ending in exactly one newline."""
    _SAID.set(True)
    sys.stdout.write(text.rstrip("\n") + "\n")


def say_answer(found: Any, *, as_json: bool, text: str | None = None) -> None:
    """Write an answer to stdout.

    Args:
        found: what has a document (`to_dict`) and a text (`str`).
        as_json: its document rather than a text.
        text: code instead of its own text; no line of it is broken.
    """
    if as_json:
        say_document(found.to_dict())
    elif text is None:
        say_text(str(found))
    else:
        say(text)


def say_text(text: str) -> None:
    """Write an answer for people to stdout, its long lines broken where the page ends."""
    from optmap.base.page import paragraphs

    say(paragraphs(text))


def say_document(document: Mapping[str, object]) -> None:
    """Write a document to stdout as JSON."""
    from optmap.base.writing import to_json

    say(to_json(document))


def complain(message: str) -> None:
    """Write an error message to stderr."""
    _remark("error", message)


def note(message: str) -> None:
    """Write to stderr what a reader should know beside the answer."""
    if _TOLD.get() is not Told.NOTHING:
        _remark("note", message)


def _remark(kind: str, message: str) -> None:
    """Write a line to stderr; what a file put into it cannot steer the terminal."""
    try:
        sys.stderr.write(f"{kind}: {printable(message)}\n")
        sys.stderr.flush()
    except OSError:
        silence(sys.stderr)  # the exit code tells it, too


def printable(text: str) -> str:
    """The text with everything but line ends that does not print written as its code point."""
    return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)


def say_error(error: OptmapError) -> None:
    """Write an error as the one JSON document on stdout; nothing if a document is there already."""
    if _SAID.get():
        return
    kind = type(error).__name__
    document: dict[str, object] = {
        "schema": "optmap.error/1",
        "error": {"kind": kind, "message": str(error), "exit": error.exit_code},
    }
    if isinstance(error, LimitError):
        from optmap.solvers.status import PointKind, Stop

        document["status"] = {"stop": Stop.late().value, "point": PointKind.NONE.value}
    say_document(document)


def guarded(command: Callable[Parameters, int | None], *, stoppable: bool = False) -> Callable[Parameters, None]:
    """Turn what a command returns or raises into an exit code.

    A command returns its exit code (None is 0). An `OptmapError` becomes a message and the code
    of its type; an interrupt becomes 130.

    Args:
        command: what is run.
        stoppable: that Ctrl-C and a termination ask for the best answer so far, as at a time limit; a second one
            ends the command at once.
    """

    @functools.wraps(command)
    def run(*args: Parameters.args, **kwargs: Parameters.kwargs) -> None:
        if stoppable:  # what is heard while the process ends, its answer given, comes too late
            atexit.unregister(_deaf)
            atexit.register(_deaf)
        with stop_on_signals(_stopping, _end_at_once) if stoppable else contextlib.nullcontext():
            code = answered(*args, **kwargs)
        raise typer.Exit(code)

    def answered(*args: Parameters.args, **kwargs: Parameters.kwargs) -> int:
        _SAID.set(False)
        try:
            begun()
            _set_page()
            _load_plugins()
            code = command(*args, **kwargs) or 0
            sys.stdout.flush()
        except OptmapError as error:
            told = _before_an_answer(error)
            complain(str(told))
            if kwargs.get("as_json"):
                say_error(told)
            sys.stdout.flush()
            code = told.exit_code
        except KeyboardInterrupt:
            code = INTERRUPTED
        return code

    return run


def begin(context: typer.Context, plugins: Sequence[str]) -> None:
    """Keep what the command needs of its command line.

    Args:
        context: of the command, or of the program before it.
        plugins: modules to import before it runs, so that what fails in them is said as any other error.
    """
    _CONTEXT.set(context)
    _PLUGINS.set((*_PLUGINS.get(), *plugins))


def widen(asked: bool) -> None:
    """Let tables be as wide as they are, if that is asked for."""
    if asked:
        _WIDE.set(True)


def hush(asked: bool) -> None:
    """Say nothing but answers and errors, if that is asked for."""
    if asked:
        _TOLD.set(Told.NOTHING)


def tell_all(asked: bool) -> None:
    """Say in lines how far work is, on a terminal or not, if that is asked for."""
    if asked:
        _TOLD.set(Told.EVERYTHING)


def draws() -> bool:
    """Whether stderr is a terminal on which progress is drawn."""
    return _TOLD.get() is Told.TERMINAL and sys.stderr.isatty()


def tells() -> bool:
    """Whether progress is written as lines."""
    return _TOLD.get() is Told.EVERYTHING


def _set_page() -> None:
    """The width of the page for what is written from now on.

    Raises:
        InputError: for a variable `OPTMAP_COLUMNS` that is no whole number.
    """
    from optmap.base.page import WIDTH

    text = os.environ.get("OPTMAP_COLUMNS", "")
    if text and not text.isdecimal():
        raise InputError(f"OPTMAP_COLUMNS is {text!r}; it must be a whole number of columns, 0 for any")
    WIDTH.set(0 if _WIDE.get() else int(text or COLUMNS))


def refuse_unused(why: str, *parameters: str) -> None:
    """Refuse options that were typed and would do nothing.

    Args:
        why: what they are for, after their name.
        parameters: of the command's function.

    Raises:
        InputError: naming the first of them that was typed.
    """
    context = _CONTEXT.get()
    for each in () if context is None else context.command.params:
        source = context.get_parameter_source(each.name) if context is not None and each.name in parameters else None
        if source is not None and source.name == "COMMANDLINE":
            raise InputError(f"{each.opts[0]} {why}{'' if why.endswith(', or') else ';'} leave it out")


def _load_plugins() -> None:
    from optmap.base.installed import installed_plugins

    names, installed = _PLUGINS.get(), installed_plugins()
    _PLUGINS.set(())
    if not (names or installed):
        return
    from optmap.search.plugins import load_plugin

    for name in installed:
        try:
            load_plugin(name)
        except InputError as error:  # of a package that nobody named: no command has to end for it
            note(f"of an installed package, left out: {error}")
    for name in names:
        if load_plugin(name).idle:
            note(f"plug-in {name} registers no method, objective, counting, trait or format")


def _before_an_answer(error: OptmapError) -> OptmapError:
    """What is said of an error: a stop that was asked for is no limit of time; what takes one statement has a name."""
    if isinstance(error, LimitError) and stopping():
        return LimitError(f"interrupted before there was an answer ({error})")
    context = _CONTEXT.get()
    if isinstance(error, OneStatementError) and context is not None:
        return OneStatementError(f"optmap {context.info_name}: {error}")
    return error


def _stopping() -> None:
    """Say that a signal was heard; not through `sys.stderr`, which may be in the middle of a line."""
    with contextlib.suppress(OSError):
        os.write(2, b"stopping with the best so far; once more ends at once\n")


def _deaf() -> None:
    """Leave signals that ask to stop unheard."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def _end_at_once(number: int) -> None:
    """End this process; processes that it started end with it."""
    os._exit(128 + number)
