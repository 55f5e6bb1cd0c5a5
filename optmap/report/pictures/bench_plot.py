"""Pictures of a comparison with libraries: a group of bars per layer, as Figures 7 and 8 of MOpt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from optmap.base.errors import InputError
from optmap.native.bench.results import Bench, LayerBench, WaySamples
from optmap.report.pictures.axes import styled
from optmap.report.pictures.series import PALETTE, filled

WIDTH = 0.8
"""Of a group of bars, in layers."""
INCHES = (0.46, 3.2)
"""Width of a layer, height of a panel."""
LEAST_WIDTH = 7.0
OURS = PALETTE[0]
OTHERS = tuple(color for color in PALETTE if color != OURS)


def plot_bench(bench: Bench, axes: Any = None) -> Any:
    """Speed of ours over that of the faster library, a panel per threads and caches.

    Two bars per layer: the model's first mapping and the best of those that were run; a line at 1 is the library, a
    mark the interval of the median over rounds. To the right stand the geometric means.

    Args:
        bench: what is drawn.
        axes: matplotlib axes of the only panel; new ones are made if absent.

    Returns:
        The axes of the first panel.

    Raises:
        InputError: if matplotlib is not installed, no library computes a layer, or several panels are drawn into axes.
    """
    compared = {key: [layer for layer in layers if layer.ratio] for key, layers in bench.groups.items()}
    groups = {key: layers for key, layers in compared.items() if layers}
    if not groups:
        raise InputError("no library computes any of the layers; there is nothing to draw")
    with styled():
        panels = _panels(groups, axes)
        for panel, ((threads, caches), layers) in zip(panels, groups.items(), strict=True):
            means = [mean for mean in bench.means if (mean.threads, mean.caches) == (threads, caches)]
            means = means if len(layers) > 1 else []
            names = [*(layer.workload.title for layer in layers), *(f"mean: {mean.layers}" for mean in means)]
            firsts = [*(x.first_ratio.median for x in layers if x.first_ratio), *(mean.first for mean in means)]
            bests = [*(x.ratio.median for x in layers if x.ratio), *(mean.ratio for mean in means)]
            label = f"best of {bench.candidates} run"
            _bars(panel, names, {"model's first mapping": firsts, label: bests}, (OTHERS[3], OURS))
            spans = [(n, x.ratio) for n, x in enumerate(layers) if x.ratio]
            places = [n + WIDTH / 4 for n, _ in spans]
            lows, highs = [r.low for _, r in spans], [r.high for _, r in spans]
            panel.vlines(places, lows, highs, color="#000000", lw=1.2, label="interval over rounds")
            panel.axhline(1.0, color="#000000", lw=1)
            if means:
                panel.axvline(len(layers) - 0.5, color="#999999", lw=0.8, ls="--")
            panel.set_ylabel("speed over the faster library")
            _finish(panel, _title(bench, threads, caches.value))
    return panels[0]


def plot_gigaflops(bench: Bench, axes: Any = None) -> Any:
    """GFLOPS of ours and of every library, a panel per threads and caches; else as `plot_bench`."""
    groups = bench.groups
    with styled():
        panels = _panels(groups, axes)
        for panel, ((threads, caches), layers) in zip(panels, groups.items(), strict=True):
            names = [layer.workload.title for layer in layers]
            series = {name: [_speed(x, _of(x, name)) for x in layers] for name in bench.surroundings.libraries}
            ours = {"ours": [_speed(x, x.ours) for x in layers]}
            _bars(panel, names, {**ours, **series}, (OURS, *OTHERS))
            peaks = [layer.peak_gigaflops for layer in layers]
            panel.plot(range(len(layers)), peaks, ls="", marker="_", ms=14, color="#000000", label="peak, same rounds")
            panel.set_ylabel("GFLOPS")
            _finish(panel, _title(bench, threads, caches.value))
    return panels[0]


def _panels(groups: Mapping[Any, Sequence[LayerBench]], axes: Any) -> list[Any]:
    if axes is not None and len(groups) > 1:
        raise InputError(f"{len(groups)} panels, for threads and caches; leave out the axes")
    if axes is not None:
        return [axes]
    from matplotlib import pyplot

    most = max(map(len, groups.values())) + 4
    size = (max(LEAST_WIDTH, INCHES[0] * most), INCHES[1] * len(groups) + 0.4)
    return list(pyplot.subplots(len(groups), 1, figsize=size, layout="constrained", squeeze=False)[1].flat)


def _bars(panel: Any, names: list[str], series: dict[str, list[float]], colors: tuple[str, ...]) -> None:
    width = WIDTH / len(series)
    for number, (label, values) in enumerate(series.items()):
        places = [place - WIDTH / 2 + width * (number + 0.5) for place in range(len(names))]
        panel.bar(places, values, 0.92 * width, label=label, zorder=2, **filled(colors[number % len(colors)]))
    panel.set_xticks(range(len(names)), names, rotation=60, ha="right", rotation_mode="anchor", fontsize=9)
    panel.set_xlim(-0.6, len(names) - 0.4)


def _finish(panel: Any, title: str) -> None:
    panel.grid(visible=False, axis="x")
    panel.set_axisbelow(True)
    panel.set_ylim(0, None)
    panel.set_title(title, loc="left")
    panel.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _title(bench: Bench, threads: int, caches: str) -> str:
    plural = "thread" if threads == 1 else "threads"
    return f"{bench.surroundings.processor}, {threads} {plural}, {caches} caches"


def _of(layer: LayerBench, library: str) -> WaySamples | None:
    return next((each for each in layer.theirs if each.library == library), None)


def _speed(layer: LayerBench, timing: WaySamples | None) -> float:
    return 0.0 if timing is None else layer.gigaflops(timing)
