"""`closed-form`: loads bound and shape of a tile as a piecewise function of capacity and extents."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from optmap.base.errors import InputError
from optmap.cli.console import guarded, say_answer
from optmap.cli.options import JsonOption, PlotFolderOption, WorkloadArgument, taking
from optmap.cli.pictures import draw_pictures, prepare_pictures
from optmap.cli.progress import Progress
from optmap.verbs import deriving


class ClosedFormText(StrEnum):
    """How a closed form is written."""

    TEXT = "text"
    LATEX = "latex"
    PYTHON = "python"


CLOSED_FORM_HELP = """Derive a bound on loads, and its tile, regime by regime.

Both are piecewise functions of capacity and extents.
For nests with one dim per subscript, and convolutions. Every regime has a bound on loads that is proved
at all sizes, constant factor included, and the shape of a tile that matches it up to a constant factor, in
real numbers of which each tensor alone fits; the regimes, products of powers compared with each other, cover
every capacity and all extents.

With --memory, the regime at the extents of the workload, and a tile of whole numbers of which all tensors fit
together, with its loads; with --vary, where it is left as one parameter
grows. A picture (--plot) shows the regimes over two parameters (--over). In Python it is
optmap.regimes; optmap derive --closed-form has another one, an upper bound (IOOpt).

\b
Examples:
  optmap closed-form 'C[i,j] += A[i,k]*B[k,j]' --extents i=64,j=64,k=64
  optmap closed-form resnet50/conv2 --memory 64KiB --vary n
  optmap closed-form resnet50/conv2 --memory 64KiB --over M,n --plot pictures
  optmap closed-form tccg/abc-adec-ebd --format python
  optmap closed-form tccg/abc-adec-ebd --json

Exit codes: 0 derived, 2 bad input, 4 too many regimes.
"""


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("closed-form", help=CLOSED_FORM_HELP)(guarded(closed_form))


@taking(deriving.RegimesOptions)
def closed_form(
    *,
    workload: WorkloadArgument,
    plot: PlotFolderOption = None,
    text: Annotated[
        ClosedFormText, typer.Option("--format", help="A table, LaTeX, or a Python function.")
    ] = ClosedFormText.TEXT,
    as_json: JsonOption = False,
    **options: Any,
) -> None:
    """Print the closed form by regimes of a workload."""
    if options["over"] is not None and plot is None:
        raise InputError("--over names the axes of a picture; add --plot DIR")
    prepare_pictures(plot)
    with Progress("deriving the closed form"):
        found = deriving.regimes(workload, **options)
        draw_pictures(found, plot)
    written = None if text is ClosedFormText.TEXT else found.to_dict()[text.value]
    say_answer(found, as_json=as_json, text=written)
