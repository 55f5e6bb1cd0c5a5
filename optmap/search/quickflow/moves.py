"""Adjacent mappings: one prime factor of a dim moves from one loop to another, or several equal ones at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from optmap.base.arrays import Flags, Ints
from optmap.base.rows import Rows
from optmap.count.meshes.batch_count import is_closed
from optmap.machines.accelerator import KeepRule
from optmap.search.explore.protocol import PruneTally
from optmap.search.quickflow.places import Places

Keys = NDArray[np.uint64]
"""One per mapping, equal for equal ones; two of a million different ones share one with a chance of 1 in 10^7."""
PAIRS = 2**16
"""Pairs of mapping and move that are looked at together: tenths of a second, tens of MB."""
NOWHERE = -1
"""The place that a first move, or that of a keeper, took its factor from."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Allocations(Rows):
    """Mappings without orders: where the factors are, and who keeps what."""

    trips: Ints
    """(mappings, places, dims)"""
    keeps: Flags
    """(mappings, memories, operands)"""
    keys: Keys
    root: Ints
    """(mappings,), number of the mapping from which the search came here."""
    source: Ints
    """(mappings,), place from which the last move took a factor."""

    def __len__(self) -> int:
        return len(self.trips)

    def rooted(self) -> Allocations:
        """The same as roots of their own, which no move has led to."""
        count = len(self)
        return replace(self, root=np.arange(count), source=np.full(count, NOWHERE))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Table:
    """The moves of a round, an entry each."""

    dim: Ints
    factor: Ints
    """A prime to the power that moves."""
    source: Ints
    target: Ints
    step: Keys
    """What it adds to the key of a mapping."""


class AdjacentMoves:
    """Makes adjacent mappings on one fabric."""

    def __init__(self, places: Places, tally: PruneTally) -> None:
        self.places = places
        self.tally = tally
        self.exact_tiles = is_closed(places.fabric)
        """Whether places can say what fits; else the evaluator does."""
        self.free = [
            (number, operand)
            for number, memory in enumerate(places.fabric.memories)
            for operand, keep in enumerate(memory.keeps)
            if keep is KeepRule.FREE
        ]
        """(memory, operand) where the machine leaves it to the mapping."""
        chance = np.random.default_rng(1)
        most = np.iinfo(np.uint64).max
        self._weights = chance.integers(0, most, (places.count, len(places.primes)), np.uint64)
        self._flips = chance.integers(0, most, len(self.free), np.uint64)

    def allocations(self, trips: Ints, keeps: Flags) -> Allocations:
        """Mappings of trips (mappings, places, dims) and keepers, as roots."""
        keys = np.zeros(len(trips), np.uint64)
        for number, (dim, prime, count) in enumerate(self.places.primes):
            for power in range(1, count + 1):
                divides = trips[:, :, dim] % prime**power == 0
                keys += divides.astype(np.uint64) @ self._weights[:, number]
        for (memory, operand), weight in zip(self.free, self._flips, strict=True):
            keys += np.where(keeps[:, memory, operand], weight, np.uint64(0))
        none = np.zeros(len(trips), np.int64)
        return Allocations(trips=trips, keeps=keeps, keys=keys, root=none, source=none).rooted()

    def table(self, open_: Flags, *, several: bool) -> Table:
        """The moves between some places.

        Args:
            open_: (places,), those that take part.
            several: whether more than one equal factor may move at once.
        """
        rows = []
        steps = []
        for number, (dim, prime, count) in enumerate(self.places.primes):
            fit = np.flatnonzero(open_ & self.places.allowed[:, dim]).tolist()
            for power in range(1, count + 1 if several else 2):
                for source in fit:
                    for target in fit:
                        if source != target:
                            rows.append((dim, prime**power, source, target))
                            change = int(self._weights[target, number]) - int(self._weights[source, number])
                            steps.append(power * change % 2**64)
        columns = np.array(rows, np.int64).reshape(-1, 4).T
        names = ("dim", "factor", "source", "target")
        return Table(**dict(zip(names, columns, strict=True)), step=np.array(steps, np.uint64))

    def adjacent(
        self, now: Allocations, table: Table, seen: set[int], *, chained: bool, flips: bool
    ) -> Iterator[Allocations]:
        """The valid mappings next to some that were not seen yet; they are from then on.

        They come in parts, empty ones among them, none of which takes long to make.

        Args:
            now: the mappings.
            table: the moves.
            seen: keys of mappings.
            chained: whether a move only brings a factor to where the last one took one away.
            flips: whether keepers change, too.
        """
        rows = max(1, PAIRS // max(1, len(table.dim)))
        for first in range(0, len(now), rows):
            yield self._moved(now[first : first + rows], table, seen, chained=chained)
        for number in range(len(self.free) if flips else 0):
            for first in range(0, len(now), PAIRS):
                yield self._flipped(now[first : first + PAIRS], number, seen)

    def _moved(self, now: Allocations, table: Table, seen: set[int], *, chained: bool) -> Allocations:
        can = now.trips[:, table.source, table.dim] % table.factor == 0
        if chained:
            last = now.source[:, None]
            can &= (last == NOWHERE) | (last == table.target)
        possible = int(can.sum())
        used = now.trips.prod(axis=2)
        can &= used[:, table.target] * table.factor <= self.places.sizes[table.target]
        rows, moves = np.nonzero(can)
        self.tally.add("mesh", seen=possible, cut=possible - len(rows))
        keys = now.keys[rows] + table.step[moves]
        new = self._new(keys, seen)
        rows, moves, keys = rows[new], moves[new], keys[new]
        trips = now.trips[rows]
        every = np.arange(len(rows))
        trips[every, table.source[moves], table.dim[moves]] //= table.factor[moves]
        trips[every, table.target[moves], table.dim[moves]] *= table.factor[moves]
        found = Allocations(
            trips=trips, keeps=now.keeps[rows], keys=keys, root=now.root[rows], source=table.source[moves]
        )
        return self._valid(found)

    def _flipped(self, now: Allocations, number: int, seen: set[int]) -> Allocations:
        memory, operand = self.free[number]
        weight = self._flips[number]
        keys = np.where(now.keeps[:, memory, operand], now.keys - weight, now.keys + weight)
        new = self._new(keys, seen)
        keeps = now.keeps[new]
        keeps[:, memory, operand] ^= True
        found = replace(now[new], keeps=keeps, keys=keys[new], source=np.full(len(new), NOWHERE))
        somewhere: Flags = np.asarray(keeps[:, :, operand].any(axis=1))
        return self._valid(found[somewhere])

    def _new(self, keys: Keys, seen: set[int]) -> Ints:
        """The rows whose keys were not seen, the first of equal ones."""
        found = []
        for row, key in enumerate(keys.tolist()):
            if key not in seen:
                seen.add(key)
                found.append(row)
        self.tally.add("seen before", seen=len(keys), cut=len(keys) - len(found))
        return np.array(found, np.int64)

    def _valid(self, found: Allocations) -> Allocations:
        """Those that keep to the rules of the machine and fit."""
        good: Flags = self.places.ruled(found.trips)
        ruled = found[good]
        self.tally.add("factor rules", seen=len(found), cut=len(found) - len(ruled))
        if not self.exact_tiles:
            return ruled
        fits = ruled[self.places.fitting.fit_from(0, self.places.tiles(ruled.trips), ruled.keeps)]
        self.tally.add("capacity", seen=len(ruled), cut=len(ruled) - len(fits))
        return fits
