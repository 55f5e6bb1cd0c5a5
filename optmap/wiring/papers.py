"""Items of papers: what answers their points, and how they are shown."""

from __future__ import annotations

from collections.abc import Callable

from optmap.base.shown import PRESENTATIONS, Presentation
from optmap.sweeps.engines.engine import ANSWERS, ITEM_POINTS


@ANSWERS.add(ITEM_POINTS)
def _items() -> Callable[[str], str]:
    from optmap.papers.tasks import rows_text

    return rows_text


@PRESENTATIONS.add("reproduction")
def _reproduction() -> Presentation:
    from optmap.papers import report

    return Presentation(table=report.reproduction_table, document=report.reproduction_document, plot=report.plot_rows)
