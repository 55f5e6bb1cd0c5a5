"""Answers as documents: JSON, tables and plots."""

from __future__ import annotations

from optmap.base.lazy import exports

__getattr__, __dir__ = exports(
    __name__,
    {
        "pictures.beside_plot": "plot_methods plot_score",
        "answers.bounds": "bound_document bound_table",
        "answers.compare": "comparison_document comparison_table methods_document methods_table",
        "pictures.compare_plot": "plot_comparison",
        "answers.conformance": "conformance_document conformance_table",
        "answers.evaluation": "evaluation_table",
        "answers.loopnest": "loop_nest statement",
        "library.machines": "machine_table",
        "answers.network": "network_document network_table",
        "pictures.pareto_plot": "plot_nest_pareto plot_pareto",
        "pictures.folder": "write_pictures",
        "pictures.plots": "plot_traffic",
        "answers.programs": "Format Which exported",
        "answers.sizing": "sizing_table",
        "library.solvers": "doctor_document doctor_table",
        "answers.spatial_nest": "nest_text",
        "pictures.spatial_nest_plot": "plot_nest",
        "pictures.spatial_plots": "plot_cycles plot_energy plot_utilisation",
        "pictures.spatial_roofline": "plot_roofline",
        "pictures.sweep_album": "Album album write_album",
        "pictures.sweep_plots": "plot_curve plot_gaps plot_network",
        "answers.classes": "bands_text",
        "tables": "grid mapping_table solve_table",
        "library.workloads": "workload_table",
    },
)
