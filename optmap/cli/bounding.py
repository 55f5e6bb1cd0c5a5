"""`bound`: how few words any schedule can move."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from optmap import api
from optmap.base.errors import InputError
from optmap.cli.console import guarded, say_answer
from optmap.cli.options import JsonOption, WorkloadArgument, output_option, taking
from optmap.cli.progress import Progress

BOUND_HELP = """Prove how few words any schedule can move.

All methods side by side, each with its formula. `best` is the strongest of a convex program over
maps, of windows that overlap (halo; strided ones by classes of taps), and of words that come again
where a tensor does not fit (visits, passes); it comes with a certificate that `optmap check` verifies
without trusting optmap. With --machine there is one table per boundary
between memories; --explain adds the constraints behind the exponents and what the papers print
(outermost boundary). --objective time adds the time that no code goes below on a machine with a core
(optmap detect): multiply-adds at the peak of all cores, and words that must be read over each link,
the largest marked; -o then writes its proof. On a machine with meshes and prices --objective energy,
cycles or edp adds what no mapping costs less than, statement by statement of a chain.

\b
Examples:
  optmap bound yolo9000/Y4 --memory 65536w
  optmap bound 'C[i,j] += A[i,k]*B[k,j]' --extents i=2000,j=1500,k=1500 --memory 1024w -o gemm.json
  optmap bound resnet18/R9 --machine i7-9700k --methods compulsory,best
  optmap bound resnet18/R9 --memory 32KiB --explain
  optmap bound mobilenet/M9 --memory 1MiB --padding implicit
  optmap bound chains/attention --machine eyeriss --objective energy -o floor.json
  optmap bound resnet18/R9 --machine host.yaml --objective time --cores 2 -o floor.json

Exit codes: 0 proved, 2 bad input, 4 too large.
"""


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("bound", help=BOUND_HELP)(guarded(bound))


@taking(api.BoundOptions)
def bound(
    *,
    workload: WorkloadArgument,
    output: Annotated[Path | None, output_option("Write the best certificate.")] = None,
    as_json: JsonOption = False,
    **options: Any,
) -> None:
    """Print the lower bounds of a workload."""
    from optmap.base.writing import check_target, to_json, write_text

    check_target(output)
    with Progress("bounding"):
        report = api.bound(workload, **options)
    if output is not None:
        if report.certificate is None:
            raise InputError(f"none of the methods {options['methods']} makes certificates; add best to --methods")
        write_text(output, to_json(report.certificate) + "\n")
    say_answer(report, as_json=as_json)
