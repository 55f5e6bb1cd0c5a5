"""Sweeps: a declared grid of bounds and mappings, run to the end whatever happens, kept as a table.

`spec` reads what is wanted, `plan` expands it, an engine (`inline`, `local`, `cluster`) answers
the points, `store` keeps the answers, `run` ties them together and `reading` hands them back.
"""

from __future__ import annotations

from optmap.base.lazy import exports

__getattr__, __dir__ = exports(
    __name__,
    {
        "answers": "PointAnswer answer_point answer_text level_bounds",
        "engines.cluster": "DaskEngine MOST_TRIES",
        "engines.engine": "EngineError Outcome PointTask",
        "records.files": "StoreError StoreFullError write_atomic",
        "engines.inline": "InlineEngine",
        "engines.local": "LocalEngine MOST_AHEAD",
        "estimates": "estimate",
        "plan": "Seconds curves first_grid make_plan missing_points",
        "points": "GridPoint blank_row certificate_name make_point read_task task_text",
        "reading": "document_path read_sweep",
        "refine": "MethodValue middle more_capacities",
        "records.rows": "COLUMNS KEY Row arrow_schema as_dict row_of",
        "engines.slots": "PIPE_BYTES Slot",
        "spec": "Axis Options Refine",
        "spec_io": "AXIS_KEYS KEYS REFINE_KEYS read_spec spec_from",
        "store": "SweepStore read_rows",
        "tally": "Tally",
    },
)
