"""`doctor`: which solvers are there."""

from __future__ import annotations

import typer

from optmap.cli.console import Progress, guarded, say
from optmap.cli.options import JsonOption

DOCTOR_HELP = """Say which solvers are there; solve a sample with each.

\b
Examples:
  optmap doctor
  optmap doctor --json
"""


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("doctor", help=DOCTOR_HELP)(guarded(doctor))


def doctor(as_json: JsonOption = False) -> None:
    """Print the state of every solver."""
    from optmap.report.jsonio import to_json
    from optmap.report.tables import grid
    from optmap.solvers.doctor import doctor as examine

    with Progress("solving samples"):
        reports = examine()
    rows: list[dict[str, object]] = [
        {
            "solver": report.name,
            "available": report.available,
            "version": report.version,
            "sample": report.sample,
            "install": report.install,
        }
        for report in reports
    ]
    if as_json:
        say(to_json({"schema": "optmap.doctor/1", "solvers": rows}))
        return
    cells = [[str(value) for value in row.values()] for row in rows]
    say(grid(list(rows[0]), "<" * len(rows[0]), cells))
