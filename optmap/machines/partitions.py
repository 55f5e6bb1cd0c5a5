"""Which tensors share which part of a level, and how many words each part has."""

from __future__ import annotations

from dataclasses import dataclass

from optmap.base.errors import InputError
from optmap.machines.machine import Level
from optmap.workloads.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityGroup:
    """Tensors that share an amount of memory."""

    name: str
    """Name of the partition, or of the whole level."""
    words: int
    """Words that one working set may take: the capacity divided by the buffering."""
    tensors: tuple[int, ...]
    """Their numbers in `workload.tensors`."""


def capacity_groups(workload: Workload, level: Level) -> tuple[CapacityGroup, ...]:
    """The capacity constraints of a level for a workload.

    Args:
        workload: gives the tensors and the size of a word.
        level: a unified level (one group) or one with partitions (one group each; a partition
            without a tensor of this workload has none).

    Raises:
        InputError: for a tensor that belongs in no partition or in several.
    """
    every = tuple(range(len(workload.tensors)))
    size = workload.word_bits
    if not level.partitions:
        return (CapacityGroup(name=level.name, words=level.words(size), tensors=every),)
    homes: dict[int, list[str]] = {}
    groups = []
    for part in level.partitions:
        inside = tuple(i for i in every if _belongs(workload, i, part.tensors))
        for i in inside:
            homes.setdefault(i, []).append(part.name)
        if inside:
            words = part.capacity.words(size) // level.buffering
            groups.append(CapacityGroup(name=part.name, words=words, tensors=inside))
    for i in every:
        if len(homes.get(i, ())) != 1:
            found = " and ".join(homes[i]) if i in homes else "no partition"
            raise InputError(
                f"level {level.name}: tensor {workload.tensors[i].name} of {workload.title} belongs in {found}; "
                "give every tensor one partition (inputs, output, or names)"
            )
    return tuple(groups)


def _belongs(workload: Workload, number: int, names: tuple[str, ...]) -> bool:
    role = "inputs" if number else "output"
    return role in names or workload.tensors[number].name in names
