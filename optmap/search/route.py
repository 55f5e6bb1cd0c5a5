"""One way of a mapping method, with what it can do.

def first_point(question: Question) -> Found: ...
register_method(Method(name="mine", description="...", routes=(Route(objectives=("sum",), solve=first_point),)))
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from optmap.base.shown import Concise
from optmap.machines.machine import CapacityRule, Machine
from optmap.questions.form import alike, form_on
from optmap.questions.objective import MERITS
from optmap.questions.options import IntegerRule, TileRule
from optmap.questions.policy import Policy
from optmap.workloads.workload import Semantics, Workload

if TYPE_CHECKING:
    from optmap.search.found import Found
    from optmap.search.question import Question

ALL_MERITS = ("edp", *(name for name in MERITS if name != "edp"))
"""The objectives of machines with meshes and prices, the one that is taken unasked first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Route(Concise):
    """One way of a method, with what it can do."""

    solve: Callable[[Question], Found]
    """From a question that it can answer to a mapping; what it raises is the answer."""
    objectives: tuple[str, ...]
    """Keys of `objectives_on` its machines that it minimises, its default first."""
    meshes: bool = False
    """Whether it is for machines with meshes and prices; else for those without."""
    fewest_levels: int = 1
    most_levels: int | None = None
    """None for any number."""
    capacity: tuple[CapacityRule, ...] = tuple(CapacityRule)
    """Capacity rules of caches that it knows; scratchpads need one tile."""
    semantics: tuple[Semantics, ...] = tuple(Semantics)
    counts: Callable[[Policy], bool] = lambda policy: policy.walked
    """The policies that it knows on machines with meshes and prices: if nothing else is said those that follow tiles
    through all loops, as bounds ask."""
    tiles: tuple[TileRule, ...] = ()
    """Rules that it can keep its tiles to, its default first; empty for all that there are on its machines."""
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
    """Whether it knows levels whose tensors have parts of their own; with meshes every route does."""
    tops: bool = False
    """Whether it hands in the next best mappings beside the best."""
    confirms: bool = False
    """Whether it can prove an optimum a second time."""
    explores: bool = False
    """Whether it has mappings judged one by one, within a number of evaluations, and has settings."""
    needs_core: bool = False
    """Whether it is for machines that say what a core computes with."""
    traits: tuple[str, ...] = ()
    """Traits of one's own (`machines.traits`) that it asks every level for."""
    chains: bool = False
    """Whether it is for chains of statements; else for one that adds up a product."""
    fits: Callable[[Workload], object] | None = None
    """Raises an `InputError` for a workload that it is not for; None if it is for all."""

    @property
    def rules(self) -> tuple[TileRule, ...]:
        """Rules that it can keep its tiles to, its default first."""
        return self.tiles or ((TileRule.PADDED if self.meshes else TileRule.ANY), TileRule.DIVISORS)

    def rule(self, tiles: TileRule) -> TileRule:
        """The tile rule in force: `any` is the route's default where it is no rule of its own."""
        return self.rules[0] if tiles is TileRule.ANY and tiles not in self.rules else tiles

    def hands_in(self, machine: Machine) -> bool:
        """Whether its mappings have the form of those on a machine, with or without meshes and prices."""
        return form_on(machine).meshes is self.meshes

    def suits(self, machine: Machine) -> bool:
        """Whether it is for machines with such mappings, and a core or not."""
        return self.hands_in(machine) and (machine.core is not None or not self.needs_core)

    def levels(self, machine: Machine) -> bool:
        """Whether it is for as many levels as a machine has."""
        return self.fewest_levels <= len(machine.levels) <= (self.most_levels or len(machine.levels))

    def minimises(self, machine: Machine) -> tuple[str, ...]:
        """The objectives that it minimises on a machine, its default first."""
        if not self.hands_in(machine) or not self.levels(machine):
            return ()
        return tuple(dict.fromkeys(other for name in self.objectives for other in alike(name, machine)))
