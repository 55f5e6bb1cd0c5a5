"""Pictures of a race: the best over time, and over evaluations, with the proven bound as a line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import ceil
from typing import Any, TypeGuard

from optmap.answers.side_by_side.race import LayerRace, MethodRun, Race, curve_of
from optmap.base.errors import InputError
from optmap.report.pictures.axes import count_axis, styled
from optmap.report.pictures.series import BOUND_COLOR, MARKERS, PALETTE
from optmap.search.curve import Improvement

FAINT = "#F0E442"
"""Of the palette, too light for a line."""
COLORS = tuple(color for color in PALETTE if color not in (BOUND_COLOR, FAINT))
PANELS = 3
"""Layers beside each other, at most."""
PANEL = (4.4, 3.6)
"""Width and height of a layer, in inches."""
DASHES = ("-", (0, (5, 1.5)), (0, (1.5, 1)))
"""Line styles, in turn: without colour, too, lines are told apart between their marks."""
LEAST_SECONDS = 1e-3
FARTHEST = 4.0
"""Multiples of the bound that a picture shows."""
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
    layers = [layer for layer in race.layers if any(_drawn(run, untraced=untraced) for run in layer.runs.values())]
    if not layers:
        raise InputError("no method found a mapping; there is nothing to draw")
    if axes is not None and len(layers) > 1:
        raise InputError(f"{len(layers)} layers need a panel each; leave out the axes")
    with styled():
        panels = [axes] if axes is not None else _panels(len(layers))
        styles = _styles(race)
        for panel, layer in zip(panels, layers, strict=False):
            _panel(race, layer, panel, place, styles, untraced=untraced)
            count_axis(panel.yaxis)
            count_axis(panel.xaxis, seconds=untraced)
            panel.set_xlabel(label)
        for panel in panels[len(layers) :]:
            panel.set_visible(False)
        for panel, layer in zip(panels[:: min(PANELS, len(panels))], layers[::PANELS], strict=False):
            unit = "multiples of the bound" if layer.bound else race.unit
            panel.set_ylabel(f"best {race.objective}, {unit}")
        _legend(panels[: len(layers)], list(styles), own=axes is None)
    return panels[0]


def _panels(count: int) -> list[Any]:
    from matplotlib import pyplot

    across = min(PANELS, count)
    down = ceil(count / across)
    width, height = PANEL
    size = (width * across + 1.6, height * down)
    return list(pyplot.subplots(down, across, figsize=size, layout="constrained", squeeze=False)[1].flat)


def _drawn(run: MethodRun | None, *, untraced: bool) -> TypeGuard[MethodRun]:
    """Whether a run is in a picture: over evaluations only one that says what it judged."""
    return run is not None and run.fits and (untraced or run.traced)


def _styles(race: Race) -> dict[str, dict[str, Any]]:
    """A colour and a mark per method that is drawn, the same in all panels and pictures.

    `exact` is narrow and on top: `allocation` begins with its mapping, and shows around it.
    """
    drawn = [name for name in race.methods if any(_drawn(layer.runs.get(name), untraced=True) for layer in race.layers)]
    return {
        name: {
            "color": COLORS[number % len(COLORS)],
            "ls": DASHES[number % len(DASHES)],
            "marker": MARKERS[number % len(MARKERS)],
            "ms": 7 if number else 5,
            "lw": 2.2 if number else 1.4,
            "zorder": 5 - number / 10,
        }
        for number, name in enumerate(drawn)
    }


def _panel(
    race: Race,
    layer: LayerRace,
    axes: Any,
    place: Callable[[Improvement], float],
    styles: Mapping[str, dict[str, Any]],
    *,
    untraced: bool,
) -> None:
    """One layer: a falling stair per method, its end marked, and the bound.

    Stairs that begin far above where all end come in from the top, and one that ends there is marked at the top with
    its number: the picture is of the ends near the bound.
    """
    axes.set_xscale("log")
    axes.set_yscale("log")
    curves = {name: list(curve_of(layer, name)) for name in styles if _drawn(layer.runs.get(name), untraced=untraced)}
    lasts = [points[-1].value for points in curves.values()]
    least = 1.0 if layer.bound else min(lasts)
    top = min(max(2 * least, ROOM * max(lasts)), FARTHEST * least)
    seen, far = list[float](), 0
    for name, points in curves.items():
        places, values = [place(point) for point in points], [point.value for point in points]
        down = [10 * top] if layer.runs[name].traced else []  # where its first mapping comes in, from above
        stair = ([*places[: len(down)], *places], [*down, *values])
        axes.plot(*stair, drawstyle="steps-post", label=name, markevery=[len(stair[0]) - 1], **styles[name])
        if values[-1] > top:
            _far(
                axes, (places[-1], top), f"{values[-1] / least:,.{int(values[-1] < 100 * least)}f}x", styles[name], far
            )
            far += 1
        seen += [x for x, value in zip(places, values, strict=True) if value <= top] or places[-1:]
    if layer.bound:
        name = "proved optimum" if layer.proved else "proved bound"
        axes.axhline(1.0, color=BOUND_COLOR, lw=2, ls="--", label=name, zorder=3)
    axes.set_ylim(least * (least / top) ** 0.06, top)
    axes.set_xlim(min(seen) / ROOM, max(seen) * ROOM)
    axes.set_title(f"{layer.workload.title} on {race.machine.name}", loc="left")


def _far(axes: Any, at: tuple[float, float], text: str, style: Mapping[str, Any], line: int) -> None:
    """The end of a stair above the picture, at its top, with its number; those of several on lines of their own."""
    axes.plot(*at, ls="", clip_on=False, **{key: style[key] for key in ("color", "marker", "ms", "zorder")})
    look = {"textcoords": "offset points", "ha": "right", "va": "top", "fontsize": 9, "color": style["color"]}
    axes.annotate(text, at, (-5, -4 - 12 * line), **look)


def _legend(panels: list[Any], order: list[str], *, own: bool) -> None:
    """Every method once, in the order of the race, and the bounds, beside the picture."""
    entries: dict[str, Any] = {}
    for panel in panels:
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    entries = {label: entries[label] for label in sorted(entries, key=[*order, *entries].index)}
    if own:
        panels[0].figure.legend(entries.values(), entries.keys(), loc="outside right upper", frameon=False)
    else:
        panels[0].legend(entries.values(), entries.keys(), frameon=False)
