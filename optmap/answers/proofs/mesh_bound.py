"""What no schedule of a workload costs less than on a machine with meshes and prices, as `bound` says it.

The document `optmap.mesh-certificate/1` has workload, machine, objective and the floor of every statement with the
certificates of the words that cross (`optmap.answers.proofs.chain_meshes`); `optmap check` proves it anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from optmap.base.shown import Concise
from optmap.bounds.certificate import digest
from optmap.files.machines import machine_document
from optmap.files.workloads import workload_document
from optmap.machines.machine import Machine
from optmap.questions.objective import Objective
from optmap.search.floors import Number, TurnFloor
from optmap.workloads.workload import Workload

SCHEMA = "optmap.mesh-certificate/1"


@dataclass(frozen=True, kw_only=True)
class MeshBound(Concise):
    """The floor of an objective of a workload of one statement or several, done in turn."""

    workload: Workload
    """Its outputs start empty."""
    machine: Machine
    objective: Objective
    floor: TurnFloor
    notes: tuple[str, ...] = ()

    @property
    def value(self) -> Number:
        """The least that the objective can be."""
        return self.floor.of(self.objective)

    @property
    def unit(self) -> str:
        """Of the value."""
        return self.objective.unit(self.machine)

    @cached_property
    def certificate(self) -> dict[str, Any]:
        """The document that `optmap check` verifies."""
        from optmap.answers.documents.amounts import amount
        from optmap.answers.documents.turn_parts import floor_document

        document: dict[str, Any] = {
            "schema": SCHEMA,
            "workload": workload_document(self.workload),
            "machine": machine_document(self.machine),
            "objective": self.objective.name,
            "bound": amount(self.value, self.unit),
            "floor": floor_document(self.floor),
            "notes": list(self.notes),
        }
        return {**document, "digest": digest(document)}
