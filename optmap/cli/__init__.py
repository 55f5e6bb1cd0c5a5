"""The command line: `optmap`, one command per verb of the top-level API."""

from __future__ import annotations

import io
import sys


def main() -> int:
    """Run the command line on `sys.argv`.

    Returns:
        0 for an answer; 2 for bad input; 3 for an infeasible problem; 4 for a limit that was
        reached (the incumbent is still printed); 5 for a failed check; 130 if interrupted.
    """
    from optmap.cli.app import app

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # names of files may be no text
    try:
        app(prog_name="optmap")
    except SystemExit as stop:
        if stop.code == 2 and "--json" in sys.argv[1:]:
            from optmap.cli.console import say_error
            from optmap.errors import InputError

            say_error(InputError("the command line cannot be understood; stderr says why"))
        if isinstance(stop.code, str):
            sys.stderr.write(stop.code + "\n")
            return 1
        return stop.code or 0
    return 0
