"""`derive`: symbolic footprint, occupancy and traffic; dataflow classes with proofs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from optmap.cli.console import Progress, guarded, say
from optmap.cli.inputs import resolve_workload
from optmap.cli.options import ExtentsOption, JsonOption, SemanticsOption, WorkloadArgument
from optmap.errors import InputError

if TYPE_CHECKING:
    from optmap.problem import Workload

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


def parse_permutation(text: str, workload: Workload) -> tuple[str, ...]:
    """A loop order, outermost first.

    Raises:
        InputError: unless every dim of the workload is named exactly once.
    """
    order = tuple(part.strip() for part in text.split(","))
    if sorted(order) != sorted(workload.dims):
        raise InputError(
            f"permutation {text!r} must name each of {','.join(workload.dims)} exactly once, outermost first"
        )
    return order


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
    problem = resolve_workload(workload, extents, semantics)
    if classes:
        if permutation is not None or latex or levels != 1:
            raise InputError(
                "--classes covers all loop orders of one level as text; drop --permutation, --levels, --latex"
            )
        _derive_classes(problem, as_json)
        return
    order = problem.dims if permutation is None else parse_permutation(permutation, problem)
    _derive_order(problem, order, levels, latex, as_json)


def _derive_order(workload: Workload, order: tuple[str, ...], levels: int, latex: bool, as_json: bool) -> None:
    from optmap.report.documents import workload_document
    from optmap.report.jsonio import to_json
    from optmap.symbolic.render import derive_latex, derive_text

    with Progress("deriving"):
        if not as_json:
            say((derive_latex if latex else derive_text)(workload, order, levels=levels))
            return
        document = {
            "schema": "optmap.derivation/1",
            "workload": workload_document(workload),
            "permutation": list(order),
            "levels": levels,
            "text": derive_text(workload, order, levels=levels),
            "latex": derive_latex(workload, order, levels=levels),
        }
    say(to_json(document))


def _derive_classes(workload: Workload, as_json: bool) -> None:
    from optmap.report.documents import workload_document
    from optmap.report.jsonio import to_json
    from optmap.report.tables import classes_table
    from optmap.symbolic.render import classes_document

    with Progress("deriving classes"):
        found = classes_document(workload)
    if as_json:
        say(to_json({"schema": "optmap.classes/1", "workload": workload_document(workload), **found}))
        return
    say(classes_table(found))
