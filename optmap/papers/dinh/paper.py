"""The items of Dinh's dissertation, in the order of its pages."""

from __future__ import annotations

from optmap.papers.dinh.allocations import ALLOCATIONS
from optmap.papers.dinh.chapter2 import CHAPTER2
from optmap.papers.dinh.chapter3 import CHAPTER3
from optmap.papers.dinh.convolutions import CONVOLUTIONS, VALUES
from optmap.papers.dinh.later import LATER
from optmap.papers.dinh.lattices import LATTICES
from optmap.papers.dinh.pebbles import PEBBLES
from optmap.papers.dinh.performance import ABSTRACT, PERFORMANCE
from optmap.papers.dinh.polytopes import POLYTOPES
from optmap.papers.dinh.searches import SEARCHES
from optmap.papers.dinh.statements import DUALS, LIFTED, LOOPS, PROBLEMS
from optmap.papers.items import Paper

PAPER = Paper(
    key="dinh",
    title="Optimization-Based Mappers and Lower Bounds for Tensor Problems",
    source="Grace Dinh, dissertation, University of California, Berkeley, UCB/EECS-2023-293",
    items=(
        *ABSTRACT.items,
        *LOOPS.items,
        *PEBBLES.items,
        *CHAPTER2.items,
        *PROBLEMS.items,
        *LATTICES.items,
        *DUALS.items,
        *CHAPTER3.items,
        *CONVOLUTIONS.items,
        *POLYTOPES.items,
        *VALUES.items,
        *LIFTED.items,
        *PERFORMANCE.items,
        *LATER.items,
        *ALLOCATIONS.items,
        *SEARCHES.items,
    ),
)
