"""Costs of all pairs of own and next outer tiles at once, as products of matrices.

With every extent cut into equal tiles, even of real size, the cost of a level depends on its own tile and the next
outer one only, and each tensor's traffic is a sum of products (a factor of the own tile) x (a factor of the outer
tile): the posynomial rows of the relaxation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import inf, prod

import numpy as np
from numpy.typing import NDArray

from optmap.base.arrays import Floats, Ints
from optmap.base.clock import Clock
from optmap.programs.geometric import Box, whole_count
from optmap.programs.geometric_rows import Frames
from optmap.search.space.search_space import Setting
from optmap.search.whole.chain_costs import ChainCosts
from optmap.workloads.workload import Semantics

LARGEST_PAIRS = 4_000_000
"""Pairs of tiles priced at once."""
IN_CACHE = 50_000
"""Pairs under all loop orders before the next ones: what stays in a cache."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Products:
    """The traffic under one loop order: a sum of products (coefficient) x (own monomial) x (outer monomial)."""

    order: int
    coefficients: Floats
    own: NDArray[np.intp]
    """Numbers of the monomials of own tiles."""
    next: NDArray[np.intp]
    """Numbers of the monomials of next outer tiles."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shares:
    """What every tensor moves under each reuse, a sum of monomials; a loop order has one share of every tensor."""

    frames: Frames
    """The monomials of all shares, one share after the other."""
    starts: list[int]
    """The first monomial of every share."""
    parts: NDArray[np.intp]
    """(n, tensors): the shares that make what a loop order moves, each combination once."""
    orders: list[NDArray[np.intp]]
    """The monomials of every loop order."""
    own: NDArray[np.intp]
    """Numbers of the monomials of own tiles."""
    next: NDArray[np.intp]
    """Numbers of the monomials of next outer tiles."""


class _Monomials:
    """Products of powers of sizes, each once however many terms have it."""

    def __init__(self, dims: int) -> None:
        self._found = dict[bytes, int]()
        self._exponents = np.zeros((0, dims))

    def numbers(self, exponents: Floats) -> NDArray[np.intp]:
        """(m,): the numbers of monomials with the given exponents (m, F)."""
        for row in exponents:
            if self._found.setdefault(row.tobytes(), len(self._found)) == len(self._exponents):
                self._exponents = np.concatenate([self._exponents, row[None]])
        return np.array([self._found[row.tobytes()] for row in exponents], dtype=np.intp)

    def of(self, log_sizes: Floats) -> Floats:
        """(n, k): all monomials of tiles, given the logarithms of their sizes (n, F)."""
        return np.asarray(np.exp(log_sizes @ self._exponents.T))


class PairCosts:
    """Prices pairs of tiles; each tile counts with the average size of the tiles that it cuts the whole extent into.

    Exact where tiles divide. Where they do not, and each dim stands in one subscript of a tensor at most, no chain of
    as many whole tiles costs less: summed over the tiles, what a tensor loads is affine in their number
    and in the extent, with factors that are not negative. A window with gaps costs more than the rows say.
    """

    def __init__(self, setting: Setting, costs: ChainCosts, *, clock: Clock) -> None:
        self.setting = setting
        self.costs = costs
        self.clock = clock
        self.space = setting.space
        dims = setting.workload.dims
        self.boxed = [dims.index(d) for d in self.space.boxed]
        self.free = [dims.index(d) for d in self.space.free]
        self._own, self._next = _Monomials(len(self.free)), _Monomials(len(self.free))
        self._known = dict[tuple[int, Box, Box], tuple[_Products, ...]]()
        self._shared = dict[int, _Shares]()
        self._same = [self._first_like(level) for level in range(costs.depth)]
        """Per level the first one at which the traffic between two boxes is the same."""
        assign = setting.workload.semantics is Semantics.ASSIGN
        self.first_touches = float(whole_count(setting.workload)) if assign else 0.0

    def __call__(self, own: Ints, outer: Ints, level: int) -> Floats:
        """(own, outer) costs of a level, the best loop order of each pair; infinite where the own tile is too large.

        Args:
            own: (n, D) tiles of the level.
            outer: (m, D) tiles of the next outer level, or the extents.
            level: which.

        Raises:
            LimitError: if the time is over.
        """
        result = np.full((len(own), len(outer)), inf)
        for rows, part, words in self._blocks(own, outer, level):
            result[rows[:, None], part] = words
        result -= self.first_touches
        result /= self.setting.bandwidths[level]
        return result

    def alone(self, own: Ints, level: int, *, fitting: bool = False) -> Floats:
        """(n,) costs of a level in the whole problem, as of pairs with it.

        Args:
            own: (n, D) tiles of the level.
            level: which.
            fitting: whether every tile is known to fit the level under some loop order.

        Raises:
            LimitError: if the time is over.
        """
        result = np.full(len(own), inf)
        whole, safe = self.costs.extents[None], self.setting.safe(level)
        inside, (large,) = self._by_box(own), self._by_box(whole)
        known = [(rows, self._products(level, box, large)) for box, rows in inside.items()]
        left, (right,) = self._own.of(self._log_sizes(own)), self._next.of(self._log_sizes(whole))
        fits = self.costs.fits(own, level).T if safe or not fitting else None
        for rows, products in known:
            self.clock.check()
            factors = np.zeros((len(products), left.shape[1]))
            for number, p in enumerate(products):
                np.add.at(factors[number], p.own, p.coefficients * right[p.next])
            words = factors @ left[rows].T
            if fits is not None and safe:
                words[~fits[[p.order for p in products]][:, rows]] = inf
            result[rows] = words.min(axis=0)
        if fits is not None and not safe:
            result[~fits[0]] = inf
        return (result - self.first_touches) / self.setting.bandwidths[level]

    def served(
        self,
        own: Ints,
        reach: Floats,
        outer: Ints,
        level: int,
        ceiling: float,
        *,
        but: int | None = None,
    ) -> Floats:
        """(outer,) the least ceiling that some own tile that nests in it stays at or below; infinite beyond one.

        Args:
            own: (n, D) tiles of the level.
            reach: (n,) what each of them costs at least.
            outer: (m, D) tiles of the next outer level.
            level: which.
            ceiling: the cost to stay below.
            but: a dim along which they need not nest.

        Raises:
            LimitError: if the time is over.
        """
        rate, least = self.setting.bandwidths[level], np.full(len(outer), inf)
        limit = ceiling * rate + self.first_touches
        for rows, part, words in self._blocks(own, outer, level):
            some = np.flatnonzero((words < limit).any(axis=0))
            if len(some):
                nests = self.nests(own[rows], outer[part[some]], but=but)
                cost = np.maximum((words[:, some] - self.first_touches) / rate, reach[rows, None])
                cost = np.where(nests, cost, inf).min(axis=0)
                least[part[some]] = np.minimum(least[part[some]], cost)
        least[least >= ceiling] = inf
        return least

    def _blocks(
        self, own: Ints, outer: Ints, level: int
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp], Floats]]:
        """Rows of own and of outer tiles, and what every pair of them moves under its best loop order, in words.

        Pairs that are in none do not nest in their boxed dims.
        """
        fits = self.costs.fits(own, level)
        inside, around = self._by_box(own), self._by_box(outer)
        blocks = [
            (rows, columns, self._products(level, box, large))
            for box, rows in inside.items()
            for large, columns in around.items()
            if all(a[0] <= b[0] for a, b in zip(box, large, strict=True))
        ]
        left, right = self._own.of(self._log_sizes(own)), self._next.of(self._log_sizes(outer))
        for rows, columns, products in blocks:
            held = [(p, np.flatnonzero(fits[rows, p.order])) for p in products]
            terms = [(p, places, left[rows[places][:, None], p.own] * p.coefficients) for p, places in held]
            for start in range(0, len(columns), step := max(1, IN_CACHE // len(rows))):
                self.clock.check()
                part = columns[start : start + step]
                block = np.full((len(rows), len(part)), inf)
                for p, places, factor in terms:
                    words = factor @ right[part[:, None], p.next].T
                    if len(places) == len(rows):
                        np.minimum(block, words, out=block)
                    else:
                        block[places] = np.minimum(block[places], words)
                yield rows, part, block

    def _products(self, level: int, box: Box, large: Box) -> tuple[_Products, ...]:
        """The traffic of a level between two boxes, once where loop orders have the same."""
        key = self._same[level], box, large
        if key not in self._known:
            found, shares = dict[tuple[object, ...], _Products](), self._shares(level)
            coefficients = np.array(self.space.coefficients(shares.frames, box, large))
            for number, monomials in enumerate(shares.orders):
                some = monomials[coefficients[monomials] > 0]
                product = _Products(
                    order=number, coefficients=coefficients[some], own=shares.own[some], next=shares.next[some]
                )
                room = number if self.setting.safe(level) else None
                same = (room, *(part.tobytes() for part in (product.coefficients, product.own, product.next)))
                found.setdefault(same, product)
            self._known[key] = tuple(found.values())
        return self._known[key]

    def _first_like(self, level: int) -> int:
        """The first level with the same loop orders that needs room for as much as another one."""
        setting, orders = self.setting, self.costs.orders
        return next(i for i in range(level + 1) if (setting.safe(i), orders(i)) == (setting.safe(level), orders(level)))

    def of_numbers(self, own: Ints, own_numbers: Ints, outer: Ints, outer_numbers: Ints, level: int) -> Floats:
        """(n,) costs of pairs of tiles that make more tiles than they would alone, whether they fit or not.

        Args:
            own: (n, D) tiles of the level, of which the boxed dims count.
            own_numbers: (n, D) how many they make in the whole problem.
            outer: (n, D) tiles of the next outer level, or the extents.
            outer_numbers: (n, D) as `own_numbers`.
            level: which.

        Raises:
            LimitError: if the time is over.
        """
        shares, logs = self._shares(level), np.log(self.costs.extents[self.free])
        own_size, outer_size = (logs - np.log(numbers[:, self.free]) for numbers in (own_numbers, outer_numbers))
        terms = np.exp(shares.frames.own @ own_size.T + shares.frames.next @ outer_size.T)
        for both, rows in self._by_box(own, outer).items():
            self.clock.check()
            box, beyond = both[: len(self.boxed)], both[len(self.boxed) :]
            terms[:, rows] *= np.array(self.space.coefficients(shares.frames, box, beyond))[:, None]
        words = np.add.reduceat(terms, shares.starts, axis=0)[shares.parts].sum(axis=1).min(axis=0)
        return np.asarray(words - self.first_touches) / self.setting.bandwidths[level]

    def _shares(self, level: int) -> _Shares:
        """The traffic of a level by tensors, what several loop orders have in common once."""
        key = self._same[level]
        if key not in self._shared:
            flows = [self.space.frames(order.flow).each for order in self.costs.orders(level)]
            each = list(dict.fromkeys(frame for flow in flows for frame in flow))
            frames, (*starts, end) = Frames(each), np.cumsum([0, *(len(frame.exponents()) for frame in each)]).tolist()
            ranges = [np.arange(*ends) for ends in pairwise([*starts, end])]
            parts = np.array([[each.index(frame) for frame in flow] for flow in flows])
            self._shared[key] = _Shares(
                frames=frames,
                starts=starts,
                parts=np.unique(parts, axis=0),
                orders=[np.concatenate([ranges[share] for share in order]) for order in parts.tolist()],
                own=self._own.numbers(frames.own),
                next=self._next.numbers(frames.next),
            )
        return self._shared[key]

    def nests(self, own: Ints, outer: Ints, *, but: int | None = None) -> NDArray[np.bool_]:
        """Which own tiles make as many tiles as the outer ones or more, and parts of their filters.

        Args:
            own: (n, D) tiles.
            outer: (m, D) tiles.
            but: a dim that does not count.
        """
        nests = np.ones((len(own), len(outer)), dtype=bool)
        for d, extent in enumerate(self.costs.extents):
            if d == but or extent == 1:
                continue
            if d in self.boxed:
                nests &= own[:, d, None] <= outer[None, :, d]
            else:
                nests &= -(-extent // own[:, d])[:, None] >= -(-extent // outer[:, d])[None, :]
        return nests

    def _log_sizes(self, tiles: Ints) -> Floats:
        """(n, F): logarithms of the average sizes of all tiles that the whole extents are cut into."""
        extents = self.costs.extents[self.free]
        return np.asarray(np.log(extents / -(-extents // tiles[:, self.free])))

    def _by_box(self, *tiles: Ints) -> dict[Box, NDArray[np.intp]]:
        """Indices of the tiles that share the values of the boxed dims; of several, those of one after the other."""
        if not self.boxed or not len(tiles[0]):
            return {(): np.arange(len(tiles[0]))} if len(tiles[0]) else {}
        values = np.concatenate([each[:, self.boxed] for each in tiles], axis=1)
        largest = values.max(axis=0, initial=0) + 1
        code = np.zeros(len(values), dtype=np.int64)
        if prod(largest.tolist()) < 2**62:
            for column, radix in zip(values.T, largest, strict=True):
                code = code * radix + column
        else:
            code = np.unique(values, axis=0, return_inverse=True)[1].reshape(-1)
        order = np.argsort(code, kind="stable")
        parts = np.split(order, np.flatnonzero(np.diff(code[order])) + 1) if len(order) else []
        return {tuple((v, v) for v in values[rows[0]].tolist()): rows for rows in parts}
