"""How closed forms are shown: what `optmap/report/closed_forms` makes of them."""

from __future__ import annotations

from optmap.base.shown import PRESENTATIONS, Presentation


@PRESENTATIONS.add("classes")
def _classes() -> Presentation:
    from optmap.report.closed_forms import derivation

    return Presentation(table=derivation.classes_text, document=derivation.classes_read)


@PRESENTATIONS.add("closed-form")
def _closed_form() -> Presentation:
    from optmap.report.closed_forms import closed_form

    return Presentation(table=closed_form.closed_form_text, document=closed_form.closed_form_document)


@PRESENTATIONS.add("derivation")
def _derivation() -> Presentation:
    from optmap.report.closed_forms import derivation

    return Presentation(table=derivation.derivation_text, document=derivation.derivation_document)


@PRESENTATIONS.add("regimes")
def _regimes() -> Presentation:
    from optmap.report.closed_forms import regimes
    from optmap.report.pictures import regimes_plot

    return Presentation(
        table=regimes.regimes_table, document=regimes.regimes_document, pictures={"regimes": regimes_plot.plot_regimes}
    )
