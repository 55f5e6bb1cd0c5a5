"""Method `quickflow`: local search over factors, with loop orders chosen in one shot (Ronzani and Silvano, QuickFlow).

`classes` says which loop orders can differ at all, `oneshot` picks one for every memory of many mappings at once by
what `levels` says that it leaves to be moved. `places` knows where factors may stand, `moves` makes adjacent mappings,
`start` the first one, and `search` walks from there in three rounds.

What the paper claims and tests hold against every order (`tests/unit/test_quickflow.py`):

- Equi-dataflow orders "exhibit identical performance": so it is where at most one loop moves a window. Where two do, a
  step of the outer one may take back what the inner one moved, and what stands between them counts: two orders of a
  class fill 48 and 60 words of the image of `O[k,p] = I[c,2*p+r] * W[k,c,r]`.
- "The one-shot technique always finding the best dataflow": of 1,955 random valid mappings of layers III, IV, V and
  XIII on gemmini, eyeriss, simba and tpuv1, 270 have a better choice of orders by EDP if spared accesses count
  alike, up to 22 times better, as they are not dear alike where a tensor bypasses a memory. Weighted by
  their energy (the default here) 48 have one, up to 2.6 times better; by energy instead of EDP 25, up to 1.03 times.
  (`tests/benchmarks/quickflow_orders.py`)
- What is kept of the equi-reuse classes before the search never loses reuse, though two orders of a class may differ
  once some dims do not turn.
"""

from optmap.search.quickflow.classes import dataflow_classes, follows, reuse_classes, reuse_of
from optmap.search.quickflow.levels import Weight
from optmap.search.quickflow.moves import AdjacentMoves, Allocations
from optmap.search.quickflow.oneshot import OneShot
from optmap.search.quickflow.places import Places
from optmap.search.quickflow.search import STRATEGY, QuickFlowSettings
from optmap.search.quickflow.start import start

__all__ = [
    "STRATEGY",
    "AdjacentMoves",
    "Allocations",
    "OneShot",
    "Places",
    "QuickFlowSettings",
    "Weight",
    "dataflow_classes",
    "follows",
    "reuse_classes",
    "reuse_of",
    "start",
]
