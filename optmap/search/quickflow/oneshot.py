"""The orders of all loops of many mappings, memory by memory, by the accesses that they spare (section IV-C).

No count is asked for: at each memory the order is taken that spares most of what the keepers inside ask for. What
other memories' orders reuse is left out, so that no choice is ever taken back.
"""

from __future__ import annotations

from math import factorial

import numpy as np

from optmap.base.arrays import Flags, Ints
from optmap.machines.fabric import Fabric
from optmap.questions.policy import Policy
from optmap.search.explore.protocol import PruneTally
from optmap.search.quickflow.classes import Order, dataflow_classes, reuse_classes
from optmap.search.quickflow.levels import Levels, Weight, prices_of


class OneShot:
    """Chooses orders on one fabric."""

    def __init__(
        self, fabric: Fabric, counting: Policy, orderable: Flags, tally: PruneTally, weight: Weight = Weight.ENERGY
    ) -> None:
        """From workload and machine alone.

        Args:
            fabric: the machine as the workload sees it.
            counting: how words are counted.
            orderable: (memories, dims), whether a temporal loop may stand there.
            tally: where classes are counted.
            weight: what spared accesses are worth.
        """
        self.fabric = fabric
        self.counting = counting
        self.tally = tally
        self.prices = prices_of(fabric, weight)
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

    def choose(self, trips: Ints, keeps: Flags) -> Ints:
        """The orders of some mappings.

        Args:
            trips: (mappings, memories, 3, dims), along x, along y, and in time.
            keeps: (mappings, memories, operands).

        Returns:
            (mappings, memories, dims), outermost loop first.
        """
        chosen = np.tile(self.plain, (len(trips), 1, 1))
        levels = Levels(self.fabric, self.counting, self.prices, trips, keeps)
        for number in range(1, len(self.orders)):
            levels.step(number)
            if len(self.orders[number]) > 1:
                self._memory(number, levels, chosen)
        return chosen

    def _memory(self, number: int, levels: Levels, chosen: Ints) -> None:
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
