"""The methods of chains; what solves them is imported when it is used."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from optmap.machines.machine import CapacityRule
from optmap.questions.objective import PREDICTED_TIME
from optmap.questions.options import TileRule
from optmap.search.method import Method
from optmap.search.route import ALL_MERITS, Route

if TYPE_CHECKING:
    from optmap.search.found import Found
    from optmap.search.question import Question


def _fused_on_levels(question: Question) -> Found:
    from optmap.search.chains.nested import fused

    return fused(question)


def _apart_on_levels(question: Question) -> Found:
    from optmap.search.chains.nested import apart

    return apart(question)


def _fused_on_meshes(question: Question) -> Found:
    from optmap.search.chains.in_turn import fused

    return fused(question)


def _apart_on_meshes(question: Question) -> Found:
    from optmap.search.chains.in_turn import apart

    return apart(question)


def _fused(question: Question) -> Found:
    from optmap.search.chains.solve import fused

    return fused(question)


def _apart(question: Question) -> Found:
    from optmap.search.chains.solve import apart

    return apart(question)


OF_CHAINS = Route(
    solve=_fused,
    objectives=("traffic", "loads"),
    most_levels=1,
    capacity=(CapacityRule.TILE,),
    tiles=(TileRule.ANY,),
    chains=True,
)
OF_LEVELS = replace(
    OF_CHAINS, solve=_fused_on_levels, objectives=("bottleneck", "sum"), fewest_levels=2, most_levels=None
)
OF_CHAIN_TIME = replace(OF_CHAINS, objectives=(PREDICTED_TIME.name,))
OF_LEVELS_TIME = replace(OF_LEVELS, objectives=(PREDICTED_TIME.name,))
OF_MESHES = Route(solve=_fused_on_meshes, objectives=ALL_MERITS, meshes=True, tiles=(TileRule.DIVISORS,), chains=True)
FUSED = Method(
    name="fused",
    description="chains: fused and unfused trees of a family, in one memory, on several levels, or on meshes in turn",
    routes=(OF_CHAINS, OF_LEVELS, OF_CHAIN_TIME, OF_LEVELS_TIME, OF_MESHES),
)
APART = Method(
    name="apart",
    description="what fused is compared with: every product by itself, every intermediate through the slow memory",
    routes=(
        replace(OF_CHAINS, solve=_apart),
        replace(OF_LEVELS, solve=_apart_on_levels),
        replace(OF_CHAIN_TIME, solve=_apart),
        replace(OF_LEVELS_TIME, solve=_apart_on_levels),
        replace(OF_MESHES, solve=_apart_on_meshes),
    ),
)
