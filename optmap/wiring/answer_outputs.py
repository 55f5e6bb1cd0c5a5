"""How answers about mappings, bounds and networks are shown: what `optmap/report/answers` makes of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from optmap.base.shown import PRESENTATIONS, Presentation

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


@PRESENTATIONS.add("bound")
def _bound() -> Presentation:
    from optmap.report.answers import bounds

    return Presentation(table=bounds.bound_table, document=bounds.bound_document, file=bounds.certificate_text)


@PRESENTATIONS.add("certificate")
def _certificate() -> Presentation:
    from optmap.report.answers import loading

    return Presentation(table=loading.certificate_table, document=loading.certificate_document)


@PRESENTATIONS.add("conformance")
def _conformance() -> Presentation:
    from optmap.report.answers import conformance

    return Presentation(table=conformance.conformance_table, document=conformance.conformance_document)


@PRESENTATIONS.add("curve")
def _curve() -> Presentation:
    from optmap.report.answers import curve
    from optmap.report.pictures import curve_plot

    return Presentation(table=curve.curve_table, document=curve.curve_document, plot=curve_plot.plot_curve)


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


@PRESENTATIONS.add("comparison/nest")
def _nest_comparison() -> Presentation:
    from optmap.report.answers import compare
    from optmap.report.pictures import beside_plot

    return Presentation(table=compare.methods_table, document=compare.methods_document, plot=beside_plot.plot_methods)


@PRESENTATIONS.add("mapping-comparison")
def _mapping_comparison() -> Presentation:
    from optmap.report.answers import mappings

    return Presentation(table=mappings.mappings_table, document=mappings.mappings_document)


@PRESENTATIONS.add("evaluation/nest")
def _nest_evaluation() -> Presentation:
    from optmap.report.answers import nest_evaluation

    return Presentation(
        table=nest_evaluation.evaluation_table, document=nest_evaluation.evaluation_document, pictures=_of_a_nest()
    )


@PRESENTATIONS.add("saved-solution/nest")
def _nest_saved() -> Presentation:
    from optmap.answers.documents import solution
    from optmap.report.answers import accelerators, spatial_nest

    return Presentation(table=accelerators.saved_table, document=solution.saved_document, nest=spatial_nest.nest_of)


@PRESENTATIONS.add("network-sums/nest")
def _nest_sums() -> Presentation:
    from optmap.report.answers import network

    return Presentation(table=network.mapped_table, document=network.mapped_document)


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


@PRESENTATIONS.add("saved-comparison")
def _saved_comparison() -> Presentation:
    from optmap.report.answers import compare

    return Presentation(table=compare.saved_table, document=compare.saved_document)


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


@PRESENTATIONS.add("network-sums/tiles")
def _tiles_sums() -> Presentation:
    from optmap.report.answers import network
    from optmap.report.pictures.sweep_plots import plot_network

    def plot(sums: Any, axes: Any) -> Any:
        return plot_network(sums.view, axes=axes)

    return Presentation(table=network.sums_table, document=network.sums_document, plot=plot)


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


@PRESENTATIONS.add("answer/in-turn")
def _turn_answer() -> Presentation:
    from optmap.answers.documents import solution
    from optmap.report.answers import trees, turns
    from optmap.report.pictures import tree_plots

    return Presentation(
        table=turns.answer_table,
        document=solution.solution_document,
        nest=trees.answer_nest,
        pictures={"tree": tree_plots.plot_answer},
    )


@PRESENTATIONS.add("turn-evaluation")
def _turn_evaluation() -> Presentation:
    from optmap.report.answers import turns
    from optmap.report.pictures import tree_plots

    return Presentation(
        table=turns.evaluation_table,
        document=turns.evaluation_document,
        pictures={"tree": tree_plots.plot_evaluated},
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
