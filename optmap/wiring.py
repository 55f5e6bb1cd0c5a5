"""Who makes what: the one place that knows every room, imported with the package, so in every worker as well.

Lower rooms ask a registry by key; what is registered here imports the modules of upper rooms when it is first asked
for, inside functions, so that nothing is loaded before it is used and type checkers and import-linter see every import.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optmap.base.errors import InputError
from optmap.base.shown import PRESENTATIONS, Presentation, Shown
from optmap.interchange.formats import FileFormat, register_format
from optmap.sweeps.engines.engine import ANSWERS

if TYPE_CHECKING:
    from optmap.search.result import Solved

Picture = Callable[[Any, Any], Any]


def _of_a_nest() -> dict[str, Picture]:
    """The pictures of a counted mapping on an accelerator."""
    from optmap.report.pictures import spatial_nest_plot, spatial_plots, spatial_roofline

    return {
        "nest": spatial_nest_plot.plot_nest,
        "energy": spatial_plots.plot_energy,
        "utilisation": spatial_plots.plot_utilisation,
        "cycles": spatial_plots.plot_cycles,
        "roofline": spatial_roofline.plot_roofline,
    }


@PRESENTATIONS.add("algorithms")
def _algorithms() -> Presentation:
    from optmap.report import algorithms

    return Presentation(
        table=algorithms.comparison_table, document=algorithms.comparison_document, plot=algorithms.comparison_plot
    )


@PRESENTATIONS.add("bench")
def _bench() -> Presentation:
    from optmap.report.native import bench
    from optmap.report.pictures import bench_plot

    return Presentation(
        table=bench.bench_table,
        document=bench.bench_document,
        pictures={"bench": bench_plot.plot_bench, "gigaflops": bench_plot.plot_gigaflops},
    )


@PRESENTATIONS.add("bound")
def _bound() -> Presentation:
    from optmap.report.answers import bounds

    return Presentation(table=bounds.bound_table, document=bounds.bound_document, file=bounds.certificate_text)


@PRESENTATIONS.add("certificate")
def _certificate() -> Presentation:
    from optmap.report.answers import loading

    return Presentation(table=loading.certificate_table, document=loading.certificate_document)


@PRESENTATIONS.add("classes")
def _classes() -> Presentation:
    from optmap.report.closed_forms import derivation

    return Presentation(table=derivation.classes_text, document=derivation.classes_read)


@PRESENTATIONS.add("closed-form")
def _closed_form() -> Presentation:
    from optmap.report.closed_forms import closed_form

    return Presentation(table=closed_form.closed_form_text, document=closed_form.closed_form_document)


@PRESENTATIONS.add("code")
def _code() -> Presentation:
    from optmap.native.emit import files
    from optmap.report.native import codes

    return Presentation(table=codes.code_table, document=codes.code_document, folder=files.write_code)


@PRESENTATIONS.add("conformance")
def _conformance() -> Presentation:
    from optmap.report.answers import conformance

    return Presentation(table=conformance.conformance_table, document=conformance.conformance_document)


@PRESENTATIONS.add("derivation")
def _derivation() -> Presentation:
    from optmap.report.closed_forms import derivation

    return Presentation(table=derivation.derivation_text, document=derivation.derivation_document)


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


@PRESENTATIONS.add("comparison/nest")
def _nest_comparison() -> Presentation:
    from optmap.report.answers import compare
    from optmap.report.pictures import beside_plot

    return Presentation(table=compare.methods_table, document=compare.methods_document, plot=beside_plot.plot_methods)


@PRESENTATIONS.add("evaluation/nest")
def _nest_evaluation() -> Presentation:
    from optmap.report.answers import nest_evaluation

    return Presentation(
        table=nest_evaluation.evaluation_table, document=nest_evaluation.evaluation_document, pictures=_of_a_nest()
    )


@PRESENTATIONS.add("answer/nest")
def _nest_answer() -> Presentation:
    from optmap.answers.documents import solution
    from optmap.report.answers import accelerators, spatial_nest

    return Presentation(
        table=accelerators.result_table,
        document=solution.solution_document,
        pictures=_of_a_nest(),
        nest=spatial_nest.nest_of,
    )


@PRESENTATIONS.add("saved-solution/nest")
def _nest_saved() -> Presentation:
    from optmap.answers.documents import solution
    from optmap.report.answers import accelerators, spatial_nest

    return Presentation(table=accelerators.saved_table, document=solution.saved_document, nest=spatial_nest.nest_of)


@PRESENTATIONS.add("network")
def _network() -> Presentation:
    from optmap.report.library import entries

    return Presentation(table=entries.network_listing, document=entries.network_layers_document)


@PRESENTATIONS.add("fused-curve")
def _fused_curve() -> Presentation:
    from optmap.report.answers import fused_network
    from optmap.report.pictures.fused_plot import plot_fused_curve

    return Presentation(table=fused_network.curve_table, document=fused_network.curve_document, plot=plot_fused_curve)


@PRESENTATIONS.add("fused-network")
def _fused_network() -> Presentation:
    from optmap.report.answers import fused_network
    from optmap.report.pictures.sweep_plots import plot_network

    def plot(found: Any, axes: Any) -> Any:
        return plot_network(found.sums.view, axes=axes)

    return Presentation(table=fused_network.fused_table, document=fused_network.fused_document, plot=plot)


@PRESENTATIONS.add("network-curve")
def _network_curve() -> Presentation:
    from optmap.sweeps.networks import network_curve_report

    return Presentation(
        table=network_curve_report.curve_table,
        document=network_curve_report.curve_document,
        pictures={"curve": network_curve_report.plot_network_curve},
    )


@PRESENTATIONS.add("network-sums/nest")
def _nest_sums() -> Presentation:
    from optmap.report.answers import network

    return Presentation(table=network.mapped_table, document=network.mapped_document)


@PRESENTATIONS.add("network-sums/tiles")
def _tiles_sums() -> Presentation:
    from optmap.report.answers import network
    from optmap.report.pictures.sweep_plots import plot_network

    def plot(sums: Any, axes: Any) -> Any:
        return plot_network(sums.view, axes=axes)

    return Presentation(table=network.sums_table, document=network.sums_document, plot=plot)


@PRESENTATIONS.add("pictures")
def _pictures() -> Presentation:
    from optmap.sweeps import pictures

    return Presentation(table=pictures.pictures_table, document=pictures.pictures_document)


@PRESENTATIONS.add("race")
def _race() -> Presentation:
    from optmap.report.answers import race
    from optmap.report.pictures import race_plot

    return Presentation(
        table=race.race_table,
        document=race.race_document,
        pictures={"seconds": race_plot.plot_seconds, "evaluations": race_plot.plot_evaluations},
    )


@PRESENTATIONS.add("randomized")
def _randomized() -> Presentation:
    from optmap.report.answers import randomized

    return Presentation(table=randomized.randomized_table, document=randomized.randomized_document)


@PRESENTATIONS.add("regimes")
def _regimes() -> Presentation:
    from optmap.report.closed_forms import regimes
    from optmap.report.pictures import regimes_plot

    return Presentation(
        table=regimes.regimes_table, document=regimes.regimes_document, pictures={"regimes": regimes_plot.plot_regimes}
    )


@PRESENTATIONS.add("runs")
def _runs() -> Presentation:
    from optmap.report.native import runs

    return Presentation(table=runs.runs_table, document=runs.runs_document)


@PRESENTATIONS.add("saved-tree")
def _saved_tree() -> Presentation:
    from optmap.report.answers import trees
    from optmap.report.pictures import tree_plots

    return Presentation(
        table=trees.tree_table,
        document=trees.saved_document,
        nest=trees.nest_of,
        pictures={"tree": tree_plots.plot_tree},
    )


@PRESENTATIONS.add("score")
def _score() -> Presentation:
    from optmap.answers.side_by_side.scoring import score_document
    from optmap.report.answers import scoring
    from optmap.report.pictures import beside_plot

    return Presentation(
        table=scoring.score_table,
        document=score_document,
        pictures={"score": beside_plot.plot_score, **_of_a_nest()},
    )


@PRESENTATIONS.add("sensitivity")
def _sensitivity() -> Presentation:
    from optmap.report import sensitivity

    return Presentation(
        table=sensitivity.sensitivity_table,
        document=sensitivity.sensitivity_document,
        pictures={"sensitivity": sensitivity.plot_sensitivity},
    )


@PRESENTATIONS.add("answer/tree")
def _tree_answer() -> Presentation:
    from optmap.answers.documents import solution
    from optmap.report.answers import trees
    from optmap.report.pictures import tree_plots

    return Presentation(
        table=trees.answer_table,
        document=solution.solution_document,
        nest=trees.answer_nest,
        pictures={"tree": tree_plots.plot_answer},
    )


@PRESENTATIONS.add("answer/tiles")
def _tiles_answer() -> Presentation:
    from optmap.answers.documents import solution
    from optmap.report import tables
    from optmap.report.answers import loopnest
    from optmap.report.pictures import time_plot

    return Presentation(
        table=tables.solve_table,
        document=solution.solution_document,
        plot=time_plot.plot_solution,
        nest=loopnest.nest_of,
    )


@PRESENTATIONS.add("curve")
def _curve() -> Presentation:
    from optmap.report.answers import curve
    from optmap.report.pictures import curve_plot

    return Presentation(table=curve.curve_table, document=curve.curve_document, plot=curve_plot.plot_curve)


@PRESENTATIONS.add("saved-comparison")
def _saved_comparison() -> Presentation:
    from optmap.report.answers import compare

    return Presentation(table=compare.saved_table, document=compare.saved_document)


@PRESENTATIONS.add("comparison/tiles")
def _tiles_comparison() -> Presentation:
    from optmap.report.answers import compare
    from optmap.report.pictures import compare_plot

    return Presentation(
        table=compare.comparison_table, document=compare.comparison_document, plot=compare_plot.plot_comparison
    )


@PRESENTATIONS.add("evaluation/tiles")
def _tiles_evaluation() -> Presentation:
    from optmap.report.answers import evaluation

    return Presentation(table=evaluation.evaluation_table, document=evaluation.evaluation_document)


@PRESENTATIONS.add("saved-solution/tiles")
def _tiles_saved() -> Presentation:
    from optmap.answers.documents import solution
    from optmap.report.answers import loopnest
    from optmap.report.library import entries

    return Presentation(table=entries.solution_table, document=solution.saved_document, nest=loopnest.nest_of)


@PRESENTATIONS.add("timeloop-model")
def _timeloop_model() -> Presentation:
    from optmap.report.library import interchange

    return Presentation(
        table=interchange.model_table, document=interchange.model_document, folder=interchange.write_model
    )


@PRESENTATIONS.add("tree-evaluation")
def _tree_evaluation() -> Presentation:
    from optmap.report.answers import trees
    from optmap.report.pictures import tree_plots

    return Presentation(
        table=trees.evaluation_table,
        document=trees.evaluation_document,
        pictures={"tree": tree_plots.plot_evaluated, "words": tree_plots.plot_words},
    )


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


@PRESENTATIONS.add("workload")
def _workload() -> Presentation:
    from optmap.report.library import entries, showing, workloads

    return Presentation(table=workloads.workload_table, document=entries.workload_entry, yaml=showing.workload_yaml)


@ANSWERS.add("points")
def _points() -> Callable[[str], str]:
    from optmap.sweeps.answers import answer_text

    return answer_text


def _read_onnx(files: Sequence[Path], sizes: Mapping[str, int]) -> Shown:
    from optmap.verbs import exchange

    return exchange.read_onnx(files, sizes)


def _read_timeloop(files: Sequence[Path], sizes: Mapping[str, int]) -> Shown:
    from optmap.verbs import exchange

    return exchange.read_closed(files, sizes)


def _write_timeloop(solution: Solved) -> dict[str, str]:
    from optmap.interchange import exporting

    if not solution.machine.meshed:
        raise InputError(f"Timeloop does not map {solution.machine.name}, which has no fanouts; use an accelerator")
    return exporting.timeloop_files(solution.fabric, solution.nest)


register_format(FileFormat(name="onnx", suffixes=(".onnx",), read=_read_onnx))
register_format(FileFormat(name="timeloop", suffixes=(".yaml", ".yml"), read=_read_timeloop, write=_write_timeloop))
