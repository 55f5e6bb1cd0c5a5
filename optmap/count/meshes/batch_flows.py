"""Counting `factorflow` for many nests: what `factorflow` says, a column of all nests per number.

Memories are gone through once outwards: what passes a memory's edge while it holds one tile, its mesh and loops on top
of those of the memories inside that do not keep the operand. Then once inwards: what a keeper reads is filled into
the next keeper inside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from optmap.count.meshes.batch_axes import axis_sizes
from optmap.count.meshes.batch_columns import Column, Columns, Mask, Places
from optmap.count.meshes.batch_count import (
    BesidesWords,
    CountedColumns,
    axes_sizes,
    port_cycles,
    product_of,
    rooms_of,
    weighted,
)
from optmap.count.meshes.batch_walk import OperandDims, TileWords
from optmap.machines.fabric import Fabric, Memory
from optmap.questions.policy import Footprint, Policy


@dataclass(slots=True)
class _Passing:
    """What passes an edge while a keeper holds one tile: `factorflow.Handed` for every nest."""

    words: Column
    returns: Column
    children: Column
    stays: Mask
    """Whether no loop so far has moved the operand."""


def count_flows(columns: Columns, fabric: Fabric, counting: Policy) -> CountedColumns:
    """Counts nests, whole numbers as floats: rows whose `largest` is beyond what floats can hold are wrong.

    Args:
        columns: the nests.
        fabric: the machine as the workload sees it; `is_closed` holds for it.
        counting: what tiles take of capacities.
    """
    walk, shape = TileWords(columns), columns.keeps.shape
    reads, fills, updates, words = (np.zeros(shape) for _ in range(4))
    for number in range(shape[1]):
        flow = _Flow(walk, fabric, number)
        flow.count(reads[:, number], fills[:, number], updates[:, number])
        words[:, number] = rooms_of(walk, flow.shape, counting.room)
    compute = walk.steps[0] * columns.trips[0].prod(axis=0)
    operations = compute * walk.instances[0] * columns.ways[0].prod(axis=0)
    energy, ports = operations * float(fabric.arithmetic_pj), np.zeros((shape[0], shape[2]))
    for number, memory in enumerate(fabric.memories):
        energy += _energy(memory, reads[number], fills[number], updates[number])
        writes = fills[number] + updates[number]
        ports[number] = port_cycles(walk, memory, reads[number], writes, walk.instances[number])
    work = BesidesWords(compute=compute, operations=operations, energy_pj=energy, port_cycles=ports)
    return work.counted(walk, reads=reads, fills=fills, updates=updates, words=words)


class _Flow:
    """Counts one operand through all memories."""

    def __init__(self, walk: TileWords, fabric: Fabric, number: int) -> None:
        self.walk, self.columns, self.fabric = walk, walk.columns, fabric
        self.shape: OperandDims = walk.shape(number, fabric.operands[number])
        self.alone = np.ones(self.columns.trips.shape[2])

    def count(self, reads: Column, fills: Column, updates: Column) -> None:
        """Writes the accesses of all instances of every memory, (memories, nests) each."""
        columns, output = self.columns, self.shape.operand.output
        edges = self._edges()
        outside = self.alone  # returns to a word by loops outside
        arriving = leaving = np.zeros_like(self.alone)
        for number in reversed(range(len(edges))):
            passing, keeps = edges[number], columns.keeps[number, self.shape.number]
            asked = passing.words * self.walk.instances[number] * self.walk.steps[number]
            self.walk.note(asked)
            read = asked - np.ceil(asked / (passing.returns * outside)) if output else asked
            taken = asked if output else np.zeros_like(asked)
            reads[number], fills[number] = (read + leaving) * keeps, arriving * keeps
            updates[number] = taken * keeps
            if output:
                leaving = np.where(keeps, (arriving + taken) * passing.children, leaving)
            arriving = np.where(keeps, read * passing.children, arriving)
            outside = outside * _product(columns.trips[number], self.shape.irrelevant)

    def _edges(self) -> list[_Passing]:
        """Per memory what passes its edge, were it to keep the operand."""
        found = []
        passing = self._start(None)
        for number in range(len(self.columns.trips)):
            passing = self._through_mesh(passing, number)
            passing = self._through_time(passing, number)
            self.walk.note(passing.words)
            found.append(passing)
            keeps = self.columns.keeps[number, self.shape.number]
            if keeps.any():
                fresh = self._start(number)
                passing = _Passing(
                    np.where(keeps, fresh.words, passing.words),
                    np.where(keeps, 1.0, passing.returns),
                    np.where(keeps, 1.0, passing.children),
                    passing.stays | keeps,
                )
        return found

    def _start(self, number: int | None) -> _Passing:
        """At a keeper, or at the units: its tile."""
        words = self.alone
        if number is not None:
            words = product_of(axes_sizes(self.shape, self.columns.tiles[number], Footprint.TOUCHED), len(words))
        return _Passing(words, self.alone, self.alone, np.ones(len(self.alone), bool))

    def _values(self, axis: Sequence[tuple[int, int]], extents: Column) -> Column:
        return axis_sizes([c for _, c in axis], [extents[dim] for dim, _ in axis], Footprint.TOUCHED)

    def _through_mesh(self, passing: _Passing, number: int) -> _Passing:
        ways, memory = self.columns.ways[number], self.fabric.memories[number]
        if memory.fanout == 1 and not (ways > 1).any():
            return passing
        apart, alike = _product(ways, self.shape.relevant), _product(ways, self.shape.irrelevant)
        if not memory.together(self.shape.operand):
            return _Passing(passing.words * apart * alike, passing.returns, passing.children, passing.stays)
        return _Passing(passing.words * apart, passing.returns, passing.children * alike, passing.stays)

    def _through_time(self, passing: _Passing, number: int) -> _Passing:
        trips, place = self.columns.trips[number], self.columns.place[number]
        last = self.walk.innermost(number, self.shape.relevant)
        reuse = passing.stays if number else np.zeros_like(passing.stays)
        words, slid = self._slide(passing, number, last, reuse)
        returns = passing.returns
        for dim in self.walk.live:
            counted = np.where(~reuse | (place[dim] <= last), trips[dim], 1.0)
            if dim in self.shape.irrelevant:
                returns = returns * counted
            words = words * np.where(slid & (place[dim] == last), 1.0, counted)
        return _Passing(words, returns, passing.children, passing.stays & (last < 0))

    def _slide(self, passing: _Passing, number: int, last: Places, reuse: Mask) -> tuple[Column, Mask]:
        """Words with the union of the innermost moving loop's tiles where they slide, and where that is."""
        columns = self.columns
        trips, place, ways = columns.trips[number], columns.place[number], columns.ways[number]
        words, slid = passing.words, np.zeros_like(reuse)
        before = columns.strides[number]
        for axis in self.shape.axes:
            if len(axis) == 1:
                continue
            whole = reuse & np.all([ways[dim] == 1 for dim, _ in axis], axis=0)
            for moving, _ in axis:
                rows = np.flatnonzero(whole & (last >= 0) & (place[moving] == last))
                if not len(rows):
                    continue
                own = before[:, rows]
                after = own.copy()
                after[moving] *= trips[moving, rows]
                words = words.copy()
                words[rows] = np.floor(words[rows] / self._values(axis, own)) * self._values(axis, after)
                slid[rows] = True
        return words, slid


def _product(numbers: Column, dims: Sequence[int]) -> Column:
    found: Column = numbers[list(dims)].prod(axis=0)
    return found


def _energy(memory: Memory, reads: Column, fills: Column, updates: Column) -> Column:
    """Energy of all instances in pJ, every element its share of a block; columns are (operands, nests)."""
    found = np.zeros(reads.shape[1])
    least = zip(*(element.least_pj for element in memory.elements), strict=True)
    for words, prices in zip((reads, fills, updates), least, strict=True):
        if any(prices):
            found += weighted(words, prices)
    return found
