"""The regimes of a closed form over two parameters: straight lines where both axes are logarithmic."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from math import log2
from typing import Any

from optmap.answers.closed_forms.monomials import sign
from optmap.answers.closed_forms.regime_lookup import sizes_of
from optmap.answers.closed_forms.regimes import Regime, Regimes
from optmap.base.errors import InputError
from optmap.report.closed_forms.regime_texts import loads_text, regime_name
from optmap.report.pictures.axes import new_axes, styled
from optmap.report.pictures.series import PALETTE
from optmap.solvers.cones import Row

SIZE = (6.6, 4.6)
"""Width and height in inches."""
AROUND = 4.0
"""Powers of two that are drawn beyond the values of the workload, or up to everything fitting."""
LEAST = 10.0
"""Powers of two that an axis has at least."""
SMALLEST_NAMED = 0.02
"""Share of the picture from which on a regime is named in it."""

NOTHING = 1e-9
"""Area up to which nothing is drawn."""

Polygon = list[tuple[float, float]]
"""Corners, as logarithms to base 2."""
Group = list[tuple[int, Regime]]
"""Regimes with their numbers."""


def plot_regimes(answer: Regimes, axes: Any = None) -> Any:
    """The regimes as areas, their tiles' borders as thin lines, the workload as a point.

    Args:
        answer: a closed form, with the parameters to draw it over; memory and first dim if it names none.
        axes: matplotlib axes to draw into; new ones are made if absent.

    Returns:
        The axes.

    Raises:
        InputError: if matplotlib is not installed, or the capacity is neither given nor an axis.
    """
    over = answer.over or (answer.names[0], answer.names[1])
    if answer.at is None and answer.names[0] not in over:
        raise InputError(f"a picture over {' and '.join(over)} is at one capacity; add memory (--memory)")
    values = sizes_of(answer, 1 if answer.at is None else answer.at.memory_words)
    with styled():
        axes = new_axes(SIZE) if axes is None else axes
        x, y = (answer.names.index(name) for name in over)
        box = (_length(answer, x, values), _length(answer, y, values))
        groups = [
            (group, area)
            for group in _alike(answer, (x, y), values)
            if _size(area := _clipped(group[0][1].cone.facets, (x, y), values, box)) > NOTHING
        ]
        for color, (group, area) in zip(cycle(PALETTE[:7]), groups, strict=False):
            axes.fill(*_points(area), color=color, alpha=0.45, lw=0, label=_group_name(answer, group))
            for region in group[0][1].tiles:
                border = _clipped(region.cone.facets, (x, y), values, box)
                if _size(border) > NOTHING:
                    axes.plot(*_points([*border, border[0]]), color="#444444", lw=0.5)
            if _size(area) > SMALLEST_NAMED * box[0] * box[1]:
                numbers = ", ".join(f"{number}" for number, _ in group)
                axes.annotate(numbers, tuple(2.0**a for a in _middle(area)), ha="center", va="center", fontsize=12)
        if answer.at is not None:
            axes.plot(
                [values[x]], [values[y]], "o", color="#000000", clip_on=False, zorder=5, label=_point_name(answer)
            )
        _finish(answer, axes, over, box)
    return axes


def _length(answer: Regimes, axis: int, values: Sequence[int]) -> float:
    """Powers of two from 1 to the end of an axis."""
    if axis == 0:
        everything = sum(
            answer.workload.weight(t) * t.footprint(answer.workload.extents) for t in answer.workload.tensors
        )
        return max(LEAST, log2(max(everything, values[0])) + 1)
    return max(LEAST, log2(values[axis]) + AROUND)


def _clipped(rows: Sequence[Row], pair: tuple[int, int], values: Sequence[int], box: tuple[float, float]) -> Polygon:
    """The part of a cone in the picture: the box cut by every inequality in turn."""
    polygon: Polygon = [(0.0, 0.0), (box[0], 0.0), box, (0.0, box[1])]
    for row in rows:
        rest = sum(q * log2(v) for i, (q, v) in enumerate(zip(row, values, strict=True)) if i not in pair and q)
        level = [row[pair[0]] * a + row[pair[1]] * b + rest for a, b in polygon]
        cut: Polygon = []
        for i, here in enumerate(polygon):
            before = polygon[i - 1]
            if (level[i] < 0) != (level[i - 1] < 0):
                share = level[i - 1] / (level[i - 1] - level[i])
                cut.append((before[0] + share * (here[0] - before[0]), before[1] + share * (here[1] - before[1])))
            if level[i] >= 0:
                cut.append(here)
        polygon = cut
        if not polygon:
            break
    return polygon


def _size(polygon: Polygon) -> float:
    return abs(sum(_cross(polygon, i) for i in range(len(polygon)))) / 2


def _cross(polygon: Polygon, i: int) -> float:
    (a, b), (c, d) = polygon[i - 1], polygon[i]
    return a * d - b * c


def _middle(polygon: Polygon) -> tuple[float, float]:
    """Centre of mass."""
    twice = sum(_cross(polygon, i) for i in range(len(polygon)))
    a, b = (
        sum((polygon[i - 1][k] + polygon[i][k]) * _cross(polygon, i) for i in range(len(polygon))) / (3 * twice)
        for k in (0, 1)
    )
    return a, b


def _points(polygon: Polygon) -> tuple[list[float], list[float]]:
    return [2.0**a for a, _ in polygon], [2.0**b for _, b in polygon]


def _alike(answer: Regimes, pair: tuple[int, int], values: Sequence[int]) -> list[Group]:
    """Regimes with one bound everywhere in the picture together: there they are one."""
    groups: list[Group] = []
    for number, regime in enumerate(answer.regimes, start=1):
        for group in groups:
            apart = [p - q for p, q in zip(regime.volume, group[0][1].volume, strict=True)]
            if not any(apart[i] for i in pair) and not sign(apart, values):
                group.append((number, regime))
                break
        else:
            groups.append([(number, regime)])
    return groups


def _group_name(answer: Regimes, group: Group) -> str:
    regime = group[0][1]
    loads = loads_text(answer, regime)
    names = ", ".join(f"{number}  {regime_name(answer, each)}" for number, each in group)
    return names if loads is None else f"{names}: loads >= {loads}"


def _point_name(answer: Regimes) -> str:
    return f"{answer.workload.name or 'the workload'} at this capacity"


def _finish(answer: Regimes, axes: Any, over: tuple[str, str], box: tuple[float, float]) -> None:
    from matplotlib.ticker import LogLocator, NullLocator

    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    axes.set_xlim(1, 2.0 ** box[0])
    axes.set_ylim(1, 2.0 ** box[1])
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(base=2, numticks=9))
        axis.set_minor_locator(NullLocator())
    texts = {p.name: p.text for p in answer.tiling.parameters}
    axes.set_xlabel(f"{over[0]}: {texts[over[0]]}")
    axes.set_ylabel(f"{over[1]}: {texts[over[1]]}")
    axes.grid(visible=False)
    axes.set_title(answer.workload.name or answer.workload.expression, loc="left")
    axes.figure.legend(frameon=False, loc="outside lower center", ncols=1)
