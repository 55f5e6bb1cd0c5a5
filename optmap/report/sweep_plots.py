"""Pictures of a sweep with matplotlib, which is imported when one is drawn.

Drawn small with large type, so that they stay readable at half the width of a page; the colours are
Okabe and Ito's and the map goes from white to blue, so nothing relies on telling red from green.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle, pairwise
from typing import Any

from optmap.errors import InputError
from optmap.names import choose
from optmap.report.network import NetworkView
from optmap.report.plots import PALETTE
from optmap.report.sweep_curves import Panel, Sample, Series, size_text

STYLE = {
    "font.size": 11,
    "axes.titlesize": 11,
    "legend.fontsize": 9.5,
    "lines.linewidth": 1.8,
    "lines.markersize": 4.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "svg.hashsalt": "optmap",
}
SIZE = (5.4, 3.7)
"""Width and height in inches."""
BOUND_COLOR = "#D55E00"
MARKERS = "osD^vP"
LAYERS_SHOWN = 7
"""Layers of a network with a colour of their own; the rest are one band."""


TICKS: tuple[tuple[float, tuple[float, ...]], ...] = (
    (1.5, (1.0, 1.1, 1.2, 1.3, 1.4, 1.6, 1.8, 2.0, 2.2, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0)),
    (4.0, (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0)),
    (12.0, (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0)),
    (300.0, (1.0, 2.0, 5.0)),
    (math.inf, (1.0,)),
)
"""Where a logarithmic axis has ticks, by the quotient of its ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A number of a design: of a machine with one capacity, for all workloads together."""

    label: str
    """For an axis, with its unit."""
    value: Callable[[Panel, Sample], float]


METRICS = {
    "capacity_bytes": Metric(label="capacity", value=lambda _, sample: sample.capacity_bytes),
    "traffic_bytes": Metric(
        label="traffic (bytes)", value=lambda panel, sample: sample.traffic_words * panel.word_bits / 8
    ),
    "traffic_words": Metric(label="traffic (words)", value=lambda _, sample: sample.traffic_words),
    "exact": Metric(label="traffic / bandwidth (cycles)", value=lambda _, sample: sample.exact),
    "gap": Metric(
        label="gap (%)", value=lambda panel, sample: math.nan if sample.gap is None else 100 * max(sample.gap, 0.0)
    ),
    "seconds": Metric(label="time to solve (s)", value=lambda _, sample: sample.seconds),
}
"""Metrics of a Pareto front; smaller is better for all of them."""


def plot_curve(panel: Panel, *, real_bytes: int | None = None, title: str = "", axes: Any = None) -> Any:
    """Traffic and bound of one workload, or of a network, against capacity, both logarithmic.

    The area between the best mapping and the bound is the gap: a schedule there is neither known
    nor excluded. The dotted line is the compulsory traffic, which no memory can save.

    Args:
        panel: the curves.
        real_bytes: capacity of the real machine, marked by a vertical line.
        title: above the picture; workload and machine by default.
        axes: matplotlib axes to draw into; new ones are made if absent.

    Returns:
        The axes.

    Raises:
        InputError: if matplotlib is not installed.
    """
    with _styled():
        axes = _axes() if axes is None else axes
        for series, color, marker in zip(panel.series, cycle(_line_colors()), cycle(MARKERS), strict=False):
            held = [sample.capacity_bytes for sample in series.samples]
            words = [sample.traffic_words for sample in series.samples]
            axes.plot(held, words, color=color, marker=marker, label=f"found ({series.label})", zorder=3)
        if panel.bounds:
            held, words = [size for size, _ in panel.bounds], [bound for _, bound in panel.bounds]
            axes.plot(held, words, color=BOUND_COLOR, ls="--", marker="x", label="proved bound", zorder=2)
        _shade(axes, panel)
        axes.axhline(panel.compulsory_words, color="#555555", ls=":", lw=1.4, label="compulsory", zorder=1)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        _capacity_axis(axes, capacity_label(panel))
        _count_axis(axes.yaxis)
        axes.set_ylabel("loads + stores (words)")
        axes.set_title(title or f"{panel.workload} on {panel.place}")
        _mark_real(axes, real_bytes, panel)
        axes.legend(frameon=True, framealpha=0.9, edgecolor="none", loc="upper right")
    return axes


def _line_colors() -> list[str]:
    return [color for color in PALETTE if color != BOUND_COLOR]


def _shade(axes: Any, panel: Panel) -> None:
    """The area between the least traffic found and the bound, where both are known."""
    if not panel.bounds or not panel.series:
        return
    held = sorted({sample.capacity_bytes for series in panel.series for sample in series.samples})
    known = [size for size in held if panel.bounds[0][0] <= size <= panel.bounds[-1][0]]
    if not known:
        return
    least = [
        min(sample.traffic_words for series in panel.series if (sample := series.best_below(size)) is not None)
        for size in known
    ]
    bound = [panel.bound_at(size) for size in known]
    axes.fill_between(known, bound, least, color="#bbbbbb", alpha=0.45, lw=0, label="gap", zorder=0)


def _mark_real(axes: Any, real_bytes: int | None, panel: Panel) -> None:
    if real_bytes is not None:
        label = f"{panel.machine}: {size_text(real_bytes)}"
        axes.axvline(real_bytes, color="#000000", ls="-.", lw=1.2, zorder=4, label=label)


def plot_gaps(panels: Sequence[Panel], *, axes: Any = None) -> Any:
    """The gap of every layer at every capacity as a map; hatched where there is no answer.

    Args:
        panels: curves of one level of one machine.
        axes: matplotlib axes to draw into; new ones are made if absent.

    Returns:
        The axes.

    Raises:
        InputError: if matplotlib is not installed, or no row has a gap.
    """
    rows = [(f"{panel.workload}{_suffix(panel, series)}", series) for panel in panels for series in panel.series]
    gaps = [100 * max(sample.gap, 0.0) for _, series in rows for sample in series.samples if sample.gap is not None]
    if not gaps:
        raise InputError("no row of the sweep has a gap; sweep a mapping method such as mopt")
    with _styled():
        from matplotlib.colors import PowerNorm

        axes = _axes((SIZE[0], max(2.2, 0.9 + 0.26 * len(rows)))) if axes is None else axes
        # Small gaps are the interesting ones: the square root gives them more of the scale.
        norm = PowerNorm(0.5, vmin=0.0, vmax=max(*gaps, 1.0))
        axes.set_facecolor("#ffffff")
        axes.patch.set(hatch="////", edgecolor="#bbbbbb")
        axes.grid(False)
        axes.set_xscale("log", base=2)
        cells = None
        for place, (_, series) in enumerate(rows):
            for left, right, sample in _cells(series):
                shown = [[100 * max(sample.gap or 0.0, 0.0)]]
                cells = axes.pcolormesh(
                    [left, right], [place - 0.5, place + 0.5], shown, norm=norm, cmap="Blues", lw=0, rasterized=True
                )
        axes.set_yticks(range(len(rows)), [name for name, _ in rows])
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
        _capacity_axis(axes, capacity_label(panels[0]))
        bar = axes.figure.colorbar(cells, ax=axes, pad=0.02)
        bar.set_label("gap: found / bound - 1 (%)")
        bar.outline.set_visible(False)
        axes.set_title(f"Gap on {panels[0].place}")
    return axes


def _suffix(panel: Panel, series: Series) -> str:
    return f" ({series.label})" if len(panel.series) > 1 else ""


def _cells(series: Series) -> list[tuple[float, float, Sample]]:
    """Cells around the capacities of a curve, split at the geometric middle; none where the gap is missing."""
    sizes = [float(sample.capacity_bytes) for sample in series.samples]
    middles = [math.sqrt(a * b) for a, b in pairwise(sizes)]
    first = sizes[0] ** 2 / middles[0] if middles else sizes[0] / 2
    last = sizes[-1] ** 2 / middles[-1] if middles else sizes[0] * 2
    edges = [first, *middles, last]
    cells = zip(edges, edges[1:], series.samples, strict=False)
    return [(left, right, sample) for left, right, sample in cells if sample.gap is not None]


def plot_pareto(totals: Sequence[Panel], x: str = "capacity_bytes", y: str = "traffic_bytes", axes: Any = None) -> Any:
    """Two metrics of every design (machine and capacity), the Pareto front among all of them drawn.

    Args:
        totals: one panel per machine and level, all of the same workloads.
        x: a key of `METRICS`.
        y: another one.
        axes: matplotlib axes to draw into; new ones are made if absent.

    Returns:
        The axes.

    Raises:
        UnknownNameError: for a metric that is none.
        InputError: if matplotlib is not installed, or there is no design with both numbers.
    """
    designs = pareto_designs(totals, x, y)
    with _styled():
        axes = _axes() if axes is None else axes
        labels = list(dict.fromkeys(label for label, _, _ in designs))
        for label, color, marker in zip(labels, cycle(PALETTE), cycle(MARKERS), strict=False):
            mine = [(a, b) for name, a, b in designs if name == label]
            axes.scatter(*zip(*mine, strict=True), color=color, marker=marker, s=28, label=label, zorder=3)
        front = pareto_front([(a, b) for _, a, b in designs])
        axes.step(
            [a for a, _ in front], [b for _, b in front], where="post", color="#000000", lw=1.2, label="Pareto front"
        )
        _metric_axis(axes, "x", x)
        _metric_axis(axes, "y", y)
        axes.set_title(totals[0].workload)
        axes.legend(frameon=True, framealpha=0.9, edgecolor="none", loc="best")
    return axes


def pareto_designs(totals: Sequence[Panel], x: str, y: str) -> list[tuple[str, float, float]]:
    """(what it is, x, y) of every design that has both numbers.

    Raises:
        UnknownNameError: for a metric that is none.
        InputError: if there is none.
    """
    for name in (x, y):
        choose("metric", name, METRICS)
    several = len({series.label for panel in totals for series in panel.series}) > 1
    found = [
        (
            f"{panel.place}{f' ({series.label})' if several else ''}",
            float(METRICS[x].value(panel, sample)),
            float(METRICS[y].value(panel, sample)),
        )
        for panel in totals
        for series in panel.series
        for sample in series.samples
    ]
    found = [design for design in found if math.isfinite(design[1]) and math.isfinite(design[2])]
    if not found:
        raise InputError(f"no machine of the sweep has mappings of all workloads with {x} and {y}")
    return found


def pareto_front(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The points that no other point beats in one number without losing in the other, by x."""
    front: list[tuple[float, float]] = []
    for point in sorted(set(points)):
        if not front or point[1] < front[-1][1]:
            front.append(point)
    return front


def plot_network(view: NetworkView, *, real_bytes: int | None = None, axes: Any = None) -> Any:
    """Traffic of a network against capacity, split by layer, with the proved bound of the sum.

    Args:
        view: the network on a machine.
        real_bytes: capacity of the real machine, marked by a vertical line.
        axes: matplotlib axes to draw into; new ones are made if absent.

    Returns:
        The axes. The scale of the words is linear, so that the bands can be added by eye.

    Raises:
        InputError: if matplotlib is not installed, or no capacity has mappings of all layers.
    """
    bands = network_bands(view)
    sizes = [sample.capacity_bytes for sample in view.total.series[0].samples]
    with _styled():
        axes = _axes((SIZE[0], SIZE[1] + 0.5)) if axes is None else axes
        colors = [*PALETTE[: len(bands) - 1], "#bbbbbb"] if len(bands) > LAYERS_SHOWN else PALETTE[: len(bands)]
        values = [words for _, words in bands]
        axes.stackplot(sizes, values, labels=[name for name, _ in bands], colors=colors, lw=0.4, edgecolor="white")
        bound = [view.total.bound_at(size) for size in sizes]
        axes.plot(sizes, bound, color="#000000", ls="--", label="proved bound (sum)")
        axes.axhline(view.total.compulsory_words, color="#000000", ls=":", lw=1.4, label="compulsory (sum)")
        axes.set_xscale("log", base=2)
        axes.set_xlim(sizes[0], sizes[-1])
        axes.set_ylim(bottom=0)
        _capacity_axis(axes, capacity_label(view.total))
        _engineering(axes.yaxis)
        axes.set_ylabel("loads + stores (words)")
        lost = len(view.missing)
        partly = f", {lost} {'layer' if lost == 1 else 'layers'} missing" if lost else ""
        axes.set_title(f"{view.network.name} on {view.total.place}{partly}", loc="left")
        axes.set_axisbelow(True)
        _mark_real(axes, real_bytes, view.total)
        handles, names = axes.get_legend_handles_labels()
        axes.legend(handles[::-1], names[::-1], frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return axes


def network_bands(view: NetworkView) -> list[tuple[str, list[int]]]:
    """(layer, words over the capacities of the sum) of the largest layers, the rest as one band.

    Raises:
        InputError: if no capacity has mappings of all layers.
    """
    if not view.total.series or not view.total.series[0].samples:
        raise InputError(f"no capacity of the sweep has mappings of all layers of {view.network.name} that it has")
    series = view.total.series[0]
    lines: list[tuple[str, list[int]]] = []
    for panel, count in view.parts:
        own = next(line for line in panel.series if line.label == series.label)
        fitting = [own.best_below(sample.capacity_bytes) for sample in series.samples]
        words = [sample.traffic_words * count for sample in fitting if sample is not None]
        short = panel.workload.rpartition("/")[2]
        lines.append((f"{short} ({count}x)" if count > 1 else short, words))
    lines.sort(key=lambda line: -sum(math.log(value) for value in line[1]))
    if len(lines) <= LAYERS_SHOWN + 1:
        return lines
    rest = [sum(values) for values in zip(*(words for _, words in lines[LAYERS_SHOWN:]), strict=True)]
    return [*lines[:LAYERS_SHOWN], (f"{len(lines) - LAYERS_SHOWN} others", rest)]


@contextmanager
def _styled() -> Iterator[None]:
    try:
        from matplotlib import rc_context
    except ImportError as error:
        raise InputError("pictures need matplotlib, which is not installed; run: pip install 'optmap[plot]'") from error
    with rc_context(STYLE):
        yield


def _axes(size: tuple[float, float] = SIZE) -> Any:
    from matplotlib import pyplot

    return pyplot.subplots(figsize=size, layout="constrained")[1]


def capacity_label(panel: Panel) -> str:
    """What the axis of capacities is called."""
    return "fast memory" if panel.machine == "two-level" else f"capacity of {panel.level}"


def _metric_axis(axes: Any, side: str, metric: str) -> None:
    if metric == "capacity_bytes" and side == "x":
        axes.set_xscale("log", base=2)
        _capacity_axis(axes, METRICS[metric].label)
        return
    axis = getattr(axes, f"{side}axis")
    getattr(axes, f"set_{side}label")(METRICS[metric].label + (" (bytes)" if metric == "capacity_bytes" else ""))
    if metric != "gap":
        getattr(axes, f"set_{side}scale")("log")
        _count_axis(axis)


def _capacity_axis(axes: Any, label: str) -> None:
    """Powers of two as sizes, at most about seven of them."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axes.xaxis.set_major_locator(LogLocator(base=2, numticks=8))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda size, _: size_text(size)))
    axes.tick_params(axis="x", labelsize=9.5)
    axes.set_xlabel(label)


def _count_axis(axis: Any) -> None:
    """1, 2, 5 in every decade, with k, M, G."""
    from matplotlib.ticker import LogLocator, NullFormatter

    low, high = sorted(axis.get_view_interval())
    span = high / max(low, 1e-300)
    steps = next(steps for limit, steps in TICKS if span < limit)
    axis.set_major_locator(LogLocator(base=10, subs=steps, numticks=20))
    axis.set_minor_formatter(NullFormatter())
    _engineering(axis)


def _engineering(axis: Any) -> None:
    from matplotlib.ticker import EngFormatter

    axis.set_major_formatter(EngFormatter(sep=""))
