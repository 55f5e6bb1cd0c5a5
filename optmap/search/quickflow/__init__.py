"""Method `quickflow`: local search over factors, with loop orders chosen in one shot (Ronzani and Silvano, QuickFlow).

`classes` says which loop orders can differ at all, `oneshot` picks one for every memory of many mappings at once,
`places` where factors may stand, `moves` makes adjacent mappings, `start` the first one, and `search` walks from there
in three rounds.
"""

from optmap.search.quickflow.classes import dataflow_classes, reuse_classes, reuse_of
from optmap.search.quickflow.moves import Allocations, Moves
from optmap.search.quickflow.oneshot import OneShot
from optmap.search.quickflow.places import Places
from optmap.search.quickflow.search import STRATEGY, QuickFlowSettings
from optmap.search.quickflow.start import start

__all__ = [
    "STRATEGY",
    "Allocations",
    "Moves",
    "OneShot",
    "Places",
    "QuickFlowSettings",
    "dataflow_classes",
    "reuse_classes",
    "reuse_of",
    "start",
]
