"""The mapping methods by name."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from optmap.errors import InputError
from optmap.problem.machine import Machine
from optmap.problem.objective import alike

if TYPE_CHECKING:
    from optmap.search.mopt import Request
    from optmap.search.result import SolveResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A way from a workload and a machine to a mapping."""

    name: str
    """Key in `METHODS`."""
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

    def minimises(self, machine: Machine) -> tuple[str, ...]:
        """The objectives that it minimises on a machine, its default first."""
        return tuple(dict.fromkeys(other for name in self.objectives for other in alike(name, machine)))

    def objective(self, name: str | None, machine: Machine) -> str:
        """The objective that is asked for, or the method's own.

        Args:
            name: a key of `OBJECTIVES`; None for the method's own.
            machine: what it is asked of.

        Raises:
            InputError: for an objective that the method does not minimise on the machine.
        """
        known = self.minimises(machine)
        if known and name is None:
            return known[0]
        if name not in known:
            levels = "one level" if len(machine.levels) == 1 else f"{len(machine.levels)} levels"
            offer = f"there it knows {', '.join(known)}" if known else "it is for one level only"
            others = [other for other, m in METHODS.items() if name is None or name in m.minimises(machine)]
            use = f"; use --method {' or '.join(others)}" if others else ""
            asked = f"does not minimise {name} on" if name else "has no objective for"
            raise InputError(f"method {self.name} {asked} {levels}: {offer}{use}")
        return str(name)


METHODS: dict[str, Method] = {
    "mopt": Method(
        name="mopt",
        description="all loop orders and levels at once, relaxation proved globally, integers searched exactly",
        module="optmap.search.mopt",
        objectives=("bottleneck", "sum"),
    ),
    "iooub": Method(
        name="iooub",
        description="loop order, reuse level per tensor and whole tile with the least loads of one memory",
        module="optmap.search.iooub",
        objectives=("loads", "sum"),
    ),
    "gemmini": Method(
        name="gemmini",
        description="accelerator buffers: output-stationary tile with inputs reloaded, proved best in whole numbers",
        module="optmap.search.gemmini",
        objectives=("traffic",),
    ),
    "mopt-algorithm1": Method(
        name="mopt-algorithm1",
        description="MOpt's Algorithm 1: levels fixed one by one by local solves, tiles rounded down and balanced",
        module="optmap.search.algorithm1",
    ),
    "mopt-artifact": Method(
        name="mopt-artifact",
        description="what MOpt's published code solves: three loop orders, one start, rounding down after every level",
        module="optmap.search.artifact",
    ),
}
