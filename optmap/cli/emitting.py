"""`emit`: C from a mapping."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from optmap.cli.completing import completed
from optmap.cli.console import guarded, note, refuse_unused, say, say_document
from optmap.cli.options import JsonOption, NoPrefetchOption, output_option, path_of, taking
from optmap.cli.progress import Progress
from optmap.verbs import emitting

EMIT_HELP = """Write a workload in C: tiled loops around a microkernel.

The code is C11.
Loops, orders and ragged tiles are those of the mapping, at all of its levels; the tile of the innermost
level is what registers hold. On a machine file that says what a core computes with (optmap detect -o
host.yaml) the innermost loops are vector code, where the workload has a dim for it; everything else is
plain loops, and the answer says so. Without --mapping the mapping is solved for first. A mapping that is
split among cores becomes threads of OpenMP; a split of a reduction is refused.

Outputs are computed from nothing and images have no rim (assign and implicit, where it is known where
padding is), unless --semantics or --padding say otherwise.

With --fastest the first mappings of the model are run here, as run does, and the code of the fastest is
written; the answer has its GFLOPS. A document that run or bench wrote (-o) may stand in place of the
workload: the fastest code in it is written, with its layouts and all; FILE.json/NAME is one of several.

So may a document with a mapping tree, such as solve writes for a chain of statements: one function for
one core computes the chain, with the tree's loops around plain ones, and blocks of intermediates in a
workspace.

-o writes into a folder NAME.c with its header and the mapping, and, of one statement, a Makefile and
main.c, which checks the code against plain loops within the bound of rounding and times it. Files that
somebody else wrote are not overwritten.

\b
Examples:
  optmap emit resnet18/R9 --machine host.yaml -o r9 && make -C r9 run
  optmap emit resnet18/R9 --machine host.yaml --mapping r9.json --layout blocked --weights call -o r9
  optmap emit yolo9000/Y0 --machine host.yaml --stores streaming --threads 2 -o y0
  optmap emit 'C[i,j] += A[i,k]*B[k,j]' --extents i=64,j=64,k=64 --machine balanced
  optmap emit mobilenet/M1 --machine host.yaml --json
  optmap emit resnet18/R9 --machine host.yaml --fastest --candidates 8 -o r9
  optmap emit run.json/resnet18/R9 -o r9
  optmap solve chains/attention --memory 64KiB -o attention.json && optmap emit attention.json -o attention

Exit codes: 0 written, 2 bad input or no compiler to run with, 3 infeasible, 5 code that was run is wrong.
"""


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("emit", help=EMIT_HELP)(guarded(emit))


@taking(emitting.EmitOptions)
def emit(
    *,
    workload: Annotated[
        str,
        typer.Argument(
            metavar="WORKLOAD",
            autocompletion=completed("workloads"),
            help="A library name (resnet18/R9), a YAML file, a statement, or a document of a tree, run or bench.",
            show_default=False,
        ),
    ],
    mapping: Annotated[
        Path | None,
        typer.Option(
            "--mapping",
            metavar="FILE",
            parser=path_of,
            help="A solution, or a file with a mapping's levels or tree; solved for if left out.",
            show_default=False,
        ),
    ] = None,
    no_prefetch: NoPrefetchOption = False,
    output: Annotated[Path | None, output_option("Write the files into this folder.", metavar="DIR")] = None,
    as_json: JsonOption = False,
    **options: Any,
) -> None:
    """Print or write code."""
    from optmap.base.writing import made_folder
    from optmap.native.run.saved import is_document

    if mapping is not None or is_document(workload):
        refuse_unused("is for the search of a mapping, and one is given", "time_limit")
    if not options["fastest"]:
        refuse_unused("is for --fastest; add it, or", "candidates", "seconds")
    if output is not None:
        made_folder(output)
    with Progress("writing code") as progress:
        prefetch = False if no_prefetch else None
        code = emitting.emit(workload, mapping=mapping, prefetch=prefetch, **options, progress=progress)
    written = () if output is None else code.write(output)
    if as_json:
        say_document(code.to_dict())
    elif output is None:
        say(code.source.rstrip())
        if code.ran is not None:
            note(code.ran.text)
    else:
        say(f"{code}\n\nwritten: {', '.join(str(path) for path in written)}")
