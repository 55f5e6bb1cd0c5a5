"""`plot`: pictures and sizing tables from the rows of a sweep."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from optmap.cli.console import guarded, say_answer
from optmap.cli.options import JsonOption, output_option, path_of, taking
from optmap.cli.pictures import without_screen
from optmap.cli.progress import Progress
from optmap.verbs import sweeping

PLOT_HELP = """Draw the curves of a sweep and name the cheapest capacities.

Traffic and bound against capacity, the gap of every layer at every capacity, the Pareto front of
two metrics, and a table: from which capacity on does a layer move at most a multiple of its
compulsory traffic? With --network the layers are added up, each with its count.

\b
Examples:
  optmap plot results
  optmap plot results -o figures --format pdf
  optmap plot results --format html --network resnet18
  optmap plot results --target 1.5 --target 1.1 --pareto capacity_bytes,exact

Metrics of --pareto: capacity_bytes, traffic_bytes, traffic_words, exact (traffic over bandwidth), gap,
traffic_gap, seconds; of accelerators capacity_bytes, energy_pj, cycles, edp, seconds (cycles,energy_pj if
others are given).
"""


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("plot", help=PLOT_HELP)(guarded(plot))


@taking(sweeping.PlotOptions)
def plot(
    *,
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", parser=path_of, help="What optmap sweep -o wrote.", show_default=False)
    ],
    output: Annotated[Path | None, output_option("Folder; DIR/plots if left out.", metavar="DIR")] = None,
    as_json: JsonOption = False,
    **options: Any,
) -> None:
    """Write pictures of a sweep and print the sizing table."""
    if options["format"] is not sweeping.PictureFormat.HTML:
        without_screen()
    with Progress("drawing") as progress:
        drawn = sweeping.plot(directory, output, **options, progress=progress)
    say_answer(drawn, as_json=as_json)
