"""`algorithms`: ways to compute a convolution, side by side with the bound."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from optmap.cli.console import guarded, refuse_unused, say_answer
from optmap.cli.options import JsonOption, WorkloadArgument, picture_option, taking
from optmap.cli.pictures import prepare_picture
from optmap.cli.progress import Progress
from optmap.verbs import comparing

ALGORITHMS_HELP = """Compare convolution algorithms with the lower bound.

Words moved by direct blocked, im2col, Winograd, FFT and naive convolution, as multiples of the
bound for convolutions, over a range of memories (Dinh, Figure 4.3.1).

\b
Examples:
  optmap algorithms resnet50/conv2 --memory 4KiB:4MiB
  optmap algorithms resnet50/conv1 --memory 1024w:1048576w --points 11 --plot conv1.png
  optmap algorithms resnet18/R9 --memory 32KiB --json

Exit codes: 0 compared, 2 bad input (also: not a convolution).
"""


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("algorithms", help=ALGORITHMS_HELP)(guarded(algorithms))


@taking(comparing.AlgorithmsOptions)
def algorithms(
    *,
    workload: WorkloadArgument,
    memory: Annotated[str, typer.Option("--memory", metavar="SIZE[:SIZE]", help="A capacity, or a range: 4KiB:4MiB.")],
    plot: Annotated[Path | None, picture_option("Draw the comparison.")] = None,
    as_json: JsonOption = False,
    **options: Any,
) -> None:
    """Print what convolution algorithms move."""
    prepare_picture(plot)
    if ":" not in memory:
        refuse_unused("is for a range of capacities, such as --memory 4KiB:4MiB; give one, or", "points")
    with Progress("comparing"):
        found = comparing.algorithms(workload, memory=memory, **options)
        if plot is not None:
            found.plot(plot)
    say_answer(found, as_json=as_json)
