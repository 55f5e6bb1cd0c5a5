"""The items of QuickFlow, in the order of its pages."""

from __future__ import annotations

from optmap.papers.items import Paper
from optmap.papers.quickflow.claims import CLAIMS, TOOLS
from optmap.papers.quickflow.relations import RELATIONS
from optmap.papers.quickflow.search import SEARCH
from optmap.papers.quickflow.setup import SETUP

PAPER = Paper(
    key="quickflow",
    title="QuickFlow: An Efficient Local Search Method to Map Convolutions on Spatial Architectures",
    source="Marco Ronzani and Cristina Silvano, Politecnico di Milano",
    items=(*CLAIMS.items, *RELATIONS.items, *SETUP.items, *SEARCH.items, *TOOLS.items),
)
