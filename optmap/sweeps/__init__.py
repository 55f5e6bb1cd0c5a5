"""Sweeps: a declared grid of bounds and mappings, run to the end whatever happens, kept as a table.

`spec` reads what is wanted, `plan` expands it, an engine (`inline`, `local`, `cluster`) answers
the points, `store` keeps the answers, `run` ties them together and `reading` hands them back.
"""

from __future__ import annotations

from optmap.lazy import exports

__getattr__, __dir__ = exports(
    __name__,
    {
        "answers": "PointAnswer answer_point answer_text level_bounds",
        "cluster": "DaskEngine MOST_TRIES",
        "engine": "EngineError Outcome Task",
        "files": "StoreError StoreFullError write_atomic",
        "inline": "InlineEngine",
        "local": "LocalEngine MOST_AHEAD",
        "estimates": "estimate",
        "plan": "Seconds curves first_grid make_plan missing_points",
        "points": "GridPoint blank_row certificate_name make_point read_task task_text",
        "reading": "document_path read_sweep",
        "refine": "Value middle more_capacities",
        "rows": "COLUMNS KEY Row arrow_schema as_dict row_of",
        "slots": "PIPE_BYTES Slot",
        "spec": "Axis Options Refine",
        "spec_io": "AXIS_KEYS KEYS OPTION_KEYS REFINE_KEYS read_spec spec_from",
        "store": "Store read_rows",
        "tally": "Tally",
    },
)
