"""`sensitivity`: which choices of a mapping matter."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from optmap.cli.completing import completed
from optmap.cli.console import guarded, say_answer
from optmap.cli.options import JsonOption, WorkloadArgument, picture_option, taking
from optmap.cli.pictures import prepare_picture
from optmap.cli.progress import Progress
from optmap.verbs import exploring

SENSITIVITY_HELP = """Say which choices of a mapping on an accelerator matter.

They are compared by Sobol' indices (extra bayes).
Tiles, meshes, loop orders and what is kept are axes of a cube whose points are valid mappings; the
variance of the logarithm of the objective over it is divided among them (Dinh, section 6.2.5). With
--observations, of a search of method bayesian, a Gaussian process stands for the objective.

\b
Examples:
  optmap sensitivity 'C[i,j] += A[i,k]*B[k,j]' --extents i=64,j=128,k=512 --machine gemmini
  optmap sensitivity resnet18/R9 --machine eyeriss_like --objective energy --plot bars.png
  optmap sensitivity resnet18/R9 --machine eyeriss_like --observations seen.json --json

Exit codes: 0 computed, 2 bad input, or the extra bayes is not installed.
"""


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("sensitivity", help=SENSITIVITY_HELP)(guarded(sensitivity))


@taking(exploring.SensitivityOptions)
def sensitivity(
    *,
    workload: WorkloadArgument,
    machine: Annotated[
        str,
        typer.Option(
            "--machine",
            metavar="NAME|FILE",
            help="An accelerator.",
            show_default=False,
            autocompletion=completed("machines"),
        ),
    ],
    plot: Annotated[Path | None, picture_option("Draw the indices as bars.")] = None,
    as_json: JsonOption = False,
    **options: Any,
) -> None:
    """Print the Sobol' indices of the choices of a mapping."""
    prepare_picture(plot)
    with Progress("judging samples"):
        found = exploring.sensitivity(workload, machine=machine, **options)
    if plot is not None:
        found.plot(plot)
    say_answer(found, as_json=as_json)
