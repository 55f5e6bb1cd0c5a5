"""`derive`: symbolic footprint, occupancy and traffic; dataflow classes with proofs."""

from __future__ import annotations

from typing import Annotated

import typer

from optmap.base.errors import InputError
from optmap.cli.console import Progress, guarded, say_answer
from optmap.cli.options import ExtentsOption, JsonOption, SemanticsOption, WorkloadArgument
from optmap.files.inputs import workload_of

DERIVE_HELP = """Derive footprint and traffic, all dataflow classes, inferred reuse, or a closed form.

Prints footprint, occupancy and traffic of one loop order as symbolic expressions.

A loop order names every dim once, outermost first; without one, the order of the workload is
used. The classes are derived for the workload at hand, each dominated one with its proof.
--closed-form derives the loop orders worth tiling by reuse, and the upper bound of a contraction or
a 2D convolution in extents and memory (IOOpt); with --memory its value beside the certified bound.
(optmap closed-form has the lower bound, as a piecewise function of capacity and extents.)
--reuse infers which dims reuse which tensor and the loop orders that this leaves (Sunstone); with
--machine how large the space of tiles and unrollings is with all dims and with the reuse dims.

\b
Examples:
  optmap derive resnet18/R9 --permutation n,k,c,r,s,h,w
  optmap derive resnet18/R9 --classes --json
  optmap derive resnet18/R9 --reuse --machine eyeriss_like
  optmap derive tccg/abc-adec-ebd --closed-form --memory 64KiB
  optmap derive yolo9000/Y4 --closed-form --small r,s --latex
  optmap derive 'C[i,j] += A[i,k]*B[k,j]' --extents i=64,j=64,k=64 --latex
"""


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("derive", help=DERIVE_HELP)(guarded(derive))


def derive(
    *,
    workload: WorkloadArgument,
    permutation: Annotated[
        str | None, typer.Option("--permutation", metavar="a,b,c", help="Loop order.", show_default=False)
    ] = None,
    classes: Annotated[bool, typer.Option("--classes", help="Derive the dataflow classes instead.")] = False,
    reuse: Annotated[bool, typer.Option("--reuse", help="Infer the reuse of tensors instead.")] = False,
    machine: Annotated[
        str | None,
        typer.Option("--machine", metavar="M", help="An accelerator, for the space of --reuse.", show_default=False),
    ] = None,
    levels: Annotated[int, typer.Option("--levels", min=1, max=8, help="Bounded memory levels.")] = 1,
    closed_form: Annotated[
        bool, typer.Option("--closed-form", help="Derive an upper bound without tile sizes instead.")
    ] = False,
    memory: Annotated[
        str | None,
        typer.Option("--memory", metavar="SIZE", help="Where to value the closed form: 64KiB.", show_default=False),
    ] = None,
    stationary: Annotated[
        str | None,
        typer.Option("--stationary", metavar="T", help="Tensor that the closed form keeps.", show_default=False),
    ] = None,
    small: Annotated[
        str | None,
        typer.Option("--small", metavar="a,b", help="Dims so small that windows are reused.", show_default=False),
    ] = None,
    latex: Annotated[bool, typer.Option("--latex", help="LaTeX instead of text.")] = False,
    extents: ExtentsOption = None,
    semantics: SemanticsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print symbolic expressions of a workload."""
    from optmap.verbs import deriving

    if reuse:
        if (permutation, memory, stationary, small) != (None,) * 4 or classes or closed_form or latex or levels != 1:
            raise InputError(
                "--reuse is text of its own; use it with --machine, --extents, --semantics and --json alone"
            )
        with Progress("inferring reuse"):
            answer = deriving.inferred_reuse(workload, machine=machine, extents=extents, semantics=semantics)
        say_answer(answer, as_json=as_json)
        return
    if machine is not None:
        raise InputError("--machine is for the space of inferred reuse; add --reuse")
    problem = workload_of(workload, extents, semantics)
    if closed_form:
        if permutation is not None or classes or levels != 1:
            raise InputError("--closed-form has a loop order of its own; drop --permutation, --classes, --levels")
        with Progress("deriving a closed form"):
            form = deriving.closed_form(problem, memory=memory, stationary=stationary, small=small)
        say_answer(form, as_json=as_json, text=form.to_dict()["latex"] if latex else None)
        return
    if (memory, stationary, small) != (None, None, None):
        raise InputError("--memory, --stationary and --small are for a closed form; add --closed-form")
    if classes:
        if permutation is not None or latex or levels != 1:
            raise InputError(
                "--classes covers all loop orders of one level as text; drop --permutation, --levels, --latex"
            )
        with Progress("deriving classes"):
            found = deriving.classes(problem)
        say_answer(found, as_json=as_json)
        return
    with Progress("deriving"):
        derived = deriving.derive(problem, permutation=permutation, levels=levels)
    say_answer(derived, as_json=as_json, text=derived.latex if latex else derived.text)
