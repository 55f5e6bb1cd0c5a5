"""`compare`: bound and mappings side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from optmap.base.clock import stopping
from optmap.base.errors import InputError
from optmap.cli.completing import completed
from optmap.cli.console import LIMIT_REACHED, complain, guarded, refuse_unused, say_answer
from optmap.cli.options import JsonOption, picture_option, taking
from optmap.cli.pictures import prepare_picture
from optmap.cli.progress import Progress
from optmap.verbs import comparing

COMPARE_HELP = """Compare the lower bound with the mappings found.

One line per capacity of a range, or per boundary of a machine: the compulsory traffic, the
strongest bound, what the mapping of every method moves, and the smallest gap. A method that
minimises loads (iooub) is held to the bound on loads, others to that on loads and stores: where both are
compared, each has a line of its own. A mapping below the bound would be a contradiction and ends with exit code 5.

\b
Examples:
  optmap compare yolo9000/Y4 --memory 4KiB:4MiB --points 6 --methods mopt,iooub --plot y4.png
  optmap compare resnet18/R9 --machine balanced --methods mopt
  optmap compare 'C[i,j] += A[i,k]*B[k,j]' --extents i=96,j=64,k=80 --memory 256w:4096w --points 3 --json

On an accelerator, one line per method: energy, cycles, their product, how far it is above the best
method and above the floor of every schedule.

  optmap compare resnet18/R9 --machine eyeriss --objective energy

Of two files or more, mappings of one workload are counted again side by side, with where their nests differ.

  optmap compare r9.json r9-2.json

Exit codes: 0 compared, 2 bad input, 4 interrupted (what was found is printed), 5 a mapping is below the bound.
"""


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("compare", help=COMPARE_HELP)(guarded(compare, stoppable=True))


@taking(comparing.CompareOptions)
def compare(
    *,
    workload: Annotated[
        list[str],
        typer.Argument(
            metavar="WORKLOAD|FILES",
            help="A library name (resnet18/R9), a YAML file, a statement, or files that solve wrote.",
            show_default=False,
            autocompletion=completed("workloads"),
        ),
    ],
    plot: Annotated[Path | None, picture_option("Draw the comparison.")] = None,
    as_json: JsonOption = False,
    **options: Any,
) -> int:
    """Print bound and mappings of a workload, or saved mappings."""
    if len(workload) > 1 or workload[0].endswith(".json"):
        for word in workload:
            if not word.endswith(".json"):
                raise InputError(
                    f"{word}: one workload is compared, or files of mappings, which end in .json; lists are written "
                    "with commas, as in --methods mopt,iooub"
                )
        refuse_unused("is for a workload, and these are files", "plot", *options)
        say_answer(comparing.compare_mappings(*workload), as_json=as_json)
        return 0
    prepare_picture(plot)
    if ":" not in (options["memory"] or ""):
        refuse_unused("is for a range of capacities, such as --memory 4KiB:4MiB; give one, or", "points")
    with Progress("comparing") as progress:
        found = comparing.compare(workload[0], **options, progress=progress)
        if plot is not None:
            found.plot(plot)
    say_answer(found, as_json=as_json)
    if stopping():
        complain("interrupted; methods that had begun have the best found until then")
        return LIMIT_REACHED
    return 0
