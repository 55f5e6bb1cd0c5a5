"""Random mappings of an accelerator: perfect factors that fit, drawn a whole batch at a time."""

from __future__ import annotations

import numpy as np

from optmap.base.arrays import Flags, Ints
from optmap.machines.accelerator import KeepRule
from optmap.machines.elements import whole
from optmap.machines.fabric import Fabric, Memory, Rule
from optmap.mappings.nest_batch import KINDS, TIME, NestBatch
from optmap.questions.policy import Footprint
from optmap.search.accelerators.fitting import Fitting
from optmap.search.accelerators.shares import fields_of, shares_of
from optmap.symbolic.numbers import prime_factors

ROWS = 2048
"""Nests that are drawn together."""


def random_nests(fabric: Fabric, count: int, rng: np.random.Generator) -> NestBatch:
    """Random mappings with perfect factors.

    The prime factors of the extents go one by one, in random order, to a place drawn evenly among those (x, y or
    time at any memory) where they may stand: the mesh is large enough, no factor rule is exceeded, and the tiles of
    this memory and of all outside it still fit, as hulls. Of a dim whose tiles or ways a user demands, it is drawn
    first which of its factors go inside, outside and on a mesh. So most nests are valid; those that are not miss a
    rule that asks for a product that was not reached, or found no place to fit and went to the outermost memory.

    Args:
        fabric: the machine as the workload sees it.
        count: how many.
        rng: where chance comes from.
    """
    parts = [_drawn(fabric, min(ROWS, count - start), rng) for start in range(0, max(count, 1), ROWS)]
    return NestBatch(**{key: np.concatenate([part[key] for part in parts]) for key in parts[0]})


def _drawn(fabric: Fabric, count: int, rng: np.random.Generator) -> dict[str, Ints | Flags]:
    """Some nests, as fields of a batch."""
    keeps = _keeps(fabric, count, rng)
    factors = [(dim, prime) for dim, extent in enumerate(fabric.extents) for prime in prime_factors(extent)]
    trips = np.ones((count, len(fabric.memories), KINDS, len(fabric.dims)), np.int64)
    if factors:
        turns = rng.permuted(np.tile(np.arange(len(factors)), (count, 1)), axis=1)
        fields = _fields(fabric, factors, count, rng)
        for turn in turns.T:
            field = None if fields is None else fields[np.arange(count), turn]
            _place(fabric, trips, keeps, np.array(factors)[turn], rng, field=field)
    order = np.stack([_order(memory, len(fabric.dims), count, rng) for memory in fabric.memories], axis=1)
    return {"x": trips[:, :, 0], "y": trips[:, :, 1], "temporal": trips[:, :, TIME], "order": order, "keeps": keeps}


def _keeps(fabric: Fabric, count: int, rng: np.random.Generator) -> Flags:
    """What the machine leaves open is drawn evenly, but for what would not fit as single elements."""
    asked = np.array([list(memory.keeps) for memory in fabric.memories])
    found = rng.random((count, *asked.shape)) < 0.5
    found[:, asked == KeepRule.KEPT] = True
    found[:, asked == KeepRule.REFUSED] = False
    for number, memory in enumerate(fabric.memories):
        for room in memory.rooms:
            weights = np.zeros(asked.shape[1], np.int64)
            weights[list(room.operands)] = [whole(1, weight) for weight in room.weights]
            free = (asked[number] == KeepRule.FREE) & (weights > 0)
            for operand in rng.permuted(np.tile(np.flatnonzero(free), (count, 1)), axis=1).T:
                over = found[:, number] @ weights > room.capacity
                found[over, number, operand[over]] = False
    for operand in range(asked.shape[1]):
        outermost = int(np.flatnonzero(asked[:, operand] != KeepRule.REFUSED)[-1])
        found[:, outermost, operand] |= ~found[:, :, operand].any(axis=1)
    return found


def _fields(fabric: Fabric, factors: list[tuple[int, int]], count: int, rng: np.random.Generator) -> Flags | None:
    """(nests, factors, memories, kinds): where each factor may stand for a user's demands; None without any."""
    if not fabric.demanded:
        return None
    found = np.ones((count, len(factors), len(fabric.memories), KINDS), bool)
    for dim in sorted(fabric.demanded):
        own = [number for number, (place, _) in enumerate(factors) if place == dim]
        shares = shares_of(fabric, dim)
        if own and shares:
            primes = [factors[number][1] for number in own]
            fields = np.array([fields_of(share, primes, len(fabric.memories)) for share in shares])
            found[:, own] = fields[rng.integers(len(shares), size=count)]
    return found


def _place(
    fabric: Fabric,
    trips: Ints,
    keeps: Flags,
    factors: Ints,
    rng: np.random.Generator,
    *,
    field: Flags | None,
) -> None:
    """Gives every nest one more factor, (nests, 2) as (dim, prime), within its field, and writes it into `trips`."""
    rows = np.arange(len(trips))
    dim, prime = factors.T
    further = np.ones((len(trips), len(fabric.dims)), np.int64)
    further[rows, dim] = prime
    open_ = np.zeros((len(trips), len(fabric.memories), KINDS), bool)
    tiles = trips.prod(axis=2).cumprod(axis=1) * further[:, None]
    fits, fitting = np.ones(len(trips), bool), Fitting(fabric, Footprint.HULL)
    for number in reversed(range(len(fabric.memories))):
        memory = fabric.memories[number]
        fits &= fitting.fit(number, tiles[:, number], keeps[:, number])
        for kind, direction in enumerate((memory.x, memory.y)):
            now = trips[:, number, kind] * further
            allowed = np.array(direction.allowed)[dim] & (now.prod(axis=1) <= direction.size)
            open_[:, number, kind] = fits & allowed & _admitted(direction.rules, now)
        loops = np.array(memory.loopable(len(fabric.dims)))[dim]
        open_[:, number, TIME] = fits & loops & _admitted(memory.rules, trips[:, number, TIME] * further)
    if field is not None:
        open_ &= field
    open_[~open_.any(axis=(1, 2)), -1, TIME] = True
    places = open_.reshape(len(trips), len(fabric.memories) * KINDS)
    chosen = (rng.random(places.shape) * places).argmax(axis=1)
    trips[rows, chosen // KINDS, chosen % KINDS, dim] *= prime


def _admitted(rules: tuple[Rule, ...], trips: Ints) -> Flags:
    """Whether no rule is exceeded; products only grow."""
    found = np.ones(len(trips), bool)
    for rule in rules:
        found &= rule.open(trips[:, list(rule.dims)].prod(axis=1))
    return found


def _order(memory: Memory, dims: int, count: int, rng: np.random.Generator) -> Ints:
    """Loop orders of one memory, (nests, dims), by the entry of the pattern that a dim suits and then by chance."""
    keys = rng.random((count, dims))
    for dim in range(dims if memory.order else 0):
        places = memory.entries(dim)
        if places:
            keys[:, dim] += rng.choice(places, count) if memory.order[places[0]] is None else places[0]
    return keys.argsort(axis=1)
