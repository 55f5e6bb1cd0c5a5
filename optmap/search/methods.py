"""The mapping methods by name; each is imported when it is used."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from optmap.base.names import enter
from optmap.machines.machine import CapacityRule, Machine
from optmap.questions.objective import PREDICTED_TIME, TRAFFIC
from optmap.questions.options import IntegerRule, TileRule
from optmap.search.chains.chain_methods import APART, FUSED
from optmap.search.explore.route import explored
from optmap.search.method import METHODS, Method
from optmap.search.papers.bottleneck import MOPT, SUM_OVER_LEVELS
from optmap.search.route import ALL_MERITS, Route

if TYPE_CHECKING:
    from optmap.search.explore.protocol import Strategy
    from optmap.search.found import Found
    from optmap.search.question import Question
    from optmap.workloads.workload import Workload

__all__ = ["HOMES", "LIBRARY", "METHODS", "register_method", "usual_methods"]


def _one_memory(question: Question) -> Found:
    from optmap.search.iooub.one_memory import solve

    return solve(question)


def _stationary(question: Question) -> Found:
    from optmap.search.papers.gemmini import solve

    return solve(question)


def _algorithm1(question: Question) -> Found:
    from optmap.search.papers.algorithm1 import solve

    return solve(question)


def _artifact(question: Question) -> Found:
    from optmap.search.papers.artifact import solve

    return solve(question)


def _artifact_fits(workload: Workload) -> object:
    from optmap.search.papers.artifact import roles_of

    return roles_of(workload)


def _greedy(question: Question) -> Found:
    from optmap.search.papers.gemmini import solve_greedy

    return solve_greedy(question)


def _tiling_lp(question: Question) -> Found:
    from optmap.search.papers.tiling_lp import solve

    return solve(question)


def _tiling_lp_fits(workload: Workload) -> None:
    from optmap.search.papers.tiling_lp import needs_a_form

    needs_a_form(workload)


def _exact(question: Question) -> Found:
    from optmap.search.exact.solve import solve

    return solve(question)


def _allocation(question: Question) -> Found:
    from optmap.search.allocation.programs import solve_by_program

    return solve_by_program(question)


def _cosa(question: Question) -> Found:
    from optmap.search.allocation.programs import solve_by_cosa

    return solve_by_cosa(question)


def _timed(question: Question) -> Found:
    from optmap.search.timed.method import solve

    return solve(question)


def _random() -> Strategy:
    from optmap.search.explore.random import STRATEGY

    return STRATEGY


def _exhaustive() -> Strategy:
    from optmap.search.explore.exhaustive import STRATEGY

    return STRATEGY


def _quickflow() -> Strategy:
    from optmap.search.quickflow.search import STRATEGY

    return STRATEGY


def _sunstone() -> Strategy:
    from optmap.search.sunstone.search import SUNSTONE_STRATEGY

    return SUNSTONE_STRATEGY


def _bayes() -> Strategy:
    from optmap.search.bayes.strategy import STRATEGY

    return STRATEGY


TILE_ONLY = (CapacityRule.TILE,)
IOOUB = Method(
    name="iooub",
    description="loop order, reuse level per tensor and whole tile with the least loads or traffic of one memory",
    routes=(
        Route(
            solve=_one_memory,
            objectives=("loads", "sum"),
            most_levels=1,
            capacity=TILE_ONLY,
            partitions=True,
        ),
        SUM_OVER_LEVELS,
    ),
)
GEMMINI = Method(
    name="gemmini",
    description="accelerator buffers: output-stationary tile with inputs reloaded, proved best in whole numbers",
    routes=(
        Route(
            solve=_stationary,
            objectives=("traffic",),
            most_levels=1,
            capacity=TILE_ONLY,
            partitions=True,
        ),
    ),
)
ALGORITHM1 = Method(
    name="mopt-algorithm1",
    description="MOpt's Algorithm 1: levels fixed one by one by local solves, tiles rounded down and balanced",
    routes=(
        Route(
            solve=_algorithm1,
            objectives=("bottleneck",),
            tiles=(TileRule.ANY,),
            integers=tuple(IntegerRule),
            cores=True,
            microkernels=True,
            solver=True,
        ),
    ),
)
ARTIFACT = Method(
    name="mopt-artifact",
    description="what MOpt's published code solves: three loop orders, one start, rounding down after every level",
    routes=(
        Route(
            solve=_artifact,
            objectives=("bottleneck",),
            capacity=TILE_ONLY,
            tiles=(TileRule.ANY,),
            integers=tuple(IntegerRule),
            cores=True,
            microkernels=True,
            solver=True,
            fits=_artifact_fits,
        ),
    ),
)
GREEDY = Method(
    name="gemmini-greedy",
    description="what gemmini is compared with: a tile grown by one along each dim in turn until nothing more fits",
    routes=(
        Route(
            solve=_greedy,
            objectives=("traffic",),
            most_levels=1,
            capacity=TILE_ONLY,
            partitions=True,
        ),
    ),
)

TILING_LP = Method(
    name="tiling-lp",
    description="vertices of the log-space tiling LP behind the lower bounds, rounded to whole tiles (Dinh)",
    routes=(
        Route(
            solve=_tiling_lp,
            objectives=("traffic",),
            most_levels=1,
            capacity=TILE_ONLY,
            tiles=(TileRule.ANY,),
            fits=_tiling_lp_fits,
        ),
    ),
)

EXACT = Method(
    name="exact",
    description="accelerators: tiles, loop orders, bypass and spatial split searched exactly, proved optimal",
    routes=(Route(solve=_exact, objectives=ALL_MERITS, meshes=True, confirms=True, constraints=True),),
)

ALLOCATION = Method(
    name="allocation",
    description="accelerators: CoSA's allocation made exact, a program whose bound HiGHS proves beside exact's",
    routes=(
        Route(solve=_allocation, objectives=ALL_MERITS, meshes=True, tiles=(TileRule.DIVISORS,), constraints=True),
    ),
)

COSA = Method(
    name="cosa",
    description="accelerators: CoSA as published, log objective and fixed shares; says where its mapping does not fit",
    routes=(Route(solve=_cosa, objectives=ALL_MERITS, meshes=True, tiles=(TileRule.DIVISORS,)),),
)

RANDOM = Method(
    name="random",
    description="accelerators: random valid mappings, what everybody starts from",
    routes=(explored(_random),),
)

EXHAUSTIVE = Method(
    name="exhaustive",
    description="accelerators: every mapping of a small mapspace judged, so that the best is proved",
    routes=(explored(_exhaustive),),
)

QUICKFLOW = Method(
    name="quickflow",
    description="accelerators: QuickFlow's local search over factors, loop orders chosen in one shot (near-optimal)",
    routes=(explored(_quickflow),),
)

SUNSTONE = Method(
    name="sunstone",
    description="accelerators: Sunstone's order trie, tiling tree and unrolling principle, memory by memory",
    routes=(explored(_sunstone),),
)

BAYESIAN = Method(
    name="bayesian",
    description="accelerators: Gaussian processes choose what is judged, where every evaluation is dear (Dinh)",
    routes=(explored(_bayes),),
)

TIMED = Method(
    name="timed",
    description="machines with a core: blocks and loops around register tiles with the least predicted time",
    routes=(
        Route(
            solve=_timed,
            objectives=(PREDICTED_TIME.name,),
            needs_core=True,
            capacity=TILE_ONLY,
            tiles=(TileRule.ANY,),
            cores=True,
            microkernels=True,  # a shape that somebody derived from the core; it derives every shape that is worth it
        ),
    ),
)

METHODS.update(
    {
        each.name: each
        for each in (
            *(MOPT, IOOUB, GEMMINI, ALGORITHM1, ARTIFACT, GREEDY, TILING_LP, EXACT, ALLOCATION, COSA),
            *(RANDOM, EXHAUSTIVE, QUICKFLOW, SUNSTONE, BAYESIAN, TIMED, FUSED, APART),
        )
    }
)
LIBRARY = tuple(METHODS)
"""Names of the methods that every process knows; others were registered in this one."""


def usual_methods(
    machine: Machine, objective: str | None = None, *, chain: bool = False, padded: bool = False
) -> tuple[str, ...]:
    """The methods where none is asked for: taken is the first that knows what a question demands (`able`), or the last.

    Args:
        machine: of what kind it is decides.
        objective: that is asked for; None for the method's own.
        chain: whether there are several statements.
        padded: whether there is implicit padding, the rim of which iooub counts as moved.
    """
    if chain and FUSED.minimises(machine):
        return (FUSED.name,)
    if not MOPT.suits(machine):
        return (EXACT.name,)
    if objective == TRAFFIC.name in IOOUB.minimises(machine) and not padded:
        # All that gemmini and mopt choose from without partitions iooub chooses from, too, and more.
        return (GEMMINI.name if machine.levels[0].partitions else IOOUB.name, MOPT.name)
    if objective in set(IOOUB.minimises(machine)) - set(MOPT.minimises(machine)):
        return (IOOUB.name,)  # loads
    return (TIMED.name if objective == PREDICTED_TIME.name else MOPT.name,)


HOMES: dict[str, str | None] = {}
"""Per method of one's own the file that registered it; None without one, as in a notebook."""


def register_method(method: Method) -> None:
    """Give a method of one's own a name: every verb and every list then knows it.

    It is known to the process that registers it: in sweeps, networks and races that have processes of their own its
    points are answered in this one. Those of a plug-in, a module that `load_plugin` imports, are known to all.

    Raises:
        InputError: if the name is taken, or is none.
    """
    enter("method", method.name, method, METHODS)
    HOMES[method.name] = sys._getframe(1).f_globals.get("__file__")
