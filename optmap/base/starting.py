"""The first thing that the command line does: an interrupt while it is being imported ends it, with a line.

An exception that is raised while modules are imported ends in a traceback, or in no word at all where an import
catches it. So the command line ends in the handler itself until its command begins; nothing is lost by then. A program
that imports the package keeps its own handlers.
"""

from __future__ import annotations

import os
import sys

INTERRUPTED = 130
"""Exit code of an interrupt of a command that has no answer before its end."""
PROGRAM = "optmap"


def _listen() -> None:
    """Let an interrupt end this process with a line and `INTERRUPTED`, if it is the command line and not deaf to it."""
    if not _is_command():
        return
    try:
        import signal

        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, _end)
    except KeyboardInterrupt:
        _end()


def begun() -> None:
    """From here on an interrupt is a `KeyboardInterrupt` again: the command that begins may have to clean up."""
    import signal

    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def ending() -> None:
    """From here on an interrupt is left unheard: one was, and this process is about to end with its exit code.

    Python ends by the signal itself where it has seen the exception in text that was executed, as dataclasses do.
    """
    import signal

    if _is_command() and hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])


def _is_command() -> bool:
    """Whether this process runs `optmap`, or `python -m optmap`; found out before anything else is imported."""
    program = sys.orig_argv[-len(sys.argv) :][:1]  # a script, or what follows -m
    names = [os.path.splitext(os.path.basename(each))[0] for each in program]  # noqa: PTH119, PTH122 - needs no import
    return names in ([PROGRAM], [f"-m{PROGRAM}"])


def _end(*_: object) -> None:
    os.write(2, b"error: interrupted\n")
    os._exit(INTERRUPTED)


_listen()
