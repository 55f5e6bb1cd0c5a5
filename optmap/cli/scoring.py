"""`score`: how far a mapping in files of Timeloop is from the optimum."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from optmap.base.errors import CheckError
from optmap.cli.console import guarded, say_answer
from optmap.cli.options import JsonOption, PlotFolderOption, path_of, taking
from optmap.cli.pictures import draw_pictures, prepare_pictures
from optmap.cli.progress import Progress
from optmap.verbs import exchange

SCORE_HELP = """Compare a mapping of Timeloop with the proven optimum.

The score is how many times it costs what the optimum does.
The files are Timeloop's (versions 0.2 to 0.4): a problem, an architecture with energies (ERT), and a
mapping; one file may hold several of them. The mapping is counted, the best one on the same machine
searched, and both are printed beside one another.

\b
Examples:
  optmap score problem.yaml arch.yaml map.yaml --plot figures
  optmap score problem.yaml arch.yaml ERT.yaml map.yaml --objective energy --counting timeloop

Exit codes: 0 scored, 2 bad input, 3 no valid mapping exists, 5 the mapping is not valid on the machine.
"""


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("score", help=SCORE_HELP)(guarded(score))


@taking(exchange.ScoreOptions)
def score(
    *,
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE", parser=path_of, help="YAML files.", show_default=False)
    ],
    plot: PlotFolderOption = None,
    as_json: JsonOption = False,
    **options: Any,
) -> None:
    """Print a mapping beside the optimum."""
    prepare_pictures(plot)
    with Progress("searching the optimum") as progress:
        found = exchange.score(files, **options, progress=progress)
    draw_pictures(found, plot)
    say_answer(found, as_json=as_json)
    if found.count.broken:
        raise CheckError(found.verdict)
