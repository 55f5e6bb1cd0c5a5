"""Sizing: its table."""

from __future__ import annotations

from collections.abc import Sequence

from optmap.answers.over_capacity.sizing import Sizing
from optmap.base.texts import size_text
from optmap.report.tables import grid


def sizing_table(answers: Sequence[Sizing]) -> str:
    """The answers as text, one row each."""
    rows = [
        (
            answer.workload,
            answer.machine,
            answer.level,
            answer.method,
            f"{answer.target:g}x",
            "-" if answer.reached_bytes is None else size_text(answer.reached_bytes),
            "-" if answer.missed_bytes is None else size_text(answer.missed_bytes),
            "-" if answer.refuted_bytes is None else size_text(answer.refuted_bytes),
            f"{answer.best:.4g}x",
        )
        for answer in answers
    ]
    header = ("workload", "machine", "level", "method", "target", "reached at", "missed at", "refuted up to", "best")
    title = "Cheapest capacity of the sweep that reaches a multiple of the compulsory traffic\n"
    return title + grid(header, "<<<<>>>>>", rows)
