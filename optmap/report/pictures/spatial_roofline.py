"""The roofline of an accelerator with a mapping on it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from optmap.base.texts import number
from optmap.report.pictures.axes import count_axis, new_axes, styled
from optmap.report.pictures.spatial_plots import ARITHMETIC_COLOR, PicturedMapping, memory_colors, port_text, title

MARKS = {"read": ("o", "-"), "write": ("s", "--"), "shared": ("D", "-")}
"""Mark and line of every kind of port."""
FREE = "v"
"""Mark of a memory without a limit."""
ROOM = 4
"""Quotient of what is drawn beyond the points and corners, at either end."""


@dataclass(frozen=True, slots=True)
class RooflinePoint:
    """The mapping at one port of a memory, or at a memory without a limit."""

    label: str
    color: str
    port: str
    """Empty without a limit."""
    rate: Fraction | None
    """Words per cycle of all instances that there are; None without a limit."""
    intensity: Fraction
    """Operations per word."""


def plot_roofline(answer: PicturedMapping, axes: Any = None) -> Any:
    """What the machine can do at every intensity, and what the mapping does.

    The flat roof are the units. The slowest port of every memory has a ceiling: its words per cycle, of all
    instances together, times the operations done per word. The mapping is a point per memory, at the
    operations that it does per word there; all points are as high, and none is above its ceiling. On its
    ceiling it waits for that port; below, fewer instances are in use or something else decides. A memory
    without a limit has a hollow mark and no ceiling.

    Args:
        answer: a counted mapping.
        axes: matplotlib axes to draw into; new ones are made if absent.

    Returns:
        The axes: operations per cycle over operations per word, both logarithmic.

    Raises:
        InputError: if matplotlib is not installed.
    """
    points = points_of(answer)
    cost, units = answer.count, answer.fabric.units
    speed = float(Fraction(cost.operations, cost.cycles))
    corners = [units / point.rate for point in points if point.rate is not None]
    xs = [float(x) for x in (*corners, *(point.intensity for point in points))]
    low, high = min(xs) / ROOM, max(xs) * ROOM
    with styled():
        axes = new_axes((7.2, 4.1)) if axes is None else axes
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.axhline(units, color=ARITHMETIC_COLOR, lw=2.4, label=f"{units:,} units: {units:,} operations/cycle")
        for point in points:
            _draw(axes, point, speed, (low, min(high, float(units / point.rate)) if point.rate else high))
        axes.axhline(
            speed, color="#000000", ls=":", lw=1.2, zorder=1, label=f"mapping: {number(speed)} operations/cycle"
        )
        axes.set_xlim(low, high)
        axes.set_ylim(speed / 12, 2.2 * units)
        count_axis(axes.xaxis)
        count_axis(axes.yaxis)
        axes.set_xlabel("operations per word at the memory")
        axes.set_ylabel("operations per cycle")
        axes.set_title(title(answer.fabric), loc="left")
        axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return axes


def _draw(axes: Any, point: RooflinePoint, speed: float, ends: tuple[float, float]) -> None:
    """A ceiling and the mapping's point."""
    look = {"color": point.color, "marker": FREE, "ms": 9, "mec": "#000000", "mew": 1.0}
    if point.rate is None:
        hollow = {**look, "mfc": "#ffffff", "mec": point.color, "mew": 1.6}
        axes.plot([float(point.intensity)], [speed], ls="none", zorder=4, label=point.label, **hollow)
        return
    look["marker"], line = MARKS[point.port]
    axes.plot(ends, [x * float(point.rate) for x in ends], color=point.color, lw=1.8, ls=line)
    axes.plot([float(point.intensity)], [speed], ls="none", zorder=5, **look)
    axes.plot([], [], lw=1.8, ls=line, label=point.label, **look)  # the legend shows line and mark together


def points_of(answer: PicturedMapping) -> list[RooflinePoint]:
    """The mapping at the slowest port of every memory, and at the memories without a limit, inner first."""
    found = []
    operations = answer.count.operations
    for place, (memory, color) in enumerate(zip(answer.count.memories, memory_colors(answer.count), strict=True)):
        there = answer.fabric.instances(place)
        each = f"{there:,}x " if there > 1 else ""
        slowest = max(memory.ports, key=lambda load: load.cycles, default=None)
        if slowest is not None and slowest.words:
            label = f"{memory.name}, {each}{port_text(slowest.port, slowest.rate)}"
            intensity = operations / (slowest.words * memory.instances)
            found.append(RooflinePoint(label, color, slowest.port, slowest.rate * there, intensity))
        words = sum(row.reads + row.fills + row.updates for row in memory.accesses)
        if words and not memory.ports:
            found.append(RooflinePoint(f"{memory.name}, no limit", color, "", None, Fraction(operations, words)))
    return found
