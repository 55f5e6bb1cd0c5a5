"""`bound`: how few words any schedule can move."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from optmap.base.errors import InputError
from optmap.cli.console import Progress, guarded, say
from optmap.cli.options import (
    ExtentsOption,
    JsonOption,
    MachineOption,
    MemoryOption,
    PaddingOption,
    SemanticsOption,
    WorkloadArgument,
    path_of,
)
from optmap.files.inputs import machine_of, names_of, workload_of

BOUND_HELP = """Prove how few words any schedule can move.

All methods side by side, each with its formula. `best` is the strongest of a convex program over
maps, of windows that overlap (halo; strided ones by classes of taps), and of words that come again
where a tensor does not fit (visits, passes); it comes with a certificate that `optmap check` verifies
without trusting optmap. With --machine there is one table per boundary
between memories; --explain adds the constraints behind the exponents and what the papers print
(outermost boundary). --objective time adds the time that no code goes below on a machine with a core
(optmap detect): multiply-adds at the peak of all cores, and words that must be read over each link,
the largest marked; -o then writes its proof.

\b
Examples:
  optmap bound yolo9000/Y4 --memory 65536w
  optmap bound 'C[i,j] += A[i,k]*B[k,j]' --extents i=2000,j=1500,k=1500 --memory 1024w -o gemm.json
  optmap bound resnet18/R9 --machine i7-9700k --methods compulsory,best
  optmap bound resnet18/R9 --memory 32KiB --explain
  optmap bound mobilenet/M9 --memory 1MiB --padding implicit
  optmap bound resnet18/R9 --machine host.yaml --objective time --cores 2 -o floor.json

Exit codes: 0 proved, 2 bad input, 4 too large.
"""


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("bound", help=BOUND_HELP)(guarded(bound))


def bound(
    *,
    workload: WorkloadArgument,
    machine: MachineOption = None,
    memory: MemoryOption = None,
    methods: Annotated[
        str | None,
        typer.Option("--methods", metavar="A,B", help="Bound methods; all that apply if left out.", show_default=False),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Print the constraint table and the papers' own terms as well.")
    ] = False,
    objective: Annotated[
        str | None,
        typer.Option("--objective", metavar="time", help="Also the time that no code goes below.", show_default=False),
    ] = None,
    cores: Annotated[int, typer.Option("--cores", min=1, help="Of the time: cores that share the work.")] = 1,
    caches: Annotated[
        str, typer.Option("--caches", metavar="STATE", help="Of the time: warm or cold when a call begins.")
    ] = "warm",
    semantics: SemanticsOption = None,
    padding: PaddingOption = None,
    extents: ExtentsOption = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="FILE", parser=path_of, help="Write the best certificate.", show_default=False
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Print the lower bounds of a workload."""
    from optmap.base.writing import check_target, to_json, write_text

    problem = workload_of(workload, extents, semantics, padding)
    target = machine_of(machine, memory)
    check_target(output)
    from optmap import api

    with Progress("bounding"):
        report = api.bound(
            problem,
            machine=target,
            methods=names_of(methods, "--methods"),
            explain=explain,
            objective=objective,
            cores=cores,
            caches=caches,
        )
    if output is not None:
        if report.certificate is None:
            raise InputError(f"none of the methods {methods} makes certificates; add best to --methods")
        write_text(output, to_json(report.certificate) + "\n")
    say(to_json(report.to_dict()) if as_json else str(report))
