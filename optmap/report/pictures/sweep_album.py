"""All pictures of a sweep, written to a folder."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optmap.answers.over_capacity.accelerator_designs import NEST_METRICS, NestDesign, nest_designs
from optmap.answers.over_capacity.curves import Panel, panels, summed
from optmap.answers.over_capacity.designs import METRICS
from optmap.answers.over_capacity.networks import NetworkView, network_views
from optmap.answers.over_capacity.sizing import TARGETS, Sizing, sizing
from optmap.base.names import choose
from optmap.base.share import Share, Tell, unheard
from optmap.base.writing import made_folder, save_figure, write_text
from optmap.report.pictures.folder import FORMATS as IMAGES

if TYPE_CHECKING:
    import pandas as pd

    from optmap.files.network import Network
    from optmap.machines.machine import Machine

FORMATS = (*IMAGES, "html")


@dataclass(frozen=True, slots=True, kw_only=True)
class Album:
    """What there is to show of a sweep."""

    name: str
    panels: tuple[Panel, ...]
    """Every workload at every machine and level."""
    views: tuple[NetworkView, ...]
    """The network, if one was asked for, at every machine and level."""
    totals: tuple[Panel, ...]
    """The workloads that all machines have, added up per machine and level; the designs to compare."""
    sizes: tuple[Sizing, ...]
    """Cheapest capacities: of the network first, then of every workload."""
    real: dict[tuple[str, str], int]
    """Capacity in bytes of the real machine by (machine, level), where the sweep varied it."""
    designs: tuple[NestDesign, ...] = ()
    """Accelerators, with the workloads that all of them map added up."""


def album(
    frame: pd.DataFrame,
    *,
    name: str = "sweep",
    network: Network | None = None,
    targets: Sequence[float] = TARGETS,
    machine: Callable[[str], Machine | None] = lambda _: None,
) -> Album:
    """Everything that can be shown of the rows of a sweep.

    Args:
        frame: what `read_sweep` returns.
        name: of the sweep, for titles.
        network: counts for sums over a whole network.
        targets: multiples of the compulsory traffic that are asked for.
        machine: finds the real machine of a name, to mark its capacity; None if there is none.

    Raises:
        InputError: if there are no answers, or a target is below 1.
    """
    counts = None if network is None else {layer.title: layer.count for layer in network.layers}
    designs = nest_designs(frame, counts)
    # Rows of accelerators alone are no curves of traffic.
    found = () if designs and not frame["traffic_words"].notna().any() else panels(frame)
    views = network_views(found, network) if network is not None and found else ()
    wanted = [view.total for view in views]
    return Album(
        name=name,
        panels=found,
        views=views,
        totals=tuple(wanted) if wanted else _totals(found),
        sizes=sizing([*wanted, *found], targets),
        designs=designs,
        real=_real(found, machine),
    )


def _totals(found: Sequence[Panel]) -> tuple[Panel, ...]:
    places: dict[tuple[str, str, str], list[Panel]] = {}
    for panel in found:
        places.setdefault((panel.machine, panel.level, panel.semantics), []).append(panel)
    named = [{panel.workload for panel in group} for group in places.values()]
    common = set.intersection(*named) if named else set()
    made = []
    for group in places.values():
        mine = [(panel, panel.count) for panel in group if panel.workload in common]
        title = mine[0][0].workload if len(mine) == 1 else f"{len(mine)} workloads, added up"
        total = summed(mine, title) if mine else None
        made += [] if total is None else [total]
    return tuple(made)


def _real(found: Sequence[Panel], machine: Callable[[str], Machine | None]) -> dict[tuple[str, str], int]:
    """Capacities of real machines at the levels that the sweep varied."""
    real: dict[tuple[str, str], int] = {}
    for panel in found:
        varied = len({size for size, _ in panel.bounds} | {s.capacity_bytes for x in panel.series for s in x.samples})
        known = machine(panel.machine) if varied > 1 else None
        for level in () if known is None else known.levels:
            if level.name == panel.level:
                real[panel.machine, panel.level] = int(level.room.bytes(panel.word_bits))
    return real


def write_album(
    shown: Album,
    folder: Path,
    *,
    form: str = "png",
    metrics: tuple[str, str] = ("capacity_bytes", "traffic_bytes"),
    progress: Tell = unheard,
) -> tuple[Path, ...]:
    """Write the pictures: one per curve, one map of gaps per machine, network, Pareto front.

    Args:
        shown: what to draw.
        folder: made if it is not there.
        form: `png`, `svg` or `pdf`; `html` for one interactive page.
        metrics: of the Pareto front, drawn if there are several designs; of accelerators, if they have both of
            them, else cycles and energy.
        progress: told what is drawn and the share done.

    Returns:
        The files.

    Raises:
        UnknownNameError: for a form or a metric that is none.
        InputError: if matplotlib or plotly is not installed, or a file cannot be written.
    """
    choose("format", form, FORMATS)
    for name in metrics:
        choose("metric", name, [*METRICS, *(name for name in NEST_METRICS if name not in METRICS)])
    made_folder(folder)
    if form == "html":
        return (_page(shown, folder / "sweep.html", metrics),)
    written: list[Path] = []
    pictures = list(_pictures(shown, metrics))
    for number, (stem, draw) in enumerate(pictures):
        progress(f"drawing {stem}", Share.counted(number, len(pictures)))
        path = _free(folder / f"{stem}.{form}", written)
        save_figure(draw(), path)
        written.append(path)
    return tuple(written)


def _page(shown: Album, path: Path, metrics: tuple[str, str]) -> Path:
    from optmap.report.pictures.sweep_html import sweep_page

    several = _designs(shown.totals) > 1 and METRICS.keys() >= set(metrics)
    page = sweep_page(
        shown.panels,
        title=shown.name,
        answers=shown.sizes,
        views=shown.views,
        totals=shown.totals if several else (),
        designs=shown.designs,
        metrics=metrics,
        real=shown.real,
    )
    write_text(path, page)
    return path


def _designs(totals: Sequence[Panel]) -> int:
    return sum(len(series.samples) for panel in totals for series in panel.series)


def _pictures(shown: Album, metrics: tuple[str, str]) -> Iterator[tuple[str, Callable[[], Any]]]:
    """(file name without ending, what draws it) pairs."""
    from optmap.report.pictures import sweep_plots as plots
    from optmap.report.pictures.pareto_plot import nest_metrics, plot_nest_pareto, plot_pareto

    for panel in shown.panels:
        real = shown.real.get((panel.machine, panel.level))
        yield f"curve-{_slug(panel)}", partial(plots.plot_curve, panel, real_bytes=real)
    places: dict[tuple[str, str], list[Panel]] = {}
    for panel in shown.panels:
        if any(sample.gap is not None for series in panel.series for sample in series.samples):
            places.setdefault((panel.machine, panel.level), []).append(panel)
    for (machine, level), group in places.items():
        yield f"gaps-{_plain(machine)}-{_plain(level)}", partial(plots.plot_gaps, group)
    for view in shown.views:
        real = shown.real.get((view.total.machine, view.total.level))
        yield f"curve-network-{_slug(view.total)}", partial(plots.plot_curve, view.total, real_bytes=real)
        if _designs([view.total]) > 1:
            yield f"layers-{_slug(view.total)}", partial(plots.plot_network, view, real_bytes=real)
    if _designs(shown.totals) > 1 and METRICS.keys() >= set(metrics):
        yield "pareto", partial(plot_pareto, shown.totals, *metrics)
    if shown.designs:
        yield "pareto-accelerators", partial(plot_nest_pareto, shown.designs, *nest_metrics(metrics))


def _slug(panel: Panel) -> str:
    return "-".join(_plain(text) for text in (panel.workload, panel.machine, panel.level))


def _plain(text: str) -> str:
    """A text as part of a file name."""
    return re.sub(r"[^A-Za-z0-9.]+", "_", text).strip("_.")[:80] or "unnamed"


def _free(path: Path, taken: Sequence[Path]) -> Path:
    number, free = 2, path
    while free in taken:
        free, number = path.with_stem(f"{path.stem}-{number}"), number + 1
    return free
