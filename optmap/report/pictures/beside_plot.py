"""Mappings on one accelerator side by side: where each spends its energy, and how long it takes."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from optmap.answers.side_by_side.comparison import Comparison
from optmap.answers.side_by_side.scoring import Score, times_text
from optmap.base.errors import InputError
from optmap.count.meshes.results import SpatialCost
from optmap.machines.fabric import Fabric
from optmap.report.pictures.axes import new_axes, styled
from optmap.report.pictures.spatial_plots import (
    ARITHMETIC,
    ARITHMETIC_COLOR,
    PICO,
    WIDTH,
    legend,
    memory_colors,
    name_rows,
    note,
    title,
)

Row = tuple[str, SpatialCost, str]
"""(whose mapping, what it costs, what is said behind energy and cycles)."""


def plot_score(score: Score, axes: Any = None) -> Any:
    """Energy of somebody's mapping and of the best one, stacked by memory, with cycles and the ratio.

    Args:
        score: a mapping beside the best one.
        axes: matplotlib axes to draw into; new ones are made if absent.

    Returns:
        The axes, in joule.

    Raises:
        InputError: if matplotlib is not installed.
    """
    best = "optimum" if score.best.proved else "best found"
    times = "" if score.ratio is None else f": {score.best.objective} {times_text(score.ratio)}"
    return _beside(score.fabric, [(best, score.best.count, ""), ("yours", score.count, "")], times, axes)


def plot_methods(comparison: Comparison, axes: Any = None) -> Any:
    """Energy of the mappings of all methods, stacked by memory, with cycles and the ratio to the best.

    Args:
        comparison: methods that minimise one objective on one accelerator.
        axes: matplotlib axes to draw into; new ones are made if absent.

    Returns:
        The axes, in joule.

    Raises:
        InputError: if matplotlib is not installed, or no method found a mapping.
        TypeError: if each method minimises its own objective.
    """
    if not comparison.results:
        raise InputError("no method found a mapping; there is nothing to draw")
    asked = comparison.question
    best = None if comparison.best is None else comparison.results[comparison.best].cost
    rows = []
    for name, result in comparison.results.items():
        over = f"{asked.objective.name} {times_text(result.cost / best)}" if best and result.cost != best else ""
        rows.append((name, result.count, (over or "best") if result.fits else "does not fit"))
    return _beside(asked.bare, rows, "", axes)


def _beside(fabric: Fabric, rows: Sequence[Row], heading: str, axes: Any) -> Any:
    counts = [count for _, count, _ in rows]
    parts = [(ARITHMETIC, ARITHMETIC_COLOR, [count.arithmetic_pj for count in counts])]
    with styled():
        from matplotlib.ticker import EngFormatter

        own = axes is None
        axes = new_axes((WIDTH, 1.5 + 0.45 * len(rows))) if own else axes
        for place, color in enumerate(memory_colors(counts[0])):
            parts.append((fabric.memories[place].name, color, [count.memories[place].energy_pj for count in counts]))
        ends = [Fraction(0)] * len(rows)
        for name, color, energies in parts:
            left, widths = ([float(each) * PICO for each in row] for row in (ends, energies))
            axes.barh(range(len(rows)), widths, 0.6, left=left, color=color, edgecolor="#ffffff", lw=0.5, label=name)
            ends = [end + each for end, each in zip(ends, energies, strict=True)]
        joule = EngFormatter(unit="J", places=2)
        for place, ((_, count, said), end) in enumerate(zip(rows, ends, strict=True)):
            text = f"{joule(float(end) * PICO)}, {count.cycles:,} cycles"
            note(axes, float(end) * PICO, place, f"{text}, {said}" if said else text)
        name_rows(axes, [name for name, _, _ in rows])
        axes.set_xlim(0, (1.75 if any(said for _, _, said in rows) else 1.5) * (float(max(ends)) * PICO or 1.0))
        axes.xaxis.set_major_formatter(EngFormatter(unit="J"))
        axes.set_xlabel("energy")
        axes.set_title(title(fabric, heading), loc="left")
        legend(axes, own)
    return axes
