"""A nest with the numbers that every operand's count needs."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import prod

from optmap.count.meshes.entering import Turn, arriving_words
from optmap.count.meshes.words import Term, groups, tile_words, visited_words
from optmap.machines.fabric import Fabric
from optmap.machines.operands import Operand
from optmap.mappings.nest import Nest
from optmap.questions.policy import Footprint, Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class NestLayout:
    """Tiles, meshes and loops of a nest; memories inner to outer, dims by number."""

    nest: Nest
    fabric: Fabric
    footprint: Footprint
    """Of tiles that are moved."""
    room: Footprint
    """Of tiles in a capacity."""
    extrapolate: bool
    """Whether loops are taken to go on as their second trip begins."""
    tiles: tuple[tuple[int, ...], ...]
    """Extent per dim of each memory's tile."""
    inners: tuple[tuple[int, ...], ...]
    """Extent per dim of the tile that each memory hands to a child."""
    ways: tuple[tuple[int, ...], ...]
    """Children per dim of each memory's mesh."""
    turns: tuple[tuple[Turn, ...], ...]
    """Temporal loops outside each memory, outermost first."""
    instances: tuple[int, ...]
    """In use, of each memory."""

    @property
    def operations(self) -> int:
        """Multiply-accumulates done, padded ones among them."""
        return prod(self.tiles[-1])

    @property
    def units(self) -> int:
        """Arithmetic units in use."""
        return prod(ways for mesh in self.ways for ways in mesh)

    def share(self, operand: Operand, inside: int, outside: int) -> Fraction:
        """Words that cross a memory's edge to its mesh per word that all levels inside receive or hand up together.

        Children of one mesh that need the same words are served at once; a memory that does not keep the operand
        hands on what its own mesh asks for.

        Args:
            operand: whose words.
            inside: number of the memory that receives; -1 for the arithmetic units.
            outside: number of the memory that serves.
        """
        served, children = 1, 1
        for number in range(inside + 1, outside + 1):
            ways, memory = self.ways[number], self.fabric.memories[number]
            if max(ways) > 1 and memory.together(operand):
                served *= groups(operand, self.inners[number], ways)
                children *= prod(ways)
        return Fraction(served, children)

    def tile_words(self, operand: Operand, number: int) -> int:
        """Words of an operand in a memory's tile."""
        return tile_words(operand, self.tiles[number], self.footprint)

    def room_words(self, operand: Operand, number: int) -> int:
        """Words that a memory's tile of an operand takes of its capacity."""
        return tile_words(operand, self.tiles[number], self.room)

    def entering(self, operand: Operand, number: int) -> int:
        """Words that all instances of a memory receive, were they to keep an operand; one per operation for -1."""
        if number < 0:
            return self.operations
        turns = self.turns[number]
        each = arriving_words(operand, self.tiles[number], turns, self.footprint, extrapolate=self.extrapolate)
        return self.instances[number] * each

    def touched(self, operand: Operand, number: int) -> int:
        """Different words of an operand that each instance of a memory ever holds, added up over the instances.

        As Timeloop has them, they are the tensor's words times the part that a child's tile is of what all children
        need, for each mesh outside.
        """
        if self.footprint is Footprint.TOUCHED:
            return self.instances[number] * visited_words(operand, _reached(self.tiles[number], self.turns[number]))
        words = Fraction(self.tile_words(operand, len(self.tiles) - 1))
        for inner, ways in zip(self.inners[number + 1 :], self.ways[number + 1 :], strict=True):
            spread = tuple(size * way for size, way in zip(inner, ways, strict=True))
            words *= Fraction(*(tile_words(operand, tile, self.footprint) for tile in (inner, spread)))
        return self.instances[number] * int(words)


def layout_of(nest: Nest, fabric: Fabric, counting: Policy, *, hulls: bool | None = None) -> NestLayout:
    """The tiles, meshes and loops of a nest.

    Args:
        nest: the mapping.
        fabric: what it is for.
        counting: how far tiles reach, and whether loops are walked or extrapolated.
        hulls: whether tiles are hulls, in capacities as well if these are counted like what is moved; None for what
            goes with `counting`.
    """
    footprint = counting.footprint if hulls is None else Footprint.HULL if hulls else Footprint.TOUCHED
    tiles = nest.tiles()
    inners = ((1,) * len(fabric.dims), *tiles[:-1])
    ways = tuple(tuple(x * y for x, y in zip(memory.x, memory.y, strict=True)) for memory in nest.memories)
    turns: list[tuple[Turn, ...]] = []
    outside: tuple[Turn, ...] = ()
    for memory, inner, way in zip(reversed(nest.memories), reversed(inners), reversed(ways), strict=True):
        turns.append(outside)
        outside += tuple((dim, inner[dim] * way[dim], trips) for dim, trips in memory.temporal)
    return NestLayout(
        nest=nest,
        fabric=fabric,
        footprint=footprint,
        room=footprint if counting.room is counting.footprint else counting.room,
        extrapolate=counting.extrapolates,
        tiles=tiles,
        inners=inners,
        ways=ways,
        turns=tuple(reversed(turns)),
        instances=tuple(nest.instances(number) for number in range(len(tiles))),
    )


def _reached(tile: tuple[int, ...], turns: tuple[Turn, ...]) -> tuple[Term, ...]:
    """The index values that a tile reaches while the loops outside it run; loops that follow on one another are one."""
    found: list[Term] = []
    for dim, size in enumerate(tile):
        step, times = 1, size
        for stride, trips in ((stride, trips) for own, stride, trips in reversed(turns) if own == dim):
            if stride == step * times:
                times *= trips
            else:
                found.append((dim, step, times))
                step, times = stride, trips
        found.append((dim, step, times))
    return tuple(found)
