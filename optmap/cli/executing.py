"""`run`: workloads on the machine at hand."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from optmap.base.errors import CheckError
from optmap.cli.console import guarded, say_answer
from optmap.cli.options import JsonOption, NoPrefetchOption, output_option, taking, workloads_argument
from optmap.cli.progress import Progress
from optmap.verbs import running

RUN_HELP = """Run and time workloads in the best mappings found for them.

A search is followed by code in C that is compiled, checked and timed on the machine at hand.
The first mappings of the model of time are run, and the fastest is kept. The table has GFLOPS beside the
peak of the machine file, the measured time beside the predicted one and beside the floor that no mapping
goes below, and how far results are from a float64 reference, as a share of what rounding explains. On
whole numbers results must be exact. Large outputs are compared on a seeded sample, and the answer says so.

A workload is a name, a pattern, a network (every layer counts as often as it occurs), a workload file, a
statement, or a solution file: that is run in its own mapping. Without --machine the machine of the
solution is taken, else this one is detected first. Images have no rim and outputs are computed from
nothing, unless --padding or --semantics say otherwise.

\b
Examples:
  optmap detect -o host.yaml
  optmap run resnet18/R9 --machine host.yaml
  optmap run 'resnet18/*' --machine host.yaml --candidates 1 -o resnet18.json
  optmap run mobilenet --machine host.yaml --threads 2 --seconds 0.5
  optmap run 'C[i,j] += A[i,k]*B[k,j]' --extents i=512,j=512,k=512
  optmap run r9.json --machine host.yaml --json

Exit codes: 0 all right, 2 bad input or no compiler, 3 infeasible, 5 a result is wrong (which, and where).
"""


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("run", help=RUN_HELP)(guarded(run))


@taking(running.RunOptions)
def run(
    *,
    workloads: Annotated[
        list[str],
        workloads_argument("Names, patterns such as 'resnet18/*', networks, files, statements, or solution files."),
    ],
    no_prefetch: NoPrefetchOption = False,
    output: Annotated[Path | None, output_option("Write the JSON document.")] = None,
    as_json: JsonOption = False,
    **options: Any,
) -> None:
    """Print how fast workloads run, and whether they are right."""
    from optmap.base.writing import check_target

    check_target(output)
    with Progress("running") as progress:
        found = running.run(*workloads, prefetch=not no_prefetch, **options, progress=progress)
    if output is not None:
        found.save(output)
    say_answer(found, as_json=as_json)
    if found.wrong:
        raise CheckError("\n".join(found.wrong))
