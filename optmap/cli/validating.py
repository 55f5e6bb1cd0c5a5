"""`validate`: the predicted time against simulated caches and the clock."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from optmap.cli.console import guarded, say_answer
from optmap.cli.options import (
    JsonOption,
    MachineOption,
    NoPrefetchOption,
    PlotFolderOption,
    output_option,
    taking,
    workloads_argument,
)
from optmap.cli.pictures import draw_pictures, prepare_pictures
from optmap.cli.progress import Progress
from optmap.verbs import measuring

VALIDATE_HELP = """Hold models of time against measurements on this machine.

As in section 9 of MOpt, tilings of each layer are drawn from all that fit, good and bad: any microkernel
that fits the registers, any tiles, loop orders of every dataflow class. Each is emitted, compiled, checked
and timed in turns with the others; its predicted time, and the traffic of set-associative caches with lines
that is simulated under its loops, stand beside that. Printed are rank correlations (Spearman, Kendall) and
the performance that is lost if only the best one, two or five predicted samples are run: beside the best
measured sample, and crossed, the best chosen by half of the rounds and timed by the others, without the luck
of the best of many. --models bottleneck ranks by MOpt's own model, the slowest level's words over its
bandwidth. With several layers the last row has the medians.

\b
Examples:
  optmap validate resnet18/R9 --machine host.yaml
  optmap validate resnet18/R9 yolo9000/Y5 --machine host.yaml --models time,bottleneck --plot figures -o validation.json
  optmap validate 'C[i,j] += A[i,k]*B[k,j]' --extents i=256,j=256,k=256 --machine host.yaml --no-simulate

The machine is the one at hand, as optmap detect -o host.yaml describes it. The same seed draws the same
tilings. A layer takes minutes: 100 samples are 100 compilations, kept for the next time.

Exit codes: 0 validated, 2 bad input, or no compiler here, 4 no tiling fits, 5 code computes something else.
"""


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("validate", help=VALIDATE_HELP)(guarded(validate))


@taking(measuring.ValidateOptions)
def validate(
    *,
    workloads: Annotated[
        list[str],
        workloads_argument(
            "Library names (resnet18/R9, 'resnet18/*'), networks (resnet18), YAML files, or statements."
        ),
    ],
    machine: MachineOption = None,
    no_prefetch: NoPrefetchOption = False,
    output: Annotated[Path | None, output_option("Write the JSON document here.")] = None,
    plot: PlotFolderOption = None,
    as_json: JsonOption = False,
    **options: Any,
) -> None:
    """Validate and print the rankings."""
    from optmap.base.errors import InputError
    from optmap.base.writing import check_target

    if machine is None:
        raise InputError("name the machine at hand: optmap detect -o host.yaml, then --machine host.yaml")
    check_target(output)
    prepare_pictures(plot)
    with Progress("validating") as progress:
        found = measuring.validate(workloads, machine=machine, prefetch=not no_prefetch, **options, progress=progress)
    if output is not None:
        found.save(output)
    draw_pictures(found, plot)
    say_answer(found, as_json=as_json)
