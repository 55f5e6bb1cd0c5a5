"""Many mappings of one accelerator at once: the same counts as `count_nest`, a column of numbers per operation.

Searches and enumerations judge millions of mappings; one at a time is too slow for that. Counts are whole
numbers kept in float64; a row whose numbers may leave the range where these are exact is counted by
`count_nest`, as are all rows of a workload for which the policy has no closed form (`NestPolicy.columns`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from optmap.base.arrays import Flags, Floats
from optmap.count.meshes.batch_columns import Columns
from optmap.count.meshes.batch_count import LARGEST
from optmap.count.meshes.batch_valid import valid_rows
from optmap.count.meshes.count import NEST_EXACT, count_nest
from optmap.count.meshes.policy import NestPolicy
from optmap.machines.fabric import Fabric
from optmap.mappings.nest_batch import NestBatch
from optmap.questions.options import Merit

ROWS = 4096
"""Mappings that are counted together: their columns stay in a core's own cache."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BatchCost:
    """What a batch costs: a row per nest, counts of all instances together."""

    valid: Flags
    """(nests,): it fits, covers the extents, and keeps to the meshes and rules of the machine."""
    energy_pj: Floats
    """(nests,)"""
    cycles: Floats
    """(nests,): of computation, or of the slowest memory if it takes longer; whole numbers."""
    port_cycles: Floats
    """(nests, memories): that its ports need, computation left out; 0 without a limit."""
    reads: Floats
    """(nests, memories, operands), words."""
    fills: Floats
    """(nests, memories, operands), words."""
    updates: Floats
    """(nests, memories, operands), words."""
    recounted: int
    """Nests that `count_nest` had to count."""

    @property
    def edp(self) -> Floats:
        """Energy times cycles, in pJ*cycles."""
        return self.energy_pj * self.cycles

    def merit(self, merit: Merit) -> Floats:
        """What is minimised, as `SpatialCost.merit`."""
        match merit:
            case Merit.ENERGY:
                return self.energy_pj
            case Merit.CYCLES:
                return self.cycles
            case Merit.EDP:
                return self.edp
            case Merit.PORT_CYCLES:
                slowest: Floats = self.port_cycles.max(axis=1)
                return slowest


def evaluate_batch(batch: NestBatch, fabric: Fabric, counting: NestPolicy = NEST_EXACT) -> BatchCost:
    """Counts every nest of a batch, as `count_nest` does: counts equal, energies to 1e-12 of them.

    Args:
        batch: nests of the fabric, valid or not.
        fabric: the machine as the workload sees it.
        counting: the policy that they are counted by.

    Raises:
        LimitError: for subscripts of three dims or more whose values are too many to be enumerated.
        InputError: for what the policy cannot count.
    """
    shape = batch.keeps.shape
    cost = BatchCost(
        valid=np.empty(shape[0], bool),
        energy_pj=np.empty(shape[0]),
        cycles=np.empty(shape[0]),
        port_cycles=np.empty(shape[:2]),
        reads=np.zeros(shape),
        fills=np.zeros(shape),
        updates=np.zeros(shape),
        recounted=0,
    )
    counting.refuse(fabric)
    again: list[int] = []
    for start in range(0, shape[0], ROWS):
        rows = slice(start, min(start + ROWS, shape[0]))
        again += _count(cost, batch[rows], rows, fabric, counting)
    for row in again:
        _recount(cost, batch, row, fabric, counting)
    return replace(cost, recounted=len(again))


def _count(cost: BatchCost, batch: NestBatch, rows: slice, fabric: Fabric, counting: NestPolicy) -> Sequence[int]:
    """Counts some rows at once; hands back those for which there is no closed form, or whose numbers are too large."""
    columns = Columns.of(batch)
    counted = counting.columns(columns, fabric)
    if counted is None:
        return range(rows.start, rows.stop)
    cost.valid[rows] = valid_rows(columns, counted.tile_words, fabric)
    cost.energy_pj[rows] = counted.energy_pj
    cost.cycles[rows] = counted.cycles
    cost.port_cycles[rows] = counted.port_cycles.T
    for own, found in ((cost.reads, counted.reads), (cost.fills, counted.fills), (cost.updates, counted.updates)):
        own[rows] = found.transpose(2, 0, 1)
    return [rows.start + int(row) for row in np.flatnonzero(counted.largest >= LARGEST)]


def _recount(cost: BatchCost, batch: NestBatch, row: int, fabric: Fabric, counting: NestPolicy) -> None:
    found = count_nest(batch.nest(row), fabric, counting)
    cost.valid[row] = not found.broken
    cost.energy_pj[row] = float(found.energy_pj)
    cost.cycles[row] = found.cycles
    names = [operand.name for operand in fabric.operands]
    for own in (cost.reads, cost.fills, cost.updates):
        own[row] = 0
    for number, memory in enumerate(found.memories):
        cost.port_cycles[row, number] = memory.cycles
        for accesses in memory.accesses:
            place = names.index(accesses.operand)
            cost.reads[row, number, place] = accesses.reads
            cost.fills[row, number, place] = accesses.fills
            cost.updates[row, number, place] = accesses.updates
