"""Costs of all pairs of own and next outer tiles at once, as products of matrices.

With every extent cut into equal tiles, even of real size, the cost of a level depends on its own tile and the next
outer one only, and each tensor's traffic is a sum of products (a factor of the own tile) x (a factor of the outer
tile): the posynomial rows of the relaxation.
"""

from __future__ import annotations

from math import inf, prod

import numpy as np
from numpy.typing import NDArray

from optmap.clock import Clock
from optmap.problem.workload import Semantics
from optmap.programs.geometric import Box, whole_count
from optmap.search.search_space import Setting
from optmap.search.whole.chain_costs import ChainCosts, FloatArray, IntArray

LARGEST_PAIRS = 4_000_000
"""Pairs of tiles priced at once."""
IN_CACHE = 50_000
"""Pairs under all loop orders before the next ones: what stays in a cache."""


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
        assign = setting.workload.semantics is Semantics.ASSIGN
        self.first_touches = float(whole_count(setting.workload)) if assign else 0.0

    def __call__(self, own: IntArray, outer: IntArray, level: int) -> FloatArray:
        """(own, outer) costs of a level, the best loop order of each pair; infinite where the own tile is too large.

        Args:
            own: (n, D) tiles of the level.
            outer: (m, D) tiles of the next outer level, or the extents.
            level: which.

        Raises:
            LimitError: if the time is over.
        """
        result = np.full((len(own), len(outer)), inf)
        fits = self.costs.fits(own, level)
        sizes, beyond = self._log_sizes(own), self._log_sizes(outer)
        inside, around = self._by_box(own), self._by_box(outer)
        for box, rows in inside.items():
            held = [rows[fits[rows, k]] for k in range(len(self.costs.orders(level)))]
            for large, columns in around.items():
                if any(a[0] > b[0] for a, b in zip(box, large, strict=True)):
                    continue
                self.clock.check()
                flows = zip(self.costs.orders(level), held, strict=True)
                terms = [(self.space.traffic(order.flow, box, large), fitting) for order, fitting in flows]
                for start in range(0, len(columns), step := max(1, IN_CACHE // len(rows))):
                    part = columns[start : start + step]
                    block = np.full((len(rows), len(part)), inf)
                    for words, fitting in terms:
                        left = np.exp(words.logs + sizes[fitting] @ words.own.T)
                        found = left @ np.exp(words.next @ beyond[part].T)
                        if len(fitting) == len(rows):
                            np.minimum(block, found, out=block)
                        else:
                            places = np.searchsorted(rows, fitting)
                            block[places] = np.minimum(block[places], found)
                    result[rows[:, None], part] = block
        result -= self.first_touches
        result /= self.setting.bandwidths[level]
        return result

    def of_numbers(
        self, own: IntArray, own_numbers: IntArray, outer: IntArray, outer_numbers: IntArray, level: int
    ) -> FloatArray:
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
        result = np.full(len(own), inf)
        logs = np.log(self.costs.extents[self.free])
        own_size, outer_size = (logs - np.log(numbers[:, self.free]) for numbers in (own_numbers, outer_numbers))
        for both, rows in self._by_box(own, outer).items():
            box, beyond = both[: len(self.boxed)], both[len(self.boxed) :]
            for order in self.costs.orders(level):
                self.clock.check()
                terms = self.space.traffic(order.flow, box, beyond)
                words = np.exp(terms.logs + own_size[rows] @ terms.own.T + outer_size[rows] @ terms.next.T).sum(axis=1)
                result[rows] = np.minimum(result[rows], words)
        return (result - self.first_touches) / self.setting.bandwidths[level]

    def nests(self, own: IntArray, outer: IntArray, *, but: int | None = None) -> NDArray[np.bool_]:
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

    def _log_sizes(self, tiles: IntArray) -> FloatArray:
        """(n, F): logarithms of the average sizes of all tiles that the whole extents are cut into."""
        extents = self.costs.extents[self.free]
        return np.asarray(np.log(extents / -(-extents // tiles[:, self.free])))

    def _by_box(self, *tiles: IntArray) -> dict[Box, NDArray[np.intp]]:
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
