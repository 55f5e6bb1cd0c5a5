"""What words cost that pass a level by themselves, outside the nest of any statement: word by word, one after another.

A tensor that is brought to stay is read in the memory that has it and filled in the one that is to have it; one that is
taken away is updated outside. Each memory pays for whole blocks, and its ports are busy as long as what passes them
takes; the slowest port decides.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from optmap.count.meshes.prices import access_energy, port_loads
from optmap.count.meshes.results import Accesses
from optmap.machines.fabric import Fabric

Words = tuple[int, int, int]
"""Reads, fills and updates."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passing:
    """Words that pass in one go."""

    accesses: tuple[tuple[int, Accesses], ...] = ()
    """Number of the memory, and what of one tensor is accessed there."""
    energy_pj: Fraction = Fraction(0)
    cycles: int = 0
    """Of the slowest port."""


def passage(fabric: Fabric, moves: Iterable[tuple[int, int, Words]]) -> Passing:
    """What accesses cost that are made in one go, each memory being one instance.

    Args:
        fabric: a statement that has the tensors.
        moves: per memory and number of a tensor's access the words of it.
    """
    found: list[tuple[int, Accesses]] = []
    elements: dict[int, list[int]] = {}
    for number, place, (reads, fills, updates) in moves:
        memory = fabric.memories[number]
        clusters = min(1, fabric.clusters(number))
        paid = access_energy(memory, memory.elements[place], (reads, fills, updates), used=1, clusters=clusters)
        row = Accesses(
            operand=fabric.operands[place].name,
            reads=reads,
            fills=fills,
            updates=updates,
            tile_words=0,
            multicast=Fraction(1),
            energy_pj=paid,
        )
        found.append((number, row))
        elements.setdefault(number, []).append(place)
    cycles = 0
    for number, places in elements.items():
        memory = fabric.memories[number]
        rows = [row for other, row in found if other == number]
        loads = port_loads(memory, [memory.elements[place] for place in places], rows, 1)
        cycles = max([cycles, *(ceil(load.cycles) for load in loads)])
    return Passing(
        accesses=tuple(found), energy_pj=sum((row.energy_pj for _, row in found), Fraction(0)), cycles=cycles
    )


def brought(fabric: Fabric, place: int, ends: tuple[int, int], elements: int) -> tuple[Passing, Passing]:
    """What one content of a tensor costs that comes to stay, and one that goes.

    Args:
        fabric: a statement that has the tensor.
        place: number of its access.
        ends: numbers of the memory that it comes from and of the one where it stays.
        elements: of the content.
    """
    source, level = ends
    come = passage(fabric, [(source, place, (elements, 0, 0)), (level, place, (0, elements, 0))])
    go = passage(fabric, [(source, place, (0, 0, elements)), (level, place, (0, 0, 0))])
    return come, go
