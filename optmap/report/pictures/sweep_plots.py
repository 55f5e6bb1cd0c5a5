"""Pictures of a sweep with matplotlib, which is imported when one is drawn.

Drawn small with large type, so that they stay readable at half the width of a page; the colours are
Okabe and Ito's and the map goes from white to blue, so nothing relies on telling red from green.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from optmap.answers.over_capacity.curves import CapacitySample, MethodCurve, Panel, best_and_bound
from optmap.answers.over_capacity.networks import NetworkView
from optmap.base.errors import InputError
from optmap.base.texts import size_text
from optmap.report.pictures.axes import SIZE, capacity_axis, count_axis, new_axes, styled, words_label
from optmap.report.pictures.compare_plot import nested
from optmap.report.pictures.series import BOUND_COLOR, FLOOR, PALETTE, REST, filled

LETTER = 0.085
"""Inches that a letter of a label takes, roughly."""
MAP_WIDTH = 4.6
"""Inches of a map with its scale, beside the names of its rows."""
LAYERS_SHOWN = 7
"""Layers of a network with a colour of their own; the rest are one band."""


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
    with styled():
        axes = new_axes() if axes is None else axes
        for series, style in zip(panel.series, nested(len(panel.series)), strict=True):
            held = [sample.capacity_bytes for sample in series.samples]
            words = [sample.traffic_words for sample in series.samples]
            axes.plot(held, words, label=f"found ({series.label})", **style)
        if panel.bounds:
            held, words = [size for size, _ in panel.bounds], [bound for _, bound in panel.bounds]
            axes.plot(held, words, color=BOUND_COLOR, ls="--", marker="x", label="proved bound", zorder=5)
        _shade(axes, panel)
        axes.axhline(panel.compulsory_words, color=FLOOR, ls=":", lw=1.4, label="compulsory", zorder=1)
        axes.set_yscale("log")
        held = sorted({size for size, _ in panel.bounds} | {s.capacity_bytes for x in panel.series for s in x.samples})
        capacity_axis(axes, capacity_label(panel), sizes=held)
        count_axis(axes.yaxis)
        axes.set_ylabel(words_label(panel.word_bits))
        axes.set_title(title or f"{panel.workload} on {panel.place}")
        _mark_real(axes, real_bytes, panel)
        axes.legend(frameon=True, framealpha=0.9, edgecolor="none", loc="upper right")
    return axes


def _shade(axes: Any, panel: Panel) -> None:
    """The area between the least traffic found and the bound, where both are known."""
    known, bound, least = best_and_bound(panel)
    if known:
        label = "gap: best mapping to bound"
        axes.fill_between(known, bound, least, color=REST, alpha=0.45, lw=0, label=label, zorder=0)


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
    with styled():
        from matplotlib.colors import PowerNorm
        from matplotlib.patches import Patch
        from matplotlib.ticker import MaxNLocator

        title = f"Gap of the objective on {panels[0].place}"
        width = LETTER * max(len(name) for name, _ in rows) + max(MAP_WIDTH, LETTER * len(title))
        size = (max(SIZE[0], width), max(2.6, 1.2 + 0.26 * len(rows)))
        axes = new_axes(size) if axes is None else axes
        # Small gaps are the interesting ones: the square root gives them more of the scale.
        norm = PowerNorm(0.5, vmin=0.0, vmax=max(*gaps, 1.0))
        axes.set_facecolor("#ffffff")
        axes.patch.set(hatch="////", edgecolor=REST)
        widest = sorted({float(edge) for _, series in rows for cell in _cells(series) for edge in cell[:2]})
        axes.grid(False)
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
        sizes = sorted({float(sample.capacity_bytes) for _, series in rows for sample in series.samples})
        capacity_axis(axes, capacity_label(panels[0]), sizes=sizes)
        axes.set_xlim(widest[0], widest[-1])
        bar = axes.figure.colorbar(cells, ax=axes, pad=0.02)
        bar.set_label("exact / bound - 1 (%)")
        bar.locator = MaxNLocator(4 if len(rows) > 8 else 2)
        bar.outline.set_visible(False)
        if _has_holes(axes, rows):
            empty = Patch(facecolor="#ffffff", edgecolor=REST, hatch="////", label="no mapping, or no bound")
            axes.figure.legend(handles=[empty], loc="outside lower right", frameon=False, fontsize=9)
        axes.set_title(title, loc="left")
    return axes


def _has_holes(axes: Any, rows: Sequence[tuple[str, MethodCurve]]) -> bool:
    """Whether some part of the map has no cell."""
    low, high = axes.get_xlim()
    return any(
        not cells or cells[0][0] > low or cells[-1][1] < high or any(a[1] < b[0] for a, b in pairwise(cells))
        for cells in (_cells(series) for _, series in rows)
    )


def _suffix(panel: Panel, series: MethodCurve) -> str:
    return f" ({series.label})" if len(panel.series) > 1 else ""


def _cells(series: MethodCurve) -> list[tuple[float, float, CapacitySample]]:
    """Cells around the capacities of a curve, split at the geometric middle; none where the gap is missing."""
    sizes = [float(sample.capacity_bytes) for sample in series.samples]
    middles = [math.sqrt(a * b) for a, b in pairwise(sizes)]
    first = sizes[0] ** 2 / middles[0] if middles else sizes[0] / 2
    last = sizes[-1] ** 2 / middles[-1] if middles else sizes[0] * 2
    edges = [first, *middles, last]
    cells = zip(edges, edges[1:], series.samples, strict=False)
    return [(left, right, sample) for left, right, sample in cells if sample.gap is not None]


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
    with styled():
        axes = new_axes((SIZE[0], SIZE[1] + 0.5)) if axes is None else axes
        colors = [*PALETTE[: len(bands) - 1], REST] if len(bands) > LAYERS_SHOWN else PALETTE[: len(bands)]
        values = [words for _, words in bands]
        areas = axes.stackplot(sizes, values, labels=[name for name, _ in bands])
        for area, color in zip(areas, colors, strict=True):
            area.set(**filled(color))
        bound = [view.total.bound_at(size) for size in sizes]
        axes.plot(sizes, bound, color="#000000", ls="--", label="proved bound (sum)")
        axes.axhline(view.total.compulsory_words, color="#000000", ls=":", lw=1.4, label="compulsory (sum)")
        capacity_axis(axes, capacity_label(view.total))
        axes.set_xlim(sizes[0], sizes[-1])
        axes.set_ylim(bottom=0)
        _engineering(axes.yaxis)
        axes.set_ylabel(words_label(view.total.word_bits))
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


def capacity_label(panel: Panel) -> str:
    """What the axis of capacities is called."""
    return "fast memory" if panel.machine == "two-level" else f"capacity of {panel.level}"


def _engineering(axis: Any) -> None:
    from matplotlib.ticker import EngFormatter

    axis.set_major_formatter(EngFormatter(sep=""))
