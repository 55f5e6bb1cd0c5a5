"""Where factors of the extents may stand on a machine, and which mappings keep to its rules and capacities."""

from __future__ import annotations

import numpy as np

from optmap.base.arrays import Flags, Ints
from optmap.machines.fabric import Fabric, Rule
from optmap.machines.relations import Relation
from optmap.mappings.nest_batch import KINDS, TIME
from optmap.questions.policy import Policy
from optmap.search.accelerators.fitting import Fitting
from optmap.symbolic.numbers import prime_factors


class Places:
    """The places of a fabric, memories inner to outer: `KINDS * memory + kind`."""

    def __init__(self, fabric: Fabric, counting: Policy) -> None:
        self.fabric = fabric
        self.fitting = Fitting(fabric, counting.room)
        memories, dims = len(fabric.memories), len(fabric.dims)
        self.count = KINDS * memories
        self.outermost = self.count - 1
        """Place of the outermost memory's loops."""
        self.sizes = np.full(self.count, np.iinfo(np.int64).max)
        """Per place, most trips of all dims together."""
        self.rules: list[tuple[tuple[int, ...], Rule]] = []
        """(places whose trips it is about, rule)"""
        self.allowed = np.ones((self.count, dims), bool)
        """(places, dims), whether a dim may have more than one trip there."""
        for number, memory in enumerate(fabric.memories):
            first = KINDS * number
            for kind, direction in enumerate((memory.x, memory.y)):
                self.sizes[first + kind] = direction.size
                self.allowed[first + kind] = np.array(direction.allowed, bool) & (direction.size > 1)
                self.rules += [((first + kind,), rule) for rule in direction.rules]
            self.rules += [((first + TIME,), rule) for rule in memory.rules]
            self.rules += [(tuple(range(first + KINDS)), rule) for rule in memory.tiles]
            self.rules += [(tuple(range(first, first + TIME)), rule) for rule in memory.ways]
            self.allowed[first + TIME] = memory.loopable(dims)
        for places, rule in self.rules:
            if rule.relation in (Relation.EQUAL, Relation.AT_MOST) and rule.value == 1:
                self.allowed[np.ix_(places, rule.dims)] = False
        self.primes = tuple(
            (dim, prime, prime_factors(extent).count(prime))
            for dim, extent in enumerate(fabric.extents)
            for prime in sorted(set(prime_factors(extent)))
        )
        """(dim, prime, how often it divides the extent)"""

    @property
    def orderable(self) -> Flags:
        """(memories, dims), whether a temporal loop may stand there."""
        return self.allowed[TIME::KINDS]

    def spatial(self) -> Flags:
        """(places,), whether it is on a mesh."""
        found: Flags = np.arange(self.count) % KINDS != TIME
        return found

    def tiles(self, trips: Ints) -> Ints:
        """(mappings, memories, dims) of trips (mappings, places, dims)."""
        shape = (len(trips), self.count // KINDS, KINDS, trips.shape[2])
        found: Ints = trips.reshape(shape).prod(axis=2).cumprod(axis=1)
        return found

    def admitted(self, trips: Ints) -> Flags:
        """Whether mappings, (mappings, places, dims), keep to meshes and factor rules."""
        found: Flags = (trips.prod(axis=2) <= self.sizes).all(axis=1)
        found &= ((trips == 1) | self.allowed).all(axis=(1, 2))
        return found & self.ruled(trips)

    def ruled(self, trips: Ints) -> Flags:
        """Whether mappings keep to factor rules."""
        found = np.ones(len(trips), bool)
        for places, rule in self.rules:
            found &= rule.met(product_at(trips, places, rule))
        return found


def product_at(trips: Ints, places: tuple[int, ...], rule: Rule) -> Ints:
    """What a rule is about, (mappings,) of trips (mappings, places, dims)."""
    if not rule.dims:
        return np.ones(len(trips), np.int64)
    found: Ints = trips[:, np.array(places)[:, None], np.array(rule.dims)].prod(axis=(1, 2))
    return found
