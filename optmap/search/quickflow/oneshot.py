"""The orders of all loops of many mappings, memory by memory, by the accesses that they spare (section IV-C).

No count is asked for: at each memory the order is taken that spares most of what the keepers inside ask for. What
other memories' orders reuse is left out, so that no choice is ever taken back.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import factorial

import numpy as np

from optmap.evaluate.spatial.batch_axes import axis_overlaps, axis_sizes
from optmap.evaluate.spatial.batch_columns import Column
from optmap.problem.fabric import Fabric
from optmap.problem.nest_batch import Booleans, Integers
from optmap.problem.options import Counting
from optmap.search.explore.protocol import Tally
from optmap.search.quickflow.classes import Order, Reuse, dataflow_classes, reuse_classes


class OneShot:
    """Chooses orders on one fabric."""

    def __init__(self, fabric: Fabric, counting: Counting, orderable: Booleans, tally: Tally) -> None:
        """From workload and machine alone.

        Args:
            fabric: the machine as the workload sees it.
            counting: how words are counted.
            orderable: (memories, dims), whether a temporal loop may stand there.
            tally: where classes are counted.
        """
        self.fabric = fabric
        self.counting = counting
        self.tally = tally
        several = np.array(fabric.extents) > 1
        self.turning = [tuple(int(dim) for dim in np.flatnonzero(row & several)) for row in orderable]
        """Per memory, the dims that can have loops there."""
        self.orders = [
            reuse_classes(fabric.operands, dims, memory.order)
            for dims, memory in zip(self.turning, fabric.memories, strict=True)
        ]
        """Per memory, one order of every class."""
        self.plain = np.array([self._whole(orders[0] if orders else ()) for orders in self.orders])
        for dims, orders in zip(self.turning, self.orders, strict=True):
            count = factorial(len(dims))
            tally.add("equi-reuse", seen=count, cut=count - len(orders))

    def _whole(self, order: Order) -> Order:
        return (*order, *(dim for dim in range(len(self.fabric.dims)) if dim not in order))

    def choose(self, trips: Integers, keeps: Booleans) -> Integers:
        """The orders of some mappings.

        Args:
            trips: (mappings, memories, 3, dims), along x, along y, and in time.
            keeps: (mappings, memories, operands).

        Returns:
            (mappings, memories, dims), outermost loop first.
        """
        chosen = np.tile(self.plain, (len(trips), 1, 1))
        levels = Levels(self.fabric, self.counting, trips, keeps)
        for number in range(1, len(self.orders)):
            levels.step(number)
            if len(self.orders[number]) > 1:
                self._memory(number, levels, chosen)
        return chosen

    def _memory(self, number: int, levels: Levels, chosen: Integers) -> None:
        """Chooses the orders of one memory."""
        several = levels.trips[number, :, :] > 1
        matters = levels.matters()
        bits = 1 << np.arange(len(several) + len(matters))
        kinds, kind = np.unique(bits @ np.concatenate([several, matters]), return_inverse=True)
        for own, code in enumerate(kinds.tolist()):
            turning = frozenset(dim for dim in range(len(several)) if code >> dim & 1)
            matter = tuple(t for t in range(len(matters)) if code >> (len(several) + t) & 1)
            if len(turning) < 2 or not matter:
                continue
            operands = tuple(self.fabric.operands[t] for t in matter)
            orders, reuses = dataflow_classes(self.orders[number], operands, turning)
            rows = np.flatnonzero(kind == own)
            known = len(self.orders[number]) * len(rows)
            self.tally.add("equi-dataflow", seen=known, cut=known - len(orders) * len(rows))
            if len(orders) == 1:
                best = np.zeros(len(rows), np.int64)
            else:
                costs = [levels.asked(number, matter, reuse, rows) for reuse in reuses]
                best = np.argmin(costs, axis=0)
                self.tally.add("one shot", seen=len(orders) * len(rows), cut=(len(orders) - 1) * len(rows))
            chosen[rows, number] = np.array([self._whole(order) for order in orders])[best]


@dataclass(slots=True, eq=False)
class _Operand:
    """One operand on its way outwards, a number per mapping each."""

    held: Booleans
    """Whether a memory inside keeps it."""
    still: Booleans
    """Whether no loop that it depends on turns outside the nearest of those."""
    words: Column
    """Of the tile there."""
    sizes: list[Column]
    """Of the tile, per axis."""
    extents: Column
    """(dims, mappings), of the tile."""
    apart: Column
    """Instances, from there to here, that need words of their own."""


class Levels:
    """What the loops of one memory after the other ask for, inner to outer."""

    def __init__(self, fabric: Fabric, counting: Counting, trips: Integers, keeps: Booleans) -> None:
        self.fabric = fabric
        self.counting = counting
        columns = np.ascontiguousarray(trips.transpose(1, 2, 3, 0), np.float64)
        self.trips = columns[:, 2]
        self.ways = columns[:, 0] * columns[:, 1]
        self.tiles: Column = np.cumprod(self.ways * self.trips, axis=0, dtype=np.float64)
        self.keeps = np.ascontiguousarray(keeps.transpose(1, 2, 0))
        self.operands = [self._new(place) for place in range(len(fabric.operands))]
        self.outside = [self._outside(place) for place in range(len(fabric.operands))]
        self._take(0)

    def _new(self, place: int) -> _Operand:
        count = self.trips.shape[2]
        none = np.zeros(count, bool)
        ones = np.ones(count)
        axes = len(self.fabric.operands[place].axes)
        return _Operand(none, ~none, ones, [ones] * axes, np.ones(self.trips.shape[1:]), ones)

    def _groups(self, number: int, place: int) -> Column:
        """Children of a memory that need words of their own."""
        operand, memory = self.fabric.operands[place], self.fabric.memories[number]
        dims = sorted(operand.dims) if memory.together(operand) else range(len(self.fabric.dims))
        found: Column = self.ways[number, list(dims)].prod(axis=0)
        return found

    def _outside(self, place: int) -> list[Column]:
        """Per memory, accesses at the keeper at or outside it for each word that its children ask one instance for."""
        memories = len(self.trips)
        found = [np.ones(self.trips.shape[2])] * memories
        instances = found[0]
        for number in reversed(range(memories)):
            further = self._groups(number + 1, place) * found[number + 1] if number + 1 < memories else instances
            found[number] = np.where(self.keeps[number, place], instances, further)
            instances = instances * self.ways[number].prod(axis=0)
        return found

    def _take(self, number: int) -> None:
        """A memory is passed: its keepers are the nearest inside."""
        for place, own in enumerate(self.operands):
            operand, keeps = self.fabric.operands[place], self.keeps[number, place]
            if not keeps.any():
                continue
            sizes = [
                axis_sizes([c for _, c in axis], [self.tiles[number, dim] for dim, _ in axis], self.counting)
                for axis in operand.axes
            ]
            words = np.ones(len(keeps))
            for size in sizes:
                words = words * size
            own.held = own.held | keeps
            own.still = own.still | keeps
            own.words = np.where(keeps, words, own.words)
            own.sizes = [np.where(keeps, new, old) for new, old in zip(sizes, own.sizes, strict=True)]
            own.extents = np.where(keeps, self.tiles[number], own.extents)
            own.apart = np.where(keeps, 1.0, own.apart)

    def step(self, number: int) -> None:
        """Goes on to the loops of a memory, the next one outwards."""
        if number > 1:
            for place, own in enumerate(self.operands):
                relevant = sorted(self.fabric.operands[place].dims)
                own.still = own.still & (self.trips[number - 1, relevant] == 1).all(axis=0)
            self._take(number - 1)
        for place, own in enumerate(self.operands):
            own.apart = own.apart * self._groups(number, place)

    def matters(self) -> Booleans:
        """(operands, mappings): whether the order here can spare accesses."""
        return np.array([own.held & own.still for own in self.operands])

    def asked(self, number: int, places: tuple[int, ...], reuses: tuple[Reuse, ...], rows: Integers) -> Column:
        """Accesses that an order leaves, over the trips of the loops, of some operands and mappings."""
        found = np.zeros(len(rows))
        for place, (inner, sliding) in zip(places, reuses, strict=True):
            own, operand = self.operands[place], self.fabric.operands[place]
            each = own.words[rows]
            if sliding is not None:
                each = each - (1 - 1 / self.trips[number, sliding, rows]) * self._kept(number, place, sliding, rows)
            for dim in inner:
                each = each / self.trips[number, dim, rows]
            each = each * own.apart[rows] * self.outside[place][number][rows]
            found += 2 * each if operand.output else each
        return found

    def _kept(self, number: int, place: int, sliding: int, rows: Integers) -> Column:
        """Words of the keeper's tile that stay when the loop of one dim turns."""
        own, operand = self.operands[place], self.fabric.operands[place]
        stride = self.ways[number, sliding, rows] * (self.tiles[number - 1, sliding, rows])
        found = np.ones(len(rows))
        for axis, size in zip(operand.axes, own.sizes, strict=True):
            if sliding in dict(axis):
                extents = [own.extents[dim, rows] for dim, _ in axis]
                shift = dict(axis)[sliding] * stride
                found = found * axis_overlaps([c for _, c in axis], extents, size[rows], shift, self.counting)
            else:
                found = found * size[rows]
        return found
