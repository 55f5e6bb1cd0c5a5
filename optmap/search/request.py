"""What is asked of a mapping method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from optmap.problem.constraints import NO_CONSTRAINTS, Constraints
from optmap.problem.machine import CapacityRule, Machine
from optmap.problem.objective import BOTTLENECK, Objective
from optmap.problem.options import IntegerRule, TileRule
from optmap.problem.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is asked of a mapping method."""

    workload: Workload
    machine: Machine
    capacity: CapacityRule = CapacityRule.TILE
    """What must fit into a cache."""
    objective: Objective = BOTTLENECK
    """What is minimised."""
    constraints: Constraints = NO_CONSTRAINTS
    """What the user demands of tiles and loop orders."""
    tiles: TileRule = TileRule.ANY
    integers: IntegerRule = IntegerRule.EXACT
    cores: int = 1
    solver: str | None = None
    """Of the relaxation, `batch` or `ipopt`; None takes the one of `solvers.cfg`."""
    time_limit: float = 60.0
    """Seconds."""
    seed: int = 0
    progress: Callable[[str, float], None] | None = None
    """Called with what is being done and the share of the time limit used."""
