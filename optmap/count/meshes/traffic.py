"""Reads, fills and updates of one operand on its way through the memories that keep it."""

from __future__ import annotations

from fractions import Fraction

from optmap.count.meshes.layout import NestLayout
from optmap.count.meshes.prices import access_energy
from optmap.count.meshes.results import Accesses


def accesses_of(
    layout: NestLayout, place: int, *, charge_drains: bool = False, bias: bool = False
) -> dict[int, Accesses]:
    """Accesses of one operand per memory that keeps it.

    The innermost keeper serves every operation, each further one what the keeper inside it takes in. An output's
    update reads what is there already, but for the first one of each word and instance; in the same way a
    word that has never been updated is not filled. Nothing is filled into the outermost keeper. Hulls of strided
    outputs hold words that no update touches; no more reads and fills are left out than there are.

    Args:
        layout: of the nest.
        place: number of the operand.
        charge_drains: whether what leaves a memory for the next one outside is read there at a price.
        bias: whether outputs start from values that are read: then no update and no fill is left out.
    """
    operand = layout.fabric.operands[place]
    keepers = [number for number, memory in enumerate(layout.nest.memories) if memory.keeps[place]]
    found = {}
    for inside, keeper in zip((-1, *keepers), keepers, strict=False):
        outermost = keeper == keepers[-1]
        share = layout.share(operand, inside, keeper)
        asked = int(layout.entering(operand, inside) * share)
        entering = 0 if outermost else layout.entering(operand, keeper)
        first = layout.touched(operand, keeper) if operand.output and not bias else 0
        found[keeper] = _accesses(
            layout,
            place,
            keeper,
            reads=max(0, asked - first) + (entering if operand.output and charge_drains else 0),
            fills=0 if outermost else max(0, entering - first),
            updates=asked if operand.output else 0,
            multicast=1 / share,
        )
    return found


def _accesses(
    layout: NestLayout, place: int, keeper: int, *, reads: int, fills: int, updates: int, multicast: Fraction
) -> Accesses:
    operand, memory = layout.fabric.operands[place], layout.fabric.memories[keeper]
    return Accesses(
        operand=operand.name,
        reads=reads,
        fills=fills,
        updates=updates,
        tile_words=layout.room_words(operand, keeper),
        multicast=multicast,
        energy_pj=access_energy(
            memory,
            memory.elements[place],
            (reads, fills, updates),
            used=layout.instances[keeper],
            clusters=layout.fabric.clusters(keeper),
        ),
    )
