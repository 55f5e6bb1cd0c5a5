"""`compare`: bound and mappings side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from optmap.base.clock import stopping
from optmap.cli.console import LIMIT_REACHED, Progress, complain, guarded, refuse_unused, say
from optmap.cli.options import (
    ConstraintOption,
    CountingOption,
    ExtentsOption,
    JsonOption,
    MachineOption,
    PaddingOption,
    SemanticsOption,
    WorkloadArgument,
    path_of,
    time_of,
)
from optmap.cli.pictures import prepare_picture
from optmap.files.inputs import names_of, workload_of

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

Exit codes: 0 compared, 2 bad input, 4 interrupted (what was found is printed), 5 a mapping is below the bound.
"""


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("compare", help=COMPARE_HELP)(guarded(compare, stoppable=True))


def compare(
    *,
    workload: WorkloadArgument,
    machine: MachineOption = None,
    memory: Annotated[
        str | None,
        typer.Option("--memory", metavar="SIZE[:SIZE]", help="A capacity, or a range: 4KiB:4MiB.", show_default=False),
    ] = None,
    points: Annotated[int, typer.Option("--points", min=2, help="Capacities of a range.")] = 9,
    methods: Annotated[
        str | None,
        typer.Option("--methods", metavar="A,B", help="Mapping methods; all if left out.", show_default=False),
    ] = None,
    semantics: SemanticsOption = None,
    padding: PaddingOption = None,
    extents: ExtentsOption = None,
    constraint: ConstraintOption = None,
    objective: Annotated[
        str | None,
        typer.Option("--objective", help="On accelerators: edp, energy, cycles or port-cycles.", show_default=False),
    ] = None,
    counting: CountingOption = None,
    evaluations: Annotated[
        int | None,
        typer.Option(
            "--evaluations",
            min=1,
            help="On accelerators: mappings that each of random and other searches may have judged.",
            show_default=False,
        ),
    ] = None,
    time_limit: Annotated[
        float, typer.Option("--time-limit", metavar="TIME", parser=time_of, help="Per solve.")
    ] = 60.0,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", metavar="FILE", parser=path_of, help="Draw the comparison.", show_default=False),
    ] = None,
    as_json: JsonOption = False,
) -> int:
    """Print bound and mappings of a workload."""
    from optmap.base.writing import to_json

    problem = workload_of(workload, extents, semantics, padding)
    prepare_picture(plot)
    if memory is None or ":" not in memory:
        refuse_unused("is for a range of capacities, such as --memory 4KiB:4MiB; give one, or", "points")
    from optmap.verbs import comparing

    with Progress("comparing") as progress:
        found = comparing.compare(
            problem,
            machine=machine,
            memory=memory,
            points=points,
            methods=names_of(methods, "--methods"),
            constraints=constraint,
            semantics=semantics,
            objective=objective,
            counting=counting,
            evaluations=evaluations,
            time_limit=time_limit,
            progress=progress,
        )
        if plot is not None:
            found.plot(plot)
    say(to_json(found.to_dict()) if as_json else str(found))
    if stopping():
        complain("interrupted; methods that had begun have the best found until then")
        return LIMIT_REACHED
    return 0
