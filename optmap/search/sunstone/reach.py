"""Tiles from which a user's demands on the tiles and ways of a dim can still be met, inside and outside."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from optmap.base.arrays import Ints
from optmap.machines.fabric import Direction, Fabric, Memory, Rule
from optmap.symbolic.numbers import divisors_of


class Reach:
    """Per memory and demanded dim the extents of its tile that mappings can have, as far as the dim alone says it."""

    def __init__(self, fabric: Fabric) -> None:
        self.fabric = fabric
        self.sizes = {dim: self._sizes(dim) for dim in sorted(fabric.demanded)}

    def at(self, memory: int) -> Iterator[tuple[int, Ints]]:
        """(dim, extents) of a memory's tile, of demanded dims."""
        for dim, sizes in self.sizes.items():
            yield dim, sizes[memory]

    def _sizes(self, dim: int) -> list[Ints]:
        """Per memory, inner to outer: what is reached from inside and goes on to the whole outside."""
        whole, memories = self.fabric.extents[dim], self.fabric.memories
        steps = [self._steps(memory, dim) for memory in memories]
        reached = [{1}]
        for memory, own in zip(memories, steps, strict=True):
            grown = {old * step for old, step in product(reached[-1], own) if whole % (old * step) == 0}
            reached.append({size for size in grown if _met(memory.tiles, dim, size)})
        onward = [reached[-1] & {whole}]
        for inner, own in zip(reached[-2:0:-1], reversed(steps[1:]), strict=True):
            onward.insert(0, {size for size in inner if any(size * step in onward[0] for step in own)})
        return [np.array(sorted(sizes), np.int64) for sizes in onward]

    def _steps(self, memory: Memory, dim: int) -> set[int]:
        """Trips of all loops of a memory together."""
        divisors = divisors_of(self.fabric.extents[dim])
        x, y = (self._along(direction, dim) for direction in (memory.x, memory.y))
        ways = {a * b for a, b in product(x, y) if _met(memory.ways, dim, a * b)}
        loop = memory.loopable(len(self.fabric.dims))[dim]
        trips = [n for n in divisors if (n == 1 or loop) and _met(memory.rules, dim, n)]
        return {a * b for a, b in product(ways, trips)}

    def _along(self, direction: Direction, dim: int) -> list[int]:
        divisors = divisors_of(self.fabric.extents[dim]) if direction.allowed[dim] else (1,)
        return [n for n in divisors if n <= direction.size and _met(direction.rules, dim, n)]


def _met(rules: tuple[Rule, ...], dim: int, number: int) -> bool:
    """Whether a number meets the rules of one dim alone."""
    return all(rule.relation.holds(number, rule.value) for rule in rules if rule.dims == (dim,))
