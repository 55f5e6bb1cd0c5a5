"""The plot of `curve`: words over capacity with the floor beneath."""

from __future__ import annotations

from typing import Any

from optmap.answers.over_capacity.capacity_curve import CapacityCurve
from optmap.report.pictures.axes import capacity_axis, count_axis, new_axes, words_label
from optmap.report.pictures.compare_plot import SIZE
from optmap.report.pictures.series import BOUND_COLOR, COLORS, FLOOR


def plot_curve(curve: CapacityCurve, axes: Any = None) -> Any:
    """Words that the best mappings move as steps, and where every statement is done by itself; the floor beneath.

    Args:
        curve: with its points.
        axes: matplotlib axes to draw into; new ones are made if absent.

    Returns:
        The axes.

    Raises:
        InputError: if matplotlib is not installed.
    """
    axes = new_axes(SIZE) if axes is None else axes
    rooms = [point.room_words for point in curve.points]
    words = [point.words for point in curve.points]
    floors = [point.bound_words for point in curve.points]
    alone = [(point.room_words, point.apart) for point in curve.points if point.apart is not None]
    axes.step(rooms, words, where="post", color=COLORS[0], lw=2, marker="o", ms=3, label="best mapping")
    if alone:
        axes.step(*zip(*alone, strict=True), where="post", color=COLORS[1], lw=1.6, label="every statement by itself")
    axes.plot(rooms, floors, color=BOUND_COLOR, lw=2, ls="--", label="proved floor")
    axes.axhline(curve.compulsory_words, color=FLOOR, lw=1.6, ls=":", label="compulsory")
    if curve.knee is not None:
        axes.axvline(curve.knee.room_words, color=FLOOR, lw=1.0, label="5 % above compulsory")
    axes.set_yscale("log")
    capacity_axis(axes, "fast memory (words)", in_bytes=False)
    count_axis(axes.yaxis)
    what = "loads + stores" if curve.objective == "traffic" else "loads"
    axes.set_ylabel(words_label(curve.workload.word_bits, what))
    axes.set_title(curve.workload.title, loc="left")
    axes.grid(visible=True, which="major", color="#dddddd", lw=0.6)
    axes.legend(frameon=True, framealpha=0.9, edgecolor="none")
    return axes
