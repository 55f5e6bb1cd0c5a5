"""Mathematical programs: built, exported and read back here; solved elsewhere."""

from __future__ import annotations

from optmap.base.lazy import exports

__getattr__, __dir__ = exports(
    __name__,
    {
        "export": "export_program",
        "expressions": "axis_values first_touches run_elements",
        "geometric": "TileSpace whole_count",
        "lifted": "lifted_lp lifted_tiling_program",
        "loglp": "log_tiling_program",
        "loglp_face": "LogLp face lifted_face projective_face real_tile",
        "loglp_numbers": "LogField",
        "posynomial": "EpigraphRow GeometricProgram Posynomial monomial tidy",
        "program": "Form Program Sense Variable",
        "rounding": "best_permutation round_tile tile_loads tile_words",
        "tile": "minmax_level_program minmax_program one_level_program tiles",
        "tile_plan": "tensor_labels",
    },
)
