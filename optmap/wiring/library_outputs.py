"""How what the model library, files and other tools hold is shown: what `optmap/report/library` makes of it."""

from __future__ import annotations

from optmap.base.shown import PRESENTATIONS, Presentation


@PRESENTATIONS.add("doctor")
def _doctor() -> Presentation:
    from optmap.report.library import solvers

    return Presentation(table=solvers.state_table, document=solvers.state_document)


@PRESENTATIONS.add("entry")
def _entry() -> Presentation:
    from optmap.report.library import entries

    return Presentation(table=entries.entry_table, document=entries.entry_document, file=entries.entry_yaml)


@PRESENTATIONS.add("host")
def _host() -> Presentation:
    from optmap.report.library import hosts

    return Presentation(table=hosts.host_table, document=hosts.host_document, file=hosts.host_yaml)


@PRESENTATIONS.add("imported-model")
def _imported_model() -> Presentation:
    from optmap.onnx_import import model
    from optmap.report.library import imported

    return Presentation(table=imported.import_table, document=imported.import_document, file=model.workloads_yaml)


@PRESENTATIONS.add("inferred-reuse")
def _inferred_reuse() -> Presentation:
    from optmap.report.library import inferred_reuse

    return Presentation(table=inferred_reuse.inferred_text, document=inferred_reuse.inferred_document)


@PRESENTATIONS.add("listing")
def _listing() -> Presentation:
    from optmap.report.library import entries

    return Presentation(table=entries.listing_table, document=entries.listing_document)


@PRESENTATIONS.add("machine")
def _machine() -> Presentation:
    from optmap.report.library import entries, machines, showing

    return Presentation(table=machines.machine_table, document=entries.machine_entry, yaml=showing.machine_yaml)


@PRESENTATIONS.add("method")
def _method() -> Presentation:
    from optmap.report.library import methods

    return Presentation(table=methods.method_table, document=methods.method_document)


@PRESENTATIONS.add("network")
def _network() -> Presentation:
    from optmap.report.library import entries

    return Presentation(table=entries.network_listing, document=entries.network_layers_document)


@PRESENTATIONS.add("timeloop-model")
def _timeloop_model() -> Presentation:
    from optmap.report.library import interchange

    return Presentation(
        table=interchange.model_table, document=interchange.model_document, folder=interchange.write_model
    )


@PRESENTATIONS.add("workload")
def _workload() -> Presentation:
    from optmap.report.library import entries, showing, workloads

    return Presentation(table=workloads.workload_table, document=entries.workload_entry, yaml=showing.workload_yaml)
