"""Lower bounds on what chains of statements move: no schedule goes below them, fused or not."""

from __future__ import annotations

from optmap.base.lazy import exports

__getattr__, __dir__ = exports(
    __name__,
    {
        "counts": "chain_counts most_words",
        "groups": "StatementGroup best_groups",
        "joined": "Joined join",
        "lines": "Line strongest",
        "places": "ProductPlaces join_places",
        "floors": "floor_by statements_alone",
    },
)
