"""`import`: what files of other tools hold, such as the workloads of an ONNX model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from optmap.cli.console import guarded, say_answer
from optmap.cli.options import JsonOption, output_option, path_of
from optmap.cli.progress import Progress
from optmap.files.inputs import sizes_of
from optmap.interchange.formats import readers

IMPORT_HELP = """Read the workloads of an ONNX model, or files of Timeloop.

Of an ONNX model Conv, ConvTranspose, MatMul, Gemm and Einsum become named workloads; equal ones are counted and
keep all their names. Outputs begin empty (=); a bias is listed beside them. Copies that Expand, Tile, Gather
or Concat make, as of keys and values of grouped queries, are looked through. Every other operator is listed as
skipped, with the reason. The file that -o writes can be used wherever
a workload is: FILE.yaml/NAME for one of them, FILE.yaml in a sweep, --network FILE.yaml for sums.

YAML files are Timeloop's (versions 0.2 to 0.4): problem, architecture, energies (ERT), constraints and
mapping, each in a file of its own or together. The folder that -o names gets workload.yaml,
machine.yaml and mapping.json, which evaluate counts. See also: optmap score.

\b
Examples:
  optmap import model.onnx
  optmap import model.onnx -o model.yaml
  optmap import model.onnx --dim batch=1 --dim 'tokens[1]=128' --json
  optmap import problem.yaml arch.yaml map.yaml -o imported
"""


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("import", help=IMPORT_HELP)(guarded(import_command))


def import_command(
    *,
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE", parser=path_of, help="One ONNX file, or YAML files of Timeloop.", show_default=False
        ),
    ],
    form: Annotated[
        str | None,
        typer.Option(
            "--format", metavar="|".join(readers()), help="By the files' names if left out.", show_default=False
        ),
    ] = None,
    output: Annotated[
        Path | None,
        output_option("Write a workload file (YAML); of Timeloop's files a folder."),
    ] = None,
    dims: Annotated[
        list[str] | None,
        typer.Option(
            "--dim",
            metavar="NAME=SIZE",
            help="Size of a dynamic dim of an ONNX input, by its name or as input[axis]; repeat as needed.",
            show_default=False,
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Print what files of other tools hold, and write it as files of optmap."""
    from optmap.verbs.exchange import import_files

    with Progress("reading the files"):
        found = import_files(files, form, sizes_of(dims or ()))
    if output is not None:
        write = found.presentation.folder
        if write is None:
            found.save(output)
        else:
            write(found, output)
    say_answer(found, as_json=as_json)
