"""How code, runs and measurements are shown: what `optmap/report/native` makes of them."""

from __future__ import annotations

from optmap.base.shown import PRESENTATIONS, Presentation


@PRESENTATIONS.add("bench")
def _bench() -> Presentation:
    from optmap.report.native import bench
    from optmap.report.pictures import bench_plot

    return Presentation(
        table=bench.bench_table,
        document=bench.bench_document,
        pictures={"bench": bench_plot.plot_bench, "gigaflops": bench_plot.plot_gigaflops},
    )


@PRESENTATIONS.add("code")
def _code() -> Presentation:
    from optmap.native.emit import files
    from optmap.report.native import codes

    return Presentation(table=codes.code_table, document=codes.code_document, folder=files.write_code)


@PRESENTATIONS.add("runs")
def _runs() -> Presentation:
    from optmap.report.native import runs

    return Presentation(table=runs.runs_table, document=runs.runs_document)


@PRESENTATIONS.add("validation")
def _validation() -> Presentation:
    from optmap.report.native import validation
    from optmap.report.pictures import validation_plot

    return Presentation(
        table=validation.validation_table,
        document=validation.validation_document,
        pictures={
            "losses": validation_plot.plot_losses,
            "order": validation_plot.plot_order,
            "scatter": validation_plot.plot_scatter,
        },
    )
