"""Answers as documents: JSON, tables and plots."""

from __future__ import annotations

from optmap.lazy import exports

__getattr__, __dir__ = exports(
    __name__,
    {
        "beside_plot": "plot_nest_comparison plot_score",
        "bounds": "bound_document bound_table",
        "compare": "comparison_document comparison_table",
        "compare_plot": "plot_comparison save_comparison",
        "conformance": "conformance_document conformance_table",
        "evaluation": "evaluation_table",
        "loopnest": "loop_nest statement",
        "machines": "machine_table",
        "network": "network_document network_table",
        "pareto_plot": "plot_nest_pareto plot_pareto",
        "pictures": "write_pictures",
        "plots": "plot_traffic",
        "programs": "Format Which exported",
        "sizing": "sizing_table",
        "solvers": "doctor_document doctor_table",
        "spatial_nest": "nest_text",
        "spatial_nest_plot": "plot_nest",
        "spatial_plots": "plot_cycles plot_energy plot_utilisation",
        "spatial_roofline": "plot_roofline",
        "sweep_album": "Album album write_album",
        "sweep_plots": "plot_curve plot_gaps plot_network",
        "tables": "bands_text grid mapping_table solve_table",
        "workloads": "workload_table",
    },
)
