"""`race`: searches on accelerators within the same budget, beside the proven optimum."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from optmap.cli.console import LIMIT_REACHED, complain, guarded, refuse_unused, say_answer
from optmap.cli.options import JsonOption, MachineOption, PlotFolderOption, taking, workloads_argument
from optmap.cli.pictures import draw_pictures, prepare_pictures
from optmap.cli.progress import Progress
from optmap.sweeps.options import EngineName, RaceOptions

RACE_HELP = """Let searches map the same layers with equal budgets.

Every method searches among the mappings with perfect factors, of which exact proves the best; it is
in every race. Per layer a line per method: what it found, as a multiple of the proved optimum (or of the
proved bound, if that was not reached in time), its evaluations, how many of them were valid, when it
found its best, when it was within 1 % of the optimum, and why it ended. Over several layers the
geometric means of these. --plot draws the best over time and over evaluations.

\b
Examples:
  optmap race resnet18/R11 --machine eyeriss_like --budget 10s --plot figures
  optmap race resnet18/R2 resnet18/R9 resnet18/R12 --machine simba_like --budget 30s --json
  optmap race 'resnet18/*' --machine eyeriss --methods random,cosa --budget 5s --proof 10min
  optmap race resnet18/R11 --machine eyeriss --methods random --set random.victory=0 --budget 5s
  optmap race 'C[i,j] += A[i,k]*B[k,j]' --extents i=64,j=64,k=64 --machine gemmini --objective energy

Times are fair one at a time; --engine local races on all cores, --engine dask on a cluster, and the table says
how many searches ran side by side. With -o a race that was interrupted goes on when it is run again.

\b
  optmap race 'resnet18/*' --machine simba --engine dask --scheduler tcp://head:8786 -o simba.race

Exit codes: 0 raced, 2 bad input, 4 interrupted (what was found is printed),
5 a mapping is better than what was proved to be least.
"""


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("race", help=RACE_HELP)(guarded(race, stoppable=True))


@taking(RaceOptions)
def race(
    *,
    workloads: Annotated[
        list[str], workloads_argument("Library names (resnet18/R9, 'resnet18/*'), YAML files, or statements.")
    ],
    machine: MachineOption = None,
    plot: PlotFolderOption = None,
    as_json: JsonOption = False,
    **options: Any,
) -> int:
    """Race methods and print who came how close, and when."""
    from optmap.base.errors import InputError
    from optmap.sweeps import races

    if machine is None:
        raise InputError("name the accelerator that the race is run on, such as --machine eyeriss")
    if options["engine"] is not EngineName.LOCAL:
        refuse_unused("is for processes on this computer, --engine local; add that, or", "jobs")
    prepare_pictures(plot)
    with Progress("racing") as progress:
        found = races.race(workloads, machine=machine, **options, progress=progress)
    if options["directory"] is not None:
        found.save(options["directory"] / "race.json")
    draw_pictures(found, plot)
    say_answer(found, as_json=as_json)
    if found.interrupted:
        complain("interrupted; searches that had begun have the best found until then")
        return LIMIT_REACHED
    return 0
