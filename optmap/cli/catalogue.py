"""`list` and `show`: what there is to work with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from optmap.base.errors import InputError
from optmap.cli.completing import completed
from optmap.cli.console import guarded, refuse_unused, say_answer
from optmap.cli.options import JsonOption, taking
from optmap.verbs import catalogue

LIST_HELP = """List what has a name, such as workloads, machines, methods.

Networks, sweeps, bounds and objectives have names, too.

\b
Examples:
  optmap list
  optmap list workloads
  optmap list machines --json
  optmap list methods

Of methods that have mappings judged one by one it says what can be set with --set, with defaults.
"""
SHOW_HELP = """Show a workload, a machine, a method or a solution in full.

Networks and sweeps are shown, too.

--yaml prints a file to edit that loads back equal. --nest prints the mapping of a solution file
as the tiled loop nest it stands for.

\b
Examples:
  optmap show resnet18/R9
  optmap show i7-9700k
  optmap show my_machine.yaml --json
  optmap show chains/attention
  optmap show "S[m,l] = A[m,k]*B[k,l]; C[m,n] = S[m,l]*D[l,n]" --extents m=64,l=64,k=16,n=16
  optmap show random
  optmap show resnet18/R9 --yaml
  optmap show solution.json --nest
"""


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("list", help=LIST_HELP)(guarded(list_names))
    app.command("show", help=SHOW_HELP)(guarded(show))


def list_names(
    kind: Annotated[
        str | None,
        typer.Argument(
            metavar="KIND",
            help="What to list; everything if left out.",
            show_default=False,
            autocompletion=lambda: catalogue.KINDS,
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Print names."""
    found = catalogue.list_names(kind)
    say_answer(found, as_json=as_json)


@taking(catalogue.ShowOptions)
def show(
    *,
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="A library name, a YAML file, a statement or a solution file.",
            autocompletion=completed("workloads", "machines", "networks", "sweeps", "methods"),
        ),
    ],
    as_yaml: Annotated[bool, typer.Option("--yaml", help="Print it as a file to edit.")] = False,
    nest: Annotated[bool, typer.Option("--nest", help="Print the loop nest of a solution file.")] = False,
    as_json: JsonOption = False,
    **options: Any,
) -> None:
    """Print one entry."""
    if as_yaml + nest + as_json > 1:
        raise InputError("--yaml, --nest and --json exclude each other; keep one")
    if nest and not Path(name).is_file():
        raise InputError(f"{name}: --nest needs a solution file, such as solve writes with -o")
    if name.endswith(".json") or nest:
        refuse_unused("is for a workload, and this is a saved file", *options)
        _show_file(Path(name), as_yaml, nest, as_json)
        return
    entry = catalogue.show(name, **options)
    if as_yaml and not entry.yaml:
        raise InputError(f"{name}: --yaml is for workloads, machines, networks and sweeps")
    say_answer(entry, as_json=as_json, text=entry.yaml if as_yaml else None)


def _show_file(path: Path, as_yaml: bool, nest: bool, as_json: bool) -> None:
    """Print what a saved file holds.

    Raises:
        InputError: if the file holds no mapping and a loop nest is asked for, or YAML is.
    """
    found = catalogue.load(path)
    if as_yaml:
        raise InputError(f"{path}: --yaml is for workloads, machines, networks and sweeps")
    if nest and not hasattr(found, "loop_nest"):
        raise InputError(f"{path}: --nest needs a solution file, such as solve writes with -o")
    say_answer(found, as_json=as_json, text=found.loop_nest() if nest else None)
