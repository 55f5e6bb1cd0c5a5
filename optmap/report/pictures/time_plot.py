"""The picture of a solved workload: words over bandwidth, or the predicted time and what it is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from optmap.base.texts import number, several
from optmap.report.pictures.plots import bar_axes, plot_traffic, tidy_bars
from optmap.report.pictures.series import BOUND_COLOR, PALETTE, filled
from optmap.report.tables import one_of, shared_by

if TYPE_CHECKING:
    from optmap.count.timing import Prediction
    from optmap.search.result import TileAnswer

WAITED = "waited for"
"""Of cycles at a boundary: those that pass beside nothing."""


def plot_solution(result: TileAnswer, axes: Any = None) -> Any:
    """What a solution costs: time of its words per boundary, or under objective time the time that is predicted.

    Args:
        result: a solved workload.
        axes: matplotlib axes to draw into; new ones are made if absent.

    Raises:
        InputError: if matplotlib is not installed.
    """
    if result.prediction is None:
        return plot_traffic(result, axes)
    return plot_time(result, result.prediction, axes)


def plot_time(result: TileAnswer, prediction: Prediction, axes: Any = None) -> Any:
    """The predicted time with the proved bound as a mark across it, and its parts below.

    Parts overlap: what is not waited for at a boundary passes beside the arithmetic, so that the whole is less than
    their sum. Beside the bar of a boundary are its cycles and the words that cross it.

    Args:
        result: a solved workload.
        prediction: of its time.
        axes: matplotlib axes to draw into; new ones are made if absent.

    Returns:
        The axes, in cycles.

    Raises:
        InputError: if matplotlib is not installed.
    """
    rows = _rows(result, prediction)
    own = axes is None
    axes = bar_axes(len(rows)) if own else axes
    for place, (_, cycles, waited, note) in enumerate(rows):
        color = PALETTE[0] if place else "#555555"
        axes.barh(place, cycles - waited, 0.6, color=color)
        if waited:
            label = WAITED if WAITED not in axes.get_legend_handles_labels()[1] else "_nolegend_"
            axes.barh(place, waited, 0.6, left=cycles - waited, label=label, **filled(PALETTE[1]))
        weight = "normal" if place else "bold"
        axes.annotate(note, (cycles, place), (5, 0), textcoords="offset points", va="center", fontsize=9, weight=weight)
    if result.bound is not None:
        label = f"proved bound: {number(result.bound.value)} cycles"
        axes.plot([float(result.bound.value)] * 2, [-0.4, 0.4], color=BOUND_COLOR, lw=3, label=label)
    axes.set_yticks(range(len(rows)), [name for name, *_ in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlim(0, 1.75 * max(cycles for _, cycles, *_ in rows))  # room for what stands behind the longest bar
    caches = f"caches {prediction.caches.value}"
    axes.set_xlabel(f"predicted time (cycles, {caches}); parts overlap\nwords: what crosses if memories begin empty")
    axes.set_title(f"{result.workload.title} on {result.machine.name}", loc="left")
    tidy_bars(axes)
    if own:
        axes.figure.legend(frameon=False, fontsize=9, loc="outside lower center", ncols=2)
    else:
        axes.legend(frameon=False, fontsize=9)
    return axes


def _rows(result: TileAnswer, prediction: Prediction) -> list[tuple[str, float, float, str]]:
    """Name, cycles, those of them that are waited for, and a note: the whole, the kernel, boundaries, packing."""
    shares = shared_by(result.machine, result.mapping)
    words = dict.fromkeys(result.machine.boundaries, 0)
    for row in result.boundaries:
        words[row.between] += row.words
    inside = result.machine.boundaries[: len(words) - len(prediction.boundaries)]  # of registers, or none
    kernel = "\n".join([f"{prediction.kernel} kernel", *(" - ".join(between) for between in inside)])
    rows = [
        ("predicted", prediction.cycles, 0.0, f"{number(prediction.cycles)} cycles"),
        (
            kernel,
            prediction.compute_cycles,
            0.0,
            _note(prediction.compute_cycles, sum(words[between] for between in inside)),
        ),
    ]
    for part in prediction.boundaries:
        name = part.name + one_of(part.between[0], shares)
        rows.append((name, part.cycles, part.waited_cycles, _note(part.cycles, words[part.between])))
    if prediction.packing_cycles:
        rows.append(("packing", prediction.packing_cycles, 0.0, _note(prediction.packing_cycles, 0)))
    return rows


def _note(cycles: float, words: int) -> str:
    """`5,000 cycles, 1,200 words`."""
    moved = f", {several(words, 'word')}" if words else ""
    return f"{number(cycles)} cycles{moved}"
