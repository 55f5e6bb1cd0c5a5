"""The winning program once more, by the other solver: the same rows, another algorithm."""

from __future__ import annotations

from math import isfinite, log

from optmap.base.clock import current
from optmap.base.errors import SolverUnavailableError
from optmap.search.relax.level_programs import program_of
from optmap.search.relax.node_programs import Bounder
from optmap.search.relax.tree import RelaxedPoint
from optmap.search.space.search_space import Setting
from optmap.solvers.status import PointKind

NEAR = {"mu_init": 1e-8}
"""Options of Ipopt for a start that should be optimal; from another one it takes more steps to the same value."""
NEARER = NEAR | dict.fromkeys(("bound_push", "bound_frac", "slack_bound_push", "slack_bound_frac"), 1e-8)
"""The start is hardly moved: fewer steps. From another one Ipopt may call a point optimal that is not."""


def solver_title(setting: Setting) -> str:
    """What solves the programs of a setting's relaxation, in words."""
    return "Ipopt through Pyomo" if setting.solver == "ipopt" else "batched interior point"


def other_solver(setting: Setting) -> str:
    """What solves the best program once more, in words."""
    return "batched interior point" if setting.solver == "ipopt" else "Ipopt"


def cross_check(setting: Setting, point: RelaxedPoint) -> float | None:
    """The optimum of a point's program by Ipopt, or by the batched interior point if Ipopt found it.

    Args:
        setting: what was searched, with the solver that searched it.
        point: loop orders and boxes of every level, and the tiles that are optimal for them: where Ipopt starts.

    Returns:
        None if Ipopt is not installed, the solver does not converge, or there is no time left for it.
    """
    if current().late:
        return None
    if setting.solver == "ipopt":
        value = float(Bounder(setting).solve([point.node]).value[0])
        return value if isfinite(value) else None
    from optmap.solvers.ipopt import PROVED_GAP, solve_posynomial

    program = program_of(setting, point.node)
    levels = zip(setting.machine.levels, point.tiles, strict=True)
    tiles = {f"T[{level.name},{dim}]": log(size) for level, tile in levels for dim, size in tile.items()}
    start = {name: tiles[name] for name in program.names if name in tiles} | {"log_z": log(point.value)}
    try:
        found = solve_posynomial(program, options=NEARER, start=start)
        # Its multipliers prove a bound; where that does not meet the point, Ipopt's word is not enough.
        if found.objective is None or found.bound is None or found.bound < (1 - PROVED_GAP) * found.objective:
            found = solve_posynomial(program, options=NEAR, start=start)
        return found.objective if found.point is PointKind.GLOBAL_OPTIMUM else None
    except SolverUnavailableError:
        return None
