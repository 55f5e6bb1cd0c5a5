"""The mapping that the search starts from: all factors at the outermost memory, but for what the machine demands."""

from __future__ import annotations

from math import gcd

import numpy as np

from optmap.base.arrays import Flags, Ints
from optmap.machines.accelerator import KeepRule
from optmap.machines.elements import whole
from optmap.machines.fabric import Rule
from optmap.machines.relations import Relation
from optmap.search.accelerators.random_nests import random_nests
from optmap.search.quickflow.moves import AdjacentMoves, Allocations
from optmap.search.quickflow.places import Places, product_at

DRAWN = 4096
"""Random mappings among which a start is sought where the mended one is not valid."""


def start(moves: AdjacentMoves, rng: np.random.Generator) -> Allocations:
    """The first mapping.

    Every factor stands at the outermost memory. Demands for a product inside (`=` and `>=`) then take what they need
    from there, the memories inside first; factors that have no place there go to the next that has one. If that is
    not valid, the random valid mapping with most left outermost is taken.

    Args:
        moves: of the fabric.
        rng: for the random mappings.

    Returns:
        One mapping, or none where none was found.
    """
    places = moves.places
    trips = _mended(places)
    keeps = _keeps(places)
    fits = places.admitted(trips[None]) & (
        places.fitting.fit_from(0, places.tiles(trips[None]), keeps[None]) if moves.exact_tiles else True
    )
    if fits[0]:
        return moves.allocations(trips[None], keeps[None])
    return _drawn(moves, rng)


def _mended(places: Places) -> Ints:
    """Trips, (places, dims), with what the machine demands inside."""
    trips = np.ones(places.allowed.shape, np.int64)
    trips[places.outermost] = places.fabric.extents
    for slots, rule in places.rules:
        if places.outermost not in slots and rule.relation is not Relation.AT_MOST:
            _meet(places, trips, slots, rule)
    for dim, prime, _ in places.primes:
        while not places.allowed[places.outermost, dim] and trips[places.outermost, dim] % prime == 0:
            inner = [place for place in range(places.outermost) if places.allowed[place, dim]]
            used = trips.prod(axis=1)
            room = [place for place in inner if used[place] * prime <= places.sizes[place]]
            if not room:
                break
            _carry(trips, places.outermost, room[-1], dim, prime)
    return trips


def _meet(places: Places, trips: Ints, slots: tuple[int, ...], rule: Rule) -> None:
    """Brings factors of a rule's dims from the outermost memory until their product is what is asked for.

    Of several places the outermost takes them, as far as its mesh is large enough.
    """
    for dim, prime, _ in sorted(places.primes, key=lambda each: -each[1]):
        while (
            dim in rule.dims
            and trips[places.outermost, dim] % prime == 0
            and _closer(int(product_at(trips[None], slots, rule)[0]), prime, rule)
        ):
            used = trips.prod(axis=1) * prime
            fit = [place for place in slots if places.allowed[place, dim] and used[place] <= places.sizes[place]]
            if not fit:
                break
            _carry(trips, places.outermost, fit[-1], dim, prime)


def _closer(product: int, prime: int, rule: Rule) -> bool:
    if rule.relation is Relation.EQUAL:
        return rule.value % (product * prime) == 0
    if rule.relation is Relation.MULTIPLE:
        return rule.value // gcd(product, rule.value) % prime == 0
    return product < rule.value


def _carry(trips: Ints, source: int, target: int, dim: int, prime: int) -> None:
    trips[source, dim] //= prime
    trips[target, dim] *= prime


def _keeps(places: Places) -> Flags:
    """(memories, operands): what the machine leaves open is kept, as long as single elements fit."""
    asked = np.array([list(memory.keeps) for memory in places.fabric.memories])
    found: Flags = asked != KeepRule.REFUSED
    for number, memory in enumerate(places.fabric.memories):
        for room in memory.rooms:
            weights = dict(zip(room.operands, room.weights, strict=True))
            for operand in sorted(weights, reverse=True):
                held = sum(whole(1, weight) for own, weight in weights.items() if found[number, own])
                if held > room.capacity and asked[number, operand] == KeepRule.FREE:
                    found[number, operand] = False
    return found


def _drawn(moves: AdjacentMoves, rng: np.random.Generator) -> Allocations:
    places = moves.places
    batch = random_nests(places.fabric, DRAWN, rng)
    trips = np.stack([batch.x, batch.y, batch.temporal], axis=2).reshape(len(batch), -1, batch.x.shape[2])
    good = places.admitted(trips) & (trips.prod(axis=1) == places.fabric.extents).all(axis=1)
    if moves.exact_tiles:
        good &= places.fitting.fit_from(0, places.tiles(trips), batch.keeps)
    rows = np.flatnonzero(good)
    most = rows[np.argsort(-trips[rows, places.outermost].prod(axis=1), kind="stable")[:1]]
    return moves.allocations(trips[most], batch.keeps[most])
