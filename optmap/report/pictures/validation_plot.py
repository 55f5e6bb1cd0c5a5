"""Pictures of a validation: losses per layer, samples in the order of the model, predicted against measured time."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import Any

from optmap.native.validate.caches import caches_of
from optmap.native.validate.ranks import TOPS
from optmap.native.validate.validation import MEASURED, PREDICTED, LayerValidation, ValidatedMapping, Validation
from optmap.report.pictures.axes import new_axes, styled
from optmap.report.pictures.series import PALETTE, filled

PANELS = 4
"""Layers beside each other, at most."""
ACROSS, DOWN = 2.7, 1.75
"""Width and height of a small panel, in inches."""
Numbered = Callable[[ValidatedMapping], float | None]


def plot_losses(validation: Validation, axes: Any = None) -> Any:
    """Performance that is lost if the best one, two or five predicted samples are run (MOpt, Figure 5).

    Args:
        validation: what is drawn.
        axes: matplotlib axes to draw into; new ones are made if absent.

    Returns:
        The axes, in percent, a group of bars per layer.

    Raises:
        InputError: if matplotlib is not installed.
    """
    with styled():
        axes = axes or new_axes((max(4.5, 0.62 * len(validation.layers) + 1.6), 3.4))
        names = [layer.workload.title.rpartition("/")[2] for layer in validation.layers]
        rows = [layer.ranking(PREDICTED, MEASURED) for layer in validation.layers]
        width = 0.8 / len(TOPS)
        for number, count in enumerate(TOPS):
            places = [at + (number - (len(TOPS) - 1) / 2) * width for at in range(len(rows))]
            losses = [100 * row.losses[number] if row is not None else 0.0 for row in rows]
            axes.bar(places, losses, width, label=f"best of {count} predicted", **filled(PALETTE[number]))
        axes.set_xticks(range(len(names)), names)
        axes.set_ylabel("loss of performance (%)")
        axes.set_ylim(bottom=0)
        axes.grid(visible=False, axis="x")
        axes.legend(frameon=False)
    return axes


def plot_order(validation: Validation, axes: Any = None) -> Any:
    """Samples from the best predicted to the worst: measured GFLOPS, and what simulated caches move (MOpt, Figure 6).

    Args:
        validation: what is drawn; a column per layer.
        axes: matplotlib axes for the measured GFLOPS of one layer; new ones for everything are made if absent.

    Returns:
        The axes of the first panel.

    Raises:
        InputError: if matplotlib is not installed.
    """
    with styled():
        if axes is not None:
            _order(axes, validation.layers[0], validation.layers[0].gflops, PALETTE[0])
            axes.set_ylabel("GFLOPS")
            axes.set_xlabel("samples, best predicted first")
            return axes
        rows = _rows(validation)
        panels = _panels(len(rows), len(validation.layers))
        for column, layer in enumerate(validation.layers):
            panels[0][column].set_title(layer.workload.title, loc="left")
            for number, (label, value) in enumerate(rows):
                panel = panels[number][column]
                _order(panel, layer, value(layer), PALETTE[number % len(PALETTE)])
                if column == 0:
                    panel.set_ylabel(label)
            panels[-1][column].set_xlabel("best predicted first")
    return panels[0][0]


def plot_scatter(validation: Validation, axes: Any = None) -> Any:
    """Predicted against measured GFLOPS, a panel per layer; on the line the two agree.

    Args:
        validation: what is drawn.
        axes: matplotlib axes for the first layer; new ones for all are made if absent.

    Returns:
        The axes of the first layer.

    Raises:
        InputError: if matplotlib is not installed.
    """
    with styled():
        layers = validation.layers if axes is None else validation.layers[:1]
        across = min(PANELS, len(layers))
        grid = _panels(ceil(len(layers) / across), across, (2.9, 2.7)) if axes is None else [[axes]]
        panels = [panel for row in grid for panel in row]
        for panel, layer in zip(panels, layers, strict=False):
            _agreement(panel, layer)
        for panel in panels[len(layers) :]:
            panel.set_visible(False)
        for panel in panels[::across]:
            panel.set_ylabel("measured GFLOPS")
        for panel in panels[max(0, len(layers) - across) : len(layers)]:
            panel.set_xlabel("predicted GFLOPS")
    return panels[0]


def _agreement(axes: Any, layer: LayerValidation) -> None:
    row = layer.ranking(PREDICTED, MEASURED)
    pairs = [
        (2e-9 * layer.workload.operations / sample.prediction.seconds, speed)
        for sample in layer.samples
        if sample.prediction.seconds and (speed := layer.gflops(sample)) is not None
    ]
    top = 1.08 * max((max(pair) for pair in pairs), default=1.0)
    axes.plot([0, top], [0, top], color="#999999", lw=1)
    axes.plot([x for x, _ in pairs], [y for _, y in pairs], ls="", marker="o", ms=3.5, color=PALETTE[0], alpha=0.7)
    axes.set_xlim(0, top)
    axes.set_ylim(0, top)
    rank = "" if row is None or row.spearman is None else f", Spearman {row.spearman:.2f}"
    axes.set_title(f"{layer.workload.title.rpartition('/')[2]}{rank}", loc="left")


def _rows(validation: Validation) -> list[tuple[str, Callable[[LayerValidation], Numbered]]]:
    """What is drawn below each other: its label, and a number per sample of a layer."""
    rows: list[tuple[str, Callable[[LayerValidation], Numbered]]] = [("GFLOPS", lambda layer: layer.gflops)]
    if all(sample.simulated is None for layer in validation.layers for sample in layer.samples):
        return rows
    rows.append(("register loads\n+ stores (lines)", lambda layer: _registers))
    for level in caches_of(validation.machine):
        rows.append((f"{level.name} loads\n+ stores (words)", lambda layer, name=level.name: _words(name)))  # type: ignore[misc]
    return rows


def _registers(sample: ValidatedMapping) -> float | None:
    return None if sample.simulated is None else float(sample.simulated.loads + sample.simulated.stores)


def _words(level: str) -> Numbered:
    return lambda sample: None if sample.simulated is None else float(sample.simulated.words(level))


def _panels(down: int, across: int, size: tuple[float, float] = (ACROSS, DOWN)) -> Any:
    from matplotlib import pyplot

    figure = (size[0] * across + 0.7, size[1] * down + 0.5)
    return pyplot.subplots(down, across, figsize=figure, layout="constrained", squeeze=False)[1]


def _order(axes: Any, layer: LayerValidation, value: Numbered, color: str) -> None:
    from matplotlib.ticker import EngFormatter, MaxNLocator

    values = [value(sample) for sample in layer.in_order]
    shown = [(place, number) for place, number in enumerate(values, start=1) if number is not None]
    axes.plot([x for x, _ in shown], [y for _, y in shown], marker="o", ms=2.5, lw=0.8, color=color)
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_locator(MaxNLocator(4))
    axes.yaxis.set_major_formatter(EngFormatter(sep=""))
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
