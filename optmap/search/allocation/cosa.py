"""CoSA's mappings: its program solved by HiGHS, what it gives counted again, and where that does not fit."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

from optmap.base.clock import NO_LIMIT, Clock
from optmap.base.errors import InfeasibleError, LimitError
from optmap.count.meshes.count import NEST_EXACT
from optmap.count.meshes.rules import Overflow, overflows
from optmap.machines.fabric import Fabric
from optmap.mappings.nest import Nest
from optmap.programs.cosa import Cosa
from optmap.questions.policy import Policy
from optmap.solvers.registry import solve
from optmap.solvers.status import PointKind, Stop

GAP = 1e-4
"""Relative, at which a solver may stop: that of the solver which the public code calls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CosaAnswer:
    """What CoSA's program gave."""

    nest: Nest
    overflows: tuple[Overflow, ...]
    """Empty if all tiles fit."""
    objective: float
    """CoSA's own."""
    late: bool
    """Whether the solver ran out of time, so that CoSA's objective may not be the least."""


def solve_cosa(fabric: Fabric, *, counting: Policy = NEST_EXACT, clock: Clock = NO_LIMIT) -> CosaAnswer:
    """Solve CoSA's program; what comes out may not fit.

    Args:
        fabric: machine and workload.
        counting: of tiles against capacities.
        clock: when to stop; the best point so far is the answer then.

    Raises:
        InfeasibleError: if the program has no point.
        LimitError: if none was found in time.
        SolverUnavailableError: without HiGHS.
    """
    clock.check()
    cosa = Cosa(fabric=fabric)
    program = cosa.program()
    limit = max(clock.left, 0.1) if isfinite(clock.deadline) else None
    found = solve(program, options={"mip_rel_gap": GAP}, time_limit=limit)
    if found.stop is Stop.INFEASIBLE:
        raise InfeasibleError(
            f"CoSA's program of {fabric.machine.name} has no point: its fixed shares of memories, the meshes and the "
            "rules of the machine leave no mapping; use --method exact"
        )
    if found.point is PointKind.NONE or found.objective is None:
        raise LimitError(f"CoSA's program was not solved in time ({found.message}); raise the time limit")
    nest = cosa.nest(found.values)
    return CosaAnswer(
        nest=nest,
        overflows=overflows(nest, fabric, counting.room),
        objective=found.objective,
        late=found.stop is not Stop.OPTIMAL,
    )
