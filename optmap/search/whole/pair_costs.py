"""Costs of all pairs of own and next outer tiles at once, as products of matrices.

With every extent cut into equal pieces, real ones if need be, the cost of a level depends on its own tile and the next
outer one only, and each tensor's traffic is a sum of products (a factor of the own tile) x (a factor of the outer
tile): the posynomial rows of the relaxation.
"""

from __future__ import annotations

from math import inf

import numpy as np
from numpy.typing import NDArray

from optmap.clock import Clock
from optmap.problem.workload import Semantics
from optmap.programs.geometric import Box, whole_count
from optmap.search.search_space import Order, Setting
from optmap.search.whole.chain_costs import ChainCosts, FloatArray, IntArray

LARGEST_PAIRS = 4_000_000
"""Pairs of tiles priced at once."""


class PairCosts:
    """Prices pairs of tiles; each tile counts with the average size of the pieces that it cuts the whole extent into.

    Exact where tiles divide. Where they do not, and each dim stands in one subscript of a tensor at most, no chain of
    whole tiles with as many pieces costs less: summed over the pieces, what a tensor loads is affine in their number
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
        for box, rows in self._by_box(own).items():
            for beyond, columns in self._by_box(outer).items():
                if any(a[0] > b[0] for a, b in zip(box, beyond, strict=True)):
                    continue
                block = np.full((len(rows), len(columns)), inf)
                for k, order in enumerate(self.costs.orders(level)):
                    self.clock.check()
                    words = self._words(order, box, own[rows], beyond, outer[columns])
                    block = np.minimum(block, np.where(fits[rows, k][:, None], words, inf))
                result[np.ix_(rows, columns)] = block
        return (result - self.first_touches) / self.setting.bandwidths[level]

    def of_pieces(
        self, own: IntArray, own_pieces: IntArray, outer: IntArray, outer_pieces: IntArray, level: int
    ) -> FloatArray:
        """(n,) costs of pairs of tiles that make more pieces than they would alone, whether they fit or not.

        Args:
            own: (n, D) tiles of the level, of which the boxed dims count.
            own_pieces: (n, D) how many they make in the whole problem.
            outer: (n, D) tiles of the next outer level, or the extents.
            outer_pieces: (n, D) as `own_pieces`.
            level: which.

        Raises:
            LimitError: if the time is over.
        """
        result = np.full(len(own), inf)
        logs = np.log(self.costs.extents[self.free])
        own_size, outer_size = (logs - np.log(pieces[:, self.free]) for pieces in (own_pieces, outer_pieces))
        for both, rows in self._by_box(own, outer).items():
            box, beyond = both[: len(self.boxed)], both[len(self.boxed) :]
            for order in self.costs.orders(level):
                self.clock.check()
                terms = self.space.traffic(order.flow, box, beyond)
                words = np.exp(terms.logs + own_size[rows] @ terms.own.T + outer_size[rows] @ terms.next.T).sum(axis=1)
                result[rows] = np.minimum(result[rows], words)
        return (result - self.first_touches) / self.setting.bandwidths[level]

    def nests(self, own: IntArray, outer: IntArray, *, but: int | None = None) -> NDArray[np.bool_]:
        """Which own tiles make as many pieces as the outer ones or more, and parts of their filters.

        Args:
            own: (n, D) tiles.
            outer: (m, D) tiles.
            but: a dim that does not count.
        """
        nests = np.ones((len(own), len(outer)), dtype=bool)
        for d, extent in enumerate(self.costs.extents):
            if d == but:
                continue
            if d in self.boxed:
                nests &= own[:, d, None] <= outer[None, :, d]
            else:
                nests &= -(-extent // own[:, d])[:, None] >= -(-extent // outer[:, d])[None, :]
        return nests

    def _words(self, order: Order, box: Box, own: IntArray, beyond: Box, outer: IntArray) -> FloatArray:
        rows = self.space.traffic(order.flow, box, beyond)
        extents = self.costs.extents[self.free]
        own_size = extents / -(-extents // own[:, self.free])
        outer_size = extents / -(-extents // outer[:, self.free])
        left = np.exp(rows.logs[None, :] + np.log(own_size) @ rows.own.T)
        return np.asarray(left @ np.exp(np.log(outer_size) @ rows.next.T).T)

    def _by_box(self, *tiles: IntArray) -> dict[Box, NDArray[np.intp]]:
        """Indices of the tiles that share the values of the boxed dims; of several, those of one after the other."""
        if not self.boxed:
            return {(): np.arange(len(tiles[0]))}
        values = np.concatenate([each[:, self.boxed] for each in tiles], axis=1)
        keys, inverse = np.unique(values, axis=0, return_inverse=True)
        return {
            tuple((int(v), int(v)) for v in key): np.flatnonzero(inverse.reshape(-1) == i) for i, key in enumerate(keys)
        }
