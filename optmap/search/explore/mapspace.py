"""Every mapping of an accelerator with perfect factors, counted and made batch by batch.

What the machine says of single factors is kept to from the start: sizes of meshes, dims along their axes, factor rules,
orders of loops, what must be kept or refused. Two mappings that no count tells apart are one: loops of one trip have no
place in an order, and the innermost memory's own loops have one order only. Whether tiles fit is left to be judged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations, product
from math import comb, factorial, prod

import numpy as np
from numpy.typing import NDArray

from optmap.base.arrays import Flags, Ints
from optmap.base.rows import concatenated
from optmap.machines.accelerator import KeepRule
from optmap.machines.fabric import Fabric, Rule
from optmap.machines.relations import Relation
from optmap.mappings.nest_batch import KINDS, TIME, NestBatch
from optmap.symbolic.numbers import prime_factors

ROWS = 4096
"""Nests of a batch, and splits that are multiplied out together."""
MOST_STATES = 100_000
"""Of the counting: beyond, a number is said that the mapspace exceeds."""
MOST_WAYS = 1_000_000
"""To place the factors of one dim: beyond, there are too many mappings for any search that looks at each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """Of a mapspace."""

    mappings: int
    exact: bool
    """Whether it has so many, or more."""

    @property
    def text(self) -> str:
        """In words."""
        amount = f"{self.mappings:,}" if self.mappings < 10**12 else f"{self.mappings:.3e}"
        return amount if self.exact else f"more than {amount}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _SlotDemand:
    """A demand on what stands in one slot."""

    slot: int
    rule: Rule


class Mapspace:
    """The mappings of a workload on an accelerator.

    Args:
        fabric: the machine as the workload sees it.
    """

    def __init__(self, fabric: Fabric) -> None:
        self._fabric = fabric
        self._slots = KINDS * len(fabric.memories)
        self._limits = tuple(_limits(fabric))
        self._keeps = _keep_patterns(fabric)
        self._orders: dict[tuple[int, tuple[int, ...]], Ints] = {}

    def size(self, most: int) -> Size:
        """How many mappings it has, valid or not.

        Args:
            most: beyond that a number that it exceeds will do, where the exact one takes long.
        """
        if not self._possible:
            return Size(mappings=0, exact=True)
        if self._options is None:
            return Size(mappings=MOST_WAYS, exact=False)
        return self._counted(self._options, most)

    @property
    def _possible(self) -> bool:
        """Whether every tensor has a memory that may keep it, and no demand is on roles that the workload has not."""
        demands = (own.rule for own in self._limits if not own.rule.dims)
        return len(self._keeps) > 0 and all(rule.admits(()) for rule in demands)

    @cached_property
    def _options(self) -> tuple[Ints, ...] | None:
        """Per dim every way to place its prime factors, (ways, slots); None for too many."""
        found = []
        for dim in range(len(self._fabric.dims)):
            ways = self._ways(dim)
            if ways is None:
                return None
            found.append(ways)
        return tuple(found)

    def _ways(self, dim: int) -> Ints | None:
        own = [each for each in self._limits if dim in each.rule.dims]
        open_ = self._open_slots(dim)
        found = np.ones((1, self._slots), np.int64)
        for prime, exponent in Counter(prime_factors(self._fabric.extents[dim])).items():
            if not open_ or len(found) * comb(exponent + len(open_) - 1, exponent) > 4 * MOST_WAYS:
                return found[:0] if not open_ else None
            powers = np.power(prime, _compositions(exponent, len(open_)))
            grown = np.repeat(found, len(powers), axis=0)
            grown[:, open_] *= np.tile(powers, (len(found), 1))
            for limit in own:
                grown = grown[limit.rule.open(grown[:, limit.slot])]
            found = grown
        for limit in own:
            if limit.rule.dims == (dim,):
                found = found[limit.rule.met(found[:, limit.slot])]
        for number, memory in enumerate(self._fabric.memories):
            first, end = KINDS * number, KINDS * (number + 1)
            for rules, slots in ((memory.tiles, slice(0, end)), (memory.ways, slice(first, first + TIME))):
                for rule in rules:
                    if rule.dims == (dim,):
                        found = found[rule.met(found[:, slots].prod(axis=1))]
        return found if len(found) <= MOST_WAYS else None

    def _open_slots(self, dim: int) -> list[int]:
        found = []
        for number, memory in enumerate(self._fabric.memories):
            for kind, direction in enumerate((memory.x, memory.y)):
                if direction.size > 1 and direction.allowed[dim]:
                    found.append(KINDS * number + kind)
            if not memory.unordered((dim,)):
                found.append(KINDS * number + TIME)
        return found

    @cached_property
    def _shared(self) -> tuple[_SlotDemand, ...]:
        """Limits that several dims must keep to together."""
        return tuple(each for each in self._limits if len(each.rule.dims) > 1)

    def _counted(self, every: tuple[Ints, ...], most: int) -> Size:
        """By dynamic programming over dims: what matters are products in shared limits and which loops there are."""
        shared, memories = self._shared, len(self._fabric.memories)
        states = np.concatenate([np.ones((1, len(shared)), np.int64), np.zeros((1, memories), np.int64)], axis=1)
        ways: NDArray[np.object_] = np.ones(1, object)
        hard = any(each.rule.relation is not Relation.AT_MOST for each in shared)
        for dim, options in enumerate(every):
            steps, times = np.unique(self._steps(dim, options), axis=0, return_counts=True)
            if len(states) * len(steps) > MOST_STATES and not hard:
                least = self._total(states, ways) * prod(map(self._unshared, range(dim, len(every)), every[dim:]))
                if least > most:
                    return Size(mappings=least, exact=False)
            pairs = len(states) * len(steps)
            joined = np.concatenate(
                [
                    (states[:, None, : len(shared)] * steps[None, :, : len(shared)]).reshape(pairs, len(shared)),
                    (states[:, None, len(shared) :] + steps[None, :, len(shared) :]).reshape(pairs, memories),
                ],
                axis=1,
            )
            numbers = (ways[:, None] * times.astype(object)[None, :]).reshape(-1)
            keep = np.ones(len(joined), bool)
            for place, limit in enumerate(shared):
                last = dim == max(limit.rule.dims)
                keep &= limit.rule.met(joined[:, place]) if last else limit.rule.open(joined[:, place])
            states, place_of = np.unique(joined[keep], axis=0, return_inverse=True)
            ways = np.zeros(len(states), object)
            np.add.at(ways, place_of.reshape(-1), numbers[keep])
        return Size(mappings=self._total(states, ways), exact=True)

    def _unshared(self, dim: int, options: Ints) -> int:
        """Ways to place a dim that take nothing of a shared limit: they go with every way to place the others."""
        taken = [limit.slot for limit in self._shared if dim in limit.rule.dims]
        return int((options[:, taken] == 1).all(axis=1).sum())

    def _steps(self, dim: int, options: Ints) -> Ints:
        """What ways to place a dim change: products of the shared limits, and the loops of each memory as bits."""
        factors = [
            options[:, limit.slot] if dim in limit.rule.dims else np.ones(len(options), np.int64)
            for limit in self._shared
        ]
        loops = (options[:, TIME::KINDS] > 1).astype(np.int64)
        bits = [
            loops[:, number] * ((1 << dim) if self._masked(number) else int(number > 0))
            for number in range(len(self._fabric.memories))
        ]
        return np.stack([*factors, *bits], axis=1)

    def _masked(self, number: int) -> bool:
        """Whether it matters which loops a memory has, not only how many."""
        return bool(self._fabric.memories[number].order)

    def _total(self, states: Ints, ways: NDArray[np.object_]) -> int:
        """Mappings of states: orders of their loops, and what is kept."""
        found = 0
        for row, many in zip(states[:, len(self._shared) :].tolist(), ways.tolist(), strict=True):
            found += many * prod(self._order_count(number, loops) for number, loops in enumerate(row))
        return found * len(self._keeps)

    def _order_count(self, number: int, loops: int) -> int:
        if not self._masked(number):
            return factorial(loops)
        dims = range(len(self._fabric.dims))
        return len(self._orders_of(number, tuple(dim for dim in dims if loops >> dim & 1)))

    def _orders_of(self, number: int, loops: tuple[int, ...]) -> Ints:
        """Orders of a memory's loops that it admits, (orders, dims), dims without a loop at the inner end."""
        if (number, loops) not in self._orders:
            memory, rest = self._fabric.memories[number], set(range(len(self._fabric.dims))) - set(loops)
            found = (order for order in permutations(loops) if not memory.unordered(order))
            kept = [(*order, *sorted(rest)) for order in found]
            orders = np.array(kept[:1] if number == 0 else kept, np.int64).reshape(-1, len(self._fabric.dims))
            self._orders[number, loops] = orders
        return self._orders[number, loops]

    def batches(self) -> Generator[NestBatch, object, None]:
        """All of it, or nothing of a mapspace whose size is not exact or 0."""
        if self._options is None or not self._possible:
            return
        waiting: list[NestBatch] = []
        held = 0
        for splits in self._grown(np.ones((1, self._slots, 0), np.int64)):
            for part in self._ordered(splits):
                waiting.append(part)
                held += len(part)
                if held >= ROWS:
                    yield concatenated(waiting)
                    waiting, held = [], 0
        if waiting:
            yield concatenated(waiting)

    def _grown(self, splits: Ints) -> Iterator[Ints]:
        """Splits of the first dims, (splits, slots, dims), with every way to place the others, some at a time."""
        dim = splits.shape[2]
        if dim == len(self._fabric.dims):
            yield splits
            return
        options = (self._options or ())[dim]
        for first in range(0, len(options), ROWS):
            chosen = options[first : first + ROWS]
            step = max(1, ROWS // len(chosen))
            for start in range(0, len(splits), step):
                some = splits[start : start + step]
                added = np.tile(chosen, (len(some), 1))[:, :, None]
                joined = np.concatenate([np.repeat(some, len(chosen), axis=0), added], axis=2)
                joined = joined[self._admitted(joined)]
                if len(joined):
                    yield from self._grown(joined)

    def _admitted(self, splits: Ints) -> Flags:
        """Whether limits are met, or may be."""
        found, dims = np.ones(len(splits), bool), splits.shape[2]
        for limit in self._shared:
            factors = splits[:, limit.slot, [dim for dim in limit.rule.dims if dim < dims]].prod(axis=1)
            found &= limit.rule.met(factors) if max(limit.rule.dims) < dims else limit.rule.open(factors)
        return found

    def _ordered(self, splits: Ints) -> Iterator[NestBatch]:
        """Splits with every order of their loops and everything that may be kept."""
        loops = splits[:, TIME::KINDS] > 1
        kinds, kind = np.unique(loops.reshape(len(loops), -1), axis=0, return_inverse=True)
        for number, several in enumerate(kinds.reshape(-1, *loops.shape[1:])):
            own = splits[kind.reshape(-1) == number]
            orders = [self._orders_of(place, tuple(np.flatnonzero(row).tolist())) for place, row in enumerate(several)]
            shape = (len(own), len(self._keeps), *(len(each) for each in orders))
            for start in range(0, prod(shape), ROWS):
                numbers = np.arange(start, min(start + ROWS, prod(shape)))
                row, keep, *places = np.unravel_index(numbers, shape)
                chosen = own[row]
                yield NestBatch(
                    x=chosen[:, 0::KINDS],
                    y=chosen[:, 1::KINDS],
                    temporal=chosen[:, TIME::KINDS],
                    order=np.stack([each[place] for each, place in zip(orders, places, strict=True)], axis=1),
                    keeps=self._keeps[keep],
                )


def _compositions(total: int, parts: int) -> Ints:
    """Every way to write a number as an ordered sum from 0 on, (ways, parts)."""
    left, found = np.array([total]), np.zeros((1, 0), np.int64)
    for _ in range(parts - 1):
        many = left + 1
        row = np.repeat(np.arange(len(left)), many)
        taken = np.arange(many.sum()) - np.repeat(np.cumsum(many) - many, many)
        found, left = np.concatenate([found[row], taken[:, None]], axis=1), left[row] - taken
    return np.concatenate([found, left[:, None]], axis=1)


def _limits(fabric: Fabric) -> Iterator[_SlotDemand]:
    """What the machine asks of factors: sizes of meshes, and its factor rules."""
    dims = tuple(range(len(fabric.dims)))
    for number, memory in enumerate(fabric.memories):
        for kind, direction in enumerate((memory.x, memory.y)):
            slot = KINDS * number + kind
            if direction.size > 1:
                size = Rule(dims=dims, relation=Relation.AT_MOST, value=direction.size, text="")
                yield _SlotDemand(slot=slot, rule=size)
            for rule in direction.rules:
                yield _SlotDemand(slot=slot, rule=rule)
        for rule in memory.rules:
            yield _SlotDemand(slot=KINDS * number + TIME, rule=rule)


def _keep_patterns(fabric: Fabric) -> Flags:
    """Every choice of what is kept that the machine leaves open, (choices, memories, operands)."""
    choices = {KeepRule.KEPT: (True,), KeepRule.REFUSED: (False,), KeepRule.FREE: (True, False)}
    every = product(*(choices[keep] for memory in fabric.memories for keep in memory.keeps))
    found = np.array(list(every), bool).reshape(-1, len(fabric.memories), len(fabric.operands))
    kept: Flags = found[np.asarray(found.any(axis=1)).all(axis=1)]
    return kept
