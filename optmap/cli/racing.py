"""`race`: searches on accelerators within the same budget, beside the proven optimum."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from optmap.cli.console import LIMIT_REACHED, Progress, complain, guarded, refuse_unused, say
from optmap.cli.options import (
    CountingOption,
    ExtentsOption,
    JsonOption,
    MachineOption,
    PlotFolderOption,
    path_of,
    time_of,
)
from optmap.cli.pictures import draw_pictures, prepare_pictures
from optmap.cli.sweeping import EngineName

RACE_HELP = """Let searches find mappings of the same layers within the same budget.

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


def race(
    *,
    workloads: Annotated[
        list[str],
        typer.Argument(
            metavar="WORKLOAD...",
            help="Library names (resnet18/R9, 'resnet18/*'), YAML files, or statements.",
            show_default=False,
        ),
    ],
    machine: MachineOption = None,
    methods: Annotated[str, typer.Option("--methods", metavar="A,B", help="See: optmap list methods.")] = "all",
    budget: Annotated[
        float,
        typer.Option("--budget", metavar="TIME", parser=time_of, help="Of each method for each layer: 60s, 2min."),
    ] = 60.0,
    proof: Annotated[
        float | None,
        typer.Option(
            "--proof",
            metavar="TIME",
            parser=time_of,
            help="Of exact for each layer, to prove the optimum; the budget if left out.",
            show_default=False,
        ),
    ] = None,
    objective: Annotated[
        str | None,
        typer.Option("--objective", help="edp (if left out), energy, cycles or port-cycles.", show_default=False),
    ] = None,
    counting: CountingOption = None,
    evaluations: Annotated[
        int | None,
        typer.Option(
            "--evaluations",
            min=1,
            help="Mappings that each search which proposes them may have judged; any number if left out.",
            show_default=False,
        ),
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="METHOD.NAME=VALUE",
            help="A setting of a method, such as random.victory=0. Repeatable.",
            show_default=False,
        ),
    ] = None,
    extents: ExtentsOption = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of methods that draw random numbers.")] = 0,
    engine: Annotated[
        EngineName, typer.Option("--engine", help="Where searches run; inline is one at a time.")
    ] = EngineName.INLINE,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", min=1, help="Processes of engine local; one per core if left out.", show_default=False),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option("--scheduler", metavar="ADDRESS", help="Of Dask, as tcp://host:8786.", show_default=False),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="DIR",
            parser=path_of,
            help="Keep rows, mappings, curves and race.json here; a race goes on where it was interrupted.",
            show_default=False,
        ),
    ] = None,
    plot: PlotFolderOption = None,
    as_json: JsonOption = False,
) -> int:
    """Race methods and print who came how close, and when."""
    from optmap.base.errors import InputError
    from optmap.base.writing import to_json
    from optmap.sweeps import races

    if machine is None:
        raise InputError("name the accelerator that the race is run on, such as --machine eyeriss")
    if engine is not EngineName.LOCAL:
        refuse_unused("is for processes on this computer, --engine local; add that, or", "jobs")
    prepare_pictures(plot)
    with Progress("racing") as progress:
        found = races.race(
            workloads,
            machine=machine,
            methods=methods,
            budget=budget,
            proof=proof,
            objective=objective,
            counting=counting,
            evaluations=evaluations,
            settings=setting or (),
            extents=extents,
            seed=seed,
            engine=engine.value,
            jobs=jobs,
            scheduler=scheduler,
            directory=output,
            progress=progress,
        )
    if output is not None:
        found.save(output / "race.json")
    draw_pictures(found, plot)
    say(to_json(found.to_dict()) if as_json else str(found))
    if found.interrupted:
        complain("interrupted; searches that had begun have the best found until then")
        return LIMIT_REACHED
    return 0
