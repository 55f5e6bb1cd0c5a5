"""The command line: `optmap`, one command per verb of the top-level API."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from contextvars import Context
from typing import Any


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        args: What is typed after `optmap`; `sys.argv[1:]` if left out.

    Returns:
        0 for an answer; 2 for bad input; 3 for an infeasible problem; 4 for a limit that was
        reached (the incumbent is still printed); 5 for a failed check; 130 if interrupted.
    """
    # An empty context: nothing is left of what ran before in this process, and nothing stays behind.
    return Context().run(_run, list(sys.argv[1:] if args is None else args))


def _run(args: list[str]) -> int:
    import typer

    from optmap.cli.app import app

    # Typer has its exceptions from Click, or carries a copy of Click, depending on its version.
    usage_error: Any = typer.BadParameter.__mro__[1]
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # names of files may be no text
    try:
        return int(app(args, prog_name="optmap", standalone_mode=False) or 0)
    except usage_error as error:
        if "--json" in args:
            from optmap.cli.console import say_error
            from optmap.errors import InputError

            say_error(InputError(error.format_message()))
        error.show()
        return int(error.exit_code)
