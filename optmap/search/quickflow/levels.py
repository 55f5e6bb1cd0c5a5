"""What the loops of one memory after the other leave to be moved, for many mappings at once.

An operand's nearest keeper inside asks for its tile whenever a loop that the operand depends on turns. So only the
loops up to the next ones of that kind, in memories that need not keep it, can spare anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from optmap.base.arrays import Flags, Ints
from optmap.count.meshes.batch_axes import axis_overlaps, axis_sizes
from optmap.count.meshes.batch_columns import Column
from optmap.machines.elements import Element
from optmap.machines.fabric import Fabric, Memory
from optmap.questions.policy import Policy
from optmap.search.quickflow.classes import Reuse


class Weight(StrEnum):
    """What spared accesses are worth."""

    ACCESSES = "accesses"
    """All the same, as the paper has it."""
    ENERGY = "energy"
    """Their energy, with that of the fill inside."""
    TIME = "time"
    """The time of the ports of one instance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WordPrices:
    """What a word costs on its way between two keepers."""

    outside: tuple[tuple[float, ...], ...]
    """Per memory and operand, at the outer keeper: of a read, or of an output's read and update."""
    inside: tuple[tuple[float, ...], ...]
    """Per memory and operand, of a fill at the inner keeper."""
    together: bool
    """Whether all instances count, or one."""


def prices_of(fabric: Fabric, weight: Weight) -> WordPrices:
    """What a word costs on one machine."""
    outside, inside = [], []
    for memory in fabric.memories:
        prices = [_prices(memory, element, weight) for element in memory.elements]
        each = zip(fabric.operands, prices, strict=True)
        outside.append(tuple(read + update if operand.output else read for operand, (read, update, _) in each))
        inside.append(tuple(fill for _, _, fill in prices))
    return WordPrices(outside=tuple(outside), inside=tuple(inside), together=weight is not Weight.TIME)


def _prices(memory: Memory, element: Element, weight: Weight) -> tuple[float, float, float]:
    """Of a read, an update and a fill of an element, blocks and clusters left out."""
    match weight:
        case Weight.ACCESSES:
            return 1.0, 1.0, 0.0
        case Weight.ENERGY:
            read, fill, update = (float(least * memory.block) for least in element.least_pj)
            return read, update, fill
        case Weight.TIME:
            read, write, shared = (
                float(element.passing / rate) if rate else 0.0
                for rate in (memory.read_rate, memory.write_rate, memory.shared_rate)
            )
            return read + shared, write + shared, write + shared


@dataclass(slots=True, eq=False)
class _Operand:
    """One operand on its way outwards, a number per mapping each."""

    held: Flags
    """Whether a memory inside keeps it."""
    still: Flags
    """Whether no loop that it depends on turns outside the nearest of those."""
    words: Column
    """Of the tile there."""
    sizes: list[Column]
    """Of the tile, per axis."""
    extents: Column
    """(dims, mappings), of the tile."""
    apart: Column
    """Instances, from there to here, that need words of their own."""
    fills: Column
    """Price of a word that comes into all instances there."""


class Levels:
    """What the loops of one memory after the other ask for, inner to outer."""

    def __init__(self, fabric: Fabric, counting: Policy, prices: WordPrices, trips: Ints, keeps: Flags) -> None:
        self.fabric = fabric
        self.prices = prices
        self.footprint = counting.footprint
        columns = np.ascontiguousarray(trips.transpose(1, 2, 3, 0), np.float64)
        self.trips = columns[:, 2]
        self.ways = columns[:, 0] * columns[:, 1]
        self.tiles: Column = np.cumprod(self.ways * self.trips, axis=0, dtype=np.float64)
        self.keeps = np.ascontiguousarray(keeps.transpose(1, 2, 0))
        spread: Column = self.ways.prod(axis=1)
        together = np.cumprod(spread[::-1], axis=0)[::-1] / spread
        self.instances: Column = together if prices.together else np.ones_like(together)
        """(memories, mappings), in use, as far as they count."""
        self.operands = [self._new(place) for place in range(len(fabric.operands))]
        self.outside = [self._outside(place) for place in range(len(fabric.operands))]
        self._take(0)

    def _new(self, place: int) -> _Operand:
        count = self.trips.shape[2]
        none = np.zeros(count, bool)
        ones = np.ones(count)
        axes = len(self.fabric.operands[place].axes)
        return _Operand(none, ~none, ones, [ones] * axes, np.ones(self.trips.shape[1:]), ones, ones)

    def _groups(self, number: int, place: int) -> Column:
        """Children of a memory that need words of their own."""
        operand, memory = self.fabric.operands[place], self.fabric.memories[number]
        dims = sorted(operand.dims) if memory.together(operand) else range(len(self.fabric.dims))
        found: Column = self.ways[number, list(dims)].prod(axis=0)
        return found

    def _outside(self, place: int) -> list[Column]:
        """Per memory, price at the keeper at or outside it of each word that its children ask one instance for."""
        memories = len(self.trips)
        found = [np.ones(self.trips.shape[2])] * memories
        instances = found[0]
        for number in reversed(range(memories)):
            further = self._groups(number + 1, place) * found[number + 1] if number + 1 < memories else instances
            price = self.prices.outside[number][place]
            own = instances * price if self.prices.together else np.full_like(instances, price)
            found[number] = np.where(self.keeps[number, place], own, further)
            instances = instances * self.ways[number].prod(axis=0)
        return found

    def _take(self, number: int) -> None:
        """A memory is passed: its keepers are the nearest inside."""
        for place, own in enumerate(self.operands):
            operand, keeps = self.fabric.operands[place], self.keeps[number, place]
            if not keeps.any():
                continue
            sizes = [
                axis_sizes([c for _, c in axis], [self.tiles[number, dim] for dim, _ in axis], self.footprint)
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
            own.fills = np.where(keeps, self.prices.inside[number][place] * self.instances[number], own.fills)

    def step(self, number: int) -> None:
        """Goes on to the loops of a memory, the next one outwards."""
        if number > 1:
            for place, own in enumerate(self.operands):
                relevant = sorted(self.fabric.operands[place].dims)
                own.still = own.still & (self.trips[number - 1, relevant] == 1).all(axis=0)
            self._take(number - 1)
        for place, own in enumerate(self.operands):
            own.apart = own.apart * self._groups(number, place)

    def matters(self) -> Flags:
        """(operands, mappings): whether the order here can spare accesses."""
        return np.array([own.held & own.still for own in self.operands])

    def asked(self, number: int, places: tuple[int, ...], reuses: tuple[Reuse, ...], rows: Ints) -> Column:
        """Price of what an order leaves to be moved, over the trips of the loops, of some operands and mappings."""
        found = np.zeros(len(rows))
        for place, (inner, sliding) in zip(places, reuses, strict=True):
            own = self.operands[place]
            each = own.words[rows]
            if sliding is not None:
                each = each - (1 - 1 / self.trips[number, sliding, rows]) * self._kept(number, place, sliding, rows)
            for dim in inner:
                each = each / self.trips[number, dim, rows]
            found += each * (own.apart[rows] * self.outside[place][number][rows] + own.fills[rows])
        return found

    def _kept(self, number: int, place: int, sliding: int, rows: Ints) -> Column:
        """Words of the keeper's tile that stay when the loop of one dim turns."""
        own, operand = self.operands[place], self.fabric.operands[place]
        stride = self.ways[number, sliding, rows] * (self.tiles[number - 1, sliding, rows])
        found = np.ones(len(rows))
        for axis, size in zip(operand.axes, own.sizes, strict=True):
            if sliding in dict(axis):
                extents = [own.extents[dim, rows] for dim, _ in axis]
                shift = dict(axis)[sliding] * stride
                found = found * axis_overlaps([c for _, c in axis], extents, size[rows], shift, self.footprint)
            else:
                found = found * size[rows]
        return found
