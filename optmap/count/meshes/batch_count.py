"""Accesses, energy and cycles of many nests of one accelerator, a column per number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np

from optmap.count.meshes.batch_axes import axis_groups, axis_overlaps, axis_sizes
from optmap.count.meshes.batch_columns import Column, Columns, Mask
from optmap.count.meshes.batch_walk import OperandDims, Slide, TileWords
from optmap.machines.elements import energies, whole
from optmap.machines.fabric import Fabric, Memory
from optmap.questions.policy import Footprint, Policy

LARGEST = 2.0**50
"""Whole numbers below it are exact in float64, those that are made of them on the way, too."""


def is_closed(fabric: Fabric) -> bool:
    """Whether a workload can be counted in columns.

    No dim is in two subscripts of an operand, those of the output are plain dims, wires cost nothing, and rates are
    quotients of numbers that floats hold.
    """
    if any(memory.wired for memory in fabric.memories):
        return False
    rates = [rate for m in fabric.memories for rate in (m.read_rate, m.write_rate, m.shared_rate) if rate is not None]
    if any(max(rate.numerator, rate.denominator) >= LARGEST for rate in rates):
        return False
    for operand in fabric.operands:
        dims = [dim for axis in operand.axes for dim, _ in axis]
        if len(set(dims)) < len(dims):
            return False
        if operand.output and any(len(axis) > 1 or any(factor > 1 for _, factor in axis) for axis in operand.axes):
            return False
    return True


@dataclass(slots=True, kw_only=True, eq=False)
class CountedColumns:
    """What `count_columns` hands back, nests along the last axis."""

    energy_pj: Column
    cycles: Column
    port_cycles: Column
    """(memories, nests)"""
    reads: Column
    """(memories, operands, nests)"""
    fills: Column
    updates: Column
    tile_words: Column
    """(memories, operands, nests), of operands that are kept or not."""
    largest: Column
    """(nests,): no number that was worked with is larger."""


class _Count:
    """Counts one operand through all memories."""

    def __init__(self, walk: TileWords, fabric: Fabric, number: int, footprint: Footprint) -> None:
        self.walk = walk
        self.fabric = fabric
        self.footprint = footprint
        self.shape = walk.shape(number, fabric.operands[number])
        self.sizes = [axes_sizes(self.shape, tiles, footprint) for tiles in walk.columns.tiles]
        """Per memory and axis."""
        self.words = [product_of(sizes, walk.columns.trips.shape[2]) for sizes in self.sizes]
        """Of the tile of every memory."""

    def rooms(self, room: Footprint) -> list[Column]:
        """Per memory the words that its tile takes of a capacity."""
        return self.words if room is self.footprint else rooms_of(self.walk, self.shape, room)

    def groups(self, number: int) -> Column:
        """Different tiles among the children of an instance of a memory: what it must serve one by one."""
        columns, memory = self.walk.columns, self.fabric.memories[number]
        ways = columns.ways[number]
        found = np.ones(ways.shape[1])
        if not memory.together(self.shape.operand):
            everyone: Column = ways.prod(axis=0)
            return everyone
        if memory.fanout == 1 and not (ways > 1).any():
            return found
        for axis in self.shape.axes:
            inside = [columns.tiles[number - 1, dim] if number else found for dim, _ in axis]
            found = found * axis_groups([c for _, c in axis], inside, [ways[dim] for dim, _ in axis])
        return found

    def first_touches(self, memory: int) -> Column:
        """Elements of the output that an instance of a memory holds for the first time: they are not read."""
        columns = self.walk.columns
        apart = np.ones(columns.trips.shape[2])
        for number in range(memory + 1, len(self.words)):
            for dim in self.shape.relevant:
                apart = apart * columns.ways[number, dim]
        return self.words[-1] / apart

    def shares(self) -> list[Column | None]:
        """Per memory, what one instance needs from outside; None where no nest keeps it."""
        walk, shape = self.walk, self.shape
        reuse = walk.reuse(shape)
        slides = [(place, Slide(walk, shape, axis)) for place, axis in enumerate(shape.axes) if len(axis) > 1]
        found: list[Column | None] = []
        for number, words in enumerate(self.words):
            if not walk.columns.keeps[number, shape.number].any():
                found.append(None)
                continue
            share = walk.steps[number] / reuse[number] * words
            walk.note(share * walk.instances[number])
            for place, slide in slides:
                if number + 1 < len(self.words):
                    share = share - self._saved(number, place, slide)
            found.append(share)
        return found

    def _saved(self, number: int, place: int, slide: Slide) -> Column:
        axis, sizes = self.shape.axes[place], self.sizes[number]
        extents = [self.walk.columns.tiles[number, dim] for dim, _ in axis]
        common = axis_overlaps([c for _, c in axis], extents, sizes[place], slide.first[number], self.footprint)
        for other, size in enumerate(sizes):
            if other != place:
                common = common * size
        return slide.saved(number, self.words[number], common)


def axes_sizes(shape: OperandDims, tiles: Column, footprint: Footprint) -> list[Column]:
    """Words of every axis of an operand that tiles hold, (dims, nests)."""
    return [axis_sizes([c for _, c in axis], [tiles[dim] for dim, _ in axis], footprint) for axis in shape.axes]


def rooms_of(walk: TileWords, shape: OperandDims, room: Footprint) -> list[Column]:
    """Per memory the words that its tile of an operand takes of a capacity."""
    columns = walk.columns
    return [product_of(axes_sizes(shape, tiles, room), columns.trips.shape[2]) for tiles in columns.tiles]


def product_of(factors: list[Column], nests: int) -> Column:
    """The product of columns, of ones for none."""
    found = np.ones(nests)
    for factor in factors:
        found = found * factor
    return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BesidesWords:
    """What nests do besides moving words."""

    compute: Column
    """Cycles of computation."""
    operations: Column
    energy_pj: Column
    """Of everything that is counted."""
    port_cycles: Column
    """(memories, nests)"""

    def counted(
        self, walk: TileWords, *, reads: Column, fills: Column, updates: Column, words: Column
    ) -> CountedColumns:
        """The counts of nests, (memories, operands, nests) each, with their largest number noted."""
        for numbers in (self.operations, reads, fills, updates, words):
            walk.note(numbers)
        return CountedColumns(
            energy_pj=self.energy_pj,
            cycles=np.maximum(self.compute, self.port_cycles.max(axis=0)),
            port_cycles=self.port_cycles,
            reads=reads,
            fills=fills,
            updates=updates,
            tile_words=words,
            largest=walk.largest,
        )


def count_columns(columns: Columns, fabric: Fabric, counting: Policy) -> CountedColumns:
    """Counts nests, whole numbers as floats: rows whose `largest` is beyond what floats can hold are wrong.

    Args:
        columns: the nests.
        fabric: the machine as the workload sees it; `is_closed` holds for it.
        counting: how far tiles reach, and whether loops are walked or extrapolated.
    """
    walk = TileWords(columns, extrapolate=counting.extrapolates)
    shape = columns.keeps.shape
    each = _Accesses(*(np.zeros(shape) for _ in range(3)))
    words = np.empty(shape)
    for number in range(shape[1]):
        count = _Count(walk, fabric, number, counting.footprint)
        words[:, number] = count.rooms(counting.room)
        _serve(count, each)
    compute = walk.steps[0] * columns.trips[0].prod(axis=0)
    operations = compute * walk.instances[0] * columns.ways[0].prod(axis=0)
    energy, ports = operations * float(fabric.arithmetic_pj), np.zeros((shape[0], shape[2]))
    for number, memory in enumerate(fabric.memories):
        clusters = np.minimum(walk.instances[number], fabric.clusters(number))
        energy += clusters * _energy(memory, each.reads[number], each.fills[number], each.updates[number])
        ports[number] = port_cycles(walk, memory, each.reads[number], each.fills[number] + each.updates[number])
    together = walk.instances[:, None]
    reads, fills, updates = (part * together for part in (each.reads, each.fills, each.updates))
    work = BesidesWords(compute=compute, operations=operations, energy_pj=energy, port_cycles=ports)
    return work.counted(walk, reads=reads, fills=fills, updates=updates, words=words)


@dataclass(slots=True)
class _Accesses:
    """Of one instance of every memory: (memories, operands, nests)."""

    reads: Column
    fills: Column
    updates: Column


def _serve(count: _Count, each: _Accesses) -> None:
    """Passes what is asked for from the arithmetic outwards, keeper by keeper."""
    walk, number = count.walk, count.shape.number
    columns, output = walk.columns, count.shape.operand.output
    asked = walk.steps[0] * columns.trips[0].prod(axis=0)
    shares = count.shares()
    further = _kept_outside(columns.keeps[:, number])
    for memory, share in enumerate(shares):
        asked = asked * count.groups(memory)
        if share is None:
            continue
        keeps = columns.keeps[memory, number]
        first = count.first_touches(memory) if output else 0.0
        each.reads[memory, number] = (asked - first) * keeps
        each.fills[memory, number] = (share - first) * (keeps & further[memory])
        if output:
            each.updates[memory, number] = asked * keeps
        asked = np.where(keeps, share, asked)


def _kept_outside(keeps: Mask) -> Mask:
    """Per memory, whether one outside it keeps an operand too."""
    found = np.zeros_like(keeps)
    for memory in reversed(range(len(keeps) - 1)):
        found[memory] = found[memory + 1] | keeps[memory + 1]
    return found


def _energy(memory: Memory, reads: Column, fills: Column, updates: Column) -> Column:
    """Energy of one instance, in pJ, of accesses in columns (operands, nests)."""
    found = np.zeros(reads.shape[1])
    shares = [element.entries / memory.block for element in memory.elements]
    parted = any(share != 1 for share in shares)
    bits = zip(*(element.bits_pj for element in memory.elements), strict=True)
    for words, price, per_word in zip((reads, fills, updates), energies(memory.prices), bits, strict=True):
        if price:
            accesses = np.array([whole(own, n) for own, n in zip(words, shares, strict=True)]) if parted else words
            found += accesses.sum(axis=0) * float(price)
        if any(per_word):
            found += weighted(words, per_word)
    return found


def weighted(words: Column, weights: Sequence[Fraction]) -> Column:
    """Words of all operands, (operands, nests), times the weight of each."""
    if len(set(weights)) == 1:
        found: Column = words.sum(axis=0) * float(weights[0])
        return found
    return np.asarray(np.array(weights, float) @ words)


def port_cycles(
    walk: TileWords, memory: Memory, reads: Column, writes: Column, instances: Column | float = 1.0
) -> Column:
    """Cycles that the ports of one instance need.

    Args:
        walk: notes how large numbers were.
        memory: whose ports.
        reads: (operands, nests), of so many instances; as many words of the port as `Element.passing` says.
        writes: fills and updates, likewise.
        instances: together.

    Quotients of whole numbers below 2^53 that are not whole differ from whole ones by more than floats round.
    """
    found = np.zeros(reads.shape[1])
    unit = lcm(*(element.passing.denominator for element in memory.elements))
    weights = [element.passing * unit for element in memory.elements]
    limits = ((memory.read_rate, (reads,)), (memory.write_rate, (writes,)), (memory.shared_rate, (reads, writes)))
    for rate, parts in limits:
        if rate is not None:
            words: Column = np.asarray(sum(weighted(part, weights) for part in parts)) * float(rate.denominator)
            passed = instances * float(rate.numerator * unit)
            walk.note(words)
            walk.note(np.atleast_1d(passed))
            np.maximum(found, np.ceil(words / passed), out=found)
    return found
