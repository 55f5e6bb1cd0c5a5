"""The best whole tiles among those that a bound over numbers of tiles leaves: every size looked at, exactly.

A choice of one level stands for all tiles that cut every extent into as many tiles as its least tile does (filter-like
dims: for that size alone). Chains of choices stay if every two neighbours stay below the ceiling. In such a chain the
sizes of one dim are few: each between the least one of its number of tiles and that of the next lower number, and no
larger than what fits beside the least sizes of the other dims. How many tiles a chain of sizes makes, one inside the
other, is counted as it is; sizes that others beat at every level, in room and in number, are dropped, since costs grow
with the numbers of tiles of every level and of the next outer one. What is left is priced exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, prod

import numpy as np
from numpy.typing import NDArray

from optmap.base.arrays import Floats, Ints
from optmap.base.errors import LimitError
from optmap.count.levels.cutting import descend
from optmap.search.whole.chain_costs import ChainCosts, IntegerPoint, grid_of
from optmap.search.whole.one_level import grow
from optmap.search.whole.pair_costs import PairCosts

LARGEST_TABLE = 30_000_000
"""Pairs of choices of neighbouring levels beyond which chains are not listed."""
LARGEST_CUT = 1_500_000
"""Choices of one level beyond which they are not listed."""
AT_ONCE_PAIRS = 500_000
"""Pairs of choices of neighbouring levels that are priced at once."""
FEW = 8
"""One nested pair among so many is priced by itself; where more nest, all pairs are priced as products of matrices."""
MOST_CHAINS = 100_000
"""Chains of choices beyond which their sizes are not looked at."""
MOST_SIZES = 50_000
"""Chains of sizes of single dims that are listed, at most, for all that is left."""
MOST_TILES = 1_000_000
"""Chains of whole tiles that are priced, at most."""
AT_ONCE = 5_000
"""Chains of whole tiles after which a better ceiling is used."""


class SizesLeft:
    """Prices all whole tiles of some choices of numbers of tiles."""

    def __init__(
        self, costs: ChainCosts, pairs: PairCosts, lists: Sequence[Sequence[Sequence[int]]], last: int
    ) -> None:
        self.costs, self.pairs, self.setting = costs, pairs, costs.setting
        self.lists, self.last = lists, last
        self.clock = pairs.clock
        self.listed = 0
        self.known: dict[tuple[int, tuple[int, ...], tuple[int, ...]], tuple[Ints, Ints]] = {}

    def best(self, choices: Sequence[Ints], ceiling: float, most: int = MOST_CHAINS) -> IntegerPoint | None:
        """The best of all whole tiles that belong to some choices, if it costs less than a ceiling.

        Args:
            choices: per level (n, D) least tiles of the numbers of tiles that are left there, the last dim with the
                fewest that fit: it may have any more.
            ceiling: bottleneck to stay below.
            most: chains of choices beyond which nothing is looked at.

        Raises:
            LimitError: for too many chains or sizes, or when the time is over.
        """
        self.listed = 0
        choices, rows = self._chains(choices, ceiling, most)
        if not len(rows):
            return None
        chains = np.stack([choices[level][rows[:, level]] for level in range(self.costs.depth)], axis=1)
        room = np.stack([self._room(level, tiles, rows[:, level]) for level, tiles in enumerate(choices)], axis=1)
        columns = [self._column(d, chains[:, :, d], room[:, :, d]) for d in range(len(self.costs.dims))]
        least = np.stack([np.array([tiles.min(axis=0) for tiles, _ in lists])[which] for which, lists in columns], -1)
        numbers = np.stack([np.array([n.min(axis=0) for _, n in lists])[which] for which, lists in columns], -1)
        bound = self._bound(chains, least, numbers)
        return self._priced([(which, [tiles for tiles, _ in lists]) for which, lists in columns], bound, ceiling)

    def _chains(self, uncut: Sequence[Ints], ceiling: float, most: int) -> tuple[list[Ints], Ints]:
        """Per level choices, and (K, L) rows of chains of them, of which every two neighbours stay below a ceiling."""
        choices = [self._cut(0, uncut[0], ceiling)]
        links, alive = [], np.arange(len(choices[0]))
        for level, outer in enumerate(uncut[1:]):
            inside = choices[level][alive]
            serve = self.pairs.served(inside, np.zeros(len(inside)), outer, level, ceiling, but=self.last)
            choices.append(self._cut(level + 1, outer[serve < ceiling], ceiling))
            # Every link to the outermost level ends a chain, or more.
            last = level + 2 == self.costs.depth
            own, beyond = self._links(inside, choices[-1], level, ceiling, most if last else inf)
            links.append((alive[own], beyond))
            alive = np.unique(beyond)
        rows = alive[:, None]
        for own, outer in reversed(links):
            first, end = np.searchsorted(outer, rows[:, 0]), np.searchsorted(outer, rows[:, 0], side="right")
            times = end - first
            if times.sum() > most:
                raise LimitError("too many chains of numbers of tiles")
            within = np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times)
            inner = own[np.repeat(first, times) + within]
            rows = np.concatenate([inner[:, None], np.repeat(rows, times, axis=0)], axis=1)
        return choices, rows

    def _cut(self, level: int, own: Ints, ceiling: float) -> Ints:
        """Choices of a level below a ceiling, the last dim cut into any number of tiles."""
        if level in self.setting.fixed:
            return own
        values = np.array(self.lists[level][self.last])
        rows, which = np.nonzero(own[:, self.last, None] >= values[None, :])
        if len(rows) > LARGEST_CUT:
            raise LimitError("too many numbers of tiles")
        tiles = own[rows]
        tiles[:, self.last] = values[which]
        tiles = tiles[self.pairs.alone(tiles, level) < ceiling]
        return tiles[self.costs.in_whole(tiles, level, clock=self.clock) < ceiling]

    def _links(
        self, own: Ints, outer: Ints, level: int, ceiling: float, most: float
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Pairs of rows of own and outer choices that stay below a ceiling, sorted by the outer ones; some at most.

        Every own choice fits: it costs less than the ceiling in the whole problem.
        """
        if len(own) * len(outer) > LARGEST_TABLE:
            raise LimitError("too many pairs of numbers of tiles")
        found = [(np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp))]
        numbers, around = -(-self.costs.extents // own), -(-self.costs.extents // outer)
        step, links = max(1, AT_ONCE_PAIRS // max(1, len(own))), 0
        for start in range(0, len(outer), step):
            part = outer[start : start + step]
            beyond, inner = np.nonzero(self.pairs.nests(own, part).T)
            if len(inner) * FEW < len(own) * len(part):  # pairs one by one
                cost = self.pairs.of_numbers(own[inner], numbers[inner], part[beyond], around[start + beyond], level)
            else:
                cost = self.pairs(own, part, level)[inner, beyond]
            beyond, inner = beyond[cost < ceiling], inner[cost < ceiling]
            found.append((inner, start + beyond))
            links += len(inner)
            if links > most:
                raise LimitError("too many chains of numbers of tiles")
        return np.concatenate([inner for inner, _ in found]), np.concatenate([beyond for _, beyond in found])

    def _room(self, level: int, choices: Ints, rows: NDArray[np.intp]) -> Ints:
        """(K, D): of some choices the largest size of every dim that belongs to it and fits beside the least others."""
        some, which = np.unique(rows, return_inverse=True)
        tiles = choices[some]
        most = tiles.copy()
        if level in self.setting.fixed:
            return most[which]
        for d, extent in enumerate(self.costs.extents.tolist()):
            if d in self.pairs.boxed or extent == 1:
                continue
            sizes = np.arange(1, extent + 1)
            values = np.array([*self.lists[level][d], extent + 1])
            above = values[np.searchsorted(values, tiles[:, d], side="right")] - 1
            most[:, d] = np.minimum(grow(self.costs, level, tiles, d, sizes, clock=self.clock)[:, d], above)
        return most[which]

    def _column(self, d: int, least: Ints, most: Ints) -> tuple[NDArray[np.intp], list[tuple[Ints, Ints]]]:
        """Which of some lists of sizes of one dim, with their numbers of tiles, belongs to every chain.

        They have the nested sizes that no others beat.

        Args:
            d: the dim.
            least: (K, L) least sizes.
            most: (K, L) largest sizes; those with the same least ones share the largest of them.
        """
        keys, which = np.unique(least, axis=0, return_inverse=True)
        which = which.reshape(-1)
        largest = np.zeros_like(keys)
        np.maximum.at(largest, which, most)
        found = [(d, tuple(a), tuple(b)) for a, b in zip(keys.tolist(), largest.tolist(), strict=True)]
        new = [key for key in found if key not in self.known]
        if new:
            lists = [self._nested(*key) for key in new]
            numbers = _numbers(int(self.costs.extents[d]), np.concatenate(lists))
            parts = np.split(numbers, np.cumsum([len(tiles) for tiles in lists[:-1]]))
            for key, tiles, some in zip(new, lists, parts, strict=True):
                self.known[key] = _unbeaten(tiles, some)
        return which, [self.known[key] for key in found]

    def _nested(self, d: int, least: tuple[int, ...], most: tuple[int, ...]) -> Ints:
        """Nested sizes (m, L) of one dim within ranges; never none."""
        self.clock.check()
        allowed = [
            self.setting.allowed.among(range(low, high + 1), level, d)
            for level, (low, high) in enumerate(zip(least, most, strict=True))
        ]
        self.listed += prod(len(sizes) for sizes in allowed)
        if self.listed > MOST_SIZES:
            raise LimitError("too many sizes of the dims")
        tiles = grid_of(allowed)
        tiles = tiles[(tiles[:, 1:] >= tiles[:, :-1]).all(axis=1)]
        if not len(tiles):  # no chain: nothing fits tiles as large as the extent and one more
            tiles = np.full((1, self.costs.depth), self.costs.extents[d] + 1)
        return tiles

    def _bound(self, chains: Ints, least: Ints, numbers: Ints) -> Floats:
        """(K,) what chains of choices cost at least; infinite where their least sizes do not fit."""
        bound = np.zeros(len(chains))
        none = (least > self.costs.extents).any(axis=(1, 2))
        whole = np.repeat(self.costs.extents[None], len(chains), axis=0)
        for level in range(self.costs.depth):
            last = level + 1 == self.costs.depth
            outer = (whole, np.ones_like(whole)) if last else (chains[:, level + 1], numbers[:, level + 1])
            bound = np.maximum(bound, self.pairs.of_numbers(chains[:, level], numbers[:, level], *outer, level))
            none |= ~self.costs.fits_somehow(least[:, level], level)
        return np.where(none, inf, bound)

    def _priced(
        self, columns: Sequence[tuple[NDArray[np.intp], list[Ints]]], bound: Floats, ceiling: float
    ) -> IntegerPoint | None:
        """The best of all combinations of the sizes of every dim below a ceiling, chain by chain."""
        found: IntegerPoint | None = None
        waiting, size, total = list[Ints](), 0, 0
        order = np.argsort(bound, kind="stable")
        for number, i in enumerate(order.tolist()):
            end = number + 1 == len(order)
            if bound[i] < ceiling:
                lists = [tiles[which[i]] for which, tiles in columns]
                count = prod(len(tiles) for tiles in lists)
                size, total = size + count, total + count
                if total > MOST_TILES:
                    raise LimitError("too many whole tiles")
                index = grid_of([range(len(tiles)) for tiles in lists])
                waiting.append(np.stack([tiles[index[:, d]] for d, tiles in enumerate(lists)], axis=-1))
            else:
                end = True
            if waiting and (end or size > AT_ONCE):
                self.clock.check()
                point = self.costs.best(np.concatenate(waiting))
                if point is not None and point.value < ceiling:
                    found, ceiling = point, point.value
                waiting, size = [], 0
            if end:
                break
        return found


def _numbers(extent: int, tiles: Ints) -> Ints:
    """(m, L): how many tiles of every level chains of sizes (m, L) of one dim make, one level inside the other."""
    chain = np.ascontiguousarray(tiles.T)[:, None, :]
    counts = [cut.child_count[0] for cut in descend(np.array([extent]), chain, None)]
    return np.stack(counts[::-1], axis=1)


def _unbeaten(tiles: Ints, numbers: Ints) -> tuple[Ints, Ints]:
    """The chains of sizes, and their numbers, that no other one beats or equals in both at every level."""
    both = np.concatenate([tiles, numbers], axis=1)
    both = both[np.argsort(both.sum(axis=1), kind="stable")]
    kept = list[Ints]()
    while len(both):
        kept.append(both[0])
        both = both[(both < both[0]).any(axis=1)]
    rows = np.array(kept)
    return rows[:, : tiles.shape[1]], rows[:, tiles.shape[1] :]
