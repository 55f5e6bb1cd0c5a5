"""The curve of a network: table, JSON and picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import Any

from optmap.answers.over_capacity.networks import traffic_gap
from optmap.answers.over_capacity.sizing import Sizing
from optmap.base.texts import in_percent, several, size_text
from optmap.report.pictures.axes import capacity_axis, styled
from optmap.report.pictures.series import PALETTE
from optmap.report.pictures.sweep_plots import capacity_label, plot_curve
from optmap.report.tables import grid, merged_block, word_text
from optmap.sweeps.networks.network_curves import UNKNOWN, LayerRegimes, NetworkCurve
from optmap.workloads.workload import bytes_of

SCHEMA = "optmap.network-curve/1"
ROW = 0.24
"""Inches of a layer's row in the picture."""


def curve_table(curve: NetworkCurve) -> str:
    """Capacity by capacity what is proved and what moves, then the regimes of the layers, then the knee."""
    total = curve.view.total
    rows = [
        (
            size_text(sample.capacity_bytes),
            f"{sample.traffic_words:,}",
            f"{total.bound_at(sample.capacity_bytes):,}",
            in_percent(sample.traffic_gap, 2),
            f"{sample.traffic_words / curve.floor_words:.3f}x",
        )
        for sample in curve.series.samples
    ]
    head = f"{curve.view.network.name} over {capacity_label(total)} ({total.place}), mappings by {curve.series.label}\n"
    header = ("capacity", "traffic (words)", "floor (words)", "traffic gap", "of unbounded floor")
    regimes = [(layer.workload, "; ".join(_stretches(curve, layer))) for layer in curve.regimes]
    lines = [
        f"sums hold {curve.view.coverage}",
        f"floor of an unbounded memory: {several(curve.floor_words, 'word')} of {word_text(total.word_bits)}, "
        "every one once",
        f"knee: {knee_text(curve)}",
    ]
    return "\n\n".join(
        (
            head + grid(header, ">>>>>", rows),
            grid(("layer", "regime of its closed form"), "<<", regimes),
            *merged_block(curve.view.network.layers),
            "\n".join(lines),
        )
    )


def knee_text(curve: NetworkCurve) -> str:
    """The least capacity near the floor of an unbounded memory, with what proves it."""
    knee, total = curve.knee, curve.view.total
    sentences = [knee.text]
    if knee.refuted_bytes is not None:
        words = total.bound_at(knee.refuted_bytes)
        sentences.append(
            f"with {size_text(knee.refuted_bytes)} every schedule moves {several(words, 'word')} or more, "
            f"{words / curve.floor_words:.4f}x"
        )
    moved = reached_words(curve, knee)
    if knee.reached_bytes is not None and moved is not None:
        sentences.append(
            f"with {size_text(knee.reached_bytes)} the mappings move {moved:,}, {moved / curve.floor_words:.4f}x"
        )
    kept = "proofs are the certificates in " + str(curve.directory) if curve.directory else "-o DIR keeps the proofs"
    return "; ".join((*sentences, kept))


def reached_words(curve: NetworkCurve, knee: Sizing) -> int | None:
    """What the mappings move at the knee; None if it was not reached."""
    sample = None if knee.reached_bytes is None else curve.series.best_below(knee.reached_bytes)
    return None if sample is None else sample.traffic_words


def _runs(layer: LayerRegimes) -> Iterator[tuple[str, int, int]]:
    """Regime, first and last place of every stretch of capacities with one regime."""
    for name, places in groupby(range(len(layer.names)), key=lambda place: layer.names[place]):
        run = list(places)
        yield name, run[0], run[-1]


def _stretches(curve: NetworkCurve, layer: LayerRegimes) -> Iterator[str]:
    sizes = [sample.capacity_bytes for sample in curve.series.samples]
    for name, first, last in _runs(layer):
        if first == 0:
            yield name if last == len(sizes) - 1 else f"{name} up to {size_text(sizes[last])}"
        else:
            yield f"{name} from {size_text(sizes[first])} on"


def curve_document(curve: NetworkCurve) -> dict[str, object]:
    """The curve as a JSON document."""
    total, knee = curve.view.total, curve.knee
    samples = curve.series.samples
    return {
        "schema": SCHEMA,
        "network": curve.view.network.name,
        "machine": total.machine,
        "level": total.level,
        "method": curve.series.label,
        "word_bits": total.word_bits,
        "floor_words": curve.floor_words,
        "floor_bytes": bytes_of(curve.floor_words * total.word_bits),
        "layers": [
            {"workload": layer.title, "count": layer.count, "names": list(layer.layer_names)}
            for layer in curve.view.network.layers
        ],
        "curve": [
            {
                "capacity_bytes": sample.capacity_bytes,
                "traffic_words": sample.traffic_words,
                "bound_words": total.bound_at(sample.capacity_bytes),
                "traffic_gap": traffic_gap(sample.traffic_words, total.bound_at(sample.capacity_bytes)),
                "regimes": {layer.workload: layer.names[place] for layer in curve.regimes},
            }
            for place, sample in enumerate(samples)
        ],
        "knee": {
            "target": knee.target,
            "reached_bytes": knee.reached_bytes,
            "reached_words": reached_words(curve, knee),
            "missed_bytes": knee.missed_bytes,
            "refuted_bytes": knee.refuted_bytes,
            "refuted_words": None if knee.refuted_bytes is None else total.bound_at(knee.refuted_bytes),
        },
        "directory": None if curve.directory is None else str(curve.directory),
        "limited": curve.limited,
    }


def plot_network_curve(curve: NetworkCurve, axes: Any = None) -> Any:
    """Floor and mappings of the network over capacity; below it every layer's regime, and the knee as a stripe.

    Args:
        curve: the network over the capacity of a level.
        axes: matplotlib axes to draw the sums into, without the regimes; new ones for both if absent.

    Returns:
        The axes of the sums.

    Raises:
        InputError: if matplotlib is not installed.
    """
    total = curve.view.total
    title = f"{curve.view.network.name} over {capacity_label(total)}"
    with styled():
        below = None
        if axes is None:
            axes, below = _two_axes(len(curve.regimes))
        plot_curve(total, title=title, axes=axes)
        low, high = curve.knee.refuted_bytes, curve.knee.reached_bytes
        if low is not None and high is not None:
            axes.axvspan(
                low, high, color="#F0E442", alpha=0.5, lw=0, zorder=0, label=f"knee ({curve.knee.target:g}x) in here"
            )
        axes.legend(frameon=True, framealpha=0.9, edgecolor="none", loc="upper right")
        if below is not None:
            axes.set_xlabel("")
            _draw_regimes(curve, below)
    return axes


def _two_axes(layers: int) -> tuple[Any, Any]:
    from matplotlib import pyplot

    heights = (3.4, 0.6 + ROW * layers)
    figure, (above, below) = pyplot.subplots(
        2, 1, figsize=(7.4, sum(heights)), height_ratios=heights, sharex=True, layout="constrained"
    )
    figure.align_ylabels()
    return above, below


def _draw_regimes(curve: NetworkCurve, axes: Any) -> None:
    sizes = [sample.capacity_bytes for sample in curve.series.samples]
    edges = _edges(sizes)
    names = [name for name in dict.fromkeys(n for layer in curve.regimes for n in layer.names) if name != UNKNOWN]
    colors = {name: PALETTE[place % len(PALETTE)] for place, name in enumerate(names)}
    named: set[str] = set()
    for place, layer in enumerate(curve.regimes):
        for name, first, last in _runs(layer):
            label = "_nolegend_" if name in named or name == UNKNOWN else name
            width, color = edges[last + 1] - edges[first], colors.get(name, "#dddddd")
            axes.barh(place, width, 0.8, left=edges[first], color=color, lw=0, label=label)
            named.add(name)
    counts = {panel.workload: count for panel, count in curve.view.parts}
    labels = [f"{layer.workload.rpartition('/')[2]} ({counts[layer.workload]}x)" for layer in curve.regimes]
    axes.set_yticks(range(len(labels)), labels, fontsize=8.5)
    axes.invert_yaxis()
    axes.grid(visible=False)
    capacity_axis(axes, capacity_label(curve.view.total), sizes=sizes)
    axes.figure.legend(
        *axes.get_legend_handles_labels(), frameon=False, fontsize=8.5, loc="outside lower center", ncols=2
    )


def _edges(sizes: Sequence[int]) -> list[float]:
    """Borders between capacities, on a logarithmic scale half way."""
    inner = [(low * high) ** 0.5 for low, high in pairwise(sizes)]
    return [float(sizes[0]), *inner, float(sizes[-1])]
