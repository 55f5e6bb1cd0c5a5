"""`reproduce`: what the papers print, beside what is computed here."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from optmap.base.errors import CheckError
from optmap.cli.console import LIMIT_REACHED, complain, guarded, say_answer
from optmap.cli.options import JsonOption, PlotFolderOption, taking
from optmap.cli.pictures import draw_pictures, prepare_pictures
from optmap.cli.progress import Progress
from optmap.papers.run import ReproduceOptions

REPRODUCE_HELP = """Compute what the papers print, and compare it with them.

Items are tables, figures and theorems.
Each gives rows: quantity, the paper's number, ours, their ratio, and a verdict: equal, better (proved),
differs (with a reason that is tested), erratum (with a counterexample that is run), not reproducible (and why).
With -o rows are kept, a document per item and a page per paper, and what is there is not computed again.

\b
Examples:
  optmap reproduce --list                                   # items with status
  optmap reproduce quickflow 'Table I'
  optmap reproduce dinh --quick --json
  optmap reproduce --quick -o papers                        # all papers, without what takes long

Exit codes: 0 computed, 2 bad input, 4 interrupted (what was computed is kept), 5 a row differs and nothing says why,
or an erratum's counterexample agrees with the paper.
"""


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("reproduce", help=REPRODUCE_HELP)(guarded(reproduce, stoppable=True))


@taking(ReproduceOptions)
def reproduce(
    *,
    paper: Annotated[
        str | None, typer.Argument(metavar="[PAPER]", help="mopt, ioopt, dinh, sunstone or quickflow; all if left out.")
    ] = None,
    item: Annotated[str | None, typer.Argument(metavar="[ITEM]", help="Such as 'Table I'; all if left out.")] = None,
    plot: PlotFolderOption = None,
    as_json: JsonOption = False,
    **options: Any,
) -> int:
    """Print what papers print beside what is found here."""
    from optmap.papers import run

    prepare_pictures(plot)
    with Progress("reproducing") as progress:
        found = run.reproduce(paper, item, **options, progress=progress)
    draw_pictures(found, plot)
    say_answer(found, as_json=as_json)
    if found.interrupted:
        complain("interrupted; what was computed until then is printed")
        return LIMIT_REACHED
    if found.failures:
        first, row = found.failures[0]
        raise CheckError(
            f"{len(found.failures)} rows failed; the first is of {first.paper.key}, {first.item.name}: "
            f"{row.quantity}: {row.reason}"
        )
    return 0
