"""`check`: what a file claims, verified by code that shares nothing with what made it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from optmap.base.errors import CheckError
from optmap.cli.console import guarded, say_document, say_text
from optmap.cli.options import JsonOption, path_of
from optmap.cli.progress import Progress

if TYPE_CHECKING:
    from optmap.checker import Report

CHECK_HELP = """Verify a certificate, a solution or a sweep independently.

The file is one that bound or solve wrote with -o, or the folder of a sweep.
The checker uses Python's standard library
alone and decides everything in integers and fractions (logarithms: to 50 digits): it re-proves the
bound, recounts the mapping's capacities and traffic, and recomputes the gap; of a file written with
--certificate full it re-proves relaxation and integer bound, too. Two lists say what was verified, with the
sizes it holds for, and what the file says beside that. It also runs without optmap installed:
python optmap/checker FILE.

Of a folder that sweep, race or network wrote, every row is compared with its line in manifest.jsonl and with its
documents, every document with its line, and each goes through the checker.

\b
Examples:
  optmap bound yolo9000/Y4 --memory 65536w -o y4.json
  optmap check y4.json
  optmap check solution.json --json
  optmap check results

Exit codes: 0 what is listed as verified holds, 2 unreadable file, 5 refused, with the reasons.
"""


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("check", help=CHECK_HELP)(guarded(check))


def check(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            parser=path_of,
            help="A certificate, a solution, or the folder of a sweep.",
            show_default=False,
        ),
    ],
    as_json: JsonOption = False,
) -> None:
    """Print what was verified, or the reason for the refusal."""
    from optmap.checker import Report, plain
    from optmap.verbs import checking

    with Progress("checking") as progress:
        try:
            report, refused = checking.check(file, progress=progress), None
            report = report if file.is_dir() else _compared(report, file)
        except CheckError as error:
            report, refused = Report(verified=(), not_verified=()), error
    if as_json:
        reason = None if refused is None else str(refused)
        say_document({**report.to_dict(), "file": str(file), "refused": reason})
    if refused is not None:
        raise refused
    if not as_json:
        say_text(f"{report}\n{plain(str(file))}: what is listed as verified holds")


def _compared(report: Report, file: Path) -> Report:
    """The report, with what the library knows by the name in the file: another workload, or this one accumulating."""
    from optmap.files import library
    from optmap.files.reading import read_json
    from optmap.workloads.workload import Semantics

    document = read_json(file)
    said = document.fields("workload")
    name = said.text("name")
    if not (library.is_workload(name) or name in library.list_layers()):
        return report
    own = library.workload(name)
    # a certificate of a chain has texts of statements, every other document their expression
    text = said.text("expression") if said.has("expression") else "; ".join(said.texts("statements"))
    assigned = own.with_semantics(Semantics.ASSIGN)  # outputs start empty on an accelerator, or where it was asked for
    known = assigned if text == assigned.expression else own
    if (known.expression, known.extents) != (text, said.fields("extents").values):
        sizes = ", ".join(f"{dim}={extent:,}" for dim, extent in own.extents.items())
        note = f"NOT {name} of the library, which is {own.expression} with {sizes}"
        return replace(report, not_verified=(*report.not_verified, note))
    if known.semantics is own.semantics:
        return report
    note = f"this is {name} of the library, solved as an assignment: outputs start empty"
    return replace(report, verified=(*report.verified, note))
