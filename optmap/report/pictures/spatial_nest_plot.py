"""A mapping on an accelerator as a figure: a band per memory, loops on the left, tensors on the right."""

from __future__ import annotations

from typing import Any

from optmap.base.texts import number
from optmap.report.answers.spatial_nest import COMPUTE, ShownLoop, bands
from optmap.report.pictures.axes import new_axes, styled
from optmap.report.pictures.spatial_plots import WIDTH, PicturedMapping, tensor_colors, title

ROW = 0.25
"""Height of a line, in inches."""
LOOPS, COLUMNS = 0.58, 0.40
"""Shares of the width for loops and for tensors."""
BAND, SPATIAL, OVER_TIME = "#f2f2f2", "#ffe3b3", "#ffffff"
STEP = 0.018
"""Indentation of a loop."""


def plot_nest(answer: PicturedMapping, axes: Any = None) -> Any:
    """The loop nest with what every memory keeps.

    A band is a memory, the outermost on top: its loops from the outermost inwards, those over the children
    of its mesh shaded. On the right a column per tensor: a filled box, with the words of the tile, where the
    tensor is kept; where it bypasses the memory its line goes on.

    Args:
        answer: a counted mapping.
        axes: matplotlib axes to draw into; new ones are made if absent.

    Returns:
        The axes, without ticks.

    Raises:
        InputError: if matplotlib is not installed.
    """
    shown = bands(answer.nest, answer.fabric, answer.count)
    colors = tensor_colors(answer.fabric)
    rows = [max(2, 1 + len(band.loops)) for band in shown]
    total = sum(rows) + 0.4 * len(rows) + 1.2
    with styled():
        from matplotlib.patches import Rectangle

        axes = new_axes((WIDTH, 0.75 + ROW * total)) if axes is None else axes
        axes.set_xlim(0, 1)
        axes.set_ylim(total, -1.1)
        axes.axis("off")
        axes.set_title(title(answer.fabric), loc="left")
        middles = {name: LOOPS + COLUMNS * (place + 0.5) / len(colors) for place, name in enumerate(colors)}
        top, depth = 0.0, 0
        boxes: dict[str, list[float]] = {name: [] for name in colors}
        for place, (band, height) in enumerate(zip(shown, rows, strict=True)):
            axes.add_patch(Rectangle((0.0, top - 0.1), 1.0, height + 0.2, color=BAND, lw=0, zorder=0))
            _text(axes, 0.01, top + 0.4, band.memory, weight="bold", fontsize=10)
            note = _note(answer, len(shown) - 1 - place)
            _text(axes, LOOPS - 0.01, top + 0.4, note, ha="right", fontsize=8, color="#444444")
            for row, loop in enumerate(band.loops):
                _loop(axes, loop, depth, top + 1 + row)
                depth += 1
            for name, words in band.kept:
                boxes[name].append(top + height / 2)
                _kept(axes, middles[name], top + height / 2, words, colors[name])
            top += height + 0.4
        _text(axes, 0.02 + STEP * depth, top + 0.35, COMPUTE, family="monospace", fontsize=9)
        for name, middle in middles.items():
            _text(axes, middle, -0.6, name, color=colors[name], weight="bold", ha="center", fontsize=10)
            ends = [boxes[name][0] if boxes[name] else -0.2, top + 0.35]
            axes.plot([middle] * 2, ends, color=colors[name], lw=2.2, zorder=2, solid_capstyle="butt")
        _text(axes, LOOPS + COLUMNS / 2, top + 0.8, _units(answer), ha="center", fontsize=8.5, color="#444444")
    return axes


def _note(answer: PicturedMapping, place: int) -> str:
    """Instances and words of one memory that are in use."""
    memory, there = answer.count.memories[place], answer.fabric.instances(place)
    notes = [f"{memory.instances:,} of {there:,} in use"] if there > 1 else []
    if memory.capacity_words is not None:
        notes.append(f"{memory.occupancy_words:,} of {memory.capacity_words:,} words")
    return ", ".join(notes)


def _loop(axes: Any, loop: ShownLoop, depth: int, row: float) -> None:
    spatial = bool(loop.axis)
    look = {
        "boxstyle": "round,pad=0.22",
        "fc": SPATIAL if spatial else OVER_TIME,
        "ec": "#b36b00" if spatial else "#cccccc",
    }
    _text(axes, 0.02 + STEP * depth, row + 0.4, loop.text, family="monospace", fontsize=8, bbox={**look, "lw": 0.8})


def _kept(axes: Any, x: float, y: float, words: int, color: str) -> None:
    look = {"boxstyle": "round,pad=0.3", "fc": "#ffffff", "ec": color, "lw": 2.0}
    _text(axes, x, y, f"{words:,}", ha="center", fontsize=8.5, bbox=look, zorder=4)


def _units(answer: PicturedMapping) -> str:
    busy = answer.count.operations / answer.count.compute_cycles
    return f"{number(busy)} of {answer.fabric.units:,} units in use"


def _text(axes: Any, x: float, y: float, text: str, **look: Any) -> None:
    axes.text(x, y, text, **{"va": "center", "zorder": 3, **look})
