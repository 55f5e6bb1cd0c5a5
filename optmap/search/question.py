"""What is asked of a mapping method."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from pathlib import Path

from optmap.base.clock import Clock
from optmap.base.errors import InputError
from optmap.base.share import Share, Tell
from optmap.base.shown import Concise
from optmap.count.meshes.count import NEST_EXACT
from optmap.count.meshes.policy import NestPolicy
from optmap.machines.fabric import Fabric, fabric_of
from optmap.machines.fabric_notes import fabric_notes
from optmap.machines.machine import CapacityRule, Machine
from optmap.mappings.constraints import NO_CONSTRAINTS, Constraints
from optmap.mappings.demanded import demanded
from optmap.questions.form import form_on
from optmap.questions.objective import BOTTLENECK, Objective
from optmap.questions.options import IntegerRule, Merit, TileRule
from optmap.workloads.workload import Semantics, Workload

ASSIGNED = (
    "outputs start empty on an accelerator: the statement is solved as an assignment (=), as with --semantics assign"
)


@dataclass(frozen=True, kw_only=True)
class Question(Concise):
    """What is asked of a mapping method: `refuse` says which fields a method must know."""

    workload: Workload
    machine: Machine
    objective: Objective = BOTTLENECK
    """What is minimised."""
    method: str = ""
    """Of whom it is asked."""
    counting: NestPolicy = NEST_EXACT
    """How words are counted where there are meshes and prices."""
    capacity: CapacityRule = CapacityRule.TILE
    """What must fit into a cache."""
    constraints: Constraints = NO_CONSTRAINTS
    """What the user demands of tiles and loop orders, beside the rules of the machine."""
    tiles: TileRule = TileRule.ANY
    """To a solve function: one of its route's rules."""
    integers: IntegerRule = IntegerRule.EXACT
    cores: int = 1
    """Cores that a level is split among."""
    solver: str | None = None
    """Of the relaxation, `batch` or `ipopt`; None takes the one of `solvers.cfg`."""
    top: int = 1
    """Mappings that are wanted, the best first."""
    confirm: bool = False
    """Whether an optimum is proved a second time."""
    evaluations: int | None = None
    """Mappings that a method which explores may have judged; None for any number."""
    settings: Mapping[str, object] = field(default_factory=dict)
    """Of the method, by name; values or texts."""
    journal: Path | None = None
    """Of a method that explores: the file that its scores are kept in; None for none."""
    time_limit: float = 60.0
    """Seconds."""
    seed: int = 0
    progress: Tell | None = None
    """Called with what is being done and the share of the time limit used."""
    notes: tuple[str, ...] = ()
    """What a reader should know of how it is understood."""
    others: Mapping[str, object] = field(default_factory=dict)
    """Options that were declared and have no field here, by name."""

    @cached_property
    def clock(self) -> Clock:
        """When to stop; it runs from the first look at it."""
        return Clock.after(self.time_limit)

    def tell(self, text: str, done: int = 0, items: int = 0) -> None:
        """Tell whoever looks on what is being done.

        Args:
            text: what.
            done: of a known number of items, after which the search ends even if there is time.
            items: their number; 0 where only the time limit is known.
        """
        if self.progress is not None:
            left = self.clock.left
            passed = 1 - left / self.time_limit if self.time_limit < inf else 0.0
            share = Share.counted(done, items, most_s=left) if items else Share.limited(passed, left)
            self.progress(text, share)

    @cached_property
    def bare(self) -> Fabric:
        """A machine with meshes and prices as the workload sees it, whatever the user demands.

        Raises:
            InputError: for any other machine, or if workload and machine do not go together.
        """
        return fabric_of(self.workload, self.machine)

    @cached_property
    def fabric(self) -> Fabric:
        """A machine with meshes and prices as the workload sees it, with what the user demands as rules.

        Raises:
            InputError: for any other machine, or if workload, machine and constraints do not go together.
            InfeasibleError: for constraints that the machine forbids.
        """
        return demanded(self.bare, self.constraints)

    @property
    def merit(self) -> Merit:
        """Which number of a counted mapping the objective is, where there are meshes and prices.

        Raises:
            TypeError: if it is formed of the words per boundary.
        """
        if self.objective.merit is None:
            raise TypeError(f"objective {self.objective.name} is formed of the words per boundary")
        return self.objective.merit


def check_semantics(machine: Machine, asked: Semantics | str | None) -> None:
    """Refuse what a machine cannot mean.

    Raises:
        InputError: if `accumulate` was asked for where outputs start empty.
    """
    if form_on(machine).empties_outputs and asked is not None and Semantics(asked) is Semantics.ACCUMULATE:
        raise InputError("on an accelerator outputs start empty: use --semantics assign, or leave it out")


def understood(
    workload: Workload, machine: Machine, asked: Semantics | str | None = None
) -> tuple[Workload, tuple[str, ...]]:
    """A workload as it is solved on a machine, and notes where that is not what its statement says.

    Args:
        workload: as it was given.
        machine: where outputs may start empty.
        asked: the semantics that the user asked for; None for none.

    Raises:
        InputError: if `accumulate` was asked for where outputs start empty, or workload and machine do not go together.
    """
    check_semantics(machine, asked)
    if not form_on(machine).empties_outputs:
        return workload, ()
    notes = () if workload.semantics is Semantics.ASSIGN else (ASSIGNED,)
    solved = workload.with_semantics(Semantics.ASSIGN)
    if solved.is_product:
        return solved, (*notes, *fabric_notes(fabric_of(solved, machine)))
    for each in solved.statements:
        if each.is_product:
            notes = (*notes, *fabric_notes(fabric_of(solved.alone(each.name), machine)))
    return solved, tuple(dict.fromkeys(notes))
