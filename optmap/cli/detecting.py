"""`detect`: the machine at hand."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from optmap.cli.console import guarded, say_answer
from optmap.cli.options import JsonOption, output_option
from optmap.cli.progress import Progress

DETECT_HELP = """Describe the machine at hand, and write it as a machine file.

Cores and caches are those of the system's tables, as far as this process may use them. A C compiler
gives the rest: clock, ports and latency of multiply-adds, and the bandwidth of every link, by loops
that use one thing alone, of one core and of all, each with its spread. Neighbours only take away, so the
file has the upper deciles. What is not known is left out and named; without a compiler that is all that
is measured, and the file then counts words (one per cycle and link).

\b
Examples:
  optmap detect -o host.yaml
  optmap detect --quick
  optmap detect --json

Exit codes: 0 also if something is missing, 2 if nothing at all is known of this machine.
"""


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("detect", help=DETECT_HELP)(guarded(detect))


def detect(
    *,
    output: Annotated[Path | None, output_option("Write the machine file.")] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="About three seconds: fewer repetitions, and no stores.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Print what is known of the machine at hand."""
    from optmap.base.writing import check_target
    from optmap.verbs import running

    check_target(output)
    with Progress("reading tables") as progress:
        found = running.detect(quick=quick, progress=progress)
    if output is not None:
        found.save(output)
    say_answer(found, as_json=as_json)
