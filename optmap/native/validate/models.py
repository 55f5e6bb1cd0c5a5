"""The models that `validate` holds against measurements: what each predicts of a sample, in all and per level."""

from __future__ import annotations

from collections.abc import Mapping as MappingABC
from dataclasses import dataclass

from optmap.base.names import choose
from optmap.count.levels.cost import evaluate_cost
from optmap.machines.machine import Machine
from optmap.mappings.levels import Mapping
from optmap.workloads.workload import Workload

MODELS = TIME, BOTTLENECK = "time", "bottleneck"
"""Cycles of the kernel and of lines that it waits for; the slowest level's words over its bandwidth (MOpt sections 3 to
5)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BottleneckCost:
    """What MOpt's model says of a mapping."""

    cycles: MappingABC[str, float]
    """Per level, words over its bandwidth."""
    words: MappingABC[str, int]
    """Per level, across the boundary outside it."""

    @property
    def value(self) -> float:
        """The cost: cycles of the slowest level."""
        return max(self.cycles.values())

    @property
    def level(self) -> str:
        """The slowest level."""
        return max(self.cycles, key=lambda name: self.cycles[name])


def bottleneck_cost(workload: Workload, machine: Machine, mapping: Mapping) -> BottleneckCost:
    """Words of every level over its bandwidth (MOpt, the objective of section 5), counted in whole numbers.

    Args:
        workload: what is computed.
        machine: all of whose levels have a bandwidth.
        mapping: tiles and loop orders of every level.
    """
    levels = evaluate_cost(workload, machine, mapping).levels
    return BottleneckCost(
        cycles={level.level: float(level.cycles) for level in levels},
        words={level.level: level.traffic_words for level in levels},
    )


def models_of(names: tuple[str, ...]) -> tuple[str, ...]:
    """The models of some names, each once.

    Raises:
        UnknownNameError: for a name that is none.
    """
    return tuple(dict.fromkeys(choose("model", name, MODELS) for name in names))
