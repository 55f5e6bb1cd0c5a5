"""Pictures of what a mapping on an accelerator costs: energy, utilisation, cycles.

Rows go from the units outwards, as the tables do; a tensor has one colour in every picture.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from textwrap import fill
from typing import Any, Protocol

from optmap.base.texts import number, percent
from optmap.count.meshes.results import SpatialCost
from optmap.machines.fabric import Fabric
from optmap.mappings.nest import Nest
from optmap.report.pictures.axes import new_axes, styled
from optmap.report.pictures.series import COLORS, filled

WIDTH = 7.2
"""Of these pictures, in inches."""
ARITHMETIC = "arithmetic"
"""The row of the units."""
ARITHMETIC_COLOR, WIRES_COLOR = "#8c8c8c", "#444444"
USED_COLOR, FULL_COLOR = "#4c2c80", "#c9b8e6"
TITLE = 78
"""Letters of a line of a title."""
PICO = 1e-12
"""Joule per pJ."""


class PicturedMapping(Protocol):
    """A mapping on an accelerator that has been counted: what every picture here is of."""

    @property
    def fabric(self) -> Fabric:
        """The machine as the workload sees it."""

    @property
    def nest(self) -> Nest:
        """The mapping as loops."""

    @property
    def count(self) -> SpatialCost:
        """What was counted."""


def tensor_colors(fabric: Fabric) -> dict[str, str]:
    """A colour per tensor, the same in every picture of a workload."""
    return {operand.name: COLORS[place % len(COLORS)] for place, operand in enumerate(fabric.operands)}


def title(fabric: Fabric, more: str = "") -> str:
    """What stands above a picture; a long statement takes several lines.

    Args:
        fabric: workload and machine.
        more: what is said behind them.
    """
    return fill(f"{fabric.workload.title} on {fabric.machine.name}{more}", TITLE)


def plot_energy(answer: PicturedMapping, axes: Any = None) -> Any:
    """Energy of the arithmetic and of every memory, stacked by tensor.

    Args:
        answer: a counted mapping.
        axes: matplotlib axes to draw into; new ones are made if absent.

    Returns:
        The axes, in joule. The scale is linear, so that the parts of a bar add up by eye.

    Raises:
        InputError: if matplotlib is not installed.
    """
    cost = answer.count
    with styled():
        from matplotlib.ticker import EngFormatter

        own = axes is None
        axes = _bar_axes(len(cost.memories) + 1) if own else axes
        ends = [Fraction(0)] * (len(cost.memories) + 1)
        for label, color, parts in _energy_parts(answer):
            wires = {"hatch": "++++"} if color == WIRES_COLOR else {}
            look = filled(color, label=label, **wires)
            widths = [float(part) * PICO for part in parts]
            axes.barh(range(len(parts)), widths, 0.62, left=[float(end) * PICO for end in ends], **look)
            ends = [end + part for end, part in zip(ends, parts, strict=True)]
        form = EngFormatter(unit="J", places=2)
        for place, end in enumerate(ends):
            share = percent(float(end), float(cost.energy_pj))
            note(axes, float(end) * PICO, place, f"{form(float(end) * PICO)}, {share}", end == max(ends))
        name_rows(axes, [ARITHMETIC, *(memory.name for memory in cost.memories)])
        axes.set_xlim(0, 1.42 * (float(max(ends)) * PICO or 1.0))
        axes.xaxis.set_major_formatter(EngFormatter(unit="J"))
        axes.set_xlabel("energy")
        axes.set_title(title(answer.fabric, f": {form(float(cost.energy_pj) * PICO)}"), loc="left")
        legend(axes, own)
    return axes


def _energy_parts(answer: PicturedMapping) -> list[tuple[str, str, list[Fraction]]]:
    """(what, its colour, pJ in the rows) of everything that takes energy."""
    cost = answer.count
    parts: list[tuple[str, str, list[Fraction]]] = []
    for name, color in tensor_colors(answer.fabric).items():
        own = [sum((a.energy_pj for a in m.accesses if a.operand == name), Fraction(0)) for m in cost.memories]
        parts.append((name, color, [Fraction(0), *own]))
    parts.append((ARITHMETIC, ARITHMETIC_COLOR, [cost.arithmetic_pj, *(Fraction(0) for _ in cost.memories)]))
    wires = [sum(m.wires_pj.values(), Fraction(0)) for m in cost.memories]
    if any(wires):
        parts.append(("wires", WIRES_COLOR, [Fraction(0), *wires]))
    return parts


def plot_utilisation(answer: PicturedMapping, axes: Any = None) -> Any:
    """How much of the units and of every bounded memory is in use.

    Of a memory the share of its words that one instance holds (buffers count what one working set may take)
    and the share of its instances that work at all; of the units the share that has work, and the share of all
    their cycles in which they do it.

    Args:
        answer: a counted mapping.
        axes: matplotlib axes to draw into; new ones are made if absent.

    Returns:
        The axes, in percent.

    Raises:
        InputError: if matplotlib is not installed.
    """
    rows = _utilisation_rows(answer)
    with styled():
        own = axes is None
        axes = _bar_axes(1.4 * len(rows)) if own else axes
        for index, (label, color) in enumerate((("in use", USED_COLOR), ("full, or busy", FULL_COLOR))):
            at = [place + 0.4 * (index - 0.5) for place in range(len(rows))]
            shares = [100 * float(row[1 + index][0]) for row in rows]
            axes.barh(at, shares, 0.36, color=color, label=label)
            for y, share, row in zip(at, shares, rows, strict=True):
                note(axes, share, y, f"{share:.3g} % {row[1 + index][1]}")
        name_rows(axes, [row[0] for row in rows])
        axes.set_xlim(0, 175)
        axes.set_xticks([0, 25, 50, 75, 100])
        axes.spines["bottom"].set_bounds(0, 100)
        axes.set_xlabel("share (%)")
        axes.set_title(title(answer.fabric), loc="left")
        legend(axes, own)
    return axes


Share = tuple[Fraction, str]
"""(share, in words)."""


def _utilisation_rows(answer: PicturedMapping) -> list[tuple[str, Share, Share]]:
    """(row, share of the instances in use, share of each that is full or of the cycles that are busy)."""
    cost, fabric = answer.count, answer.fabric
    busy = Fraction(cost.operations, fabric.units * cost.compute_cycles)
    rows = [
        (
            ARITHMETIC,
            (busy, f"({number(float(busy * fabric.units))} of {fabric.units:,})"),
            (cost.utilisation, f"of {cost.cycles:,} cycles"),
        )
    ]
    for place, memory in enumerate(cost.memories):
        if memory.capacity_words is None:
            continue
        there = fabric.instances(place)
        full = Fraction(memory.occupancy_words, max(1, memory.capacity_words))
        in_use = (memory.utilisation, f"({memory.instances:,} of {there:,})")
        rows.append((memory.name, in_use, (full, f"({memory.occupancy_words:,} of {memory.capacity_words:,} words)")))
    return rows


def plot_cycles(answer: PicturedMapping, axes: Any = None) -> Any:
    """Cycles that the computation needs, beside those of every port with a limit; the longest decides.

    Args:
        answer: a counted mapping.
        axes: matplotlib axes to draw into; new ones are made if absent.

    Returns:
        The axes, in cycles.

    Raises:
        InputError: if matplotlib is not installed.
    """
    cost = answer.count
    rows = [(ARITHMETIC, Fraction(cost.compute_cycles), ARITHMETIC_COLOR)]
    for color, memory in zip(memory_colors(cost), cost.memories, strict=True):
        for port in memory.ports:
            rows.append((f"{memory.name}, {port_text(port.port, port.rate)}", port.cycles, color))
    with styled():
        from matplotlib.ticker import EngFormatter

        axes = _bar_axes(len(rows)) if axes is None else axes
        slowest = max(cycles for _, cycles, _ in rows)
        axes.barh(range(len(rows)), [float(row[1]) for row in rows], 0.62, color=[row[2] for row in rows])
        for place, (_, cycles, _) in enumerate(rows):
            decides = cycles == slowest
            note(axes, float(cycles), place, number(float(round(cycles))) + (", decides" if decides else ""), decides)
        name_rows(axes, [row[0] for row in rows])
        axes.set_xlim(0, 1.4 * float(slowest))
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
        free = [memory.name for memory in cost.memories if not memory.ports]
        axes.set_xlabel("cycles" + (f" (no limit at {', '.join(free)})" if free else ""))
        axes.set_title(title(answer.fabric, f": {number(cost.cycles)} cycles"), loc="left")
    return axes


def memory_colors(cost: SpatialCost) -> tuple[str, ...]:
    """A colour per memory, the same in every picture where memories are told apart by colour: the outer the darker."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    last = max(1, len(cost.memories) - 1)
    return tuple(to_hex(colormaps["magma"](0.86 - 0.72 * place / last)) for place in range(len(cost.memories)))


def port_text(port: str, rate: Fraction) -> str:
    """`reads 16/cycle`."""
    words = {"read": "reads", "write": "writes", "shared": "reads + writes"}[port]
    return f"{words} {number(float(rate))}/cycle"


def _bar_axes(rows: float) -> Any:
    return new_axes((WIDTH, 1.35 + 0.42 * rows))


def name_rows(axes: Any, names: Sequence[str]) -> None:
    """Names of rows of bars, from the top, and nothing else on that side."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")
    axes.spines["left"].set_visible(False)
    axes.set_axisbelow(True)


def note(axes: Any, x: float, y: float, text: str, bold: bool = False) -> None:
    """A text behind the end of a bar."""
    ground = {"fc": "#ffffff", "ec": "none", "pad": 0.6}
    look = {"va": "center", "fontsize": 9, "weight": "bold" if bold else "normal", "bbox": ground}
    axes.annotate(text, (x, y), (4, 0), textcoords="offset points", **look)


def legend(axes: Any, own: bool) -> None:
    """Below the axes of a figure of its own, clear of the notes behind the bars."""
    if own:
        axes.figure.legend(frameon=False, fontsize=9, loc="outside lower center", ncols=5)
    else:
        axes.legend(frameon=False, fontsize=9)
