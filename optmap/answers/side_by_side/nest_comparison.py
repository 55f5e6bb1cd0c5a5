"""Mappings of several methods on an accelerator, side by side with the floor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from optmap.base.shown import Shown
from optmap.count.meshes.policy import NestPolicy
from optmap.machines.fabric import Fabric
from optmap.questions.options import Merit
from optmap.search.floors import MeshFloor
from optmap.search.result import NestAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class NestComparison(Shown):
    """What several methods find for one workload on one accelerator."""

    shown_as: ClassVar[str] = "nest-comparison"

    fabric: Fabric
    merit: Merit
    counting: NestPolicy
    methods: tuple[str, ...]
    results: dict[str, NestAnswer]
    """Of the methods that found a mapping."""
    left_out: dict[str, str]
    """Methods without a mapping, each with the reason."""

    @property
    def best(self) -> str | None:
        """The method with the least objective among mappings that fit; None without any."""
        fitting = [name for name, result in self.results.items() if result.fits]
        return min(fitting, key=lambda name: self.results[name].cost, default=None)

    @property
    def floor(self) -> MeshFloor | None:
        """Of every schedule; None without any result."""
        return next((result.floor for result in self.results.values() if result.floor is not None), None)
