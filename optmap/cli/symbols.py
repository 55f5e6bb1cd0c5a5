"""`derive`: symbolic footprint, occupancy and traffic; dataflow classes with proofs."""

from __future__ import annotations

from typing import Annotated

import typer

from optmap.cli.console import Progress, guarded, say
from optmap.cli.options import ExtentsOption, JsonOption, SemanticsOption, WorkloadArgument
from optmap.errors import InputError
from optmap.problem.inputs import workload_of

DERIVE_HELP = """Derive footprint and traffic, or all dataflow classes.

Prints footprint, occupancy and traffic of one loop order as symbolic expressions.

A loop order names every dim once, outermost first; without one, the order of the workload is
used. The classes are derived for the workload at hand, each dominated one with its proof.

\b
Examples:
  optmap derive resnet18/R9 --permutation n,k,c,r,s,h,w
  optmap derive resnet18/R9 --classes --json
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
    levels: Annotated[int, typer.Option("--levels", min=1, max=8, help="Bounded memory levels.")] = 1,
    latex: Annotated[bool, typer.Option("--latex", help="LaTeX instead of text.")] = False,
    extents: ExtentsOption = None,
    semantics: SemanticsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print symbolic expressions of a workload."""
    from optmap import verbs
    from optmap.problem.io.files import to_json

    problem = workload_of(workload, extents, semantics)
    if classes:
        if permutation is not None or latex or levels != 1:
            raise InputError(
                "--classes covers all loop orders of one level as text; drop --permutation, --levels, --latex"
            )
        with Progress("deriving classes"):
            found = verbs.classes(problem)
        say(to_json(found.to_dict()) if as_json else str(found))
        return
    with Progress("deriving"):
        answer = verbs.derive(problem, permutation=permutation, levels=levels)
    say(to_json(answer.to_dict()) if as_json else answer.latex if latex else answer.text)
