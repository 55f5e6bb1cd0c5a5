"""`import`: the workloads of an ONNX model, with counts, as a workload file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from optmap.cli.console import Progress, guarded, say
from optmap.cli.options import JsonOption, path_of
from optmap.errors import InputError
from optmap.problem.parser import parse_extents

IMPORT_HELP = """Read the workloads of an ONNX model, with their counts.

Conv, ConvTranspose, MatMul, Gemm and Einsum become named workloads; equal ones are counted. Every
other operator is listed as skipped, with the reason. The file that -o writes can be used wherever
a workload is: FILE.yaml/NAME for one of them, FILE.yaml in a sweep, --network FILE.yaml for sums.

\b
Examples:
  optmap import model.onnx
  optmap import model.onnx -o model.yaml
  optmap import model.onnx --dim batch=1 --dim 'tokens[1]=128' --json
"""


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("import", help=IMPORT_HELP)(guarded(import_command))


def import_command(
    *,
    model: Annotated[
        Path, typer.Argument(metavar="MODEL.onnx", parser=path_of, help="An ONNX file.", show_default=False)
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="FILE", parser=path_of, help="Write a workload file (YAML).", show_default=False
        ),
    ] = None,
    dims: Annotated[
        list[str] | None,
        typer.Option(
            "--dim",
            metavar="NAME=SIZE",
            help="Size of a dynamic dim of an input, by its name or as input[axis]; repeat as needed.",
            show_default=False,
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Print the workloads of a model and write them to a file."""
    from optmap.onnx_import import import_model, workloads_yaml
    from optmap.problem.io.files import check_target, to_json, write_text

    check_target(output)
    with Progress("reading the model"):
        found = import_model(model, _sizes(dims or ()))
    if output is not None and found.workloads:
        write_text(output, workloads_yaml(found))
    say(to_json(found.to_dict()) if as_json else str(found))
    if not found.workloads:
        raise InputError(f"{model}: no Conv, ConvTranspose, MatMul, Gemm or Einsum in it; nothing is imported")


def _sizes(texts: list[str] | tuple[()]) -> dict[str, int]:
    """`batch=1` and `tokens[1]=128` as sizes by key; names of dims may hold any character but `=`."""
    found: dict[str, int] = {}
    for text in texts:
        key, mark, size = text.rpartition("=")
        if not mark or not key.strip():
            raise InputError(f"--dim {text!r}: write NAME=SIZE, such as --dim batch=1")
        if key.strip() in found:
            raise InputError(f"--dim {key.strip()} is given twice; keep one")
        found[key.strip()] = parse_extents(f"x={size}")["x"]
    return found
