"""Rows of sweeps made by hand, for tests of what is computed from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from optmap.sweeps import Row, as_dict

Curve = Sequence[tuple[int, int | None, int | None]]
"""(capacity in words, traffic, bound) triples; None where there is no answer."""


def rows_of(
    workload: str,
    curve: Curve,
    *,
    compulsory: int,
    machine: str = "two-level",
    level: str = "Fast",
    method: str = "mopt",
    **columns: object,
) -> list[Row]:
    """A row of `bound` and one of a mapping method per capacity."""
    made = []
    for capacity, traffic, bound in curve:
        common: dict[str, object] = {
            "workload": workload,
            "machine": machine,
            "level": level,
            "capacity_words": capacity,
            "capacity_bytes": 4.0 * capacity,
            "word_bits": 32,
            "semantics": "accumulate",
            "cores": 1,
            "count": 1,
            "operations": 1000,
            "compulsory_words": compulsory,
            "seed": 0,
            "bound_words": bound,
        } | columns
        if bound is not None:
            empty = {"objective": "", "tiles": "", "capacity_rule": ""}
            head = {"method": "bound", "stop": "optimal", "point": "bound", "input_hash": f"b{capacity}"}
            made.append(row({**common, **empty, **head}))
        found = {
            "method": method,
            "objective": "bottleneck",
            "tiles": "any",
            "capacity_rule": "tile",
            "traffic_words": traffic,
            "exact": None if traffic is None else float(traffic),
            "bound": None if bound is None else float(bound),
            "gap": None if traffic is None or not bound else traffic / bound - 1,
            "traffic_gap": None if traffic is None or not bound else traffic / bound - 1,
            "seconds": 0.5,
            "stop": "error" if traffic is None else "optimal",
            "point": "none" if traffic is None else "feasible",
            "input_hash": f"m{capacity}",
        }
        made.append(row({**common, **found, **columns}))
    return made


def row(columns: Mapping[str, object]) -> Row:
    """A row from its columns."""
    return Row(**columns)  # type: ignore[arg-type]


def frame_of(*groups: Sequence[Row]) -> pd.DataFrame:
    """Rows as `read_sweep` returns them: whole numbers with gaps are `Int64`."""
    frame = pd.DataFrame([as_dict(each) for group in groups for each in group])
    whole = ["capacity_words", "word_bits", "cores", "count", "compulsory_words", "traffic_words", "bound_words"]
    return frame.astype(dict.fromkeys(whole, "Int64"))
