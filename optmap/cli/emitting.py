"""`emit`: C from a mapping."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from optmap.cli.console import Progress, guarded, say
from optmap.cli.options import (
    CodeSemanticsOption,
    ExtentsOption,
    JsonOption,
    LayoutOption,
    MachineOption,
    NoPrefetchOption,
    PaddingOption,
    StoresOption,
    WorkloadArgument,
    path_of,
)
from optmap.problem import ActivationLayout, Semantics, StoreKind, WeightPacking

EMIT_HELP = """Write C11 for a workload: the loops of a mapping around a microkernel.

Loops, orders and ragged tiles are those of the mapping, at all of its levels; the tile of the innermost
level is what registers hold. On a machine file that says what a core computes with (optmap detect -o
host.yaml) the innermost loops are vector code, where the workload has a dim for it; everything else is
plain loops, and the answer says so. Without --mapping the mapping is solved for first. A mapping that is
split among cores becomes threads of OpenMP; a split of a reduction is refused.

Outputs are computed from nothing and images have no rim (assign and implicit, where it is known where
padding is), unless --semantics or --padding say otherwise.

-o writes into a folder NAME.c with its header, main.c, which checks the code against plain loops within
the bound of rounding and times it, a Makefile, and the mapping. Files that somebody else wrote are not
overwritten.

\b
Examples:
  optmap emit resnet18/R9 --machine host.yaml -o r9 && make -C r9 run
  optmap emit resnet18/R9 --machine host.yaml --mapping r9.json --layout blocked --weights call -o r9
  optmap emit yolo9000/Y0 --machine host.yaml --stores streaming --threads 2 -o y0
  optmap emit 'C[i,j] += A[i,k]*B[k,j]' --extents i=64,j=64,k=64 --machine balanced
  optmap emit mobilenet/M1 --machine host.yaml --json

Exit codes: 0 written, 2 bad input, 3 infeasible.
"""


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("emit", help=EMIT_HELP)(guarded(emit))


def emit(
    *,
    workload: WorkloadArgument,
    machine: MachineOption = None,
    mapping: Annotated[
        Path | None,
        typer.Option(
            "--mapping",
            metavar="FILE",
            parser=path_of,
            help="A solution, or a file with a mapping's levels; solved for if left out.",
            show_default=False,
        ),
    ] = None,
    layout: LayoutOption = ActivationLayout.NHWC,
    weights: Annotated[
        WeightPacking, typer.Option("--weights", help="Packed by a function of their own, or in every call.")
    ] = WeightPacking.AHEAD,
    stores: StoresOption = StoreKind.ORDINARY,
    no_prefetch: NoPrefetchOption = False,
    threads: Annotated[
        int | None,
        typer.Option("--threads", min=1, help="Threads that the mapping is to be split among.", show_default=False),
    ] = None,
    extents: ExtentsOption = None,
    semantics: CodeSemanticsOption = Semantics.ASSIGN,
    padding: PaddingOption = None,
    time_limit: Annotated[
        float, typer.Option("--time-limit", metavar="SECONDS", help="Stop the search of a mapping after this time.")
    ] = 60.0,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="DIR",
            parser=path_of,
            help="Write the files into this folder.",
            show_default=False,
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Print or write code."""
    from optmap import running
    from optmap.problem.io.files import made_folder, to_json

    if output is not None:
        made_folder(output)
    with Progress("writing code") as progress:
        code = running.emit(
            workload,
            machine=machine,
            mapping=mapping,
            extents=extents,
            semantics=semantics,
            padding=padding,
            layout=layout,
            weights=weights,
            stores=stores,
            prefetch=not no_prefetch,
            threads=threads,
            time_limit=time_limit,
            progress=progress,
        )
    written = () if output is None else code.write(output)
    if as_json:
        say(to_json(code.to_dict()))
    elif output is None:
        say(code.source.rstrip())
    else:
        say(f"{code}\n\nwritten: {', '.join(str(path) for path in written)}")
