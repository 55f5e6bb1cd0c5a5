"""Partial mappings as whole ones: what is left of the loops is at one memory, so that each can be judged.

Bottom-up that is the outermost memory; top-down the last one that has its tile, whose insides are single elements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import product

import numpy as np

from optmap.base.arrays import Flags, Ints
from optmap.machines.accelerator import KeepRule
from optmap.machines.fabric import Fabric
from optmap.mappings.nest_batch import NestBatch
from optmap.questions.policy import Footprint
from optmap.search.accelerators.fitting import Fitting
from optmap.search.sunstone.loops import whole_orders

FIELDS = tuple(own.name for own in fields(NestBatch))
Pattern = tuple[bool, ...]
"""Per operand, whether a memory keeps it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryChoice:
    """What is chosen for one memory, but its order."""

    keeps: Pattern
    tile: tuple[int, ...]
    """Factors of its tile: bottom-up those of its loops, top-down all inside."""
    x: tuple[int, ...]
    """Of the mesh of the memory outside it."""
    y: tuple[int, ...]


def keeper_patterns(fabric: Fabric, number: int, *, bypass: bool) -> tuple[Pattern, ...]:
    """What a memory may keep, as far as it has room for single elements.

    Args:
        fabric: the machine as the workload sees it.
        number: of the memory.
        bypass: whether every choice is tried; else those that keep as much as possible. The outermost memory that may
            keep an operand always does.
    """
    memory = fabric.memories[number]
    choices = []
    for place, keep in enumerate(memory.keeps):
        last = all(outside.keeps[place] is KeepRule.REFUSED for outside in fabric.memories[number + 1 :])
        free = keep is KeepRule.FREE and not last
        choices.append((True, False) if free else (keep is not KeepRule.REFUSED,))
    single, fitting = np.ones((1, len(fabric.dims)), np.int64), Fitting(fabric, Footprint.TOUCHED)
    found = [own for own in product(*choices) if fitting.fit(number, single, np.array(own))[0]]
    if bypass:
        return tuple(found)
    return tuple(own for own in found if not any(_more(other, own) for other in found))


def _more(first: Pattern, second: Pattern) -> bool:
    return first != second and all(a or not b for a, b in zip(first, second, strict=True))


def start(fabric: Fabric, keeps: Sequence[Pattern], place: int) -> NestBatch:
    """The mapping with all loops at one memory.

    Args:
        fabric: the machine as the workload sees it.
        keeps: what each memory keeps until it is chosen.
        place: of the memory.
    """
    memories, dims = len(fabric.memories), len(fabric.dims)
    ones = np.ones((1, memories, dims), np.int64)
    temporal = ones.copy()
    temporal[0, place] = fabric.extents
    order = [whole_orders([()], memory, dims)[0] for memory in fabric.memories]
    return NestBatch(x=ones, y=ones.copy(), temporal=temporal, order=np.array([order]), keeps=np.array([list(keeps)]))


def with_choices(
    parent: NestBatch, choices: Sequence[MemoryChoice], orders: Ints, memory: int, *, inwards: bool, last: Ints
) -> NestBatch:
    """A partial mapping continued by one memory, every choice in every order.

    Args:
        parent: one partial mapping.
        choices: for the memory.
        orders: (orders, dims), outermost first, of the loops of the memory outside it.
        memory: its number; -1 for the arithmetic, which has a mesh above it and nothing else.
        inwards: top-down.
        last: (orders, dims), the same for what is left at the outermost memory.
    """
    count = len(choices) * len(orders)
    rows = np.repeat(np.arange(len(choices)), len(orders))
    turn = np.tile(np.arange(len(orders)), len(choices))
    found = NestBatch(**{name: np.repeat(getattr(parent, name), count, axis=0) for name in FIELDS})
    tile, x, y = (np.array([getattr(own, name) for own in choices], np.int64)[rows] for name in ("tile", "x", "y"))
    found.x[:, memory + 1], found.y[:, memory + 1] = x, y
    found.order[:, memory + 1] = orders[turn]
    if memory >= 0:
        found.keeps[:, memory] = np.array([own.keeps for own in choices], bool)[rows]
    place = memory + 1 if inwards else len(parent.temporal[0]) - 1
    left = found.temporal[:, place] // (tile * x * y)
    if memory >= 0:
        found.temporal[:, memory] = tile
    found.temporal[:, place] = left
    if not inwards:
        found.order[:, -1] = last[turn]
    return found


def tile_at(batch: NestBatch, row: int, memory: int) -> Ints:
    """Extents of what is inside a memory's own temporal loops."""
    ways = batch.x[row] * batch.y[row]
    inner = (ways[:memory] * batch.temporal[row, :memory]).prod(axis=0)
    found: Ints = inner * ways[memory]
    return found


def rows_that_hold(batch: NestBatch, fitting: Fitting, kept: Mapping[int, Flags]) -> Flags:
    """Whether memories, by number, have room for the tiles of the operands that they keep, (operands,) each."""
    tiles = (batch.x * batch.y * batch.temporal).cumprod(axis=1)
    found = np.ones(len(batch), bool)
    for number, keeps in kept.items():
        found &= fitting.fit(number, tiles[:, number], keeps)
    return found
