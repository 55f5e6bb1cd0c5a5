"""`list` and `show`: what there is to work with."""

from __future__ import annotations

import textwrap
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from optmap.cli.console import guarded, say
from optmap.cli.inputs import resolve_workload
from optmap.cli.options import ExtentsOption, JsonOption, PaddingOption
from optmap.errors import UnknownNameError
from optmap.problem.inputs import is_file, is_statement

LIST_HELP = """List the workloads, machines and methods with names.

\b
Examples:
  optmap list
  optmap list workloads
  optmap list machines --json
"""
SHOW_HELP = """Show one workload or machine in full.

\b
Examples:
  optmap show resnet18/R9
  optmap show i7-9700k
  optmap show my_machine.yaml --json
"""


class Kind(StrEnum):
    """What `list` can list."""

    WORKLOADS = "workloads"
    MACHINES = "machines"
    METHODS = "methods"


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("list", help=LIST_HELP)(guarded(list_names))
    app.command("show", help=SHOW_HELP)(guarded(show))


def list_names(
    kind: Annotated[
        Kind | None, typer.Argument(help="What to list; everything if left out.", show_default=False)
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Print the names of workloads, machines and methods."""
    from optmap.report.jsonio import to_json

    kinds = [kind] if kind else list(Kind)
    found = {each.value: _names(each) for each in kinds}
    if as_json:
        say(to_json({"schema": "optmap.list/1", **found}))
        return
    blocks = [
        [row if isinstance(row, str) else f"{row['name']}  {row['description']}" for row in rows]
        for rows in found.values()
    ]
    if kind:
        say("\n".join(blocks[0]))
        return
    for each, block in zip(found, blocks, strict=True):
        say("\n".join([f"{each}:", *(f"  {row}" for row in block)]))


def _names(kind: Kind) -> list[str] | list[dict[str, str]]:
    from optmap.problem import library

    if kind is Kind.WORKLOADS:
        return list(library.list_workloads())
    if kind is Kind.MACHINES:
        return list(library.list_machines())
    from optmap.api import METHODS

    return [{"name": name, "description": method.description} for name, method in METHODS.items()]


def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A library name, a YAML file or a statement.")],
    extents: ExtentsOption = None,
    padding: PaddingOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print one workload or machine."""
    from optmap.problem import library
    from optmap.report.documents import machine_document, workload_document
    from optmap.report.jsonio import to_json
    from optmap.report.tables import machine_table, workload_table

    if _is_machine(name):
        machine = library.machine(name)
        note = "" if is_file(name) else library.machine_note(name)
        document = {"schema": "optmap.machine/1", **machine_document(machine), "note": note}
        say(to_json(document) if as_json else _with_note(machine_table(machine), note))
        return
    try:
        workload = resolve_workload(name, extents, None, padding)
    except UnknownNameError as error:
        machines = ", ".join(library.list_machines())
        raise UnknownNameError(f"{error}\nas a machine it is not known either; machines: {machines}") from error
    note = "" if is_file(name) or is_statement(name) else library.workload_note(name)
    document = {"schema": "optmap.workload/1", **workload_document(workload), "note": note}
    say(to_json(document) if as_json else _with_note(workload_table(workload), note))


def _with_note(table: str, note: str) -> str:
    return f"{table}\n\n{textwrap.fill(note, 100)}" if note else table


def _is_machine(name: str) -> bool:
    from optmap.problem import library
    from optmap.problem.yaml_io import load_yaml

    if is_statement(name):
        return False
    if is_file(name):
        data = load_yaml(Path(name)) if Path(name).is_file() else None
        return isinstance(data, dict) and "levels" in data
    return name.casefold() in {known.casefold() for known in library.list_machines()}
