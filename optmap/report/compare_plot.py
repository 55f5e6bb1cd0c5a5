"""The plot of `compare`: traffic against capacity with the bound beneath."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from optmap.errors import InputError
from optmap.report.compare import Comparison
from optmap.report.plots import PALETTE

MARKERS = "osD^vPX*"
BOUND, FLOOR = "#000000", "#777777"


def plot_comparison(comparison: Comparison, axes: Any = None) -> Any:
    """Words moved against the capacity of the fast side, both on logarithmic scales.

    Every method has its colour and marker; beneath are the bound and the compulsory traffic, and the
    gap between the bound and the best mapping is shaded.

    Args:
        comparison: rows over capacities or boundaries.
        axes: matplotlib axes to draw into; new ones are made if absent.

    Returns:
        The axes.

    Raises:
        InputError: if matplotlib is not installed.
    """
    axes = figure_axes() if axes is None else axes
    rows = sorted(comparison.rows, key=lambda row: row.memory_words)
    solved = [row for row in rows if row.best is not None]
    tops = [min(found.total_words for found in row.found.values()) for row in solved]
    capacities = [row.memory_words for row in solved]
    axes.fill_between(
        capacities, [row.bound_words for row in solved], tops, color=PALETTE[4], alpha=0.3, lw=0, label="gap"
    )
    for index, name in enumerate(comparison.methods):
        points = [(row.memory_words, row.found[name].total_words) for row in rows if name in row.found]
        if points:
            colour, marker = PALETTE[index % len(PALETTE)], MARKERS[index % len(MARKERS)]
            # Methods that agree lie on top of each other: the first ones are larger and show around the later.
            size = max(12 - 2 * index, 5)
            axes.plot(*zip(*points, strict=True), marker=marker, ms=size, lw=2, color=colour, label=name)
    everywhere = [row.memory_words for row in rows]
    axes.plot(everywhere, [row.bound_words for row in rows], color=BOUND, lw=2.5, label="lower bound")
    floors = [row.compulsory_words for row in rows]
    axes.plot(everywhere, floors, color=FLOOR, lw=2, ls="--", label="compulsory")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("fast memory (words)", fontsize=14)
    axes.set_ylabel("loads + stores (words)", fontsize=14)
    axes.set_title(comparison.workload.title, fontsize=14)
    axes.tick_params(labelsize=12)
    axes.grid(visible=True, which="major", color="#dddddd", lw=0.8)
    axes.legend(frameon=False, fontsize=12)
    return axes


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


def figure_axes() -> Any:
    """Axes of a new figure, readable at half the width of a page.

    Raises:
        InputError: if matplotlib is not installed.
    """
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise InputError("plots need matplotlib, which is not installed; run: pip install 'optmap[plot]'") from error
    return pyplot.subplots(figsize=(8.0, 5.0), layout="constrained")[1]
