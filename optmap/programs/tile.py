"""Tile-size programs: one level, min-max over levels as epigraph, and MOpt's decomposition.

In logarithms of the tile sizes every traffic and capacity term is a posynomial once at most one
dim of each subscript is free (all other sizes fixed), so the one-level program and the epigraph
are convex. The decomposition's rows traffic_l/BW_l >= traffic_k/BW_k are reverse-convex.
Source: MOpt, Eq. 3-5 (one level), section 5 (min-max), Algorithm 1 (levels fixed one by one).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial

from optmap.base.errors import InputError
from optmap.machines.machine import CapacityRule
from optmap.programs.program import Program
from optmap.programs.tile_model import build_decomposition, build_epigraph, build_one_level
from optmap.programs.tile_plan import Scale, TileLevel, make_plan
from optmap.workloads.workload import Workload

__all__ = ["Scale", "TileLevel", "minmax_level_program", "minmax_program", "one_level_program", "tiles"]


def one_level_program(
    workload: Workload,
    *,
    capacity: float,
    permutation: tuple[str, ...],
    fixed: Mapping[str, float] | None = None,
    rule: CapacityRule = CapacityRule.TILE,
    scale: Scale = Scale.LOG,
) -> Program:
    """Minimise the traffic of one level over real tile sizes (MOpt Eq. 3-5).

    Args:
        workload: what is computed.
        capacity: words that fit.
        permutation: loop order, outermost first; only its dataflow class matters.
        fixed: tile sizes that are parameters.
        rule: which working set must fit.
        scale: logarithmic or raw variables.

    Raises:
        InputError: for a wrong permutation, fixed size or capacity.
        InfeasibleError: if the smallest tile does not fit.
    """
    level = TileLevel(capacity=capacity, permutation=permutation, fixed=dict(fixed or {}), rule=rule)
    plan = make_plan(workload, (level,), scale, name=f"one-level tile program of {workload.title}", single=True)
    return plan.program(partial(build_one_level, plan), unit="words", target=0)


def minmax_program(workload: Workload, levels: Sequence[TileLevel], *, scale: Scale = Scale.LOG) -> Program:
    """Minimise the largest traffic/bandwidth over the levels: the epigraph form.

    min z subject to traffic_l / BW_l <= z, occupancy_l <= capacity_l, 1 <= T^l <= T^{l+1} <= N.

    Args:
        workload: what is computed.
        levels: inner to outer.
        scale: logarithmic or raw variables.

    Raises:
        InputError: for a wrong permutation, fixed size, capacity or bandwidth.
        InfeasibleError: if the smallest tiles do not fit.
    """
    plan = make_plan(workload, tuple(levels), scale, name=f"min-max tile program of {workload.title}")
    return plan.program(partial(build_epigraph, plan), unit="cycles")


def minmax_level_program(
    workload: Workload,
    levels: Sequence[TileLevel],
    *,
    objective_level: int,
    against: Collection[int] | None = None,
) -> Program:
    """One program of MOpt's decomposition: level l is minimised subject to being the largest.

    min traffic_l / BW_l subject to traffic_l / BW_l >= traffic_k / BW_k for k in `against`.
    The minimum over l of these programs is the min-max. Not convex: solved locally.

    Args:
        workload: what is computed.
        levels: inner to outer, with the tiles of levels already decided (MOpt Algorithm 1, line 17).
        objective_level: index l of the level that is minimised.
        against: levels k to compare with; all others by default.

    Raises:
        InputError: for a wrong level, permutation, fixed size, capacity or bandwidth.
        InfeasibleError: if the smallest tiles do not fit.
    """
    others = tuple(k for k in (range(len(levels)) if against is None else sorted(set(against))) if k != objective_level)
    if any(not 0 <= k < len(levels) for k in (objective_level, *others)):
        raise InputError(f"level index out of range: there are {len(levels)} levels, numbered from 0")
    title = f"decomposition of the min-max of {workload.title}, level {levels[objective_level].name}"
    plan = make_plan(workload, tuple(levels), Scale.LOG, name=title)
    build = partial(build_decomposition, plan, objective_level, others)
    return plan.program(build, unit="cycles", target=objective_level, convex=not others)


def tiles(workload: Workload, levels: Sequence[str], quantities: Mapping[str, float]) -> tuple[dict[str, float], ...]:
    """Real tile sizes per level from what `Program.read_back` returned.

    Args:
        workload: gives the dims.
        levels: level names, inner to outer; empty for a one-level program.
        quantities: value per quantity.
    """
    if not levels:
        return ({d: quantities[f"T[{d}]"] for d in workload.dims},)
    return tuple({d: quantities[f"T[{name},{d}]"] for d in workload.dims} for name in levels)
