"""`export`: the mathematical program itself."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from optmap.cli.console import Progress, guarded, say
from optmap.cli.options import (
    CapacityOption,
    ExtentsOption,
    JsonOption,
    MachineOption,
    MemoryOption,
    ProgramFormat,
    SemanticsOption,
    WorkloadArgument,
    path_of,
)
from optmap.problem import CapacityRule
from optmap.problem.inputs import machine_of, workload_of

EXPORT_HELP = """Write the mathematical program of a workload.

text, latex and nl hold the nonlinear program over tile sizes: least traffic for one fast memory,
least maximum of traffic over bandwidth for several levels; nl has the logarithms of the sizes as
variables. lp and mps hold the log-space linear program of one fast memory.

\b
Examples:
  optmap export resnet18/R9 --machine balanced --format text
  optmap export resnet18/R9 --memory 8192w --permutation k,c,r,s,n,h,w --format nl -o r9.nl
  optmap export 'C[i,j] += A[i,k]*B[k,j]' --extents i=64,j=64,k=64 --memory 1024w --format lp
"""


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("export", help=EXPORT_HELP)(guarded(export))


def export(
    *,
    workload: WorkloadArgument,
    form: Annotated[ProgramFormat, typer.Option("--format", help="Form of the text.", show_default=False)],
    machine: MachineOption = None,
    memory: MemoryOption = None,
    permutation: Annotated[
        list[str] | None,
        typer.Option(
            "--permutation",
            metavar="a,b,c",
            help="Loop order, outermost first; repeat it to give one per level, inner level first.",
            show_default=False,
        ),
    ] = None,
    capacity: CapacityOption = CapacityRule.TILE,
    extents: ExtentsOption = None,
    semantics: SemanticsOption = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="FILE", parser=path_of, help="Write the text to a file.", show_default=False
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Print or write a program."""
    from optmap import verbs

    problem = workload_of(workload, extents, semantics)
    target = machine_of(machine, memory)
    orders = [verbs.order_of(text, problem) for text in permutation or ()]
    from optmap.problem.io.files import check_target, to_json, write_text
    from optmap.report.programs import Format, default_program

    check_target(output)
    with Progress("building the program"):
        program = default_program(problem, target, Format(form.value), orders, capacity)
        content = program.export(form.value)
    if output is not None:
        write_text(output, content)
    if as_json:
        document = {
            "schema": "optmap.program/1",
            "name": program.name,
            "form": program.form.value,
            "convex": program.convex,
            "format": form.value,
            "notes": list(program.notes),
            "content": content,
        }
        say(to_json(document))
    elif output is None:
        say(content)
