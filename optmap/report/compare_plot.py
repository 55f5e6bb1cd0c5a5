"""The plot of `compare`: traffic against capacity with the bound beneath."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from optmap.errors import InputError
from optmap.gap.comparison import Comparison, ComparisonRow
from optmap.report.axes import capacity_axis, count_axis, words_label
from optmap.report.plots import BOUND_COLOR, PALETTE
from optmap.texts import size_text

COLORS = tuple(color for color in PALETTE if color != BOUND_COLOR)
MARKERS = "osD^vPX*"
FLOOR = "#555555"
WIDEST, LARGEST = 5.6, 7.0
"""Points by which the lowest curve and its marks are larger than the top one's, at most."""


def plot_comparison(comparison: Comparison, axes: Any = None) -> Any:
    """Words that the mappings of every method move, against the bound beneath.

    Over a range of capacities these are curves, both axes logarithmic, the capacity in the unit that was
    asked for; the area between the bound and the best mapping is shaded. For one capacity, and for the
    boundaries of a machine, these are bars: a group per boundary, a bar per method, as multiples of the
    bound, with the words written beside them.

    Args:
        comparison: rows over capacities or boundaries.
        axes: matplotlib axes to draw into; new ones are made if absent.

    Returns:
        The axes.

    Raises:
        InputError: if matplotlib is not installed.
    """
    if comparison.machine is None and len({row.memory_words for row in comparison.rows}) > 1:
        return _curves(comparison, figure_axes() if axes is None else axes)
    height = 1.9 + 0.33 * len(comparison.rows) * (len(comparison.methods) + 1)
    return _bars(comparison, figure_axes((8.0, height)) if axes is None else axes)


def nested(count: int) -> list[dict[str, Any]]:
    """Line styles for curves that may lie on top of each other: each one shows around the next.

    However many there are, the lowest stays a line: many of them are closer to each other in width.
    """
    steps = max(1, count - 1)
    wider, larger = min(2.4, WIDEST / steps), min(3.2, LARGEST / steps)
    return [
        {
            "color": COLORS[index % len(COLORS)],
            "marker": MARKERS[index % len(MARKERS)],
            "lw": 1.6 + wider * (count - 1 - index),
            "ms": 5.0 + larger * (count - 1 - index),
            "zorder": 3 + index / count,
        }
        for index in range(count)
    ]


def _curves(comparison: Comparison, axes: Any) -> Any:
    rows = sorted(comparison.rows, key=lambda row: row.memory_words)
    per_word = comparison.workload.word_bits / 8 if comparison.unit == "bytes" else 1
    solved = [row for row in rows if row.best is not None]
    tops = [min(found.total_words for found in row.found.values()) for row in solved]
    capacities = [row.memory_words * per_word for row in solved]
    floor = [row.bound_words for row in solved]
    axes.fill_between(capacities, floor, tops, color="#bbbbbb", alpha=0.45, lw=0, label="gap: best mapping to bound")
    drawn = [name for name in comparison.methods if any(name in row.found for row in rows)]
    for name, style in zip(drawn, nested(len(drawn)), strict=True):
        points = [(row.memory_words * per_word, row.found[name].total_words) for row in rows if name in row.found]
        axes.plot(*zip(*points, strict=True), label=name, **style)
    everywhere = [row.memory_words * per_word for row in rows]
    bound = [row.bound_words for row in rows]
    axes.plot(everywhere, bound, color=BOUND_COLOR, lw=2, ls="--", label="proved bound", zorder=5)
    floors = [row.compulsory_words for row in rows]
    axes.plot(everywhere, floors, color=FLOOR, lw=2, ls=":", label="compulsory", zorder=2)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    capacity_axis(
        axes, "fast memory" + ("" if comparison.unit == "bytes" else " (words)"), in_bytes=comparison.unit == "bytes"
    )
    count_axis(axes.yaxis)
    axes.set_ylabel(words_label(comparison.workload.word_bits))
    axes.set_title(comparison.workload.title, loc="left")
    axes.grid(visible=True, which="major", color="#dddddd", lw=0.6)
    axes.legend(frameon=True, framealpha=0.9, edgecolor="none", markerscale=0.6)
    return axes


def _bars(comparison: Comparison, axes: Any) -> Any:
    rows = [row for row in comparison.rows if row.bound_words]  # a nest that does nothing has no multiples
    methods = [name for name in comparison.methods if any(name in row.found for row in rows)]
    step = 0.8 / max(1, len(methods))
    for index, name in enumerate(methods):
        places = [number for number, row in enumerate(rows) if name in row.found]
        heights = [rows[place].found[name].total_words / rows[place].bound_words for place in places]
        at = [place - 0.4 + (index + 0.5) * step for place in places]
        color = COLORS[index % len(COLORS)]
        axes.barh(at, heights, 0.86 * step, color=color, label=name)
        for place, y, height in zip(places, at, heights, strict=True):
            note = f"{height:.2f}x  {rows[place].found[name].total_words:,} words"
            axes.annotate(note, (height, y), (4, 0), textcoords="offset points", va="center", fontsize=8.5)
    bound_style = {"color": BOUND_COLOR, "lw": 2.2, "label": "proved bound"}
    axes.plot([1, 1], [-0.5, len(rows) - 0.5], ls="--", **bound_style)
    for number, row in enumerate(rows):
        label = "compulsory" if not number else "_nolegend_"
        share = row.compulsory_words / row.bound_words
        axes.plot([share] * 2, [number - 0.45, number + 0.45], color=FLOOR, lw=2.2, ls=":", label=label)
    axes.set_yticks(range(len(rows)), [_row_name(comparison, row) for row in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    largest = max((row.found[name].total_words / row.bound_words for row in rows for name in row.found), default=1.0)
    axes.set_xlim(0, 1.4 * max(largest, 1.0))
    axes.set_xlabel("loads + stores, as multiples of the proved bound")
    where = "" if comparison.machine is None else f" on {comparison.machine.name}"
    axes.set_title(f"{comparison.workload.title}{where}", loc="left")
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=True, axis="x", color="#dddddd", lw=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return axes


def _row_name(comparison: Comparison, row: ComparisonRow) -> str:
    size = row.memory_words * comparison.workload.word_bits / 8
    held = size_text(size) if comparison.unit == "bytes" else f"{row.memory_words:,} words"
    return f"{' - '.join(row.between)}\n{held}, bound\n{row.bound_words:,} words"


def save_comparison(comparison: Comparison, path: Path) -> None:
    """Write the plot to a file whose name ends in .png, .svg or .pdf.

    Raises:
        InputError: if matplotlib is not installed or the file cannot be written.
    """
    save_figure(plot_comparison(comparison), path)


def save_figure(axes: Any, path: Path) -> None:
    """Write the figure of some axes to a file and close it.

    Raises:
        InputError: if the file cannot be written.
    """
    try:
        axes.figure.savefig(path, dpi=150)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be written: {error}; use a name such as plot.png") from error
    finally:
        from matplotlib import pyplot

        pyplot.close(axes.figure)


def figure_axes(size: tuple[float, float] = (8.0, 5.0)) -> Any:
    """Axes of a new figure, readable at half the width of a page.

    Raises:
        InputError: if matplotlib is not installed.
    """
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise InputError("plots need matplotlib, which is not installed; run: pip install 'optmap[plot]'") from error
    return pyplot.subplots(figsize=size, layout="constrained")[1]
