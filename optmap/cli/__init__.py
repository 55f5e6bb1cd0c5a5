"""The command line: `optmap`, one command per verb of the top-level API."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextvars import Context
from typing import Any


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        args: What is typed after `optmap`; `sys.argv[1:]` if left out.

    Returns:
        0 for an answer; 1 if stdout cannot be written; 2 for bad input; 3 for an infeasible problem; 4 for a
        limit that was reached or a signal that asked to stop (the incumbent is still printed); 5 for a failed
        check; 130 for an interrupt of a command that has no answer before its end.
    """
    # An empty context: nothing is left of what ran before in this process, and nothing stays behind.
    return Context().run(_run, list(sys.argv[1:] if args is None else args))


def _run(args: list[str]) -> int:
    from optmap.cli.console import complain
    from optmap.cli.streams import OutputError, command_streams

    with command_streams():
        try:
            code = _command(args)
            sys.stdout.flush()
        except OutputError as error:
            complain(str(error))
            return error.exit_code
        return code


def _command(args: list[str]) -> int:
    import typer

    from optmap.base.errors import InputError
    from optmap.base.starting import INTERRUPTED, PROGRAM, ending
    from optmap.cli.app import program
    from optmap.cli.completing import answer_shells
    from optmap.cli.console import complain, say_error

    # Typer has its exceptions from Click, or carries a copy of Click, depending on its version.
    usage_error: Any = typer.BadParameter.__mro__[1]
    answer_shells()
    try:
        code = int(program()(args, prog_name=PROGRAM, standalone_mode=False) or 0)
        if code == INTERRUPTED:  # of a command, or by Typer before it began
            ending()
            complain("interrupted")
        return code
    except usage_error as error:
        error.show()
        if "--json" in args:
            say_error(InputError(error.format_message()))
        return int(error.exit_code)
