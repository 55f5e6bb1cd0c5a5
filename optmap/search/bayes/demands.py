"""The factors that the rules of a machine demand: where they have to stand before anything else is placed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

import numpy as np

from optmap.base.arrays import Flags, Ints
from optmap.machines.accelerator import KeepRule
from optmap.machines.fabric import Fabric, Rule
from optmap.machines.relations import Relation
from optmap.mappings.nest_batch import KINDS
from optmap.search.accelerators.fitting import Fitting
from optmap.symbolic.numbers import divisors_of

TRIES = 20_000
"""Ways to meet the rules that are looked at."""


@dataclass(frozen=True, slots=True)
class _Demand:
    memory: int
    kind: int
    rule: Rule


def demanded(fabric: Fabric, fitting: Fitting) -> Ints | None:
    """(memories, kinds, dims): the least trips with which every rule that asks for some is met; None if there are none.

    They fit with what must be kept; what the others keep is for the caller.
    """
    demands = [
        _Demand(number, kind, rule)
        for number, memory in enumerate(fabric.memories)
        for kind, rules in enumerate((memory.x.rules, memory.y.rules, memory.rules))
        for rule in rules
        if rule.relation is not Relation.AT_MOST and rule.value > 1
    ]
    keeps = np.array([[keep is KeepRule.KEPT for keep in memory.keeps] for memory in fabric.memories])[None]
    trips = np.ones((len(fabric.memories), KINDS, len(fabric.dims)), np.int64)
    for tried, found in enumerate(_met(fabric, demands, trips, fabric.extents)):
        if _stands(fabric, fitting, found, keeps):
            return found
        if tried >= TRIES:
            break
    return None


def _met(fabric: Fabric, demands: list[_Demand], trips: Ints, left: tuple[int, ...]) -> Iterator[Ints]:
    """Trips that meet some demands, the smallest first."""
    if not demands:
        yield trips
        return
    first, *others = demands
    now = tuple(int(n) for n in trips[first.memory, first.kind])
    if first.rule.admits(now):
        yield from _met(fabric, others, trips, left)
        return
    for more in _factors(first.rule, first.rule.product(now), left):
        grown = trips.copy()
        grown[first.memory, first.kind] *= np.array(more, np.int64)
        rest = tuple(size // taken for size, taken in zip(left, more, strict=True))
        yield from _met(fabric, others, grown, rest)


def _factors(rule: Rule, now: int, left: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Further factors per dim with which a rule is met, the smallest products first."""
    found: list[tuple[int, ...]] = [(1,) * len(left)]
    for dim in rule.dims:
        found = [(*f[:dim], size, *f[dim + 1 :]) for f in found for size in divisors_of(left[dim])]
    exact = rule.relation is Relation.EQUAL
    met = [f for f in found if (now * prod(f) == rule.value if exact else now * prod(f) >= rule.value)]
    return sorted(met, key=prod)


def _stands(fabric: Fabric, fitting: Fitting, trips: Ints, keeps: Flags) -> bool:
    """Whether trips keep to the meshes, to what rules allow at most, and to the capacities."""
    for number, memory in enumerate(fabric.memories):
        slots = ((memory.x.rules, memory.x), (memory.y.rules, memory.y), (memory.rules, None))
        for kind, (rules, direction) in enumerate(slots):
            own = tuple(int(n) for n in trips[number, kind])
            if any(rule.relation is not Relation.AT_LEAST and not rule.admits(own) for rule in rules):
                return False
            if direction is not None:
                allowed = all(ok or ways == 1 for ok, ways in zip(direction.allowed, own, strict=True))
                if not allowed or prod(own) > direction.size:
                    return False
    tiles = trips.prod(axis=1).cumprod(axis=0)[None]
    return bool(fitting.fit_from(0, tiles, keeps)[0])
