"""Method `mopt`, and the way that it has in common with `iooub`: weighted sums over several levels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from optmap.machines.machine import CapacityRule
from optmap.questions.options import IntegerRule
from optmap.search.method import Method
from optmap.search.route import Route

if TYPE_CHECKING:
    from optmap.search.found import Found
    from optmap.search.question import Question


def _sum_over_levels(question: Question) -> Found:
    from optmap.search.iooub.sum_over_levels import solve

    return solve(question)


def _mopt(question: Question) -> Found:
    from optmap.search.papers.mopt import solve

    return solve(question)


SUM_OVER_LEVELS = Route(
    solve=_sum_over_levels,
    objectives=("sum",),
    fewest_levels=2,
    capacity=(CapacityRule.TILE,),
    constraints=True,
    solver=True,
)
MOPT = Method(
    name="mopt",
    description="all loop orders and levels at once, relaxation proved globally, integers searched exactly",
    routes=(
        Route(
            solve=_mopt,
            objectives=("bottleneck",),
            integers=tuple(IntegerRule),
            cores=True,
            tops=True,
            microkernels=True,
            constraints=True,
            solver=True,
        ),
        SUM_OVER_LEVELS,
    ),
)
