"""The pictures of a sweep, drawn from its rows, and what they say in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from optmap.answers.over_capacity.sizing import TARGETS, Sizing
from optmap.base.share import Tell
from optmap.base.shown import Shown
from optmap.files import library
from optmap.files.kinds import expected
from optmap.files.network import network as load_network
from optmap.machines.machine import Machine
from optmap.report.answers.network import network_document, network_table
from optmap.report.answers.sizing import sizing_table
from optmap.report.pictures.sweep_album import Album, album, write_album
from optmap.sweeps.reading import read_sweep


@dataclass(frozen=True, slots=True, kw_only=True)
class Pictures(Shown):
    """What was drawn."""

    shown_as: ClassVar[str] = "pictures"
    album: Album
    files: tuple[Path, ...]


def draw(
    directory: Path,
    folder: Path,
    *,
    form: str,
    network: str | None,
    targets: Sequence[float] | None,
    metrics: tuple[str, str],
    progress: Tell | None = None,
) -> Pictures:
    """Draw a sweep.

    Args:
        directory: what `optmap sweep -o` wrote.
        folder: where the pictures go.
        form: `png`, `svg`, `pdf` or `html`.
        network: library name or file of the network whose layers are added up; None for none.
        targets: multiples of the compulsory traffic to reach; None for the usual ones.
        metrics: of the Pareto front.
        progress: told what is drawn and the share done.

    Raises:
        InputError: for anything that cannot be accepted or written.
    """
    with expected(directory, "the folder of a sweep", "results", "folder"):
        rows = read_sweep(directory)
    shown = album(
        rows,
        name=directory.name,
        network=None if network is None else load_network(network),
        targets=targets or TARGETS,
        machine=_known_machine,
    )
    files = write_album(shown, folder, form=form, metrics=metrics, progress=progress or _silent)
    return Pictures(album=shown, files=files)


def _known_machine(name: str) -> Machine | None:
    """The library machine of a name, whose capacity is worth a mark."""
    return library.machine(name) if name in library.list_machines() else None


def pictures_table(drawn: Pictures) -> str:
    """Sums and sizing table for people."""
    shown, files = drawn.album, drawn.files
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


def pictures_document(drawn: Pictures) -> dict[str, object]:
    """The JSON document of `plot`."""
    shown, files = drawn.album, drawn.files
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


def _silent(text: str, share: float) -> None:
    """Tell nobody."""
