"""Accesses of many nests of one accelerator, a column per number.

The words that a memory's tile of an operand needs from outside are, over all steps of the loops outside it,
the tile, less what is there already. With the loops outside numbered from the innermost, V_j the shift of
the operand's axes in one step of loop j and n_j its trips, a step of j moves the tile by
S_j = V_j - sum over i inside j of (n_i - 1) V_i (Timeloop looks at two trips of each loop only: of V_i). All
of the tile stays if S_j = 0; what overlaps stays if S_j is a shift along one axis and equals V_r, the shift of
the innermost relevant loop r; otherwise nothing does. Loop j makes (n_j - 1) steps for each step of the loops
outside it. An axis of one dim never overlaps with itself, so only axes of two dims or more save anything.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optmap.evaluate.spatial.batch_axes import axis_groups, axis_overlaps, axis_sizes
from optmap.evaluate.spatial.batch_columns import Column, Columns, Mask, Places
from optmap.problem.fabric import Fabric, Memory, Operand
from optmap.problem.options import Counting


def is_closed(fabric: Fabric) -> bool:
    """Whether a workload can be counted in columns.

    No dim is in two subscripts of an operand, those of the output are plain dims, and wires cost nothing.
    """
    if any(memory.hop_pj or memory.router_pj for memory in fabric.memories):
        return False
    for operand in fabric.operands:
        dims = [dim for axis in operand.axes for dim, _ in axis]
        if len(set(dims)) < len(dims):
            return False
        if operand.output and any(len(axis) > 1 or any(factor > 1 for _, factor in axis) for axis in operand.axes):
            return False
    return True


@dataclass(slots=True, kw_only=True, eq=False)
class Counted:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shape:
    """An operand's dims, those that have more than one iteration in some nest."""

    number: int
    operand: Operand
    axes: tuple[tuple[tuple[int, int], ...], ...]
    """(dim, coefficient) pairs per axis."""
    relevant: tuple[int, ...]
    irrelevant: tuple[int, ...]


class _Walk:
    """Words that tiles need from outside."""

    def __init__(self, columns: Columns, counting: Counting) -> None:
        self.columns = columns
        self.counting = counting
        self.live = tuple(int(dim) for dim in np.flatnonzero((columns.tiles[-1] > 1).any(axis=1)))
        self.several = columns.trips > 1
        self.placed = np.where(self.several, columns.place, np.int8(-1))
        memories, _, nests = columns.trips.shape
        self.steps = np.ones((memories, nests))
        """Steps of all temporal loops outside a memory, per instance."""
        self.instances = np.ones((memories, nests))
        """Instances in use."""
        for number in reversed(range(memories - 1)):
            np.multiply(self.steps[number + 1], columns.trips[number + 1].prod(axis=0), out=self.steps[number])
            np.multiply(self.instances[number + 1], columns.ways[number + 1].prod(axis=0), out=self.instances[number])
        self._outside: dict[tuple[int, int], Column] = {}

    def shape(self, number: int, operand: Operand) -> _Shape:
        """An operand without the dims that have one iteration in every nest."""
        live = (tuple((dim, factor) for dim, factor in axis if dim in self.live) for axis in operand.axes)
        axes = tuple(axis for axis in live if axis)
        dims = {dim for axis in axes for dim, _ in axis}
        return _Shape(
            number=number,
            operand=operand,
            axes=axes,
            relevant=tuple(sorted(dims.intersection(self.live))),
            irrelevant=tuple(dim for dim in self.live if dim not in dims),
        )

    def outside(self, number: int, dim: int) -> Column:
        """Steps of all loops outside one temporal loop."""
        key = (number, dim)
        if key not in self._outside:
            trips, place = self.columns.trips[number], self.columns.place[number]
            found = self.steps[number]
            for other in self.live:
                if other != dim:
                    found = found * np.where(place[other] < place[dim], trips[other], 1.0)
            self._outside[key] = found
        return self._outside[key]

    def innermost(self, number: int, dims: tuple[int, ...]) -> Places:
        """Place of the innermost of some loops of a memory, -1 if none has two trips."""
        found = np.full(self.placed.shape[2], -1, np.int8)
        for dim in dims:
            np.maximum(found, self.placed[number, dim], out=found)
        return found

    def reuse(self, shape: _Shape) -> list[Column]:
        """Per memory, the trips of the loops outside it over which its tile stays: inside all relevant ones."""
        memories = len(self.columns.trips)
        found = [np.ones(self.columns.trips.shape[2])] * memories
        for number in reversed(range(1, memories)):
            last = self.innermost(number, shape.relevant)
            own = np.where(last < 0, found[number], 1.0)
            for dim in shape.irrelevant:
                own *= np.where(self.columns.place[number, dim] > last, self.columns.trips[number, dim], 1.0)
            found[number - 1] = own
        return found


class _Slide:
    """What tiles keep along one axis of several dims while it is the only one that moves."""

    def __init__(self, walk: _Walk, shape: _Shape, axis: tuple[tuple[int, int], ...]) -> None:
        self.walk = walk
        self.axis = axis
        dims = tuple(dim for dim, _ in axis)
        others = tuple(dim for dim in shape.relevant if dim not in dims)
        columns = walk.columns
        memories = len(columns.trips)
        self.other = [walk.innermost(number, others) for number in range(memories)]
        """Per memory, place of the innermost relevant loop that moves another axis."""
        self.shifts: list[list[Column]] = []
        """Per memory and dim, what a step of its loop adds to the index; 0 without a loop."""
        self.back: list[list[Column]] = []
        """Per memory and dim, what the loops of the axis inside it, in this memory, have added before."""
        self.total: list[Column] = []
        """Per memory, what all its loops of the axis have added."""
        self.first: list[Column] = [np.zeros(columns.trips.shape[2])] * memories
        """Per memory, the shift of the innermost loop of the axis outside it."""
        for number in range(memories):
            self._memory(number, dims)
        for number in reversed(range(1, memories)):
            last = walk.innermost(number, dims)
            own = self.first[number].copy()
            for (dim, _), shift in zip(axis, self.shifts[number], strict=True):
                np.copyto(own, shift, where=(walk.placed[number, dim] == last) & walk.several[number, dim])
            self.first[number - 1] = own

    def _memory(self, number: int, dims: tuple[int, ...]) -> None:
        columns, walk = self.walk.columns, self.walk
        shifts = [factor * columns.strides[number, dim] * walk.several[number, dim] for dim, factor in self.axis]
        if walk.counting is Counting.TIMELOOP:
            added = shifts
        else:
            added = [shift * (columns.trips[number, dim] - 1) for dim, shift in zip(dims, shifts, strict=True)]
        place = columns.place[number]
        back = []
        for dim in dims:
            inside = np.zeros_like(added[0])
            for other, amount in zip(dims, added, strict=True):
                if other != dim:
                    inside += amount * (place[other] > place[dim])
            back.append(inside)
        self.shifts.append(shifts)
        self.back.append(back)
        self.total.append(sum(added[1:], added[0]))

    def saved(self, child: int, words: Column, overlap: Column) -> Column:
        """Words that one instance of a memory need not fetch again.

        Args:
            child: the memory.
            words: of its tile.
            overlap: those that its tile shares with the next along this axis, by the shift `first`.
        """
        walk, columns = self.walk, self.walk.columns
        found = np.zeros_like(words)
        clean: Mask | None = None
        before: Column | None = None
        first = self.first[child]
        for number in range(child + 1, len(columns.trips)):
            for (dim, _), shift, back in zip(self.axis, self.shifts[number], self.back[number], strict=True):
                moved = shift - back if before is None else shift - back - before
                kept = overlap * (moved == first) + words * (moved == 0)
                alone = self.other[number] < columns.place[number, dim]
                kept *= alone if clean is None else alone & clean
                kept *= columns.trips[number, dim] - 1
                kept *= walk.outside(number, dim)
                found += kept
            none = self.other[number] < 0
            clean = none if clean is None else clean & none
            before = self.total[number] if before is None else before + self.total[number]
        return found


class _Count:
    """Counts one operand through all memories."""

    def __init__(self, walk: _Walk, fabric: Fabric, number: int) -> None:
        self.walk = walk
        self.fabric = fabric
        self.shape = walk.shape(number, fabric.operands[number])
        self.sizes = [self._sizes(memory) for memory in range(len(fabric.memories))]
        """Per memory and axis."""
        self.words = [_product(sizes, walk.columns.trips.shape[2]) for sizes in self.sizes]
        """Of the tile of every memory."""

    def _sizes(self, memory: int) -> list[Column]:
        tiles = self.walk.columns.tiles[memory]
        return [
            axis_sizes([c for _, c in axis], [tiles[dim] for dim, _ in axis], self.walk.counting)
            for axis in self.shape.axes
        ]

    def groups(self, number: int) -> Column:
        """Different tiles among the children of an instance of a memory: what it must serve one by one."""
        columns, memory = self.walk.columns, self.fabric.memories[number]
        ways = columns.ways[number]
        found = np.ones(ways.shape[1])
        if not (memory.reduction if self.shape.operand.output else memory.multicast):
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
        slides = [(place, _Slide(walk, shape, axis)) for place, axis in enumerate(shape.axes) if len(axis) > 1]
        found: list[Column | None] = []
        for number, words in enumerate(self.words):
            if not walk.columns.keeps[number, shape.number].any():
                found.append(None)
                continue
            share = walk.steps[number] / reuse[number] * words
            for place, slide in slides:
                if number + 1 < len(self.words):
                    share = share - self._saved(number, place, slide)
            found.append(share)
        return found

    def _saved(self, number: int, place: int, slide: _Slide) -> Column:
        axis, sizes = self.shape.axes[place], self.sizes[number]
        extents = [self.walk.columns.tiles[number, dim] for dim, _ in axis]
        common = axis_overlaps([c for _, c in axis], extents, sizes[place], slide.first[number], self.walk.counting)
        for other, size in enumerate(sizes):
            if other != place:
                common = common * size
        return slide.saved(number, self.words[number], common)


def _product(factors: list[Column], nests: int) -> Column:
    found = np.ones(nests)
    for factor in factors:
        found = found * factor
    return found


def count_columns(columns: Columns, fabric: Fabric, counting: Counting) -> Counted:
    """Counts nests, whole numbers as floats: rows whose `largest` is beyond what floats can hold are wrong.

    Args:
        columns: the nests.
        fabric: the machine as the workload sees it; `is_closed` holds for it.
        counting: how words are counted.
    """
    walk = _Walk(columns, counting)
    shape = columns.keeps.shape
    each = _Accesses(*(np.zeros(shape) for _ in range(3)))
    words = np.empty(shape)
    for number in range(shape[1]):
        count = _Count(walk, fabric, number)
        words[:, number] = count.words
        _serve(count, each)
    compute = walk.steps[0] * columns.trips[0].prod(axis=0)
    operations = compute * walk.instances[0] * columns.ways[0].prod(axis=0)
    energy, ports = operations * float(fabric.arithmetic_pj), np.zeros((shape[0], shape[2]))
    for number, memory in enumerate(fabric.memories):
        clusters = np.minimum(walk.instances[number], max(1, fabric.instances(number) // memory.cluster))
        energy += clusters * _energy(memory, each.reads[number], each.fills[number], each.updates[number])
        ports[number] = _port_cycles(memory, each.reads[number], each.fills[number] + each.updates[number])
    together = walk.instances[:, None]
    reads, fills, updates = (part * together for part in (each.reads, each.fills, each.updates))
    return Counted(
        energy_pj=energy,
        cycles=np.maximum(compute, ports.max(axis=0)),
        port_cycles=ports,
        reads=reads,
        fills=fills,
        updates=updates,
        tile_words=words,
        largest=np.maximum(operations, np.max([reads, fills, updates, words], axis=(0, 1, 2))),
    )


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
    prices = memory.prices
    for words, price in ((reads, prices.read), (fills, prices.fill), (updates, prices.update)):
        if price:
            accesses = np.ceil(words / memory.block) if memory.block > 1 else words
            found += accesses.sum(axis=0) * float(price)
    return found


def _port_cycles(memory: Memory, reads: Column, writes: Column) -> Column:
    """Cycles that the ports of one instance need; columns as for `_energy`."""
    found = np.zeros(reads.shape[1])
    limits = ((memory.read_rate, (reads,)), (memory.write_rate, (writes,)), (memory.shared_rate, (reads, writes)))
    for rate, parts in limits:
        if rate is not None:
            words = sum(part.sum(axis=0) for part in parts)
            np.maximum(found, np.ceil(words * rate.denominator / rate.numerator), out=found)
    return found
