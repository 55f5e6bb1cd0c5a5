"""The winning program once more, by Ipopt: an independent solver on the same rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from optmap.errors import SolverUnavailableError
from optmap.programs.posynomial import EpigraphRow, GeometricProgram, Posynomial
from optmap.search.nodes import Bounder, Node
from optmap.search.setting import Setting
from optmap.solvers.batch import NO_TERM


def program_of(setting: Setting, node: Node) -> GeometricProgram:
    """The convex program of a node as data that any solver can take.

    Args:
        setting: what is searched.
        node: loop orders and boxes of every level.
    """
    bounder = Bounder(setting)
    batch = bounder.assemble([node])
    layout = bounder.layout(node)
    names = tuple(_names(setting, layout.levels, layout.width))
    ends = (*batch.starts[1:], batch.logs.shape[1])
    posynomials = []
    for start, end in zip(batch.starts, ends, strict=True):
        rows = np.flatnonzero(batch.logs[0, start:end] > NO_TERM) + start
        posynomials.append(
            Posynomial(names=names, coefficients=np.exp(batch.logs[0, rows]), exponents=batch.exponents[0, rows])
        )
    priced = batch.alpha.shape[1]
    return GeometricProgram(
        names=names,
        lower=batch.lower[0],
        upper=batch.upper[0],
        levels=tuple(
            EpigraphRow(posynomial=p, alpha=float(a), constant=float(c))
            for p, a, c in zip(posynomials[:priced], batch.alpha[0], batch.constant[0], strict=True)
        ),
        capacities=tuple(posynomials[priced:]) + tuple(_linear_rows(names, batch.linear[0], batch.limit[0])),
    )


def _names(setting: Setting, levels: tuple[int, ...], width: int) -> list[str]:
    names = [f"T_{d}_{setting.machine.levels[level].name}" for level in levels for d in setting.space.free]
    return names + [f"chunk_{i}" for i in range(width - len(names))]


def _linear_rows(names: tuple[str, ...], linear: NDArray[np.float64], limit: NDArray[np.float64]) -> list[Posynomial]:
    """Nesting and core limits as monomials that must not exceed 1."""
    return [
        Posynomial(names=names, coefficients=np.exp(np.array([-b])), exponents=row[None, :])
        for row, b in zip(linear, limit, strict=True)
    ]


def cross_check(setting: Setting, node: Node) -> float | None:
    """Ipopt's optimum of a node's program; None if Ipopt is not installed or does not converge.

    Args:
        setting: what is searched.
        node: loop orders and boxes of every level.
    """
    from optmap.solvers.ipopt import solve_posynomial

    try:
        solution = solve_posynomial(program_of(setting, node))
    except SolverUnavailableError:
        return None
    return solution.objective
