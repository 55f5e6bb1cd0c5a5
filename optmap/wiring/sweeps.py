"""Sweeps: what answers their points, and how what they make is shown."""

from __future__ import annotations

from collections.abc import Callable

from optmap.base.shown import PRESENTATIONS, Presentation
from optmap.sweeps.engines.engine import ANSWER, ANSWERS, CAPACITIES


@ANSWERS.add(ANSWER)
def _points() -> Callable[[str], str]:
    from optmap.sweeps.answers import answer_text

    return answer_text


@ANSWERS.add(CAPACITIES)
def _capacities() -> Callable[[str], str]:
    from optmap.sweeps.capacities import answer_line

    return answer_line


@PRESENTATIONS.add("network-curve")
def _network_curve() -> Presentation:
    from optmap.sweeps.networks import network_curve_report

    return Presentation(
        table=network_curve_report.curve_table,
        document=network_curve_report.curve_document,
        pictures={"curve": network_curve_report.plot_network_curve},
    )


@PRESENTATIONS.add("pictures")
def _pictures() -> Presentation:
    from optmap.sweeps import pictures

    return Presentation(table=pictures.pictures_table, document=pictures.pictures_document)
