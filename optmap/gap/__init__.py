"""Mapping and lower bound side by side: recounts, comparisons, curves over capacity, and the gap between them."""

from __future__ import annotations

from optmap.lazy import exports

__getattr__, __dir__ = exports(
    __name__,
    {
        "accelerator_designs": "design_names nest_designs",
        "beside": "certified_bound proved_floor with_bound with_time",
        "conformance": "Conformance Mismatch",
        "curves": "panels summed",
        "designs": "pareto_designs pareto_front",
        "proofs": "with_proof",
        "networks": "LayerShare dominant layer_shares network_views",
        "recount": "Evaluation Simulated WALK disagreements evaluate_solution run_simulations walk_keeping",
        "sizing": "saturation",
        "solution": "SCHEMAS SavedSolution read_solution solution_document solution_from write_solution",
    },
)
