"""Pictures of a race: the best over time, and over evaluations, with the proven bound as a line."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import Any, TypeGuard

from optmap.errors import InputError
from optmap.gap.race import LayerRace, Race, Run, curve_of
from optmap.report.axes import count_axis, styled
from optmap.report.compare_plot import COLORS, MARKERS
from optmap.report.plots import BOUND_COLOR
from optmap.search.accelerators.result import UNITS
from optmap.search.curve import Improvement

PANELS = 3
"""Layers beside each other, at most."""
PANEL = (4.4, 3.6)
"""Width and height of a layer, in inches."""
DASHES = ("-", (0, (5, 1.5)), (0, (1.5, 1)))
"""Line styles, once the colours are used up."""
LEAST_SECONDS = 1e-3
ROOM = 1.35
"""Of a logarithmic axis beyond what is drawn."""


def plot_seconds(race: Race, axes: Any = None) -> Any:
    """The best of every method over its time, both logarithmic, a panel per layer.

    Args:
        race: what is drawn.
        axes: matplotlib axes of the only layer; new ones are made if absent.

    Returns:
        The axes of the first layer, in multiples of the proved bound where there is one.

    Raises:
        InputError: if matplotlib is not installed, no method found a mapping, or several layers are drawn into axes.
    """
    return _plot(race, axes, lambda point: max(point.seconds, LEAST_SECONDS), "seconds", untraced=True)


def plot_evaluations(race: Race, axes: Any = None) -> Any:
    """The best of methods that say what they judged over their evaluations; else as `plot_seconds`."""
    return _plot(race, axes, lambda point: float(max(point.evaluations, 1)), "evaluations", untraced=False)


def _plot(race: Race, axes: Any, place: Callable[[Improvement], float], label: str, *, untraced: bool) -> Any:
    layers = [layer for layer in race.layers if any(_drawn(run, untraced) for run in layer.runs.values())]
    if not layers:
        raise InputError("no method found a mapping; there is nothing to draw")
    if axes is not None and len(layers) > 1:
        raise InputError(f"{len(layers)} layers need a panel each; leave out the axes")
    with styled():
        panels = [axes] if axes is not None else _panels(len(layers))
        for panel, layer in zip(panels, layers, strict=False):
            _panel(race, layer, panel, place, untraced)
            count_axis(panel.yaxis)
            count_axis(panel.xaxis, seconds=untraced)
            panel.set_xlabel(label)
        for panel in panels[len(layers) :]:
            panel.set_visible(False)
        for panel, layer in zip(panels[:: min(PANELS, len(panels))], layers[::PANELS], strict=False):
            unit = "multiples of the bound" if layer.bound else UNITS[race.merit]
            panel.set_ylabel(f"best {race.merit}, {unit}")
        _legend(panels[: len(layers)], own=axes is None)
    return panels[0]


def _panels(count: int) -> list[Any]:
    from matplotlib import pyplot

    across = min(PANELS, count)
    down = ceil(count / across)
    width, height = PANEL
    size = (width * across + 1.6, height * down)
    return list(pyplot.subplots(down, across, figsize=size, layout="constrained", squeeze=False)[1].flat)


def _drawn(run: Run | None, untraced: bool) -> TypeGuard[Run]:
    """Whether a run is in a picture: over evaluations only one that says what it judged."""
    return run is not None and run.fits and (untraced or run.traced)


def _panel(race: Race, layer: LayerRace, axes: Any, place: Callable[[Improvement], float], untraced: bool) -> None:
    """One layer: a falling stair per method, its end marked, and the bound.

    Stairs that begin far above where all end come in from the top: the picture is of their ends.
    """
    axes.set_xscale("log")
    axes.set_yscale("log")
    lasts, drawn = list[float](), list[float]()
    for number, name in enumerate(race.methods):
        run = layer.runs.get(name)
        if not _drawn(run, untraced):
            continue
        points = list(curve_of(race, layer, name))
        places, values = [place(point) for point in points], [point.value for point in points]
        style = {"color": COLORS[number % len(COLORS)], "ls": DASHES[number // len(COLORS) % len(DASHES)]}
        mark = {"marker": MARKERS[number % len(MARKERS)], "ms": 7, "markevery": [len(places) - 1]}
        axes.plot(places, values, drawstyle="steps-post", label=name, zorder=4 + number / 100, **style, **mark)
        lasts.append(values[-1])
        drawn += places
    if layer.bound:
        name = "proved optimum" if layer.proved else "proved bound"
        axes.axhline(1.0, color=BOUND_COLOR, lw=2, ls="--", label=name, zorder=3)
    least = 1.0 if layer.bound else min(lasts)
    top = max(2 * least, ROOM * max(lasts))
    axes.set_ylim(least * (least / top) ** 0.06, top)
    axes.set_xlim(min(drawn) / ROOM, max(drawn) * ROOM)
    axes.set_title(f"{layer.workload.title} on {race.machine.name}", loc="left")


def _legend(panels: list[Any], *, own: bool) -> None:
    """Every method once, beside the picture."""
    entries: dict[str, Any] = {}
    for panel in panels:
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    if own:
        panels[0].figure.legend(entries.values(), entries.keys(), loc="outside right upper", frameon=False)
    else:
        panels[0].legend(entries.values(), entries.keys(), frameon=False)
