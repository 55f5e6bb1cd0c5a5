"""Why no mapping of a workload is valid on an accelerator, and the least change that helps.

Each demand of the machine is given up alone: a capacity, the rules of one memory's loops or of one axis of its mesh, an
order, a demand to keep. Demands without which there is a mapping are the reasons; of a capacity it is known
how much would do. If none alone is the reason, all capacities together are looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from optmap.base.errors import LimitError
from optmap.machines.accelerator import KeepRule
from optmap.machines.fabric import Direction, Fabric, Memory, SharedRoom
from optmap.questions.policy import Policy
from optmap.search.accelerators.feasible import Chain, Tile, chain_of, needed
from optmap.search.space.shortage import shortage

UNLIMITED = 2**62
"""Words of a memory that every tile fits."""
Place = tuple[int, int]
"""Number of a memory, and of one of its rooms."""


def reason(fabric: Fabric, counting: Policy) -> str:
    """What stands in the way, as the end of a sentence.

    Args:
        fabric: that no mapping is valid on.
        counting: how tiles are counted.
    """
    found = short_rooms(fabric, counting)
    found += [text for changed, text in _changes(fabric) if _chain(changed, counting) is not None]
    if found:
        return "; or ".join(found)
    together = _enough(fabric, tuple(_rooms(fabric)), counting)
    return together or (
        "several of its demands together stand in the way: no single capacity, rule or demand to keep is the reason"
    )


def short_rooms(fabric: Fabric, counting: Policy) -> list[str]:
    """The capacities that stand in the way alone, each with what would do.

    Args:
        fabric: that no mapping is valid on.
        counting: how tiles are counted.
    """
    alone = (_enough(fabric, (place,), counting) for place in _rooms(fabric))
    return [text for text in alone if text]


def _chain(fabric: Fabric, counting: Policy) -> Chain | None:
    """Tiles of some mapping; None if there is none, or it is not known."""
    try:
        return chain_of(fabric, counting)
    except LimitError:
        return None


def _rooms(fabric: Fabric) -> Iterator[Place]:
    for number, memory in enumerate(fabric.memories):
        yield from ((number, place) for place in range(len(memory.rooms)))


def _enough(fabric: Fabric, places: tuple[Place, ...], counting: Policy) -> str | None:
    """Which of some rooms are short, and how large they would have to be; None if that alone does not help."""
    sizes = dict.fromkeys(places, UNLIMITED)
    if _chain(_sized(fabric, sizes), counting) is None:
        return None
    texts = []
    for number, place in places:
        room = fabric.memories[number].rooms[place]
        low, high = room.capacity - 1, 2 * room.capacity + 1
        while (chain := _chain(_sized(fabric, {**sizes, (number, place): high}), counting)) is None:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            inside = _chain(_sized(fabric, {**sizes, (number, place): middle}), counting)
            low, high, chain = (middle, high, chain) if inside is None else (low, middle, inside)
        sizes[number, place] = max(high, room.capacity)
        if high > room.capacity:
            texts.append(_short(fabric, number, room, chain[number], counting))
    return " and ".join(texts)


def _sized(fabric: Fabric, sizes: dict[Place, int]) -> Fabric:
    """The fabric with other capacities of some rooms."""
    memories = list(fabric.memories)
    for (number, place), size in sizes.items():
        rooms = list(memories[number].rooms)
        rooms[place] = replace(rooms[place], capacity=size)
        memories[number] = replace(memories[number], rooms=tuple(rooms))
    return replace(fabric, memories=tuple(memories))


def _short(fabric: Fabric, number: int, room: SharedRoom, tile: Tile, counting: Policy) -> str:
    """What a room is short of for the least tile that leaves a mapping."""
    memory, level = fabric.memories[number], fabric.machine.levels[number]
    own = next((part.capacity for part in level.partitions if part.name == room.name), level.capacity)
    entry = None if level.store is None else level.store.word_bits
    return shortage(
        memory.where(room),
        own,
        needed(fabric, memory, room, tile, counting),
        dict(zip(fabric.dims, tile, strict=True)),
        entry_bits=entry or fabric.workload.word_bits,
        buffering=level.buffering,
        words=own.unit == "words" and entry is None,
    )


def _changes(fabric: Fabric) -> Iterator[tuple[Fabric, str]]:
    """The fabric without one demand that is no capacity, and what to say of it."""
    for number, memory in enumerate(fabric.memories):
        if memory.rules:
            texts = ", ".join(rule.text for rule in memory.rules)
            yield _with(fabric, number, replace(memory, rules=())), f"without {texts} there is a mapping"
        if memory.order:
            text = f"without the order of loops of {memory.name} there is a mapping"
            yield _with(fabric, number, replace(memory, order=())), text
        for axis, direction in (("x", memory.x), ("y", memory.y)):
            if direction.rules:
                free = Direction(size=direction.size, allowed=direction.allowed, rules=())
                rules = ", ".join(rule.text for rule in direction.rules)
                changed = replace(memory, x=free) if axis == "x" else replace(memory, y=free)
                yield _with(fabric, number, changed), f"without {rules} there is a mapping"
        for place, keep in enumerate(memory.keeps):
            if keep is KeepRule.KEPT and _held_elsewhere(fabric, number, place):
                keeps = (*memory.keeps[:place], KeepRule.FREE, *memory.keeps[place + 1 :])
                text = f"if {fabric.operands[place].name} may bypass {memory.name} there is a mapping"
                yield _with(fabric, number, replace(memory, keeps=keeps)), text


def _held_elsewhere(fabric: Fabric, number: int, place: int) -> bool:
    """Whether an operand comes from another memory if it may bypass one: one that must keep it, or the outermost."""
    others = [memory.keeps[place] for other, memory in enumerate(fabric.memories) if other != number]
    return number + 1 < len(fabric.memories) and (KeepRule.KEPT in others or others[-1] is KeepRule.FREE)


def _with(fabric: Fabric, number: int, memory: Memory) -> Fabric:
    return replace(fabric, memories=(*fabric.memories[:number], memory, *fabric.memories[number + 1 :]))
