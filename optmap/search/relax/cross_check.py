"""The winning program once more, by the other solver: the same rows, another algorithm."""

from __future__ import annotations

from math import isfinite

from optmap.errors import SolverUnavailableError
from optmap.search.relax.layout import Node
from optmap.search.relax.level_programs import program_of
from optmap.search.relax.node_programs import Bounder
from optmap.search.search_space import Setting


def solver_title(setting: Setting) -> str:
    """What solves the programs of a setting's relaxation, in words."""
    return "Ipopt through Pyomo" if setting.solver == "ipopt" else "batched interior point"


def other_solver(setting: Setting) -> str:
    """What solves the best program once more, in words."""
    return "batched interior point" if setting.solver == "ipopt" else "Ipopt"


def cross_check(setting: Setting, node: Node) -> float | None:
    """The optimum of a node's program by Ipopt, or by the batched interior point if Ipopt found it.

    Args:
        setting: what was searched, with the solver that searched it.
        node: loop orders and boxes of every level.

    Returns:
        None if Ipopt is not installed, or the solver does not converge.
    """
    if setting.solver == "ipopt":
        value = float(Bounder(setting).solve([node]).value[0])
        return value if isfinite(value) else None
    from optmap.solvers.ipopt import solve_posynomial

    try:
        return solve_posynomial(program_of(setting, node)).objective
    except SolverUnavailableError:
        return None
