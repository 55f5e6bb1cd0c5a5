"""`conformance`: another model's records against optmap's counts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from optmap.base.errors import CheckError
from optmap.cli.console import guarded, say_answer
from optmap.cli.options import JsonOption, path_of
from optmap.cli.progress import Progress

CONFORMANCE_HELP = """Compare another model's counts with optmap's.

The file has records: an accelerator, a workload, a mapping, and what that model counted. It is
a JSON list of Timeloop's, or an object with the architectures and records of FactorFlow's.

Of Timeloop are compared tiles, reads, fills, updates and energy of every tensor in every memory
and, where wires have a price, in its mesh; instances, operations, cycles and energy; fills and
cycles may differ by one, energy by 1e-9. Of
FactorFlow reads, writes and fills, what tiles take of capacities, instances and operations, to
the word; energy and cycles, per memory and altogether, to 1e-9.

Without --counting the records' own is taken. With exact the loops are walked: where a record of
Timeloop says that a walk counts differently, the walk's number is expected, and what follows
from it is not compared. In a counting of another model numbers are expected to differ.

\b
Examples:
  optmap conformance records.json
  optmap conformance records.json --counting exact
  optmap conformance records.json --counting factorflow
  optmap conformance records.json --json

Exit codes: 0 all agree, 2 unreadable file, 5 some differ, each with a line of its own.
"""


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("conformance", help=CONFORMANCE_HELP)(guarded(conformance))


def conformance(
    records: Annotated[
        Path, typer.Argument(metavar="RECORDS.json", parser=path_of, help="A file of records.", show_default=False)
    ],
    counting: Annotated[
        str | None,
        typer.Option(
            "--counting",
            metavar="NAME",
            help="As a model counts (if left out, that of the records), or as a walk of the loops does.",
            show_default=False,
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Print every number that differs, and a summary."""
    from optmap.verbs import checking

    with Progress("counting"):
        found = checking.conformance(records, counting=counting)
    say_answer(found, as_json=as_json)
    if not found.agree:
        raise CheckError(f"{records}: {len(found.mismatches):,} of {found.compared:,} numbers differ")
