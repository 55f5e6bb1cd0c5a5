"""What files of Timeloop hold together: workload, machine and mapping."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from optmap.base.errors import InputError
from optmap.base.shown import Shown
from optmap.files.fields import Fields, located
from optmap.files.kinds import expected
from optmap.interchange.architectures import machine_of, skeleton_of
from optmap.interchange.directives import constraint_items, demands_of, directives_of, nest_from
from optmap.interchange.energies import energies_from
from optmap.interchange.hierarchy import HierarchyPart, parts_of
from optmap.interchange.problems import workload_from
from optmap.interchange.yaml_files import read_files
from optmap.machines.fabric import Fabric, fabric_of
from optmap.machines.machine import Machine
from optmap.mappings.nest import Nest
from optmap.workloads.workload import Workload, access_names

PARTIAL_KINDS = ("nest", "energies", "demands", "mapper")
"""What a file may be that means nothing without the others (see `optmap.files.kinds`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeloopModel(Shown):
    """A problem, an architecture and perhaps a mapping, read from files of Timeloop."""

    shown_as: ClassVar[str] = "timeloop-model"

    workload: Workload | None
    """None if no file has a problem."""
    machine: Machine | None
    """None if no file has an architecture."""
    nest: Nest | None
    """None without a mapping."""
    notes: tuple[str, ...]
    """What the files say that is left out."""

    @property
    def fabric(self) -> Fabric:
        """The machine as the workload sees it.

        Raises:
            InputError: without a problem or an architecture.
        """
        if self.workload is None or self.machine is None:
            missing = "problem" if self.workload is None else "architecture"
            raise InputError(f"the files have no {missing}; give the file that has it, too")
        return fabric_of(self.workload, self.machine)


def read_timeloop(paths: Sequence[str | Path]) -> TimeloopModel:
    """Read problem, architecture, energies, constraints and mapping from files of Timeloop.

    Notations of versions 0.2 to 0.4 are known, keys with hyphens or underscores. One file may have several parts.

    Args:
        paths: YAML files; a mapping needs the problem and the architecture beside it.

    Raises:
        InputError: naming file and field of the first thing that is wrong or not counted here.
    """
    top = read_files(paths)
    problem = top["problem"].fields("problem") if "problem" in top else None
    architecture = next((top[key].fields(key) for key in ("architecture", "arch") if key in top), None)
    if problem is None and architecture is None:
        for path in paths:
            with expected(path, "a problem or an architecture of Timeloop", *PARTIAL_KINDS):
                raise InputError(f"{', '.join(str(path) for path in paths)}: no problem and no architecture in it")
    workload = None if problem is None else workload_from(problem)
    if architecture is None:
        if "mapping" in top:
            raise InputError(f"{top['mapping'].at('mapping')}: a mapping needs the architecture; give its file, too")
        return TimeloopModel(workload=workload, machine=None, nest=None, notes=())
    machine, nest, notes = _mapped(top, architecture, workload)
    return TimeloopModel(workload=workload, machine=machine, nest=nest, notes=notes)


def _mapped(
    top: dict[str, Fields], architecture: Fields, workload: Workload | None
) -> tuple[Machine, Nest | None, tuple[str, ...]]:
    """Machine, mapping and notes."""
    parts = parts_of(architecture)
    skeleton = skeleton_of(parts, architecture.where)
    energies = energies_from(top["ERT"].fields("ERT")) if "ERT" in top else None
    own = [(part.name, part.constraints) for part in parts if part.constraints is not None]
    items = list(constraint_items(top, own))
    notes = _left_out(parts, energies is None)
    if workload is None:
        if items:
            notes = (*notes, "constraints are left out: they need the problem, whose dims and tensors they name")
        return machine_of(skeleton, energies, {}, Path(architecture.where.partition(": ")[0]).stem), None, notes
    dims, tensors = workload.dims, access_names(workload)
    known = _dims(top["problem"].fields("problem"), dims)
    count = len(skeleton.memories)
    demands, more = demands_of(directives_of(items, skeleton, known, tensors), dims, tensors, count)
    machine = machine_of(skeleton, energies, demands, Path(architecture.where.partition(": ")[0]).stem)
    if "mapping" not in top:
        return machine, None, (*notes, *more)
    mapping = top["mapping"]
    directives = directives_of(mapping.items("mapping"), skeleton, known, tensors)
    try:
        nest = nest_from(directives, fabric_of(workload, machine))
    except InputError as error:
        raise located(error, mapping.at("mapping")) from error
    return machine, nest, (*notes, *more)


def _dims(problem: Fields, dims: tuple[str, ...]) -> tuple[str, ...]:
    """All dims of the problem, those of size 1 that no tensor has among them."""
    listed = problem.fields("shape").get("dimensions")
    return tuple(str(dim) for dim in listed) if isinstance(listed, list) else dims


def _left_out(parts: list[HierarchyPart], priceless: bool) -> tuple[str, ...]:
    notes = [f"{part.name} is left out: wires are not priced here" for part in parts if part.kind.name == "OTHER"]
    prices = ("energy_read", "energy_fill", "energy_update", "vector_access_energy", "energy")
    if priceless and not any(part.attributes.given(key) for part in parts for key in prices):
        notes.append("no energies are given, all are 0; give the file with ERT, too")
    return tuple(notes)
