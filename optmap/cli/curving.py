"""`curve`: what the best mapping moves over all capacities of one memory."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from optmap.base.clock import stopping
from optmap.cli.console import LIMIT_REACHED, complain, guarded, say_answer
from optmap.cli.options import JsonOption, WorkloadArgument, output_option, picture_option, taking
from optmap.cli.pictures import prepare_picture
from optmap.cli.progress import Progress
from optmap.verbs import curving

CURVE_HELP = """Trace what the best mapping moves over all capacities.

The capacities are those of one memory.
One line per step: the room that a mapping takes, the words that it moves, the floor of every schedule in a memory
of that room, and the gap; of a chain also what moves where every statement is done by itself. Every line is what
solve finds at its capacity (or at a larger one, where what it found there leaves room and is better: of mappings that
are not proved to be the best); between two lines the mapping of the upper one fits, so that no more words move there.
Beneath: the least capacity where no more than 5 % above what is compulsory moves, and where fusing begins and ends to
pay.

\b
Examples:
  optmap curve chains/attention --memory 4KiB:4MiB --plot attention.png
  optmap curve 'S[m,l] = A[m,k]*B[k,l]; C[m,n] = S[m,l]*D[l,n]' --extents m=64,l=64,k=16,n=16
  optmap curve 'C[i,j] = A[i,k]*B[k,j]' --extents i=64,j=64,k=64 --memory 50w:4000w --within 10 --json

Exit codes: 0 traced, 2 bad input, 3 nothing fits, 4 interrupted or the time was over before words of all neighbours
were near.
"""


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("curve", help=CURVE_HELP)(guarded(curve, stoppable=True))


@taking(curving.CurveOptions)
def curve(
    *,
    workload: WorkloadArgument,
    output: Annotated[Path | None, output_option("Write the JSON document, with a mapping per line.")] = None,
    plot: Annotated[Path | None, picture_option("Draw the curve.")] = None,
    as_json: JsonOption = False,
    **options: Any,
) -> int:
    """Print words over capacity."""
    from optmap.base.writing import check_target

    check_target(output)
    prepare_picture(plot)
    with Progress("tracing") as progress:
        found = curving.curve(workload, **options, progress=progress)
        if plot is not None:
            found.plot(plot)
    if output is not None:
        found.save(output)
    say_answer(found, as_json=as_json)
    if not found.complete:
        why = "interrupted" if stopping() else "the time was over"
        complain(f"{why}; words of some neighbours are further apart than was asked for")
        return LIMIT_REACHED
    return 0
