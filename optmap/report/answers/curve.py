"""Words over capacity: table and JSON."""

from __future__ import annotations

from typing import Any

from optmap.answers.over_capacity.capacity_curve import CapacityCurve, CurvePoint
from optmap.base.texts import in_percent, number, several
from optmap.files.mappings import mapping_document
from optmap.files.workloads import workload_document
from optmap.report.tables import grid, pairs, workload_lines

SCHEMA = "optmap.curve/1"
"""Name and version of the document."""


def curve_table(curve: CapacityCurve) -> str:
    """One line per step, then where the curve bends."""
    apart = any(point.apart is not None for point in curve.points)
    heads = ["room (words)", f"{curve.objective} (words)", "floor", "gap"] + ["by themselves"] * apart
    steps = grid(heads, ">" * len(heads), [_row(point, apart=apart) for point in curve.points])
    return "\n\n".join([pairs(workload_lines(curve.workload)), steps, "\n".join(_bends(curve))])


def _row(point: CurvePoint, *, apart: bool) -> list[str]:
    own = [f"{point.room_words:,}", f"{point.words:,}", f"{point.bound_words:,}", in_percent(point.gap)]
    return own + [("-" if point.apart is None else f"{point.apart:,}")] * apart


def _bends(curve: CapacityCurve) -> list[str]:
    within = f"within {number(curve.within)} %" if curve.within else "every step"
    least = several(curve.compulsory_words, "word moves", "words move")
    lines = [
        f"words of neighbours: {within}; at any capacity at least {least}",
        "the floor of a line is that of a memory of its room: no schedule moves fewer words in it",
    ]
    if curve.knee is not None:
        knee = f"{several(curve.knee.room_words, 'word')}, where {curve.knee.words:,} move"
        lines.append(f"at most 5 % above that from {knee}")
    if curve.pays is not None:
        first, last = curve.pays
        lines.append(f"of these lines fusing moves fewer words first in {several(first, 'word')}, last in {last:,}")
    return lines


def curve_document(curve: CapacityCurve) -> dict[str, object]:
    """The JSON document of `curve`: one entry per step under `points`, each with its mapping."""
    return {
        "schema": SCHEMA,
        "workload": workload_document(curve.workload),
        "objective": curve.objective,
        "within_percent": curve.within,
        "complete": curve.complete,
        "compulsory_words": curve.compulsory_words,
        "points": [_point(point) for point in curve.points],
        "knee": None if curve.knee is None else {"room_words": curve.knee.room_words, "words": curve.knee.words},
        "fusing_pays": None if curve.pays is None else list(curve.pays),
    }


def _point(point: CurvePoint) -> dict[str, Any]:
    return {
        "room_words": point.room_words,
        "words": point.words,
        "bound_words": point.bound_words,
        "gap": point.gap,
        "words_apart": point.apart,
        "proved": point.answer.proved,
        "method": point.answer.method,
        "mapping": mapping_document(point.answer.mapping),
    }
