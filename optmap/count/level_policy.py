"""What counts mappings of caches and scratchpads by one policy, in exact integers, and the three that there are.

`per-level` is the form that programs and searches minimise, `exact` the traffic of the concatenated nest; a mapping
that says how long it keeps every tensor (`mappings.held`) is counted by `held`, in both places.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from optmap.base.errors import InputError
from optmap.count.levels.cost import level_report, level_traffic
from optmap.count.levels.held import held_report, held_traffic
from optmap.count.levels.whole_nest import exact_traffic
from optmap.count.results import BoundaryTraffic, CostReport
from optmap.machines.machine import CapacityRule, Machine
from optmap.mappings.held import Held
from optmap.mappings.levels import Mapping
from optmap.questions.policy import Policy, Retention, Target
from optmap.workloads.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelPolicy(Policy, ABC):
    """A policy that counts mappings of machines without fanouts."""

    target: Target = Target.CACHES

    @abstractmethod
    def traffic(
        self, workload: Workload, machine: Machine, mapping: Mapping, held: Held | None = None
    ) -> tuple[BoundaryTraffic, ...]:
        """Words per boundary (inner first) and tensor (output first).

        Args:
            workload: what is computed.
            machine: gives the boundaries.
            mapping: tiles, loop orders and splits, inner level first; it belongs to both.
            held: what a one-level mapping holds of every tensor; None where the loop order alone decides.
        """

    def missing(self, held: Held | None) -> str | None:
        """What it cannot count of a mapping, as the end of a sentence about it; None for nothing."""
        return None if held is None else "knows no mapping that holds tensors at reuse positions of their own"

    def count(
        self,
        workload: Workload,
        machine: Machine,
        mapping: Mapping,
        held: Held | None = None,
        rule: CapacityRule = CapacityRule.TILE,
    ) -> CostReport:
        """Occupancy, traffic and cycles of every level.

        Args:
            workload: what is computed.
            machine: capacities and bandwidths.
            mapping: tiles, loop orders and splits, inner level first.
            held: as for `traffic`.
            rule: which working set counts as occupancy in caches.

        Raises:
            InputError: if the mapping, or what it holds, does not belong to workload and machine; for what the policy
                cannot count.
        """
        missing = self.missing(held)
        if missing is not None:
            use = policies_of_form(held)[1]
            raise InputError(f"counting {self} {missing}; use --counting {use}")
        mapping.check(workload, machine)
        if held is not None:
            held.check(workload, machine, mapping, rule)
        rows = self.traffic(workload, machine, mapping, held)
        if held is not None:
            return held_report(workload, machine, mapping, held, rule, rows=rows)
        return level_report(workload, machine, mapping, rule, rows)


class PerLevelPolicy(LevelPolicy):
    """Level by level (`per_level`)."""

    def traffic(
        self, workload: Workload, machine: Machine, mapping: Mapping, held: Held | None = None
    ) -> tuple[BoundaryTraffic, ...]:
        """See `level_traffic`."""
        return level_traffic(workload, machine, mapping)


class UnionPolicy(LevelPolicy):
    """The concatenated nest (`whole_nest`)."""

    def traffic(
        self, workload: Workload, machine: Machine, mapping: Mapping, held: Held | None = None
    ) -> tuple[BoundaryTraffic, ...]:
        """See `exact_traffic`."""
        return exact_traffic(workload, machine, mapping)


class HeldPolicy(LevelPolicy):
    """One level with what the mapping says that it holds (`held`)."""

    def missing(self, held: Held | None) -> str | None:
        """The loop order alone says nothing here."""
        return "is for mappings that say what they hold" if held is None else None

    def traffic(
        self, workload: Workload, machine: Machine, mapping: Mapping, held: Held | None = None
    ) -> tuple[BoundaryTraffic, ...]:
        """See `held_traffic`."""
        return () if held is None else held_traffic(workload, mapping, held, machine.boundaries[0])


PER_LEVEL = PerLevelPolicy(
    name="per-level",
    description="as programs and searches minimise: every level's tiles visited within one tile of the next",
    retention=Retention.POSITION,
)
LEVEL_EXACT = UnionPolicy(
    name="exact",
    description="as the concatenated nest moves: a tile keeps all that it shares with the one before",
    retention=Retention.UNION,
    bounded=True,
)
HELD = HeldPolicy(
    name="held",
    description="as the mapping says how long it keeps every tensor",
    retention=Retention.HELD,
    bounded=True,
)


def policies_of_form(held: Held | None) -> tuple[LevelPolicy, LevelPolicy]:
    """What the objective of a mapping is counted by, and what `exact` is.

    Args:
        held: what the mapping holds of every tensor; None where the loop order alone decides.
    """
    return (PER_LEVEL, LEVEL_EXACT) if held is None else (HELD, HELD)
