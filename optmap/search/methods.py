"""The mapping methods by name."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from optmap.problem.machine import Machine

if TYPE_CHECKING:
    from optmap.search.mopt import Request
    from optmap.search.result import SolveResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A way from a workload and a machine to a mapping."""

    description: str
    """One line for lists."""
    module: str
    """Module whose `solve` it is; imported when it is used."""
    objectives: tuple[str, ...] = ("bottleneck",)
    """Keys of `OBJECTIVES` that it can minimise, its default first."""

    def run(self, request: Request) -> SolveResult:
        """Find a mapping.

        Raises:
            OptmapError: what the method raises.
        """
        found: SolveResult = import_module(self.module).solve(request)
        return found

    def default(self, machine: Machine) -> str:
        """The objective it takes if none is asked for; loads are those of one memory only."""
        several = len(machine.levels) > 1
        return next(name for name in self.objectives if not (several and name == "loads"))


OBJECTIVES: dict[str, str] = {
    "bottleneck": "largest traffic/bandwidth over the levels",
    "sum": "traffic/bandwidth added up over the levels",
    "loads": "words loaded into one memory, stores not counted (IOOpt)",
    "traffic": "words loaded and stored by one memory with partitions",
}
"""Objectives and what they minimise."""


METHODS: dict[str, Method] = {
    "mopt": Method(
        description="all loop orders and levels at once, relaxation proved globally, integers searched exactly",
        module="optmap.search.mopt",
        objectives=("bottleneck", "sum"),
    ),
    "iooub": Method(
        description="loop order, reuse level per tensor and whole tile with the least loads of one memory",
        module="optmap.search.iooub",
        objectives=("loads", "sum"),
    ),
    "gemmini": Method(
        description="accelerator buffers: output-stationary tile with inputs reloaded, proved best in whole numbers",
        module="optmap.search.gemmini",
        objectives=("traffic",),
    ),
    "mopt-algorithm1": Method(
        description="MOpt's Algorithm 1: levels fixed one by one by local solves, tiles rounded down and balanced",
        module="optmap.search.algorithm1",
    ),
    "mopt-artifact": Method(
        description="what MOpt's published code solves: three loop orders, one start, rounding down after every level",
        module="optmap.search.artifact",
    ),
}
