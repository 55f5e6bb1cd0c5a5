"""Block descent on chains of integer tiles: one level's whole tile at a time."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import numpy as np
from numpy.typing import NDArray

from optmap.base.arrays import Ints
from optmap.base.clock import Clock
from optmap.search.space.sizes import even_cuts, maximal
from optmap.search.whole.chain_costs import ChainCosts, IntegerPoint, thin
from optmap.symbolic.numbers import divisors_of

COARSE_GRID = 4_000
"""Candidate tiles of one level looked at in one move, to begin with and once the goal is reached."""
GRID = 20_000
"""The same when the coarse grid stops short of the goal."""
PRICES = 4_000_000
"""Tiles times loop orders looked at in one move."""
LEAST_GRID = 100
"""Tiles looked at in one move however many loop orders there are."""
ROUNDS = 12
"""Rounds over all levels at most."""
ENOUGH = 0.99
"""Once the bottleneck is proved optimal, costs are no longer lowered to more than this share of what they are."""


class BlockDescent:
    """Moves that replace the tile of one level, the others held, clipped or tied to it."""

    def __init__(
        self, costs: ChainCosts, *, divisors: bool, clock: Clock, least: Sequence[float] | None = None
    ) -> None:
        self.costs = costs
        self.least = [0.0] * costs.depth if least is None else least
        """What every level costs at least."""
        self.setting = costs.setting
        self.divisors = divisors
        self.clock = clock
        self.grid = COARSE_GRID
        self.barren = set[tuple[int, bool, int]]()
        """Level, tie and size of the grid of moves that left the best chain as it is."""
        self.known = dict[tuple[int, int, int, int, int], list[int]]()
        """Candidate extents by level, dim, what they must fit into, the extent now and that of the next inner level."""
        self.allowed = self.setting.allowed
        self.floor = self.allowed.low

    def start(self, tiles: Sequence[dict[str, float]], spatial: Ints | None) -> Ints:
        """Whole tiles at or below real ones: floors, or the largest divisors; (L, D)."""
        chain = np.ones((self.costs.depth, len(self.costs.dims)), dtype=np.int64)
        outer = self.costs.extents
        for level in range(self.costs.depth - 1, -1, -1):
            real = np.array([tiles[level][dim] for dim in self.costs.dims])
            # A float near the extent may round beyond it: compare before converting.
            whole = real >= outer * (1 - 1e-9)
            limit = np.where(whole, outer, np.where(whole, 1.0, real + 1e-6).astype(np.int64))
            limit = self.allowed.down(np.minimum(limit, outer), level)
            if level in self.setting.fixed:
                limit = self.floor[level]
            elif self.divisors:
                ways = spatial if spatial is not None and level == self.setting.split_level else np.ones_like(outer)
                limit = self._divisors_near(limit, outer, level, ways)
            elif spatial is not None and level == self.setting.split_level:
                limit = self.allowed.up(np.maximum(limit, (self.inside(level) - 1) * spatial + 1), level)
            chain[level] = np.minimum(limit, outer)
            outer = self._inside(chain, level, spatial)
        return chain

    def inside(self, level: int) -> Ints:
        """(D,): what every part of a level's tile has room for: the least tile of the next inner level."""
        return self.floor[level - 1] if level else np.ones_like(self.costs.extents)

    def raise_to(self, chain: Ints, spatial: Ints) -> Ints:
        """The chain with the split tile made large enough to be split, (L, D)."""
        level = self.setting.split_level or 0
        raised = chain.copy()
        least = np.maximum((self.inside(level) - 1) * spatial + 1, spatial)
        for outer in range(level, len(chain)):
            raised[outer] = self.allowed.up(np.maximum(raised[outer], least), outer)
            least = raised[outer]
            if self.divisors:
                raised[outer] = self.costs.extents
        inside = self._inside(raised, level, spatial)
        raised[:level] = np.minimum(raised[:level], inside)
        return raised

    def _divisors_near(self, limit: Ints, outer: Ints, level: int, ways: Ints) -> Ints:
        """Divisors of the outer tile at or below a limit, else the least that serve, else the outer tile."""
        chosen = []
        columns = (limit, outer, self.inside(level), ways)
        for d, (value, whole, least, split) in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
            divisors = self.allowed.among(divisors_of(whole), level, d)
            serving = [v for v in divisors if v % split == 0 and v // split >= least]
            below = [v for v in serving if v <= value]
            chosen.append(below[-1] if below else serving[0] if serving else whole)
        return np.array(chosen, dtype=np.int64)

    def _inside(self, chain: Ints, level: int, spatial: Ints | None) -> Ints:
        """What the next inner level's tile must fit into."""
        if spatial is not None and level == self.setting.split_level:
            return np.asarray(-(-chain[level] // spatial))
        return np.asarray(chain[level])

    def run(self, chain: Ints, spatial: Ints | None, *, goal: float, fine: bool = False) -> IntegerPoint | None:
        """Improve a chain until no move does.

        Args:
            chain: (L, D) start; it need neither fit nor nest.
            spatial: (D,) ways at the split level, or None.
            goal: proved lower bound on the bottleneck; once reached, only worthwhile rounds go on.
            fine: look at many candidates from the start, not only once few bring nothing.
        """
        best: IntegerPoint | None = None
        self.barren.clear()
        if self.nests(chain[None], spatial)[0]:
            best = self.costs.best(chain[None], None if spatial is None else spatial[None])
        self.grid = GRID if fine else COARSE_GRID
        for _ in range(ROUNDS):
            before = best
            best = self._round(chain, spatial, best, goal)
            if self.clock.late:
                break
            still = before is not None and best is not None and best.key >= before.key
            if best is not None and best.value <= goal:
                small = before is not None and before.value <= goal and best.rest > ENOUGH * before.rest
                if still or small:
                    break
            elif still or best is None:
                if self.grid == GRID:
                    break
                self.grid = GRID
        return best

    def _round(self, chain: Ints, spatial: Ints | None, best: IntegerPoint | None, goal: float) -> IntegerPoint | None:
        """One move at every level, the most costly first."""
        levels = [i for i in range(self.costs.depth) if i not in self.setting.fixed]
        if best is not None:
            costs = best.costs
            levels.sort(key=lambda i: -costs[i])
        for level in levels:
            for tied in (True, False) if self.costs.depth > 1 else (False,):
                if self.clock.late:
                    return best
                if (level, tied, self.grid) in self.barren or self._settled(level, best, goal):
                    continue
                found = self._move(chain, level, spatial, tied=tied, best=best)
                if found is not None and (best is None or found.key < best.key):
                    best = found
                    self.barren.clear()
                else:
                    self.barren.add((level, tied, self.grid))
        return best

    def _settled(self, level: int, best: IntegerPoint | None, goal: float) -> bool:
        """Whether a level's tile decides nothing dear: of a goal reached, it and the level inside cost what they must.

        A tile has a part in the costs of these two.
        """
        if best is None or best.value > goal:
            return False
        return all(
            best.costs[i] == best.value or ENOUGH * best.costs[i] <= self.least[i] for i in (level, max(level - 1, 0))
        )

    def _move(
        self, chain: Ints, level: int, spatial: Ints | None, *, tied: bool, best: IntegerPoint | None
    ) -> IntegerPoint | None:
        """The best tile of one level with a bottleneck no worse than now; the other levels follow.

        Args:
            chain: (L, D) start, whose tiles move as long as there is no best point.
            level: the level whose tile changes.
            spatial: (D,) ways at the split level, or None.
            tied: as in `follow`.
            best: the best point so far, whose tiles move.
        """
        costs = self.costs
        chain = chain if best is None else np.array(best.chain)
        outer = costs.extents
        if level + 1 < costs.depth and not tied:
            outer = self._inside(chain, level + 1, spatial)
        lists = [self._values(chain, level, d, int(outer[d])) for d in range(len(costs.dims))]
        if not all(lists):
            return None
        lists = thin(lists, chain[level], max(LEAST_GRID, min(self.grid, PRICES // len(costs.orders(level)))))
        # Dims follow independently of one another: a row of the longest list has the candidates of all dims.
        tallest = max(len(values) for values in lists)
        tiles = np.array([values + values[-1:] * (tallest - len(values)) for values in lists], dtype=np.int64).T
        chains, nest = self.follow(chain, level, tiles, spatial, tied=tied)
        columns = [chains[: len(values), :, d] for d, values in enumerate(lists)]
        keep = np.ones([len(values) for values in lists], dtype=bool)
        for d, values in enumerate(lists):
            good = nest[: len(values), d]
            if not good.all():
                keep &= good.reshape(-1, *[1] * (keep.ndim - 1 - d))
        for other in range(costs.depth):
            # What is nowhere larger than a tile that fits does fit.
            grown = best is None or (chains[:, other] > chain[other]).any()
            if grown and other not in self.setting.fixed:
                keep &= costs.grid_fits([column[:, other] for column in columns], other)
        # Larger tiles hardly ever move more.
        chosen = np.unravel_index(np.flatnonzero(maximal(keep)), keep.shape)
        if len(chosen[0]) == 0:
            return None
        chains = np.stack([column[index] for column, index in zip(columns, chosen, strict=True)], axis=-1)
        ways = None if spatial is None else np.repeat(spatial[None], len(chains), axis=0)
        # What a level costs depends on its own tile and those outside it.
        moved = max([0, *(i for i in range(costs.depth) if best is None or (chains[:, i] != chain[i]).any())])
        nearest = sorted(range(moved + 1), key=lambda other: abs(other - level))
        ceiling = inf if best is None else best.value
        return costs.best(chains, ways, ceiling=ceiling, levels=nearest, others=best, fitting=True)

    def follow(
        self, chain: Ints, level: int, tiles: Ints, spatial: Ints | None, *, tied: bool
    ) -> tuple[Ints, NDArray[np.bool_]]:
        """Chains (B, L, D) with new tiles (B, D) at one level, made to nest, and along which dims (B, D) they do.

        Inner tiles are clipped to the new ones and outer ones raised; with `tied`, extents that equal the old one move
        along with it.
        """
        chains = np.repeat(chain[None], len(tiles), axis=0)
        chains[:, level] = tiles
        split = None if spatial is None else self.setting.split_level
        spatial = np.ones_like(self.costs.extents) if spatial is None else spatial
        for inner in range(level - 1, -1, -1):
            if inner in self.setting.fixed:
                break
            beyond = -(-chains[:, inner + 1] // spatial) if split == inner + 1 else chains[:, inner + 1]
            if tied:
                chains[:, inner] = np.where(chain[inner] == chain[level], tiles, chains[:, inner])
            chains[:, inner] = (np.gcd if self.divisors else np.minimum)(chains[:, inner], beyond)
            if not (self.divisors or self.allowed.free):
                chains[:, inner] = self.allowed.down(chains[:, inner], inner)
        for outer in range(level + 1, len(chain)):
            needed = chains[:, outer - 1]
            if split == outer:
                needed = needed * spatial if self.divisors else (needed - 1) * spatial + 1
            if tied:
                chains[:, outer] = np.where(chain[outer] == chain[level], tiles, chains[:, outer])
            chains[:, outer] = (np.lcm if self.divisors else np.maximum)(chains[:, outer], needed)
            if not (self.divisors or self.allowed.free):
                chains[:, outer] = self.allowed.up(chains[:, outer], outer)
        return chains, self._nested(chains, None if split is None else spatial)

    def nests(self, chains: Ints, spatial: Ints | None) -> NDArray[np.bool_]:
        """Which chains nest, stay within the extents and, if asked, divide."""
        return np.asarray(self._nested(chains, spatial).all(axis=1))

    def _nested(self, chains: Ints, spatial: Ints | None) -> NDArray[np.bool_]:
        """(B, D): `nests`, dim by dim."""
        good = ((chains >= self.floor) if self.allowed.free else self.allowed.holds(chains)).all(axis=1)
        outer = np.repeat(self.costs.extents[None], len(chains), axis=0)
        for level in range(self.costs.depth - 1, -1, -1):
            own = chains[:, level]
            good &= own <= outer
            if self.divisors and level not in self.setting.fixed:
                good &= outer % own == 0
            outer = own
            if spatial is not None and level == self.setting.split_level:
                good &= own >= spatial
                if self.divisors:
                    good &= own % spatial == 0
                outer = -(-own // spatial)
        return np.asarray(good)

    def _values(self, chain: Ints, level: int, d: int, outer: int) -> list[int]:
        """Candidate extents of one dim at one level, increasing."""
        now, inner = int(chain[level, d]), int(chain[level - 1, d]) if level else 1
        key = (level, d, outer, now, inner)
        if key not in self.known:
            self.known[key] = self._listed(*key)
        return self.known[key]

    def _listed(self, level: int, d: int, outer: int, now: int, inner: int) -> list[int]:
        if self.divisors:
            return self.allowed.among(divisors_of(outer), level, d)
        values = {*even_cuts(outer), now, now + 1, now - 1}
        if inner > 1:
            number = max(1, -(-(outer // inner) // 24))
            values.update(range(inner, outer + 1, inner * number))
        return [v for v in self.allowed.near(values, level, d) if v <= outer]
