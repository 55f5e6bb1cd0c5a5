"""`plot`: pictures and sizing tables from the rows of a sweep."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from optmap.base.errors import InputError
from optmap.cli.console import Progress, guarded, say_answer
from optmap.cli.options import JsonOption, output_option, path_of
from optmap.cli.pictures import without_screen

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


class PictureFormat(StrEnum):
    """Forms of the pictures."""

    PNG = "png"
    SVG = "svg"
    PDF = "pdf"
    HTML = "html"


NetworkOption = Annotated[
    str | None,
    typer.Option(
        "--network",
        metavar="NAME",
        help="Add up the layers of this network: a library name, or a workload file with counts.",
        show_default=False,
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("plot", help=PLOT_HELP)(guarded(plot))


def plot(
    *,
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", parser=path_of, help="What optmap sweep -o wrote.", show_default=False)
    ],
    output: Annotated[Path | None, output_option("Folder; DIR/plots if left out.", metavar="DIR")] = None,
    form: Annotated[PictureFormat, typer.Option("--format", help="Form of the pictures.")] = PictureFormat.PNG,
    network: NetworkOption = None,
    target: Annotated[
        list[float] | None,
        typer.Option(
            "--target", help="Multiple of the compulsory traffic to reach; repeat as needed.", show_default=False
        ),
    ] = None,
    pareto: Annotated[
        str, typer.Option("--pareto", metavar="X,Y", help="Metrics of the Pareto front.")
    ] = "capacity_bytes,traffic_bytes",
    as_json: JsonOption = False,
) -> None:
    """Write pictures of a sweep and print the sizing table."""
    from optmap.verbs import sweeping

    metrics = tuple(part.strip() for part in pareto.split(","))
    if len(metrics) != 2:
        raise InputError(f"--pareto {pareto!r}: two metrics with a comma between are needed")
    if form is not PictureFormat.HTML:
        without_screen()
    with Progress("drawing") as progress:
        drawn = sweeping.plot(
            directory,
            output,
            format=form.value,
            network=network,
            targets=target,
            pareto=metrics,
            progress=progress,
        )
    say_answer(drawn, as_json=as_json)
