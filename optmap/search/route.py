"""One way of a method on machines without fanouts, with what it can do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from optmap.problem.machine import CapacityRule, Machine
from optmap.problem.objective import alike
from optmap.problem.options import IntegerRule, TileRule
from optmap.problem.workload import Semantics, Workload

if TYPE_CHECKING:
    from optmap.search.answer import Found
    from optmap.search.request import Request


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One way of a method, with what it can do."""

    solve: Callable[[Request], Found]
    """From a request that it can do to a mapping; what it raises is the answer."""
    objectives: tuple[str, ...]
    """Keys of `OBJECTIVES` that it minimises, its default first."""
    fewest_levels: int = 1
    most_levels: int | None = None
    """None for any number."""
    capacity: tuple[CapacityRule, ...] = tuple(CapacityRule)
    """Capacity rules of caches that it knows; scratchpads need one tile."""
    semantics: tuple[Semantics, ...] = tuple(Semantics)
    tiles: tuple[TileRule, ...] = tuple(TileRule)
    """Rules that it can keep its tiles to."""
    integers: tuple[IntegerRule, ...] = (IntegerRule.EXACT,)
    """Ways to whole tiles that may be asked of it."""
    cores: bool = False
    """Whether it can split a tile among cores."""
    microkernels: bool = False
    """Whether it keeps to tiles that a machine imposes."""
    solver: bool = False
    """Whether it solves a relaxation by the solver that is asked for."""
    constraints: bool = False
    """Whether it keeps to what a user demands of tiles and loop orders."""
    partitions: bool = False
    """Whether it knows levels whose tensors have parts of their own."""
    needs_core: bool = False
    """Whether it is for machines that say what a core computes with."""
    fits: Callable[[Workload], object] | None = None
    """Raises an `InputError` for a workload that it is not for; None if it is for all."""

    def levels(self, machine: Machine) -> bool:
        """Whether it is for as many levels as a machine has."""
        return self.fewest_levels <= len(machine.levels) <= (self.most_levels or len(machine.levels))

    def minimises(self, machine: Machine) -> tuple[str, ...]:
        """The objectives that it minimises on a machine, its default first."""
        if not self.levels(machine):
            return ()
        return tuple(dict.fromkeys(other for name in self.objectives for other in alike(name, machine)))
