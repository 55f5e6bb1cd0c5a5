"""Energy of the wires and routers of a mesh, as Timeloop has it.

The words of an access enter the mesh once for each group of children that need them (`hops` says where the children
stand, and how far it is to them). A word that goes h hops passes h wires, and as many routers as whole hops, and one
more; h is the mean over the groups of its size. On a mesh of which one child is used words pass no wire, and one
router. Outside the outermost memory that keeps an operand nothing of it passes.

Counting `timeloop` has two quirks more. Where the memory inside a mesh does not keep an operand, words enter as they
are asked for, but wires carry what that memory would have received had it kept it. And partial sums of the outermost
memory are counted on their way back, too, but for their first time, by routers, and not by wires. Here every word
passes the wires that it is asked through, and an access to an output is one word on its way.
"""

from __future__ import annotations

from fractions import Fraction
from math import floor, prod

from optmap.count.meshes.hops import Board, Digit, Served, served
from optmap.count.meshes.layout import NestLayout
from optmap.count.meshes.words import groups
from optmap.machines.fabric import Fabric
from optmap.machines.operands import Operand
from optmap.mappings.nest import Nest
from optmap.questions.policy import Policy

OWN_RULE = (
    "wires of meshes are counted as Timeloop counts them, a trunk per column, with two exceptions: to a level that "
    "passes a tensor by they carry the words that pass, and an output word enters a mesh once per update, that of the "
    "outermost memory, too; counting timeloop has Timeloop's way in both"
)
"""What exact counting does in its own way, in words."""
NO_WIRES = "counting {} knows no wires: hops and routers of meshes cost nothing in it"
"""What a policy without wires leaves out."""


def priced_meshes(fabric: Fabric) -> tuple[int, ...]:
    """Numbers of the memories whose meshes have a price."""
    return tuple(number for number, memory in enumerate(fabric.memories) if memory.wired)


def wire_notes(fabric: Fabric, counting: Policy) -> tuple[str, ...]:
    """What a reader of counts should know of the price of wires; nothing where they have none.

    Args:
        fabric: what was counted.
        counting: how.
    """
    said = NO_WIRES.format(counting) if not counting.wires else "" if counting.extrapolates else OWN_RULE
    return (said,) if said and priced_meshes(fabric) else ()


def is_quirk(nest: Nest, number: int, place: int, *, output: bool) -> bool:
    """Whether Timeloop counts an operand on the mesh of a memory in a way of its own.

    Args:
        nest: the mapping.
        number: of the memory.
        place: number of the operand.
        output: whether it is the output.
    """
    bypassed = number > 0 and not nest.memories[number - 1].keeps[place]
    return bypassed or (output and number == len(nest.memories) - 1)


def wire_energy(layout: NestLayout, number: int) -> dict[str, Fraction]:
    """Energy in pJ of every operand in the mesh of a memory, all instances together; empty if it has no price."""
    if number not in priced_meshes(layout.fabric):
        return {}
    return {operand.name: _energy(layout, number, place) for place, operand in enumerate(layout.fabric.operands)}


def _energy(layout: NestLayout, number: int, place: int) -> Fraction:
    memory, operand = layout.fabric.memories[number], layout.fabric.operands[place]
    keeps = [own.keeps[place] for own in layout.nest.memories]
    if not any(keeps[number:]):
        return Fraction(0)
    sizes = _served(layout, number, operand)
    messages = layout.instances[number] * sum(size.groups for size in sizes)
    inside = max((keeper for keeper in range(number) if keeps[keeper]), default=-1)
    asked = _passing(layout, operand, inside, number) / messages
    carried, ways, first = asked, 1, 0
    if layout.extrapolate:
        carried = _passing(layout, operand, number - 1, number) / messages
        if operand.output and number == len(layout.tiles) - 1:
            ways, first = 2, layout.touched(operand, number)
    alone = max(layout.ways[number]) == 1
    wires = routers = Fraction(0)
    for size in sizes:
        words = ways * asked * size.groups - first
        if words <= 0:
            continue
        way = Fraction(0) if alone else carried * Fraction(size.doubled, 2)
        wires += way
        routers = Fraction(floor(routers + (1 + floor(way / words)) * words))
    return layout.instances[number] * (wires * memory.hop_pj + routers * memory.router_pj)


def _passing(layout: NestLayout, operand: Operand, inside: int, number: int) -> Fraction:
    """Words that enter the meshes of a memory if the next memory inside that keeps the operand is that one."""
    return layout.entering(operand, inside) * layout.share(operand, inside, number)


def _served(layout: NestLayout, number: int, operand: Operand) -> tuple[Served, ...]:
    """The groups of children of a memory that are served together."""
    memory, own, inner = layout.fabric.memories[number], layout.nest.memories[number], layout.inners[number]
    digits: tuple[Digit, ...] = tuple(
        (tuple(dict(axis).get(dim, 0) * inner[dim] * step for axis in operand.axes), ways)
        for dim, step, ways in own.numbering
    )
    board = Board(max(memory.x.size, prod(own.x)), max(memory.y.size, prod(own.y)))
    together = memory.together(operand)
    return served(digits, board, groups(operand, inner, layout.ways[number]) if together else None)
