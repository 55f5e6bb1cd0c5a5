"""The picture of `score`: where somebody's mapping spends more than the best one."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from optmap.gap.scoring import Score, times_text
from optmap.report.axes import new_axes, styled
from optmap.report.spatial_plots import (
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


def plot_score(score: Score, axes: Any = None) -> Any:
    """Energy of both mappings, stacked by memory, with cycles and the ratio of what is compared.

    Args:
        score: a mapping beside the best one.
        axes: matplotlib axes to draw into; new ones are made if absent.

    Returns:
        The axes, in joule.

    Raises:
        InputError: if matplotlib is not installed.
    """
    both = (score.best.count, score.count)
    with styled():
        from matplotlib.ticker import EngFormatter

        own = axes is None
        axes = new_axes((WIDTH, 2.4)) if own else axes
        ends = [Fraction(0), Fraction(0)]
        names = [memory.name for memory in both[0].memories]
        parts = [(ARITHMETIC, ARITHMETIC_COLOR, [count.arithmetic_pj for count in both])]
        for place, (name, color) in enumerate(zip(names, memory_colors(both[0]), strict=True)):
            parts.append((name, color, [count.memories[place].energy_pj for count in both]))
        for name, color, energies in parts:
            left, widths = ([float(each) * PICO for each in row] for row in (ends, energies))
            axes.barh([0, 1], widths, 0.6, left=left, color=color, edgecolor="#ffffff", lw=0.5, label=name)
            ends = [end + each for end, each in zip(ends, energies, strict=True)]
        joule = EngFormatter(unit="J", places=2)
        for place, (count, end) in enumerate(zip(both, ends, strict=True)):
            note(axes, float(end) * PICO, place, f"{joule(float(end) * PICO)}, {count.cycles:,} cycles")
        name_rows(axes, ["optimum" if score.best.search.proved else "best found", "yours"])
        axes.set_xlim(0, 1.5 * (float(max(ends)) * PICO or 1.0))
        axes.xaxis.set_major_formatter(EngFormatter(unit="J"))
        times = "" if score.ratio is None else f": {score.merit.value} {times_text(score.ratio)}"
        axes.set_xlabel("energy")
        axes.set_title(f"{title(score)}{times}", loc="left")
        legend(axes, own)
    return axes
