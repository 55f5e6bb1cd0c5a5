"""What makes a nest invalid on a machine, in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf, prod

from optmap.base.texts import several
from optmap.count.meshes.words import tile_words
from optmap.machines.accelerator import KeepRule
from optmap.machines.elements import whole
from optmap.machines.fabric import Direction, Fabric, Memory, Rule
from optmap.mappings.nest import MemoryNest, Nest
from optmap.questions.policy import Footprint


@dataclass(frozen=True, slots=True, kw_only=True)
class Overflow:
    """Tiles that a memory, or a part of it, cannot hold."""

    memory: str
    """With the part, if it has parts."""
    tiles: tuple[tuple[str, int], ...]
    """(operand, words of the capacity that its tile takes) of those that are kept."""
    capacity: int
    """Words for one working set."""

    @property
    def needed(self) -> int:
        """Words of all tiles together."""
        return sum(words for _, words in self.tiles)

    @property
    def ratio(self) -> float:
        """Needed over capacity."""
        return self.needed / self.capacity if self.capacity else inf

    @property
    def text(self) -> str:
        """In words."""
        return f"{self.memory} is asked to hold {self.needed:,} of {self.capacity:,}: {self.ratio:.2f} times"


def overflows(nest: Nest, fabric: Fabric, room: Footprint = Footprint.TOUCHED) -> tuple[Overflow, ...]:
    """The rooms of memories that the tiles of a mapping do not fit, inner memories first.

    Args:
        nest: the mapping.
        fabric: the machine as the workload sees it.
        room: what a tile takes of a capacity (`Policy.room`).
    """
    places = zip(fabric.memories, nest.memories, nest.tiles(), strict=True)
    return tuple(found for memory, own, tile in places for found in _overfull(fabric, memory, own, tile, room))


def _overfull(
    fabric: Fabric, memory: Memory, own: MemoryNest, tile: tuple[int, ...], footprint: Footprint
) -> Iterator[Overflow]:
    for room in memory.rooms:
        tiles = tuple(
            (operand.name, whole(tile_words(operand, tile, footprint), weight))
            for place, weight in zip(room.operands, room.weights, strict=True)
            for operand in (fabric.operands[place],)
            if own.keeps[place]
        )
        found = Overflow(memory=memory.where(room), tiles=tiles, capacity=room.capacity)
        if found.needed > room.capacity:
            yield found


def broken_rules(nest: Nest, fabric: Fabric, room: Footprint = Footprint.TOUCHED) -> tuple[str, ...]:
    """The rules of the machine that a mapping breaks, each with level, dim and numbers; empty for a valid one.

    Args:
        nest: the mapping.
        fabric: the machine as the workload sees it.
        room: what a tile takes of a capacity (`Policy.room`).
    """
    return tuple(_broken(nest, fabric, room))


def _broken(nest: Nest, fabric: Fabric, room: Footprint) -> Iterator[str]:
    tiles = nest.tiles()
    for dim, extent, size in zip(fabric.dims, fabric.extents, tiles[-1], strict=True):
        if size < extent:
            yield f"{dim}: the loops cover {size:,} of {extent:,}"
    for place, operand in enumerate(fabric.operands):
        if not any(memory.keeps[place] for memory in nest.memories):
            yield f"{operand.name} is kept by no memory"
    for memory, own, tile in zip(fabric.memories, nest.memories, tiles, strict=True):
        yield from _keeping(fabric, memory, own)
        for found in _overfull(fabric, memory, own, tile, room):
            listed = " + ".join(f"{name} {words:,}" for name, words in found.tiles)
            yield f"{found.memory}: the tiles need {found.needed:,} ({listed}), it holds {found.capacity:,}"
        yield from _factors(memory.tiles, tile)
        yield from _direction(fabric, f"{memory.name}, axis x", memory.x, own.x)
        yield from _direction(fabric, f"{memory.name}, axis y", memory.y, own.y)
        yield from _factors(memory.ways, tuple(x * y for x, y in zip(own.x, own.y, strict=True)))
        trips = tuple(own.trips(dim) for dim in range(len(fabric.dims)))
        yield from _factors(memory.rules, trips)
        yield from _order(fabric, memory, own)


def _keeping(fabric: Fabric, memory: Memory, own: MemoryNest) -> Iterator[str]:
    for operand, demand, kept in zip(fabric.operands, memory.keeps, own.keeps, strict=True):
        if demand is KeepRule.KEPT and not kept:
            yield f"{memory.name}: {operand.name} bypasses it, but must be kept"
        if demand is KeepRule.REFUSED and kept:
            yield f"{memory.name}: {operand.name} is kept, but must bypass it"


def fits_direction(fabric: Fabric, direction: Direction, ways: tuple[int, ...]) -> bool:
    """Whether ways per dim are not too many for an axis of a mesh, and keep to its rules."""
    return next(_direction(fabric, "", direction, ways), None) is None


def _direction(fabric: Fabric, where: str, direction: Direction, ways: tuple[int, ...]) -> Iterator[str]:
    used = prod(ways)
    if used > direction.size:
        split = " x ".join(f"{dim} {n}" for dim, n in zip(fabric.dims, ways, strict=True) if n > 1)
        yield f"{where}: {used:,} children are needed ({split}), there are {direction.size:,}"
    for dim, n, allowed in zip(fabric.dims, ways, direction.allowed, strict=True):
        if n > 1 and not allowed:
            yield f"{where}: {dim} is unrolled {several(n, 'time')}, which is not allowed here"
    yield from _factors(direction.rules, ways)


def _factors(rules: tuple[Rule, ...], trips: tuple[int, ...]) -> Iterator[str]:
    for rule in rules:
        if not rule.admits(trips):
            yield f"{rule.text} is asked for, the mapping has {rule.product(trips)}"


def _order(fabric: Fabric, memory: Memory, own: MemoryNest) -> Iterator[str]:
    loops = tuple(dim for dim, _ in own.temporal)
    if memory.unordered(loops):
        asked = ",".join(
            "..." if entry is None else "+".join(fabric.dims[dim] for dim in entry) for entry in memory.order
        )
        yield (
            f"{memory.name}: the loops are {','.join(fabric.dims[dim] for dim in loops)}, outermost first; the order "
            f"{asked} is asked for"
        )
