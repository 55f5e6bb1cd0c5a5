"""`evaluate`: the exact cost of a mapping in a file, counted again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from optmap.base.errors import CheckError, LimitError
from optmap.cli.console import complain, guarded, refuse_unused, say_answer
from optmap.cli.options import JsonOption, PlotFolderOption, path_of, taking
from optmap.cli.pictures import draw_pictures, prepare_pictures
from optmap.cli.progress import Progress
from optmap.verbs.checking import EvaluateOptions

EVALUATE_HELP = """Count a mapping's exact cost and check a file's claims.

The file is one that solve wrote with -o, edited or not; schema, workload, machine and mapping are
enough. With --simulate the loop nest is executed literally: once with exactly one tile of every
tensor held, once with least recently used and once with optimal replacement of single words.

\b
Examples:
  optmap solve resnet18/R9 --machine i7-9700k -o r9.json
  optmap evaluate r9.json
  optmap evaluate small.json --simulate --json

A mapping on an accelerator: reads, fills and updates per memory and tensor, how many children share
one access, energy, cycles, utilisation; with --counting as the models of Timeloop and FactorFlow
count, too. --plot draws its loop nest, energy, utilisation, cycles and roofline.

A file with a mapping tree (workload with statements or expression and extents, machine by name or as in a
machine file, mapping.tree): words per pair of levels and tensor, and how much every level holds at most; in
closed form where all that is kept are boxes, else by a literal walk, element by element. With --simulate it
is walked in any case. --plot draws its loops with what is kept where, and the words.

Exit codes: 0 counted, 2 bad input, 4 too large to simulate or walk, 5 a claim is wrong or a tile does not fit.
"""


@taking(EvaluateOptions)
def evaluate(
    *,
    solution: Annotated[
        Path, typer.Argument(metavar="SOLUTION.json", parser=path_of, help="A solution file.", show_default=False)
    ],
    plot: PlotFolderOption = None,
    as_json: JsonOption = False,
    **options: Any,
) -> int:
    """Print what the mapping of a solution file really costs."""
    from optmap.answers.documents.saved_tree import SavedTree
    from optmap.report.answers.loading import saved_mapping
    from optmap.verbs import checking

    read = saved_mapping(solution)
    simulate = options.pop("simulate")
    if not simulate and not isinstance(read, SavedTree):
        refuse_unused("is for --simulate; add it, or", "limit")
    prepare_pictures(plot)
    too_large: LimitError | None = None
    with Progress("evaluating"):
        evaluation = checking.evaluate(read, **options)
        if simulate:
            try:
                evaluation = checking.evaluate(read, simulate=True, **options)
            except LimitError as error:
                too_large = error
    draw_pictures(evaluation, plot)
    say_answer(evaluation, as_json=as_json)
    wrong = evaluation.disagreements
    if wrong:
        raise CheckError(f"{solution}: " + "\n  ".join(wrong))
    if too_large is not None:
        complain(str(too_large))
        return too_large.exit_code
    return 0


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("evaluate", help=EVALUATE_HELP)(guarded(evaluate))
