"""Plots; matplotlib is imported only when one is asked for."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from optmap.base.texts import number
from optmap.report.pictures.axes import new_axes
from optmap.report.pictures.series import PALETTE, filled
from optmap.report.tables import one_of, shared_by

if TYPE_CHECKING:
    from optmap.search.result import TileAnswer


def bar_axes(rows: int) -> Any:
    """Axes of a new figure with room for so many bars.

    Raises:
        InputError: if matplotlib is not installed.
    """
    return new_axes((7.2, 1.7 + 0.75 * rows))


def plot_traffic(result: TileAnswer, axes: Any = None) -> Any:
    """Time that every boundary needs for its exact traffic, beside the proved bound.

    One bar per boundary, inner one on top, made of the tensors' loads and stores over the bandwidth;
    the longest bar is the bottleneck. A mark per boundary is what no schedule can go below. The scale
    is linear, so that the parts of a bar add up by eye.

    Args:
        result: a solved workload.
        axes: matplotlib axes to draw into; new ones are made if absent.

    Returns:
        The axes, in cycles (in words for one level with a bandwidth of one word per cycle).

    Raises:
        InputError: if matplotlib is not installed.
    """
    boundaries = result.machine.boundaries
    own = axes is None
    axes = bar_axes(len(boundaries)) if own else axes
    rates = result.machine.rates(result.workload.word_bits)
    tensors = list(dict.fromkeys(row.tensor for row in result.boundaries))
    ends = [Fraction(0)] * len(boundaries)
    for index, tensor in enumerate(tensors):
        parts = [
            sum(row.words for row in result.boundaries if row.between == between and row.tensor == tensor) / rate
            for between, rate in zip(boundaries, rates, strict=True)
        ]
        lefts, widths = [float(end) for end in ends], [float(part) for part in parts]
        axes.barh(range(len(boundaries)), widths, 0.6, left=lefts, label=tensor, **filled(PALETTE[index % 5]))
        ends = [end + part for end, part in zip(ends, parts, strict=True)]
    unit = result.machine.cost_unit
    _mark_bounds(axes, result, rates)
    slowest = max(ends)
    for place, end in enumerate(ends):
        weight = "bold" if end == slowest and len(ends) > 1 else "normal"
        note = f"{number(float(round(end)))} {unit}" + (", bottleneck" if weight == "bold" else "")
        axes.annotate(
            note, (float(end), place), (5, 0), textcoords="offset points", va="center", fontsize=9, weight=weight
        )
    axes.set_yticks(range(len(boundaries)), _row_names(result, unit))
    axes.set_ylim(len(boundaries) - 0.5, -0.5)
    axes.set_xlim(0, 1.5 * float(slowest))  # room for what stands behind the longest bar
    axes.set_xlabel("loads + stores (words)" if unit == "words" else "time: loads + stores over bandwidth (cycles)")
    axes.set_title(f"{result.workload.name or result.workload.expression} on {result.machine.name}", loc="left")
    tidy_bars(axes)
    if own:  # clear of the bars' labels
        axes.figure.legend(frameon=False, fontsize=9, loc="outside lower center", ncols=5)
    else:
        axes.legend(frameon=False, fontsize=9)
    return axes


def _mark_bounds(axes: Any, result: TileAnswer, rates: tuple[Fraction, ...]) -> None:
    """A thick mark per boundary that has a certificate, across its bar."""
    label = "proved bound"
    loads = "" if result.question.objective.stores else " (loads)"
    for proof in result.certificates:
        place = result.machine.boundaries.index(proof.between)
        least = float(proof.words / rates[place])
        axes.plot([least] * 2, [place - 0.38, place + 0.38], color="#000000", lw=2.6, label=label + loads, zorder=3)
        label, loads = "_nolegend_", ""


def _row_names(result: TileAnswer, unit: str) -> list[str]:
    """Boundary and bandwidth, and how many memories share the work."""
    shares = shared_by(result.machine, result.mapping)
    names = []
    for level, between in zip(result.machine.levels, result.machine.boundaries, strict=True):
        rate = "" if unit == "words" else f"\n{level.bandwidth}"
        names.append(" - ".join(between) + one_of(level.name, shares) + rate)
    return names


def tidy_bars(axes: Any) -> None:
    """Few ticks with short numbers, lines behind the bars, no frame."""
    from matplotlib.ticker import EngFormatter, MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(6))
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=True, axis="x", color="#dddddd", lw=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
