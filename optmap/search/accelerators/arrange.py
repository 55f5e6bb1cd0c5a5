"""How the children of a mapping stand on their meshes: the split among the axes with the shortest wires.

Nothing that is counted depends on it but the energy of wires, and that only mesh by mesh.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product

from optmap.base.clock import Clock
from optmap.count.meshes.layout import layout_of
from optmap.count.meshes.rules import fits_direction
from optmap.count.meshes.wires import priced_meshes, wire_energy
from optmap.machines.fabric import Fabric, Memory
from optmap.mappings.nest import MemoryNest, Nest
from optmap.questions.policy import Policy
from optmap.symbolic.numbers import divisors_of


def arranged(nest: Nest, fabric: Fabric, counting: Policy, clock: Clock) -> Nest:
    """The same mapping with the ways of every mesh split among x and y for the least energy of wires.

    What has been tried when the time is over is what there is to choose from; of several that are alike the first is
    taken, the mapping as it is before all others.
    """
    layout, memories = layout_of(nest, fabric, counting), list(nest.memories)
    for number in priced_meshes(fabric):
        least: Fraction | None = None
        for own in _splits(fabric, fabric.memories[number], nest.memories[number]):
            tried = Nest(memories=(*memories[:number], own, *memories[number + 1 :]))
            energy = sum(wire_energy(replace(layout, nest=tried), number).values(), Fraction(0))
            if least is None or energy < least:
                least, memories[number] = energy, own
            if clock.late:
                break
    return Nest(memories=tuple(memories))


def _splits(fabric: Fabric, memory: Memory, own: MemoryNest) -> Iterator[MemoryNest]:
    """The loops of a memory, as they are and with every other split of its ways that the mesh admits."""
    yield own
    ways = tuple(x * y for x, y in zip(own.x, own.y, strict=True))
    for x in product(*map(divisors_of, ways)):
        y = tuple(n // along for n, along in zip(ways, x, strict=True))
        if x != own.x and fits_direction(fabric, memory.x, x) and fits_direction(fabric, memory.y, y):
            yield replace(own, x=x, y=y, x_order=(), y_order=())
