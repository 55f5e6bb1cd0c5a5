"""How the factors of a dim may be shared out between the parts of a machine that a user's demands are about.

Tiles that are demanded cut the loops of a dim into those inside and those outside; ways that are demanded are loops of
their own. A share is a number for each of these fields, so that all demands on the dim are met whatever stands
where within a field.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from optmap.base.arrays import Flags
from optmap.machines.fabric import Fabric, Rule
from optmap.machines.relations import Relation
from optmap.mappings.nest_batch import KINDS, TIME
from optmap.symbolic.numbers import divisors_of, prime_factors

Slot = tuple[int, int]
"""(memory, kind of its loops)."""


@dataclass(frozen=True, slots=True)
class _Interval:
    """Loops of a dim whose trips together are demanded."""

    slots: tuple[Slot, ...]
    rules: tuple[Rule, ...]
    """Of the trips of these loops."""
    tiles: tuple[Rule, ...]
    """Of the trips of all loops of this field and of those before it."""
    moves: bool
    """Whether one of the loops may have two trips or more."""


Share = tuple[tuple[tuple[Slot, ...], int], ...]
"""Per field its loops, and the product of their trips."""


def shares_of(fabric: Fabric, dim: int) -> tuple[Share, ...]:
    """All shares of one dim that meet what is demanded of it; none if it cannot be met."""
    fields = tuple(_fields(fabric, dim))
    slots = [field.slots for field in fields]
    return tuple(tuple(zip(slots, each, strict=True)) for each in _products(fields, 1, fabric.extents[dim]))


def _products(fields: tuple[_Interval, ...], inside: int, extent: int) -> Iterator[tuple[int, ...]]:
    if not fields:
        if inside == extent:
            yield ()
        return
    first, rest = fields[0], fields[1:]
    for own in divisors_of(extent // inside) if first.moves else (1,):
        met = all(rule.relation.holds(own, rule.value) for rule in first.rules)
        if met and all(rule.relation.holds(inside * own, rule.value) for rule in first.tiles):
            yield from ((own, *further) for further in _products(rest, inside * own, extent))


def _fields(fabric: Fabric, dim: int) -> Iterator[_Interval]:
    """Inner to outer; ways that are demanded before the other loops between the same two tiles."""
    waiting: list[Slot] = []
    for number, memory in enumerate(fabric.memories):
        axes = [_of(direction.rules, dim) for direction in (memory.x, memory.y)]
        for kind, rules in enumerate(axes):
            if not rules or _of(memory.ways, dim):
                waiting.append((number, kind))
            else:
                yield _field(fabric, dim, [(number, kind)], rules=rules)
        if _of(memory.ways, dim):
            waiting = waiting[:-TIME]
            yield _field(fabric, dim, [(number, kind) for kind in range(TIME)], rules=_of(memory.ways, dim))
        waiting.append((number, TIME))
        if _of(memory.tiles, dim):
            yield _field(fabric, dim, waiting, tiles=_of(memory.tiles, dim))
            waiting = []
    yield _field(fabric, dim, waiting)


def _field(
    fabric: Fabric, dim: int, slots: Sequence[Slot], rules: tuple[Rule, ...] = (), tiles: tuple[Rule, ...] = ()
) -> _Interval:
    return _Interval(tuple(slots), rules, tiles, any(_open(fabric, dim, slot) for slot in slots))


def _of(rules: tuple[Rule, ...], dim: int) -> tuple[Rule, ...]:
    """Those of one dim alone."""
    return tuple(rule for rule in rules if rule.dims == (dim,))


def _open(fabric: Fabric, dim: int, slot: Slot) -> bool:
    """Whether a loop of two trips or more may stand in a slot, as far as the machine says so by itself."""
    number, kind = slot
    memory = fabric.memories[number]
    direction = (memory.x, memory.y, None)[kind]
    rules = memory.rules if direction is None else direction.rules
    if any(dim in rule.dims and rule.value == 1 and rule.relation in STILL for rule in rules):
        return False
    if direction is None:
        return memory.loopable(len(fabric.dims))[dim]
    return direction.size > 1 and direction.allowed[dim]


STILL = (Relation.EQUAL, Relation.AT_MOST)
"""Of 1: one trip."""


def fields_of(share: Share, primes: Sequence[int], memories: int) -> Flags:
    """(factors, memories, kinds): where each prime factor of a dim may stand, its equal ones inside first."""
    found = np.zeros((len(primes), memories, KINDS), bool)
    left = list(range(len(primes)))
    for slots, own in share:
        for prime in prime_factors(own):
            factor = next(number for number in left if primes[number] == prime)
            left.remove(factor)
            for number, kind in slots:
                found[factor, number, kind] = True
    return found
