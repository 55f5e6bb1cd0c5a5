"""`plot`: pictures and sizing tables from the rows of a sweep."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from optmap.cli.console import Progress, guarded, say
from optmap.cli.options import JsonOption
from optmap.errors import InputError

if TYPE_CHECKING:
    from optmap.problem import Machine
    from optmap.report.sizing import Sizing
    from optmap.report.sweep_album import Album

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

Metrics of --pareto: capacity_bytes, traffic_words, exact (traffic over bandwidth), gap, seconds.
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
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="What optmap sweep -o wrote.", show_default=False)],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="DIR", help="Folder; DIR/plots if left out.", show_default=False),
    ] = None,
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
    ] = "capacity_bytes,traffic_words",
    as_json: JsonOption = False,
) -> None:
    """Write pictures of a sweep and print the sizing table."""
    from optmap.problem.network import network as load_network
    from optmap.report.jsonio import to_json
    from optmap.report.sizing import TARGETS
    from optmap.report.sweep_album import album, write_album
    from optmap.sweeps.reading import read_sweep

    metrics = tuple(part.strip() for part in pareto.split(","))
    if len(metrics) != 2:
        raise InputError(f"--pareto {pareto!r}: two metrics with a comma between are needed")
    layers = None if network is None else load_network(network)
    if form is not PictureFormat.HTML:
        _without_screen()
    with Progress("drawing") as progress:
        shown = album(
            read_sweep(directory),
            name=directory.name,
            network=layers,
            targets=target or TARGETS,
            machine=_known_machine,
        )
        folder = output if output is not None else directory / "plots"
        files = write_album(shown, folder, form=form.value, metrics=(metrics[0], metrics[1]), progress=progress)
    say(to_json(_document(shown, files)) if as_json else _text(shown, files))


def _without_screen() -> None:
    """Pictures go to files: no window system is needed."""
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise InputError("pictures need matplotlib, which is not installed; run: pip install 'optmap[plot]'") from error
    mpl.use("Agg")


def _known_machine(name: str) -> Machine | None:
    """The library machine of a name, whose capacity is worth a mark."""
    from optmap.problem import library

    return library.machine(name) if name in library.list_machines() else None


def _text(shown: Album, files: tuple[Path, ...]) -> str:
    from optmap.report.network import network_table
    from optmap.report.sizing import sizing_table

    parts = []
    for view in shown.views:
        sums = [series for series in view.total.series if series.samples]
        for series in sums:
            # The real machine if it was swept, else the largest memory.
            largest = series.samples[-1].capacity_bytes
            parts.append(network_table(view, series, shown.real.get((view.total.machine, view.total.level), largest)))
            parts.append("\n".join(size.text for size in shown.sizes if _is_of(size, view.total, series.label)))
    if shown.sizes:
        parts.append(sizing_table(shown.sizes))
    count = f"{len(files)} pictures" if len(files) > 1 else files[0].name
    parts.append(f"{count} in {files[0].parent}" if files else "no pictures")
    return "\n\n".join(parts)


def _is_of(size: Sizing, total: Any, label: str) -> bool:
    mine = (total.workload, total.machine, total.level, label)
    return (size.workload, size.machine, size.level, size.method) == mine


def _document(shown: Album, files: tuple[Path, ...]) -> dict[str, object]:
    from optmap.report.network import network_document

    return {
        "schema": "optmap.plot/1",
        "files": [str(path) for path in files],
        "sizing": [
            {
                "workload": size.workload,
                "machine": size.machine,
                "level": size.level,
                "method": size.method,
                "target": size.target,
                "reached_bytes": size.reached_bytes,
                "missed_bytes": size.missed_bytes,
                "refuted_bytes": size.refuted_bytes,
                "best": size.best,
            }
            for size in shown.sizes
        ],
        "networks": [
            network_document(view, series, series.samples[-1].capacity_bytes)
            for view in shown.views
            for series in view.total.series
            if series.samples
        ],
    }
