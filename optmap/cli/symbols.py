"""`derive`: symbolic footprint, occupancy and traffic; dataflow classes with proofs."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from optmap.base.errors import InputError
from optmap.cli.console import guarded, say_answer
from optmap.cli.options import JsonOption, WorkloadArgument, taking
from optmap.cli.progress import Progress
from optmap.questions.option import declared
from optmap.verbs import deriving

DERIVE_HELP = """Derive traffic, dataflow classes, reuse or a closed form.

Prints footprint, occupancy and traffic of one loop order as symbolic expressions, or all dataflow classes,
inferred reuse, or a closed form.

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


VERBS = (deriving.StatementOptions, deriving.DeriveOptions, deriving.ReuseOptions, deriving.ClosedFormOptions)
"""Options of what is derived: classes, a loop order, reuse, a closed form."""


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("derive", help=DERIVE_HELP)(guarded(derive))


@taking(*VERBS)
def derive(
    *,
    workload: WorkloadArgument,
    classes: Annotated[bool, typer.Option("--classes", help="Derive the dataflow classes instead.")] = False,
    reuse: Annotated[bool, typer.Option("--reuse", help="Infer the reuse of tensors instead.")] = False,
    closed_form: Annotated[
        bool, typer.Option("--closed-form", help="Derive an upper bound without tile sizes instead.")
    ] = False,
    latex: Annotated[bool, typer.Option("--latex", help="LaTeX instead of text.")] = False,
    as_json: JsonOption = False,
    **options: Any,
) -> None:
    """Print symbolic expressions of a workload."""
    statement, order, machine, form = ({name: options[name] for name in declared(verb)} for verb in VERBS)
    asked = {name for verb in VERBS for name, option in declared(verb).items() if option.asks(options[name])}
    if reuse:
        if asked - {*machine} or classes or closed_form or latex:
            raise InputError(
                "--reuse is text of its own; use it with --machine, --extents, --semantics and --json alone"
            )
        with Progress("inferring reuse"):
            answer = deriving.inferred_reuse(workload, **machine)
        say_answer(answer, as_json=as_json)
        return
    if "machine" in asked:
        raise InputError("--machine is for the space of inferred reuse; add --reuse")
    if closed_form:
        if asked - {*form} or classes:
            raise InputError("--closed-form has a loop order of its own; drop --permutation, --classes, --levels")
        with Progress("deriving a closed form"):
            found = deriving.closed_form(workload, **form)
        say_answer(found, as_json=as_json, text=found.to_dict()["latex"] if latex else None)
        return
    if asked - {*order}:
        raise InputError("--memory, --stationary and --small are for a closed form; add --closed-form")
    if classes:
        if asked - {*statement} or latex:
            raise InputError(
                "--classes covers all loop orders of one level as text; drop --permutation, --levels, --latex"
            )
        with Progress("deriving classes"):
            classed = deriving.classes(workload, **statement)
        say_answer(classed, as_json=as_json)
        return
    with Progress("deriving"):
        derived = deriving.derive(workload, **order)
    say_answer(derived, as_json=as_json, text=derived.latex if latex else None)
