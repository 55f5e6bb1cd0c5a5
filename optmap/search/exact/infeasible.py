"""Why no mapping of a workload is valid on an accelerator, and the least change that helps.

Each demand of the machine is given up alone: a capacity, the rules of one memory's loops or of one axis of its mesh, an
order, a demand to keep. Demands without which there is a mapping are the reasons; of a capacity the search says how
much would do. If none alone is the reason, several are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from optmap.clock import Clock
from optmap.errors import InfeasibleError, LimitError
from optmap.problem.accelerator import Keep
from optmap.problem.fabric import Direction, Fabric, Memory
from optmap.problem.options import Counting, Merit
from optmap.search.accelerators.request import AcceleratorRequest
from optmap.search.exact.search import search_nest

UNLIMITED = 2**62
"""Words of a memory that every tile fits."""
Text = Callable[[Callable[[Fabric], bool]], str]
"""What to say of a demand, given what tells whether a fabric has a valid mapping."""


def no_mapping(request: AcceleratorRequest) -> InfeasibleError:
    """The error of a request that no mapping meets, with the reason."""
    fabric = request.fabric
    why = reason(fabric, request.counting, request.clock)
    return InfeasibleError(f"no mapping of {fabric.workload.title} onto {fabric.machine.name} is valid: {why}")


def reason(fabric: Fabric, counting: Counting, clock: Clock) -> str:
    """What stands in the way, as the end of a sentence.

    Args:
        fabric: that no mapping is valid on.
        counting: how tiles are counted.
        clock: when to stop asking.
    """

    def valid(changed: Fabric) -> bool:
        if clock.late:
            raise LimitError("the time was over")
        return search_nest(changed, merit=Merit.CYCLES, counting=counting, clock=clock).nest is not None

    found = []
    try:
        for number in range(len(fabric.memories)):
            found += [text(valid) for changed, text in _changes(fabric, number) if valid(changed)]
    except LimitError:
        found.append("the time was over before every demand was looked at")
    if found:
        return "; or ".join(found)
    return "several of its demands together stand in the way: no single capacity, rule or demand to keep is the reason"


def _changes(fabric: Fabric, number: int) -> Iterator[tuple[Fabric, Text]]:
    """The fabric without one demand of a memory, and what to say of it."""
    memory = fabric.memories[number]
    for place in range(len(memory.rooms)):
        yield _with(fabric, number, _resized(memory, place, UNLIMITED)), _capacity_text(fabric, number, place)
    if memory.rules:
        texts = ", ".join(rule.text for rule in memory.rules)
        yield _with(fabric, number, replace(memory, rules=())), _said(f"without {texts} there is a mapping")
    if memory.order:
        yield (
            _with(fabric, number, replace(memory, order=())),
            _said(f"without the order of loops of {memory.name} there is a mapping"),
        )
    for axis, direction in (("x", memory.x), ("y", memory.y)):
        if direction.rules:
            free = Direction(size=direction.size, allowed=direction.allowed, rules=())
            rules = ", ".join(rule.text for rule in direction.rules)
            changed = replace(memory, x=free) if axis == "x" else replace(memory, y=free)
            yield _with(fabric, number, changed), _said(f"without {rules} there is a mapping")
    for place, keep in enumerate(memory.keeps):
        if keep is Keep.KEPT and number + 1 < len(fabric.memories):
            keeps = (*memory.keeps[:place], Keep.FREE, *memory.keeps[place + 1 :])
            name = fabric.operands[place].name
            yield (
                _with(fabric, number, replace(memory, keeps=keeps)),
                _said(f"if {name} may bypass {memory.name} there is a mapping"),
            )


def _said(sentence: str) -> Text:
    return lambda _: sentence


def _with(fabric: Fabric, number: int, memory: Memory) -> Fabric:
    return replace(fabric, memories=(*fabric.memories[:number], memory, *fabric.memories[number + 1 :]))


def _resized(memory: Memory, place: int, capacity: int) -> Memory:
    room = replace(memory.rooms[place], capacity=capacity)
    return replace(memory, rooms=(*memory.rooms[:place], room, *memory.rooms[place + 1 :]))


def _capacity_text(fabric: Fabric, number: int, place: int) -> Text:
    """How large a capacity would have to be: doubled until it does, then halved in between."""
    memory = fabric.memories[number]
    room = memory.rooms[place]

    def text(valid: Callable[[Fabric], bool]) -> str:
        low, high = room.capacity, 2 * room.capacity + 1
        while not valid(_with(fabric, number, _resized(memory, place, high))):
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            if valid(_with(fabric, number, _resized(memory, place, middle))):
                high = middle
            else:
                low = middle
        return (
            f"{memory.where(room)} is short by {high - room.capacity:,}: it holds {room.capacity:,}, {high:,} would do"
        )

    return text
