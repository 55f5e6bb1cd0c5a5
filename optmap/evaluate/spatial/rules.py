"""What makes a nest invalid on a machine, in words."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from optmap.evaluate.spatial.words import tile_words
from optmap.problem.accelerator import Keep
from optmap.problem.fabric import Direction, Fabric, Memory, Rule
from optmap.problem.nest import MemoryNest, Nest
from optmap.problem.options import Counting


def broken_rules(nest: Nest, fabric: Fabric, counting: Counting = Counting.EXACT) -> tuple[str, ...]:
    """The rules of the machine that a mapping breaks, each with level, dim and numbers; empty for a valid one.

    Args:
        nest: the mapping.
        fabric: the machine as the workload sees it.
        counting: how tiles are counted against capacities: exactly, or as hulls for `timeloop`.
    """
    return tuple(_broken(nest, fabric, counting))


def _broken(nest: Nest, fabric: Fabric, counting: Counting) -> Iterator[str]:
    tiles = nest.tiles()
    for dim, extent, size in zip(fabric.dims, fabric.extents, tiles[-1], strict=True):
        if size < extent:
            yield f"{dim}: the loops cover {size:,} of {extent:,}"
    for place, operand in enumerate(fabric.operands):
        if not any(memory.keeps[place] for memory in nest.memories):
            yield f"{operand.name} is kept by no memory"
    for memory, own, tile in zip(fabric.memories, nest.memories, tiles, strict=True):
        yield from _keeping(fabric, memory, own)
        yield from _room(fabric, memory, own, tile, counting)
        yield from _direction(fabric, f"{memory.name}, axis x", memory.x, own.x)
        yield from _direction(fabric, f"{memory.name}, axis y", memory.y, own.y)
        trips = tuple(own.trips(dim) for dim in range(len(fabric.dims)))
        yield from _factors(memory.rules, trips)
        yield from _order(fabric, memory, own)


def _keeping(fabric: Fabric, memory: Memory, own: MemoryNest) -> Iterator[str]:
    for operand, demand, kept in zip(fabric.operands, memory.keeps, own.keeps, strict=True):
        if demand is Keep.KEPT and not kept:
            yield f"{memory.name}: {operand.name} bypasses it, but must be kept"
        if demand is Keep.REFUSED and kept:
            yield f"{memory.name}: {operand.name} is kept, but must bypass it"


def _room(fabric: Fabric, memory: Memory, own: MemoryNest, tile: tuple[int, ...], counting: Counting) -> Iterator[str]:
    for room in memory.rooms:
        parts = [
            (fabric.operands[place], weight)
            for place, weight in zip(room.operands, room.weights, strict=True)
            if own.keeps[place]
        ]
        needs = [
            (operand.name, weight * tile_words(operand, tile, hulls=counting is Counting.TIMELOOP))
            for operand, weight in parts
        ]
        total = sum(words for _, words in needs)
        if total > room.capacity:
            where = memory.name if room.name == memory.name else f"{memory.name}, {room.name}"
            listed = " + ".join(f"{name} {words:,}" for name, words in needs)
            yield f"{where}: the tiles need {total:,} ({listed}), it holds {room.capacity:,}"


def _direction(fabric: Fabric, where: str, direction: Direction, ways: tuple[int, ...]) -> Iterator[str]:
    used = prod(ways)
    if used > direction.size:
        split = " x ".join(f"{dim} {n}" for dim, n in zip(fabric.dims, ways, strict=True) if n > 1)
        yield f"{where}: {used:,} children are needed ({split}), there are {direction.size:,}"
    for dim, n, allowed in zip(fabric.dims, ways, direction.allowed, strict=True):
        if n > 1 and not allowed:
            yield f"{where}: {dim} is unrolled {n} times, which is not allowed here"
    yield from _factors(direction.rules, ways)


def _factors(rules: tuple[Rule, ...], trips: tuple[int, ...]) -> Iterator[str]:
    for rule in rules:
        if not rule.admits(trips):
            yield f"{rule.text} is asked for, the mapping has {rule.product(trips)}"


def _order(fabric: Fabric, memory: Memory, own: MemoryNest) -> Iterator[str]:
    """A named entry takes the loops of its dims, a gap those of dims that are not named."""
    named = {dim for entry in memory.order if entry is not None for dim in entry}
    loops = [dim for dim, _ in own.temporal]
    left = list(loops)
    for entry in memory.order:
        while left and (left[0] not in named if entry is None else left[0] in entry):
            left.pop(0)
    if memory.order and left:
        asked = ",".join(
            "..." if entry is None else "+".join(fabric.dims[dim] for dim in entry) for entry in memory.order
        )
        yield (
            f"{memory.name}: the loops are {','.join(fabric.dims[dim] for dim in loops)}, outermost first; the order "
            f"{asked} is asked for"
        )
