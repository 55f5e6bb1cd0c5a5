"""The picture of a network with chains fused: words over capacity, layer by layer, fused, and the floor."""

from __future__ import annotations

from typing import Any

from optmap.answers.over_capacity.fused import FusedCurve
from optmap.report.pictures.axes import capacity_axis, count_axis, new_axes, styled, words_label
from optmap.report.pictures.series import BOUND_COLOR, PALETTE


def plot_fused_curve(curve: FusedCurve, axes: Any = None) -> Any:
    """Draw what moves over the capacity of the memory, both logarithmic.

    Args:
        curve: the network in one memory after another.
        axes: matplotlib axes to draw into; new ones are made if absent.

    Returns:
        The axes.

    Raises:
        InputError: if matplotlib is not installed.
    """
    sizes = [each.capacity_bytes for each in curve.samples]
    with styled():
        axes = new_axes() if axes is None else axes
        axes.plot(
            sizes, [each.apart_words for each in curve.samples], color=PALETTE[0], marker="o", label="layer by layer"
        )
        axes.plot(
            sizes, [each.fused_words for each in curve.samples], color=PALETTE[2], marker="s", label="chains fused"
        )
        floors = [each.floor_words for each in curve.samples]
        axes.plot(
            sizes, floors, color=BOUND_COLOR, ls="--", marker="x", label="floor of each chain and layer by itself"
        )
        axes.set_yscale("log")
        capacity_axis(axes, "capacity", sizes=sizes)
        count_axis(axes.yaxis)
        last = curve.samples[-1]
        axes.set_ylabel(words_label(last.sums.view.total.word_bits))
        axes.set_title(f"{last.linked.name} with chains of two products fused")
        axes.legend(frameon=True, framealpha=0.9, edgecolor="none", loc="upper right")
    return axes
