"""The items of Sunstone, in the order of its pages."""

from __future__ import annotations

from optmap.papers.items import Paper
from optmap.papers.sunstone.evaluation import EVALUATION
from optmap.papers.sunstone.principles import PRINCIPLES

PAPER = Paper(
    key="sunstone",
    title="Sunstone: A Scalable and Versatile Scheduler for Mapping Tensor Algebra on Spatial Accelerators",
    source="MohammadHossein Olyaiy, Christopher Ng, Alexandra Fedorova and Mieszko Lis, University of British Columbia",
    items=(*PRINCIPLES.items, *EVALUATION.items),
)
