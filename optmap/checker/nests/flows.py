"""Counting `factorflow` on accelerators, counted anew from what FactorFlow's model says.

While a keeper holds one tile, the next keeper inside (or the units) is handed its tile, times the ways of meshes along
the tensor's dims, times the trips of the loops in between but for those inside the innermost that moves the tensor.
That loop brings in the union of its tiles, if they slide along a subscript of several dims that the mesh does not
split. The innermost memory's loops count all. Everything is handed down again whenever a loop outside the keeper moves.

Sums start empty: of R returns to a word R - 1 are read, R the trips of the counted loops and of those outside that do
not move the tensor. What leaves is read where it leaves, as often as the next keeper writes. Tiles take of capacities
what they would with strides of 1; whether they fit is for the true words.
"""

from __future__ import annotations

from fractions import Fraction
from math import prod

from ..core.footprints import reached
from ..core.tools import need
from .accesses import Counts
from .loops import Loops, Ways


class FlowCounts(Counts):
    """Accesses, energy and cycles of a mapping as FactorFlow's model has them."""

    def __init__(self, loops: Loops) -> None:
        for name, axes in loops.fabric.operands:
            dims = [dim for axis in axes for dim in axis]
            need(len(dims) == len(set(dims)), f"counting factorflow: a dim is in two subscripts of {name}")
        super().__init__(loops, timeloop=False)

    def _count(self, i: int) -> None:
        keepers = [number for number, keeps in enumerate(self.loops.keeps) if keeps[i]]
        arriving = leaving = 0
        for place in reversed(range(len(keepers))):
            keeper, inside = keepers[place], keepers[place - 1] if place else -1
            words, returns, alike = self._passing(i, inside, keeper)
            for outer in range(keeper + 1, len(self.rows)):
                words *= prod(self.loops.ways(outer).values()) * prod(self.loops.trips[outer].values())
                returns *= self._still(i, self.loops.trips[outer])
            reads = words * (returns - 1) // returns if i == 0 else words
            updates = words if i == 0 else 0
            tile = prod(1 + sum(self.loops.tiles[keeper][d] - 1 for d in axis) for axis in self.fabric.operands[i][1])
            self.rows[keeper][i] = reads + leaving, arriving, updates, tile, Fraction(alike)
            leaving = (arriving + updates) * alike if i == 0 else 0
            arriving = reads * alike

    def _still(self, i: int, factors: Ways) -> int:
        """Product of the factors of the dims that do not move a tensor."""
        return prod(n for dim, n in factors.items() if not any(dim in axis for axis in self.fabric.operands[i][1]))

    def _passing(self, i: int, inside: int, keeper: int) -> tuple[int, int, int]:
        """Words that pass a keeper's edge while it holds a tile, returns to each, children that share it."""
        axes = self.fabric.operands[i][1]
        box = dict(self.loops.inner(inside + 1))
        words, returns, alike = reached(axes, [(dim, 1, n) for dim, n in box.items()]), 1, 1
        moved = False
        for number in range(inside + 1, keeper + 1):
            memory, ways, turns = self.fabric.memories[number], self.loops.ways(number), list(self.loops.turns[number])
            shared = self._still(i, ways) if (memory.reduction if i == 0 else memory.multicast) else 1
            words, alike = words * prod(ways.values()) // shared, alike * shared
            moving = [dim for dim, _ in turns if any(dim in axis for axis in axes)]
            if number and not moved:
                while turns and turns[-1][0] != (moving[-1] if moving else None):
                    turns.pop()
                words = self._slide(axes, number, turns, words)
            moved = moved or bool(moving)
            words *= prod(n for _, n in turns)
            returns *= self._still(i, dict(turns))
        return words, returns, alike

    def _slide(self, axes: list[Ways], number: int, turns: list[tuple[str, int]], words: int) -> int:
        """Words with the innermost loop's, which is taken off, if its tiles slide; as they are if not."""
        ways = self.loops.ways(number)
        along = [axis for axis in axes if turns and turns[-1][0] in axis and len(axis) > 1]
        if not along or any(ways[dim] > 1 for dim in along[0]):
            return words
        dim, trips = turns.pop()
        steps = [(d, 1, n * ways[d]) for d, n in self.loops.inner(number).items()]
        whole = [(d, 1, n * trips if d == dim else n) for d, _, n in steps]
        return words // reached(along, steps) * reached(along, whole)

    def _energy(self, number: int) -> Fraction:
        """Of one memory: every element its share of a block and its bits, no clusters, no wires."""
        memory, total = self.fabric.memories[number], Fraction(0)
        for i, row in self.rows[number].items():
            for n, kind in zip(row[:3], ("read", "fill", "update"), strict=True):
                total += memory.widths.entries(i, n) / memory.block * memory.prices[kind]
                total += memory.widths.energy(i, kind, Fraction(n))
        return total
