"""One memory of the search: its keepers, its tile, the mesh outside it, and the order of the loops outside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from optmap.base.arrays import Flags, Ints
from optmap.base.errors import LimitError
from optmap.base.rows import concatenated
from optmap.machines.fabric import Rule
from optmap.machines.relations import Relation
from optmap.mappings.nest_batch import NestBatch, rules_met
from optmap.search.accelerators.fitting import Fitting
from optmap.search.explore.protocol import Brief
from optmap.search.sunstone.loops import whole_orders
from optmap.search.sunstone.order_trie import InnerOrder, Trie, trie_of
from optmap.search.sunstone.partial import (
    MemoryChoice,
    Pattern,
    keeper_patterns,
    rows_that_hold,
    start,
    tile_at,
    with_choices,
)
from optmap.search.sunstone.reach import Reach
from optmap.search.sunstone.settings import DIRECTIONS, WITHIN, SunstoneSettings
from optmap.search.sunstone.tiling_tree import grown_dims, tiles_of
from optmap.search.sunstone.unrolling import Ways, rejected_dims, unrollings
from optmap.search.sunstone.ways_left import WaysLeft

MOST_CHOICES = 100_000
"""Of one memory for one partial mapping, each in tens of orders: beyond, they take gigabytes."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Continued:
    """Continuations of one partial mapping."""

    batch: NestBatch
    group: Ints
    """(nests,): the same number for one choice in several orders."""


@dataclass(frozen=True, slots=True)
class _Situation:
    """What choices at a memory depend on."""

    memory: int
    inside: tuple[int, ...]
    """Extents inside the memory's own loops."""
    rest: tuple[int, ...]
    """What is left of each dim."""
    kept: tuple[bool, ...]
    """Per operand, whether a memory inside keeps it."""


class Step:
    """Continues partial mappings by one memory; remembers what it chose for the same situation."""

    def __init__(self, brief: Brief[SunstoneSettings]) -> None:
        self.fabric, self.fitting = brief.fabric, Fitting(brief.fabric, brief.counting.room)
        self.settings, self.tally = brief.settings, brief.tally
        self.inwards = self.settings.direction == DIRECTIONS[1]
        self.dims = len(self.fabric.dims)
        self.wide = frozenset(dim for dim, size in enumerate(self.fabric.extents) if size > 1)
        fanned = self.fabric.memories[0].fanout > 1
        bounded = range(-1 if fanned else 0, len(self.fabric.memories) - 1)
        self.memories = tuple(reversed(bounded)) if self.inwards else tuple(bounded)
        """In the order of the search; -1 is the arithmetic, below the mesh of the innermost memory if it has one."""
        self.patterns = [
            keeper_patterns(self.fabric, number, bypass=self.settings.bypass)
            for number in range(len(self.fabric.memories))
        ]
        self.least = [np.asarray(np.array(own, bool).all(axis=0)) for own in self.patterns]
        """Per memory, the operands that it keeps in any case."""
        self.reach = Reach(self.fabric)
        self.ways_left = WaysLeft(self.fabric)
        self._tries: dict[object, Trie] = {}
        self._choices: dict[_Situation, list[tuple[tuple[InnerOrder, ...], list[MemoryChoice]]]] = {}

    @property
    def impossible(self) -> bool:
        """Whether a memory has no room for single elements of what it must keep."""
        return not all(self.patterns)

    def start(self) -> NestBatch:
        """The mapping without any choice."""
        keeps = [own[0] for own in self.patterns]
        return start(self.fabric, keeps, len(self.fabric.memories) - 1)

    def settled(self, memory: int) -> Flags:
        """(memories, operands): whether it is decided there if an operand is kept, once a memory has its tile."""
        found = [(number <= memory) != self.inwards or len(own) == 1 for number, own in enumerate(self.patterns)]
        return np.repeat(np.array(found)[:, None], len(self.fabric.operands), axis=1)

    def continuations(self, front: NestBatch, row: int, memory: int) -> Continued:
        """All that the principles leave for one more memory of one partial mapping."""
        situation = self._situation(front, row, memory)
        if situation not in self._choices:
            self._choices[situation] = list(self._chosen(situation))
        parent = front[row : row + 1]
        parts, groups, number = [], [], 0
        outside, outermost = self.fabric.memories[memory + 1], self.fabric.memories[-1]
        for nodes, choices in self._choices[situation]:
            if choices:
                inner = [node.order for node in nodes]
                orders = whole_orders(inner, outside, self.dims)
                last = [whole_orders([tuple(reversed(order))], outermost, self.dims)[0] for order in orders]
                found = with_choices(
                    parent, choices, np.array(orders), memory, inwards=self.inwards, last=np.array(last)
                )
                groups.append(number + np.repeat(np.arange(len(choices)), len(orders)))
                parts.append(found)
                number += len(choices)
        batch = concatenated(parts) if parts else front[:0]
        group = np.concatenate(groups) if groups else np.zeros(0, np.int64)
        kept = self._admitted(batch, memory)
        return Continued(batch=batch[kept], group=group[kept])

    def _situation(self, front: NestBatch, row: int, memory: int) -> _Situation:
        left = front.temporal[row, memory + 1 if self.inwards else -1]
        inside = np.ones(self.dims, np.int64) if memory < 0 or self.inwards else tile_at(front, row, memory)
        held: Flags = np.asarray(front.keeps[row, : 0 if self.inwards else max(memory, 0)].any(axis=0))
        return _Situation(memory, tuple(map(int, inside)), tuple(map(int, left)), tuple(held.tolist()))

    def _admitted(self, batch: NestBatch, memory: int) -> Flags:
        """Whether the trips that are left to the memory outside keep to its rules, and tiles fit outside."""
        found = np.ones(len(batch), bool)
        outside = memory + 1
        if self.inwards or outside == len(self.fabric.memories) - 1:
            found &= rules_met(self.fabric.memories[outside].rules, batch.temporal[:, outside])
        if not self.inwards and self.settings.look_outside:
            bounded = range(outside, len(self.fabric.memories) - 1)
            fits = rows_that_hold(batch, self.fitting, {n: self.least[n] for n in bounded})
            self._count("tiles: room outside", len(batch), int((~fits).sum()))
            found &= fits
        return found

    def _count(self, rule: str, seen: int, cut: int) -> None:
        self.tally.add(rule, seen=seen, cut=cut)

    def _chosen(self, at: _Situation) -> Iterator[tuple[tuple[InnerOrder, ...], list[MemoryChoice]]]:
        """Choices with the orders that each is tried in."""
        if at.memory < 0:
            ways = self._unrollings(at, at.rest, frozenset())
            yield (
                (InnerOrder((), frozenset()),),
                [MemoryChoice(keeps=(), tile=(1,) * self.dims, x=x, y=y) for x, y in ways],
            )
            return
        for keeps in self.patterns[at.memory]:
            nodes = self._orders(at, keeps)
            if self.settings.within == WITHIN[2]:
                for node in nodes:
                    yield (node,), self._few(self._tiled(at, keeps, node.stationary), at)
            else:
                kinds = dict.fromkeys(node.stationary for node in nodes)
                every = (choice for stationary in kinds for choice in self._tiled(at, keeps, stationary))
                yield nodes, self._few(every, at)

    def _few(self, choices: Iterable[MemoryChoice], at: _Situation) -> list[MemoryChoice]:
        """Each once.

        Raises:
            LimitError: if there are more than memory is for.
        """
        found: dict[MemoryChoice, None] = {}
        for choice in choices:
            found[choice] = None
            if len(found) > MOST_CHOICES:
                raise LimitError(
                    f"there are more than {MOST_CHOICES:,} pairs of a tile and an unrolling for "
                    f"{self.fabric.memories[at.memory].name} with so few rules of sunstone on; leave on more of "
                    "tiling-principle, reuse-dims, unrolling-principle and utilisation"
                )
        return list(found)

    def _orders(self, at: _Situation, keeps: Pattern) -> tuple[InnerOrder, ...]:
        """Orders of the loops outside a memory, of the operands that it or a memory inside it keeps."""
        held = tuple(n for n in range(len(keeps)) if keeps[n] or at.kept[n] or self.inwards)
        loops = tuple(dim for dim, size in enumerate(at.rest) if size > 1)
        key = held, loops
        if key not in self._tries:
            self._tries[key] = trie_of(
                loops,
                [(number, self.fabric.operands[number]) for number in held],
                self.wide,
                further_reuse=self.settings.further_reuse,
                dominated_orders=self.settings.dominated_orders,
            )
        trie = self._tries[key]
        self._count("orders: no further reuse", trie.grown, trie.no_further)
        self._count("orders: dominated", trie.grown - trie.no_further, trie.dominated)
        return trie.nodes

    def _tiled(self, at: _Situation, keeps: Pattern, stationary: frozenset[int]) -> Iterator[MemoryChoice]:
        """Pairs of a tile and an unrolling."""
        if self.settings.within == WITHIN[0]:
            for x, y in self._unrollings(at, at.rest, stationary):
                rest = [n // (a * b) for n, a, b in zip(at.rest, x, y, strict=True)]
                for tile in self._tiles(at, keeps, stationary, rest, (x, y)):
                    yield MemoryChoice(keeps=keeps, tile=tile, x=x, y=y)
            return
        for tile in self._tiles(at, keeps, stationary, at.rest, ((1,) * self.dims,) * 2):
            left = tuple(n // own for n, own in zip(at.rest, tile, strict=True))
            for x, y in self._unrollings(at, left, stationary):
                yield MemoryChoice(keeps=keeps, tile=tile, x=x, y=y)

    def _tiles(
        self,
        at: _Situation,
        keeps: Pattern,
        stationary: frozenset[int],
        rest: tuple[int, ...] | list[int],
        ways: tuple[tuple[int, ...], tuple[int, ...]],
    ) -> list[tuple[int, ...]]:
        memory, settings = self.fabric.memories[at.memory], self.settings
        principled = settings.reuse_dims and (settings.reuse_levels == 0 or at.memory < settings.reuse_levels)
        dims = grown_dims(self.fabric.operands, stationary if principled else frozenset(), self.dims)
        rules = () if self.inwards else memory.rules
        dims |= _forced(memory.tiles)
        if not self.inwards:
            dims = frozenset(dim for dim in dims | _forced(rules) if memory.entries(dim))
        spread = np.array(ways[0]) * np.array(ways[1])
        outside = range(at.memory + 1, len(self.fabric.memories) - 1)

        def feasible(factors: Ints) -> Flags:
            tiles = factors * np.array(at.inside)
            found = self.fitting.fit(at.memory, tiles, np.array(keeps)) & rules_met(rules, factors)
            for dim, sizes in self.reach.at(at.memory):
                found &= np.isin(tiles[:, dim], sizes)
            if settings.look_outside and not self.inwards:
                for number in outside:
                    found &= self.fitting.fit(number, tiles * spread, self.least[number])
            if settings.leave_ways and not self.inwards:
                found &= self._leave_ways(at.memory, rest, ways, factors)
            return found

        found = tiles_of(rest, dims, feasible, principle=settings.tiling_principle, count=self._count)
        return [tuple(tile) for tile in found.tolist()]

    def _leave_ways(
        self, memory: int, rest: Sequence[int], ways: tuple[tuple[int, ...], tuple[int, ...]], factors: Ints
    ) -> Flags:
        """Whether the meshes outside use what a tile leaves as well as what there was, to the part that is demanded.

        The mesh right outside the memory counts unless its ways are chosen already.
        """
        first = memory + (1 if max(map(prod, ways)) == 1 else 2)
        if first >= len(self.fabric.memories):
            return np.ones(len(factors), bool)
        demanded = self.settings.utilisation * self.ways_left.most(first, tuple(map(int, rest)))
        left = np.array(rest) // factors
        return np.array([self.ways_left.most(first, tuple(own)) >= demanded for own in left.tolist()], bool)

    def _unrollings(
        self, at: _Situation, rest: tuple[int, ...], stationary: frozenset[int]
    ) -> tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]:
        rejected = frozenset[int]()
        if self.settings.unrolling_principle and at.memory >= 0:
            rejected = rejected_dims(self.fabric.operands, stationary, self.dims)
        number, settings = at.memory + 1, self.settings
        memory = self.fabric.memories[number]
        if settings.leave_ways and not self.inwards:
            every = unrollings(memory, rest, rejected, 0.0, self._count)
            used = [self._used_in_all(number, rest, pair) for pair in every]
            demanded = settings.utilisation * max(used, default=0)
            return tuple(pair for pair, ways in zip(every, used, strict=True) if ways >= demanded)
        return unrollings(memory, rest, rejected, settings.utilisation, self._count)

    def _used_in_all(self, number: int, rest: tuple[int, ...], pair: tuple[Ways, Ways]) -> int:
        """Children that a mesh uses, times the most that those outside it can use of what is left."""
        both = [a * b for a, b in zip(*pair, strict=True)]
        left = tuple(size // ways for size, ways in zip(rest, both, strict=True))
        outside = self.ways_left.most(number + 1, left) if number + 1 < len(self.fabric.memories) else 1
        return prod(both) * outside


def _forced(rules: tuple[Rule, ...]) -> frozenset[int]:
    """Dims whose trips a rule asks for."""
    asked = [rule for rule in rules if rule.relation is not Relation.AT_MOST and rule.value > 1]
    return frozenset(dim for rule in asked for dim in rule.dims)
