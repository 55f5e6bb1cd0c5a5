"""Solvers behind one Solution type: Ipopt, HiGHS, SciPy and the batched interior point."""

from __future__ import annotations

from optmap.base.lazy import exports

__getattr__, __dir__ = exports(
    __name__,
    {
        "batch": "solve_batch",
        "cones": "Cone cone",
        "config": "OPTIONS load_config",
        "doctor": "SolverReport",
        "exact": "VertexFinder certified linear_program solve_exact",
        "from_model": "from_pyomo",
        "highs": "solve_model",
        "iterates": "Batch joined",
        "nlp": "from_geometric",
        "parametric": "ParametricLp VertexRegion critical_regions",
        "registry": "SOLVERS solve",
        "simplex": "minimise_standard solve_square",
        "status": "PointKind Stop",
    },
)
