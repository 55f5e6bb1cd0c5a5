"""Pareto pictures: two metrics of every design of a sweep, and the front of those that nothing beats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from optmap.answers.over_capacity.accelerator_designs import NEST_METRICS, NestDesign, design_names
from optmap.answers.over_capacity.curves import Panel
from optmap.answers.over_capacity.designs import METRICS, pareto_designs, pareto_front
from optmap.base.errors import InputError
from optmap.base.names import choose
from optmap.base.texts import several
from optmap.report.pictures.axes import SIZE, capacity_axis, count_axis, new_axes, styled
from optmap.report.pictures.compare_plot import nested
from optmap.report.pictures.series import COLORS

GROUPS = 7
"""Groups with a colour and a mark of their own; more are drawn alike."""
NAMED = 12
"""Designs of a front that are named."""
Place = tuple[str, float, float]
"""(what it is, x, y)."""


def plot_pareto(totals: Sequence[Panel], x: str = "capacity_bytes", y: str = "traffic_bytes", axes: Any = None) -> Any:
    """Two metrics of every design (machine and capacity), the Pareto front among all of them drawn.

    Args:
        totals: one panel per machine and level, all of the same workloads.
        x: a key of `METRICS`.
        y: another one.
        axes: matplotlib axes to draw into; new ones are made if absent.

    Returns:
        The axes.

    Raises:
        UnknownNameError: for a metric that is none.
        InputError: if matplotlib is not installed, or there is no design with both numbers.
    """
    designs = pareto_designs(totals, x, y)
    with styled():
        axes = new_axes() if axes is None else axes
        _scatter(axes, designs)
        front = pareto_front([(a, b) for _, a, b in designs])
        _step(axes, front)
        if len(front) == 1:
            axes.scatter(*front[0], s=170, facecolors="none", edgecolors="#000000", lw=1.4, label="best in both")
            why = "one design" if len({(a, b) for _, a, b in designs}) == 1 else "one design is best in both"
            axes.annotate(f"no front: {why}", front[0], (12, 10), textcoords="offset points", fontsize=9.5)
        _metric_axis(axes, "x", x)
        _metric_axis(axes, "y", y)
        axes.set_title(totals[0].workload)
        axes.legend(frameon=True, framealpha=0.9, edgecolor="none", loc="best")
    return axes


def plot_nest_pareto(designs: Sequence[NestDesign], x: str = "cycles", y: str = "energy_pj", axes: Any = None) -> Any:
    """Two metrics of every accelerator of a sweep, the Pareto front drawn and its designs named.

    Args:
        designs: what `nest_designs` finds in the rows.
        x: a key of `NEST_METRICS`.
        y: another one.
        axes: matplotlib axes to draw into; new ones are made if absent.

    Returns:
        The axes.

    Raises:
        UnknownNameError: for a metric that is none.
        InputError: if matplotlib is not installed, or there is no design.
    """
    places = nest_places(designs, x, y)
    common, names = design_names(designs)
    front = pareto_front([(a, b) for _, a, b in places])
    with styled():
        own = axes is None
        axes = new_axes((1.3 * SIZE[0], SIZE[1] + 0.3 + 0.2 * min(len(front), NAMED))) if own else axes
        _scatter(axes, places)
        _step(axes, front)
        _metric_axis(axes, "x", x)
        _metric_axis(axes, "y", y)
        _name_front(axes, names, [(a, b) for _, a, b in places], front)
        added = designs[0].workloads
        what = f"{len(added)} workloads, added up" if len(added) > 1 else added[0]
        axes.set_title(f"{what}, on {common}" if common else what, loc="left")
        where = {"loc": "outside lower left"} if own else {"loc": "best"}
        (axes.figure if own else axes).legend(frameon=False, fontsize=8.5, handlelength=1.4, **where)
    return axes


def nest_places(designs: Sequence[NestDesign], x: str, y: str) -> list[Place]:
    """(group, x, y) of every accelerator.

    Raises:
        UnknownNameError: for a metric that is none.
        InputError: if there is none.
    """
    for name in (x, y):
        choose("metric", name, NEST_METRICS)
    if not designs:
        raise InputError(f"no machine of the sweep has mappings of all workloads with {x} and {y}")
    return [(each.group, float(NEST_METRICS[x].value(each)), float(NEST_METRICS[y].value(each))) for each in designs]


def nest_metrics(metrics: tuple[str, str]) -> tuple[str, str]:
    """The metrics of accelerators: those that were asked for, if accelerators have both; else cycles and energy."""
    return metrics if all(name in NEST_METRICS for name in metrics) else ("cycles", "energy_pj")


def _scatter(axes: Any, designs: Sequence[Place]) -> None:
    labels = list(dict.fromkeys(label for label, _, _ in designs))
    if len(labels) > GROUPS:
        points = [(a, b) for _, a, b in designs]
        axes.scatter(*zip(*points, strict=True), s=30, color=COLORS[0], label=several(len(designs), "design"), zorder=3)
        return
    for label, style in zip(labels, nested(len(labels)), strict=True):
        mine = [(a, b) for name, a, b in designs if name == label]
        look = {"color": style["color"], "marker": style["marker"], "zorder": style["zorder"]}
        axes.scatter(*zip(*mine, strict=True), s=style["ms"] ** 2, label=label, **look)


def _step(axes: Any, front: Sequence[tuple[float, float]]) -> None:
    label = "Pareto front" if len(front) > 1 else "_nolegend_"
    xs, ys = [a for a, _ in front], [b for _, b in front]
    axes.step(xs, ys, where="post", color="#000000", lw=1.2, label=label)


def _name_front(
    axes: Any, names: Sequence[str], places: Sequence[tuple[float, float]], front: Sequence[tuple[float, float]]
) -> None:
    """A number beside every design of the front, and what it is in the legend."""
    for number, point in enumerate(front[:NAMED], start=1):
        same = [name for name, place in zip(names, places, strict=True) if place == point]
        text = same[0] + (f"; {len(same) - 1} more as good" if len(same) > 1 else "")
        axes.annotate(str(number), point, (5, 5), textcoords="offset points", fontsize=9, weight="bold")
        axes.plot([], [], ls="none", label=f"{number}: {text}")
    if len(front) > NAMED:
        axes.plot([], [], ls="none", label=f"and {len(front) - NAMED} more on the front")


def metric_label(metric: str) -> str:
    """What a metric is called on an axis of plain numbers."""
    return NEST_METRICS[metric].label if metric in NEST_METRICS else METRICS[metric].label


def _metric_axis(axes: Any, side: str, metric: str) -> None:
    from matplotlib.ticker import EngFormatter, FuncFormatter

    label = "energy" if metric == "energy_pj" else metric_label(metric)
    if metric == "capacity_bytes" and side == "x":
        capacity_axis(axes, label)
        return
    axis = getattr(axes, f"{side}axis")
    getattr(axes, f"set_{side}label")(label + (" (bytes)" if metric == "capacity_bytes" else ""))
    if metric not in ("gap", "traffic_gap"):
        getattr(axes, f"set_{side}scale")("log")
        count_axis(axis, seconds=metric == "seconds")
    if metric == "energy_pj":
        joule = EngFormatter(unit="J")
        axis.set_major_formatter(FuncFormatter(lambda value, _: joule(1e-12 * value)))
