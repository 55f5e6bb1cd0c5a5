"""A literal walk of a nest on an accelerator: what the closed form of `count` is tested against.

Every temporal step and every child is visited, and real sets of words are held. It shares no code with what it
checks, and reads the definitions word for word:

- At every step of the temporal loops outside a memory each of its instances needs its tile: every word that an
  operation of its loops and those inside it touches. Of its **previous tile**, that of the step before, it keeps

  - all, if no subscript of the operand has moved;
  - what is in both tiles, if exactly one subscript moved, and the walk has just been reset or the last step that moved
    the tile moved that subscript by as much;
  - nothing otherwise. Then the walk is reset, as it is before the first step.

  What it has not kept enters, what it has not kept of the previous tile leaves, at the end everything leaves.
- An arithmetic unit holds nothing: at every step it receives one word of each operand and hands up an output's.
- Children that receive (or hand up) the same words at a step are served together, if their mesh can; a memory that
  does not keep the operand passes on what its own mesh asks of it, and is compared with others by that.
- An output word is updated where it arrives. Unless it is the first time in this instance, it is read before.
- A word of an output that enters an instance for the first time is not filled: it starts empty.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product

from optmap.base.errors import LimitError
from optmap.machines.fabric import Fabric
from optmap.machines.operands import Operand
from optmap.mappings.nest import Nest

Word = tuple[int, ...]
"""An element: the value of each subscript."""
Words = frozenset[Word]
"""Different words."""
Place = tuple[int, ...]
"""An instance or a child: its turn in every spatial loop outside it, outermost first."""
Message = tuple[Word, ...]
"""Words that cross a mesh at one step, in order."""


@dataclass(slots=True)
class Walked:
    """Accesses of one operand to one memory, in words, all instances together."""

    reads: int = 0
    fills: int = 0
    updates: int = 0


@dataclass(frozen=True, slots=True)
class _Loop:
    """A loop of the nest, along an axis of a mesh or over time."""

    memory: int
    """Number of the memory that it belongs to."""
    spatial: bool
    dim: int
    trips: int
    stride: int
    """Iterations of the dim from one trip to the next."""


def walk_spatial(
    nest: Nest, fabric: Fabric, *, charge_drains: bool = False, going_on: bool = False, limit: int = 2_000_000
) -> dict[tuple[str, str], Walked]:
    """Accesses per (memory, operand that it keeps), by walking.

    Args:
        nest: the mapping.
        fabric: what it is for.
        charge_drains: whether a word of an output is read where it leaves.
        going_on: whether every word of an output was updated before: then each is filled and read at its first time.
        limit: most words that are looked at.

    Raises:
        LimitError: if there are more.
    """
    loops = _loops(nest)
    work = len(fabric.operands) * len(nest.memories)
    for loop in loops:
        work *= loop.trips
    if work > limit:
        raise LimitError(f"walking {work:,} words is too much, the limit is {limit:,}; use smaller extents")
    found: dict[tuple[str, str], Walked] = {}
    for place, operand in enumerate(fabric.operands):
        keepers = [number for number, memory in enumerate(nest.memories) if memory.keeps[place]]
        counts = {number: Walked() for number in keepers}
        for inside, keeper in zip([-1, *keepers], keepers, strict=False):
            edge = _Edge(fabric, operand, loops, inside, keeper)
            edge.going_on = going_on
            edge.walk(counts.get(inside), counts[keeper], charge_drains)
        found.update({(fabric.memories[number].name, operand.name): counts[number] for number in keepers})
    return found


def _loops(nest: Nest) -> list[_Loop]:
    """All loops, outermost first."""
    covered = [1] * len(nest.memories[0].x)
    found: list[_Loop] = []
    for number, memory in enumerate(nest.memories):
        meshes = [(dim, ways, True) for axis in (memory.x, memory.y) for dim, ways in enumerate(axis)]
        for dim, trips, spatial in [*meshes, *((dim, trips, False) for dim, trips in reversed(memory.temporal))]:
            found.append(_Loop(number, spatial, dim, trips, covered[dim]))
            covered[dim] *= trips
    return found[::-1]


@dataclass(slots=True)
class _Holder:
    """One instance that receives: what it holds and how its tile last moved."""

    tile: Words = frozenset()
    base: Word | None = None
    last: Word | None = None
    """How far each subscript moved when something was kept; None after a reset."""
    ever: set[Word] = field(default_factory=set)

    def step(self, base: Word, tile: Words) -> tuple[Words, Words]:
        """Go on to the next tile; what enters and what leaves."""
        kept: Words = frozenset()
        if self.base is not None:
            move = tuple(new - old for new, old in zip(base, self.base, strict=True))
            axes = [amount for amount in move if amount]
            if not axes:
                kept = self.tile
            elif len(axes) == 1 and self.last in (None, move):
                kept, self.last = self.tile & tile, move
            else:
                self.last = None
        left, self.base, self.tile = self.tile, base, tile
        return tile - kept, left - kept


class _Edge:
    """The way of one operand between a memory that serves and the memory (or the units) inside that it serves."""

    def __init__(self, fabric: Fabric, operand: Operand, loops: list[_Loop], inside: int, outside: int) -> None:
        self.operand = operand
        self.inside, self.outside = inside, outside
        self.together = [m.reduction if operand.output else m.multicast for m in fabric.memories]
        self.times = [loop for loop in loops if loop.memory > inside and not loop.spatial]
        self.places = [loop for loop in loops if loop.memory > inside and loop.spatial]
        self.box = [loop for loop in loops if loop.memory <= inside]
        self.dims = len(fabric.dims)
        self.going_on = False

    def _word(self, index: list[int]) -> Word:
        return tuple(sum(factor * index[dim] for dim, factor in axis) for axis in self.operand.axes)

    def _indices(self, loops: list[_Loop]) -> Iterator[tuple[Place, list[int]]]:
        """Every turn of some loops, the first loop outermost: the turns, and the index of every dim."""
        for turns in product(*(range(loop.trips) for loop in loops)):
            index = [0] * self.dims
            for turn, loop in zip(turns, loops, strict=True):
                index[loop.dim] += turn * loop.stride
            yield turns, index

    def walk(self, inner: Walked | None, outer: Walked, charge_drains: bool) -> None:
        """Add what crosses this edge to the counts of both memories; `inner` is None for the units."""
        box = [index for _, index in self._indices(self.box)]
        places = list(self._indices(self.places))
        holders = {place: _Holder() for place, _ in places}
        updated: dict[Place, set[Word]] = defaultdict(set)
        for _, now in self._indices(self.times):
            entering, leaving = {}, {}
            for place, where in places:
                base = [n + w for n, w in zip(now, where, strict=True)]
                tile = frozenset(self._word([b + i for b, i in zip(base, at, strict=True)]) for at in box)
                if inner is None:
                    entering[place] = leaving[place] = tile
                    continue
                holder = holders[place]
                entering[place], leaving[place] = holder.step(self._word(base), tile)
                old = self.operand.output and not self.going_on
                inner.fills += len(entering[place] & holder.ever if old else entering[place])
                holder.ever |= entering[place]
            self._serve(entering, outer)
            self._update(leaving, outer, updated)
            self._drain(leaving, inner if charge_drains else None)
        if inner is not None:
            leaving = {place: holder.tile for place, holder in holders.items()}
            self._update(leaving, outer, updated)
            self._drain(leaving, inner if charge_drains else None)

    def _serve(self, entering: dict[Place, Words], outer: Walked) -> None:
        if not self.operand.output:
            outer.reads += sum(len(message) for _, messages in self._served(entering) for message in messages)

    def _update(self, leaving: dict[Place, Words], outer: Walked, updated: dict[Place, set[Word]]) -> None:
        if self.operand.output:
            for instance, messages in self._served(leaving):
                for word in (word for message in messages for word in message):
                    outer.updates += 1
                    outer.reads += self.going_on or word in updated[instance]
                    updated[instance].add(word)

    def _drain(self, leaving: dict[Place, Words], inner: Walked | None) -> None:
        if self.operand.output and inner is not None:
            inner.reads += sum(map(len, leaving.values()))

    def _served(self, words: dict[Place, Words]) -> Iterator[tuple[Place, tuple[Message, ...]]]:
        """The messages to or from each instance outside, children that are alike being one."""
        asked: dict[Place, tuple[Message, ...]] = {p: (tuple(sorted(own)),) if own else () for p, own in words.items()}
        for number in range(self.inside + 1, self.outside + 1):
            further = sum(loop.memory > number for loop in self.places)
            children: dict[Place, list[tuple[Message, ...]]] = defaultdict(list)
            for place, messages in asked.items():
                children[place[:further]].append(messages)
            asked = {
                place: tuple(sorted(m for each in (set(asks) if self.together[number] else asks) for m in each))
                for place, asks in children.items()
            }
        yield from asked.items()
