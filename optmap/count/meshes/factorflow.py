"""Counting `factorflow`: what FactorFlow's model, which QuickFlow extends, says of a nest.

The model looks at one tile of a memory that keeps an operand, at the loops that run while it is there, and at the next
keeper inside (or the units). Whenever a loop outside moves on, all is handed down anew, though the tile inside may
still be there. While one tile of the keeper is there, with the memories in between inner first:

- A child of the innermost mesh is handed its tile: the values of each subscript, strides and gaps exact.
- A mesh multiplies by its ways along the dims of the operand: children with the same words are served at once if they
  differ in other dims alone; halos, even equal tiles, of children that differ in its own dims are not shared.
- Loops over time multiply by their trips, but for those inside the innermost loop that moves the operand: the tile
  inside stays. That loop itself, if its subscript has further dims and the mesh does not split the subscript, brings in
  the union of its tiles in place of each of them (halo).
- The innermost memory's own loops multiply, all of them: a unit holds nothing. Since only a loop that moves the operand
  ends the search for loops to leave out, a memory that serves units past the innermost one may still leave out its own.

Filled is what is handed down, once per child. Outputs are updated as often as they would be read. They start empty: of
R times that sums run over the same words, the first is not read, so (R - 1)/R of the reads are left; loops that were
left out do not count in R, all loops outside the keeper that sum do. An output that leaves is read where it leaves, the
drain: as often as the next keeper writes it, its own fills included, once per child that adds to it.

What the model does not know: whole blocks (a word costs its share of one), clusters of instances, wires and routers,
leakage. Capacities take strides as 1 (`Footprint.UNIT_STRIDES`). Its latency is the slowest port or the arithmetic, as
ours, without rounding. It has three operands; here the same is said of any number.

Source: QuickFlow section IV-A; the public code of FactorFlow (branch conv-mapper), whose counts are reproduced for
meshes that share words and units that hang on the innermost memory without a mesh. That code lets units behind a mesh
hold words, which no order of loops in a mapping of ours could say, and serves children of a mesh without multicast one
by one past a memory that does not keep the operand only; here they hold nothing and are served one by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import gcd, prod

from optmap.count.meshes.layout import NestLayout
from optmap.count.meshes.results import Accesses
from optmap.machines.fabric import Fabric, Memory
from optmap.machines.operands import Operand
from optmap.mappings.nest import Loop
from optmap.questions.policy import Footprint
from optmap.workloads.halo import distinct_values, span

Axis = tuple[tuple[int, int], ...]
"""(dim, coefficient) of one subscript."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Handed:
    """What a keeper and the next one inside exchange while the keeper holds one tile."""

    words: int
    """That pass the keeper's edge."""
    returns: int
    """How often sums come back to a word: trips of the loops that were counted and do not move the operand."""
    children: int
    """Children served by one word that passes."""


def shared_dim(fabric: Fabric) -> str | None:
    """What the model has no formula for, in words: a dim in two subscripts of one operand; None for nothing."""
    for operand in fabric.operands:
        found = [dim for axis in operand.axes for dim, _ in axis]
        twice = next((dim for dim in found if found.count(dim) > 1), None)
        if twice is not None:
            return (
                f"takes the subscripts of an operand one by one, and {fabric.dims[twice]} is in two of {operand.name}"
            )
    return None


def factorflow_accesses(layout: NestLayout, place: int, *, charge_drains: bool, bias: bool) -> dict[int, Accesses]:
    """Accesses of one operand per memory that keeps it, as the model counts them.

    Args:
        layout: of the nest; its footprint `hull` for the model's own overestimate of values.
        place: number of the operand.
        charge_drains: whether outputs that leave a memory are read there.
        bias: whether outputs start from values that are read.
    """
    operand, nest = layout.fabric.operands[place], layout.nest
    keepers = [number for number, memory in enumerate(nest.memories) if memory.keeps[place]]
    found = {}
    fills = drains = 0
    for inside, keeper in reversed(list(zip((-1, *keepers), keepers, strict=False))):
        handed = _handed(layout, operand, inside, keeper)
        outside = [loop for memory in nest.memories[keeper + 1 :] for loop in memory.temporal]
        asked = handed.words * layout.instances[keeper] * _trips(outside)
        reads = asked
        if operand.output and not bias:
            returns = handed.returns * _trips([loop for loop in outside if loop[0] not in operand.dims])
            reads = asked * (returns - 1) // returns
        updates = asked if operand.output else 0
        found[keeper] = _accesses(layout, place, keeper, (reads + drains, fills, updates), handed.children)
        drains = (fills + updates) * handed.children if operand.output and charge_drains else 0
        fills = reads * handed.children
    return found


def _handed(layout: NestLayout, operand: Operand, inside: int, keeper: int) -> Handed:
    """What passes a keeper's edge while it holds one tile."""
    child = layout.inners[inside + 1]
    words = prod(_values(axis, child, hulls=layout.footprint is Footprint.HULL) for axis in operand.axes)
    returns = children = 1
    stays = True  # whether no loop so far has moved the operand
    for number in range(inside + 1, keeper + 1):
        memory, ways = layout.fabric.memories[number], layout.ways[number]
        alike = _alike(memory, operand, ways)
        words *= prod(ways) // alike
        children *= alike
        loops = own = layout.nest.memories[number].temporal
        if stays and number:
            loops = _from_the_innermost_move(own, operand)
            halo = _halo(operand, loops, ways)
            if halo:
                before = tuple(size * n for size, n in zip(layout.inners[number], ways, strict=True))
                dim, trips = loops[-1]
                after = tuple(size * trips if at == dim else size for at, size in enumerate(before))
                words = (
                    words
                    // _values(halo, before, hulls=layout.footprint is Footprint.HULL)
                    * _values(halo, after, hulls=layout.footprint is Footprint.HULL)
                )
                loops = loops[:-1]
        stays = stays and not any(dim in operand.dims for dim, _ in own)
        words *= _trips(loops)
        returns *= _trips([loop for loop in loops if loop[0] not in operand.dims])
    return Handed(words=words, returns=returns, children=children)


def _alike(memory: Memory, operand: Operand, ways: tuple[int, ...]) -> int:
    """Children of a mesh that one word serves: those that differ in dims that do not occur in the operand."""
    if not memory.together(operand):
        return 1
    return prod(n for dim, n in enumerate(ways) if dim not in operand.dims)


def _from_the_innermost_move(loops: tuple[Loop, ...], operand: Operand) -> tuple[Loop, ...]:
    """The loops of a memory, outermost first, without those inside the innermost one that moves the operand."""
    while loops and loops[-1][0] not in operand.dims:
        loops = loops[:-1]
    return loops


def _halo(operand: Operand, loops: tuple[Loop, ...], ways: tuple[int, ...]) -> Axis:
    """The subscript along which tiles slide into one another in the innermost of some loops; empty for none."""
    if not loops:
        return ()
    axis = next(axis for axis in operand.axes if loops[-1][0] in dict(axis))
    return axis if len(axis) > 1 and all(ways[dim] == 1 for dim, _ in axis) else ()


def _values(axis: Axis, extents: tuple[int, ...], *, hulls: bool) -> int:
    """Values of a subscript; of two dims the model can take all from the first to the last, common divisors aside."""
    coefficients, box = tuple(c for _, c in axis), tuple(extents[dim] for dim, _ in axis)
    if not hulls or len(axis) != 2:
        return distinct_values(coefficients, box)
    return span(tuple(c // gcd(*coefficients) for c in coefficients), box)


def _trips(loops: list[Loop] | tuple[Loop, ...]) -> int:
    return prod(trips for _, trips in loops)


def _accesses(layout: NestLayout, place: int, keeper: int, words: tuple[int, int, int], children: int) -> Accesses:
    """Accesses with their price: every word its share of a block."""
    operand, element = layout.fabric.operands[place], layout.fabric.memories[keeper].elements[place]
    paid = sum((count * price for count, price in zip(words, element.least_pj, strict=True)), Fraction(0))
    return Accesses(
        operand=operand.name,
        reads=words[0],
        fills=words[1],
        updates=words[2],
        tile_words=layout.room_words(operand, keeper),
        multicast=Fraction(children),
        energy_pj=paid,
    )
