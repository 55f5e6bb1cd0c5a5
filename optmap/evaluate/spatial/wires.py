"""Energy of the wires and routers of a mesh.

Words enter a mesh at the middle of its left edge, run along the rows as far as needed and then along the
columns. A word for several children takes the longest way right, and then a way up or down for each.
Children stand in reading order, the dims along x inside those along y, the last dim innermost; a row has as many as the
mesh is wide, whatever is unrolled along x. All of this is Timeloop's, and so is a quirk: where the level inside does
not keep an operand, the wires carry what it would have received had it kept it.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import floor, prod

from optmap.evaluate.spatial.layout import Layout
from optmap.problem.fabric import Operand


def wire_energy(layout: Layout, number: int) -> Fraction:
    """Energy in pJ of what moves through the meshes of a memory, all instances together."""
    memory = layout.fabric.memories[number]
    if not memory.hop_pj and not memory.router_pj:
        return Fraction(0)
    return sum((_operand_energy(layout, number, place) for place in range(len(layout.fabric.operands))), Fraction(0))


def _operand_energy(layout: Layout, number: int, place: int) -> Fraction:
    memory, operand = layout.fabric.memories[number], layout.fabric.operands[place]
    keeps = [memory.keeps[place] for memory in layout.nest.memories]
    if not any(keeps[number:]):
        return Fraction(0)  # what no memory outside keeps does not pass
    inside = max((keeper for keeper in range(number) if keeps[keeper]), default=-1)
    words = layout.entering(operand, inside) * layout.share(operand, inside, number)
    carried = layout.entering(operand, number - 1) * layout.share(operand, number - 1, number)
    hops = _mean_hops(layout, number, operand) * carried / words
    return words * (hops * memory.hop_pj + (1 + floor(hops)) * memory.router_pj)


def _mean_hops(layout: Layout, number: int, operand: Operand) -> Fraction:
    """Hops of one word, the mean over the groups of children that are served together."""
    memory, own, inner = layout.fabric.memories[number], layout.nest.memories[number], layout.inners[number]
    wide, high = max(memory.x.size, prod(own.x)), max(memory.y.size, prod(own.y))
    alone = not memory.together(operand)
    right: dict[object, int] = {}
    upright = Fraction(0)
    for place, index in enumerate(product(*map(range, (*own.y, *own.x)))):
        at = [
            y * own.x[dim] + x for dim, (y, x) in enumerate(zip(index[: len(own.y)], index[len(own.y) :], strict=True))
        ]
        needs = tuple(sum(factor * inner[dim] * at[dim] for dim, factor in axis) for axis in operand.axes)
        row, column = divmod(place, wide)
        group = place if alone else needs
        right[group] = max(right.get(group, 0), column)
        upright += abs(row - Fraction(high - 1, 2))
    return (sum(right.values()) + upright) / len(right)
