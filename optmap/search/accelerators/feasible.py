"""Whether an accelerator has any mapping of a workload: tiles of all memories that keep to every rule and fit.

Loop orders, and what is kept where that is open, can always be chosen so that nothing else is in the way. From the
innermost memory outwards go all tiles that rules leave, and of the dims of which the outermost memory takes any
number of trips only the least: whatever fits around a tile fits around a part of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod

from optmap.base.errors import LimitError
from optmap.count.meshes.words import tile_words
from optmap.machines.accelerator import KeepRule
from optmap.machines.elements import whole
from optmap.machines.fabric import Direction, Fabric, Memory, Rule, SharedRoom
from optmap.machines.relations import Relation
from optmap.questions.policy import Policy
from optmap.symbolic.numbers import divisors_of

Tile = tuple[int, ...]
"""Extent per dim."""
Chain = tuple[Tile, ...]
"""A tile per bounded memory, inner to outer."""

MOST = 200_000
"""Trips that are looked at, of all tiles together: machines with rules have some hundreds."""
FEW = 1_000
"""Tiles up to which those that have another one inside are left out."""


def chain_of(fabric: Fabric, counting: Policy) -> Chain | None:
    """Tiles of the memories of some mapping with perfect factors, small ones; None if the machine has no mapping.

    Args:
        fabric: machine and workload.
        counting: how tiles are counted against capacities.

    Raises:
        LimitError: if the rules leave too many tiles to be looked at.
    """
    return _InwardWalk(fabric, counting).chain()


def needed(fabric: Fabric, memory: Memory, room: SharedRoom, tile: Tile, counting: Policy) -> dict[str, int]:
    """What a tile takes of a room, per operand that must be kept there, in the unit of its capacity."""
    return {
        fabric.operands[place].name: whole(tile_words(fabric.operands[place], tile, counting.room), weight)
        for place, weight in zip(room.operands, room.weights, strict=True)
        if memory.keeps[place] is KeepRule.KEPT
    }


@dataclass
class _InwardWalk:
    """From inner memories to outer ones."""

    fabric: Fabric
    counting: Policy
    looked: int = 0
    """Trips until now."""

    @cached_property
    def loose(self) -> tuple[bool, ...]:
        """Per dim, whether the outermost memory takes any number of its trips."""
        outermost, dims = self.fabric.memories[-1], len(self.fabric.dims)
        held = {dim for rule in outermost.rules if rule.relation is not Relation.AT_LEAST for dim in rule.dims}
        for memory in self.fabric.memories:
            rules = (*memory.tiles, *memory.ways)
            held |= {dim for rule in rules if rule.relation is not Relation.AT_MOST for dim in rule.dims}
        return tuple(loop and dim not in held for dim, loop in zip(range(dims), outermost.loopable(dims), strict=True))

    def chain(self) -> Chain | None:
        """Tiles of all bounded memories, of the first way through."""
        fabric, dims = self.fabric, len(self.fabric.dims)
        found: dict[Tile, Chain] = {(1,) * dims: ()}
        for memory in fabric.memories[:-1]:
            found = self._spread(found, memory)
            found = self._step(found, memory.rules, memory.loopable(dims), None)
            held = {tile: (*chain, tile) for tile, chain in found.items() if self._fits(memory, tile)}
            found = self._least(held)
        outermost = fabric.memories[-1]
        found = self._spread(found, outermost)
        for tile, chain in found.items():
            rest = self._rest(tile)
            admitted = all(rule.admits(rest) for rule in outermost.rules)
            if admitted and all(n == 1 or loop for n, loop in zip(rest, outermost.loopable(dims), strict=True)):
                return chain
        return None

    def _rest(self, tile: Tile) -> Tile:
        return tuple(extent // size for extent, size in zip(self.fabric.extents, tile, strict=True))

    def _fits(self, memory: Memory, tile: Tile) -> bool:
        return all(rule.admits(tile) for rule in memory.tiles) and all(
            sum(needed(self.fabric, memory, room, tile, self.counting).values()) <= room.capacity
            for room in memory.rooms
        )

    def _spread(self, found: dict[Tile, Chain], memory: Memory) -> dict[Tile, Chain]:
        """Every tile with what the mesh of a memory may add to it."""
        if not memory.ways:
            return self._within(self._within(found, memory.x), memory.y)
        grown: dict[Tile, Chain] = {}
        for tile, chain in found.items():
            for wide in self._within(self._within({tile: chain}, memory.x), memory.y):
                ways = tuple(a // b for a, b in zip(wide, tile, strict=True))
                if all(rule.admits(ways) for rule in memory.ways):
                    grown.setdefault(wide, chain)
        return grown

    def _within(self, found: dict[Tile, Chain], direction: Direction) -> dict[Tile, Chain]:
        return self._step(found, direction.rules, direction.allowed, direction.size)

    def _step(
        self, found: dict[Tile, Chain], rules: Sequence[Rule], allowed: Sequence[bool], most: int | None
    ) -> dict[Tile, Chain]:
        """Every tile with what the loops of one place may add to it."""
        still = (1,) * len(self.fabric.dims)
        asked = {dim for rule in rules if not rule.admits(still) for dim in rule.dims}
        grown: dict[Tile, Chain] = {}
        for tile, chain in found.items():
            choices = [
                divisors_of(rest) if may and (dim in asked or not loose) else (1,)
                for dim, (rest, may, loose) in enumerate(zip(self._rest(tile), allowed, self.loose, strict=True))
            ]
            self.looked += prod(map(len, choices))
            if self.looked > MOST:
                raise LimitError("the rules of the machine leave too many tiles")
            for trips in product(*choices):
                if (most is None or prod(trips) <= most) and all(rule.admits(trips) for rule in rules):
                    grown.setdefault(tuple(a * b for a, b in zip(tile, trips, strict=True)), chain)
        return grown

    def _least(self, found: dict[Tile, Chain]) -> dict[Tile, Chain]:
        """Without tiles that have another one inside, of which the outermost memory takes what is left of them."""
        if len(found) > FEW:
            return found
        kept: list[Tile] = []
        for tile in sorted(found, key=prod):
            if not any(self._inside(other, tile) for other in kept):
                kept.append(tile)
        return {tile: found[tile] for tile in kept}

    def _inside(self, tile: Tile, other: Tile) -> bool:
        return all((b % a == 0) if loose else a == b for a, b, loose in zip(tile, other, self.loose, strict=True))
