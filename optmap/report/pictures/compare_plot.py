"""The plot of `compare`: traffic against capacity with the bound beneath."""

from __future__ import annotations

from typing import Any

from optmap.answers.side_by_side.comparison import ComparedWords, Comparison, ComparisonRow
from optmap.base.texts import several, size_text
from optmap.report.pictures.axes import capacity_axis, count_axis, new_axes, words_label
from optmap.report.pictures.series import BOUND_COLOR, COLORS, FLOOR, MARKERS, REST, filled

Dashes = tuple[Any, Any]
"""Line styles of a bound and of compulsory traffic."""
DASHES: tuple[Dashes, ...] = (("--", ":"), ((0, (6, 1.5, 1, 1.5)), (0, (1, 3))))
"""Of the first kind of words, and of a second one in the same picture."""
SIZE = (8.0, 5.0)
"""Inches: readable at half the width of a page."""
WIDEST, LARGEST = 5.6, 7.0
"""Points by which the lowest curve and its marks are larger than the top one's, at most."""


def plot_comparison(comparison: Comparison, axes: Any = None) -> Any:
    """Words that the mappings of every method move, against the bound beneath.

    Over a range of capacities these are curves, both axes logarithmic, the capacity in the unit that was
    asked for; the area between the bound and the best mapping is shaded. For one capacity, and for the
    boundaries of a machine, these are bars: a group per boundary, a bar per method, as multiples of the
    bound, with the words written beside them.

    Every method is drawn in the words that it minimises, beside the bound on these. Where some minimise loads and
    others loads plus stores, curves are in two pictures side by side, in one only on axes that are given: then every
    label says which words it is about, as with bars.

    Args:
        comparison: rows over capacities or boundaries.
        axes: matplotlib axes to draw into; new ones are made if absent.

    Returns:
        The axes, of two pictures the first.

    Raises:
        InputError: if matplotlib is not installed.
    """
    if comparison.machine is None and len({row.memory_words for row in comparison.rows}) > 1:
        drawn = [name for name in comparison.methods if any(name in row.found for row in comparison.rows)]
        styles = dict(zip(drawn, nested(len(drawn)), strict=True))
        if axes is not None or len(comparison.counted) == 1:
            return _curves(comparison, styles, new_axes(SIZE) if axes is None else axes)
        several = new_axes((12.0, 5.0), len(comparison.counted))
        for counted, each in zip(comparison.counted, several, strict=True):
            _curves(comparison.only(counted), styles, each)
        return several[0]
    height = 1.9 + 0.33 * len(comparison.rows) * (len(comparison.methods) + 1)
    return _bars(comparison, new_axes((8.0, height)) if axes is None else axes)


def nested(count: int) -> list[dict[str, Any]]:
    """Line styles for curves that may lie on top of each other: each one shows around the next.

    However many there are, the lowest stays a line: many of them are closer to each other in width.
    """
    steps = max(1, count - 1)
    wider, larger = min(2.4, WIDEST / steps), min(3.2, LARGEST / steps)
    return [
        {
            "color": COLORS[index % len(COLORS)],
            "marker": MARKERS[index % len(MARKERS)],
            "lw": 1.6 + wider * (count - 1 - index),
            "ms": 5.0 + larger * (count - 1 - index),
            "zorder": 3 + index / count,
        }
        for index in range(count)
    ]


def _curves(comparison: Comparison, styles: dict[str, dict[str, Any]], axes: Any) -> Any:
    rows = sorted(comparison.rows, key=lambda row: row.memory_words)
    per_word = comparison.workload.word_bits / 8 if comparison.unit == "bytes" else 1
    drawn = [name for name in comparison.methods if any(name in row.found for row in rows)]
    for counted, dashes in zip(comparison.counted, DASHES, strict=False):
        _floors(comparison, rows, counted, dashes, axes)
    for name in drawn:
        own = [row for row in rows if name in row.found]
        held = [row.memory_words * per_word for row in own]
        label = name + _said(comparison, own[0].found[name].counted)
        axes.plot(held, [row.found[name].words for row in own], label=label, **styles[name])
    axes.set_yscale("log")
    capacity_axis(
        axes, "fast memory" + ("" if comparison.unit == "bytes" else " (words)"), in_bytes=comparison.unit == "bytes"
    )
    count_axis(axes.yaxis)
    axes.set_ylabel(words_label(comparison.workload.word_bits, _what(comparison)))
    axes.set_title(comparison.workload.title, loc="left")
    axes.grid(visible=True, which="major", color="#dddddd", lw=0.6)
    axes.legend(frameon=True, framealpha=0.9, edgecolor="none", markerscale=0.6)
    return axes


def _floors(
    comparison: Comparison, rows: list[ComparisonRow], counted: ComparedWords, dashes: Dashes, axes: Any
) -> None:
    """Bound and compulsory traffic in one kind of words, and the area between the bound and the best of its methods."""
    per_word = comparison.workload.word_bits / 8 if comparison.unit == "bytes" else 1
    said = _said(comparison, counted)
    solved = [(row, name) for row in rows if (name := row.best_of(counted)) is not None]
    axes.fill_between(
        [row.memory_words * per_word for row, _ in solved],
        [row.bound_on(counted) for row, _ in solved],
        [row.found[name].words for row, name in solved],
        color=REST,
        alpha=0.45,
        lw=0,
        label=f"gap: best mapping to bound{said}",
    )
    everywhere = [row.memory_words * per_word for row in rows]
    bound = [row.bound_on(counted) for row in rows]
    floor = [row.compulsory_on(counted) for row in rows]
    axes.plot(everywhere, bound, color=BOUND_COLOR, lw=2, ls=dashes[0], label=f"proved bound{said}", zorder=5)
    axes.plot(everywhere, floor, color=FLOOR, lw=2, ls=dashes[1], label=f"compulsory{said}", zorder=2)


def _what(comparison: Comparison) -> str:
    """The words that an axis is about."""
    kinds = comparison.counted
    return kinds[0].value if len(kinds) == 1 else "what each method minimises"


def _said(comparison: Comparison, counted: ComparedWords) -> str:
    """Which words a label is about, where there are two kinds of them."""
    return f" ({counted.value})" if len(comparison.counted) > 1 else ""


def _bars(comparison: Comparison, axes: Any) -> Any:
    rows = [row for row in comparison.rows if row.bound_words]  # a nest that does nothing has no multiples
    methods = [name for name in comparison.methods if any(name in row.found for row in rows)]
    step = 0.8 / max(1, len(methods))
    largest, floors = 1.0, []
    for index, name in enumerate(methods):
        own = [(place, row, row.found[name]) for place, row in enumerate(rows) if name in row.found]
        heights = [found.words / max(1, row.bound_on(found.counted)) for _, row, found in own]
        at = [place - 0.4 + (index + 0.5) * step for place, _, _ in own]
        color = COLORS[index % len(COLORS)]
        label = name + _said(comparison, own[0][2].counted)
        axes.barh(at, heights, 0.86 * step, label=label, **filled(color))
        for (_, row, found), y, height in zip(own, at, heights, strict=True):
            note = f"{height:.2f}x  {several(found.words, 'word')}"
            axes.annotate(note, (height, y), (4, 0), textcoords="offset points", va="center", fontsize=8.5)
            floors.append((row.compulsory_on(found.counted) / max(1, row.bound_on(found.counted)), y))
        largest = max(largest, *heights)
    bound_style = {"color": BOUND_COLOR, "lw": 2.2, "label": "proved bound"}
    axes.plot([1, 1], [-0.5, len(rows) - 0.5], ls="--", **bound_style)
    for number, (share, y) in enumerate(floors):
        label = "_nolegend_" if number else "compulsory"
        axes.plot([share] * 2, [y - step / 2, y + step / 2], color=FLOOR, lw=2.2, ls=":", label=label)
    axes.set_yticks(range(len(rows)), [_row_name(comparison, row) for row in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlim(0, 1.4 * largest)
    same = " on the same words" if len(comparison.counted) > 1 else ""
    axes.set_xlabel(f"{_what(comparison)}, as multiples of the proved bound{same}")
    where = "" if comparison.machine is None else f" on {comparison.machine.name}"
    axes.set_title(f"{comparison.workload.title}{where}", loc="left")
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=True, axis="x", color="#dddddd", lw=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return axes


def _row_name(comparison: Comparison, row: ComparisonRow) -> str:
    size = row.memory_words * comparison.workload.word_bits / 8
    held = size_text(size) if comparison.unit == "bytes" else several(row.memory_words, "word")
    bounds = (f"{several(row.bound_on(counted), 'word')}{_said(comparison, counted)}" for counted in comparison.counted)
    return "\n".join((" - ".join(row.between), f"{held}, bound", *bounds))
