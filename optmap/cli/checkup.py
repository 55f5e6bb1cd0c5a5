"""`doctor`: which solvers and which compiler are there."""

from __future__ import annotations

import typer

from optmap.base.errors import CheckError
from optmap.cli.console import guarded, say_answer
from optmap.cli.options import JsonOption
from optmap.cli.progress import Progress

DOCTOR_HELP = """Say which solvers and compilers are there, and try them.

A sample is solved with each.

\b
Examples:
  optmap doctor
  optmap doctor --json

Exit codes: 0 also if one is missing, 5 if one gets its sample wrong.
"""


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("doctor", help=DOCTOR_HELP)(guarded(doctor))


def doctor(as_json: JsonOption = False) -> int:
    """Print the state of every solver and of the compiler."""
    from optmap.verbs import catalogue

    with Progress("solving samples"):
        found = catalogue.doctor()
    say_answer(found, as_json=as_json)
    failed = [report.name for report in found.reports if report.available and not report.passed]
    if found.compiler.available and not found.compiler.passed:
        failed.append(found.compiler.path)
    if failed:
        raise CheckError(f"{', '.join(failed)} got the sample wrong; reinstall before trusting an answer")
    return 0
