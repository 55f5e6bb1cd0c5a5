"""The items of Sunstone, in the order of its pages."""

from __future__ import annotations

from optmap.papers.items import Paper
from optmap.papers.sunstone.claims import CLAIMS
from optmap.papers.sunstone.directions import DIRECTIONS
from optmap.papers.sunstone.evaluation import EVALUATION
from optmap.papers.sunstone.inference import INFERENCE
from optmap.papers.sunstone.limits import LIMITS
from optmap.papers.sunstone.orders import ORDERS
from optmap.papers.sunstone.overheads import OVERHEADS
from optmap.papers.sunstone.principles import PRINCIPLES
from optmap.papers.sunstone.unrolling import UNROLLING
from optmap.papers.sunstone.updates import TOOLS, UPDATES

PAPER = Paper(
    key="sunstone",
    title="Sunstone: A Scalable and Versatile Scheduler for Mapping Tensor Algebra on Spatial Accelerators",
    source="MohammadHossein Olyaiy, Christopher Ng, Alexandra Fedorova and Mieszko Lis, University of British Columbia",
    items=(
        *CLAIMS.items,
        *ORDERS.items,
        *PRINCIPLES.items,
        *LIMITS.items,
        *UNROLLING.items,
        *TOOLS.items,
        *EVALUATION.items,
        *UPDATES.items,
        *INFERENCE.items,
        *DIRECTIONS.items,
        *OVERHEADS.items,
    ),
)
