"""Whole tiles next to real ones, under given loop orders and whatever else must hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import floor

import numpy as np

from optmap.base.arrays import Ints
from optmap.base.errors import InfeasibleError
from optmap.search.space.search_space import Order, Setting
from optmap.search.whole.chain_costs import ChainCosts, IntegerPoint

ROUNDS = 200
"""Moves at most."""
WHOLE = 1e-6
"""Distance at which a real size counts as the whole number above it, relative to its size."""

Key = tuple[float, ...]
Tiles = tuple[dict[str, int], ...]
"""Extent per dim, per level, inner level first."""


def whole_tiles(
    setting: Setting,
    orders: Sequence[Order],
    tiles: Sequence[dict[str, float]],
    broken: Callable[[Tiles], dict[str, float]],
) -> IntegerPoint:
    """Round the real tiles of one core, each size down or up, to those that keep everything and cost least.

    All sizes are rounded down first. Then one size at a time (or equal ones of neighbouring levels
    together) becomes its other rounding, one more or less, or a size that cuts the next outer tile
    evenly, whichever mends what is broken or lowers the cost most; where no such move is left, two of
    them at a time: a descent, not an enumeration.

    Args:
        setting: workload and machine, without cores that share a level.
        orders: loop order per level, inner first.
        tiles: real extent per dim and level.
        broken: what whole tiles violate beside the capacities, and by how much.

    Raises:
        InfeasibleError: if no rounding was found that keeps all of it, naming what is broken.
    """
    search = _Rounding(setting, orders, tiles, broken)
    chain = search.floor()
    key = search.key(chain)
    for _ in range(ROUNDS):
        once = search.moves(chain)
        better = search.best(once, key) or search.best([other for each in once for other in search.moves(each)], key)
        if better is None:
            break
        key, chain = better
    search.refuse(chain)
    return search.point(chain)


class _Rounding:
    def __init__(
        self,
        setting: Setting,
        orders: Sequence[Order],
        tiles: Sequence[dict[str, float]],
        broken: Callable[[Tiles], dict[str, float]],
    ) -> None:
        self.setting, self.orders, self.broken = setting, tuple(orders), broken
        self.costs = ChainCosts(setting)
        self.real = np.array([[tile[d] for d in self.costs.dims] for tile in tiles])

    def floor(self) -> Ints:
        """All sizes rounded down, within the extents and nested."""
        below = np.array([[floor(x * (1 + WHOLE)) for x in row] for row in self.real], dtype=np.int64)
        chain = np.clip(below, 1, self.costs.extents)
        return np.asarray(np.maximum.accumulate(chain, axis=0))

    def moves(self, chain: Ints) -> list[Ints]:
        """Chains with another rounding of one size, or of equal sizes of neighbouring levels."""
        found = []
        depth, dims = chain.shape
        outer = np.vstack([chain[1:], self.costs.extents])
        for d in range(dims):
            for first in range(depth):
                for last in range(first, depth):
                    span = range(first, last + 1)
                    if any(i in self.setting.fixed or chain[i, d] != chain[first, d] for i in span):
                        break
                    for size in self._sizes(int(chain[first, d]), float(self.real[first, d]), int(outer[last, d])):
                        other = chain.copy()
                        other[first : last + 1, d] = size
                        if size != chain[first, d] and self._nests(other):
                            found.append(other)
        return found

    def _sizes(self, now: int, real: float, outer: int) -> set[int]:
        low = floor(real * (1 + WHOLE))
        trips = -(-outer // now)
        even = {-(-outer // n) for n in (trips, trips + 1, max(1, trips - 1))}
        return {low, low + (real > low * (1 + WHOLE)), now - 1, now + 1, *even}

    def _nests(self, chain: Ints) -> bool:
        whole = np.vstack([chain, self.costs.extents])
        return bool((chain >= 1).all() and (whole[1:] >= whole[:-1]).all())

    def tiles(self, chain: Ints) -> Tiles:
        """A chain as extents per dim."""
        return tuple(dict(zip(self.costs.dims, row.tolist(), strict=True)) for row in chain)

    def excess(self, chain: Ints) -> dict[str, float]:
        """Words beyond every capacity, by level."""
        found = {}
        for level, (tile, order) in enumerate(zip(self.tiles(chain), self.orders, strict=True)):
            over = self.setting.occupancy(tile, order, level) - self.setting.capacities[level]
            if over > 0:
                found[f"the capacity of {self.setting.machine.levels[level].name}"] = float(over)
        return found

    def key(self, chain: Ints) -> Key:
        """What chains are compared by: what is broken, words too many, the costs."""
        return sum(self.broken(self.tiles(chain)).values()), *self._keys([chain])[0]

    def best(self, chains: Sequence[Ints], key: Key) -> tuple[Key, Ints] | None:
        """The best of some chains, if it is better than `key`."""
        found: tuple[Key, Ints] | None = None
        if not len(chains):
            return None
        for rest, chain in sorted(zip(self._keys(chains), chains, strict=True), key=lambda pair: pair[0]):
            limit = key if found is None else found[0]
            if limit[0] == 0 and rest >= limit[1:]:
                break  # nothing is broken, and the others cost more
            mine = (sum(self.broken(self.tiles(chain)).values()), *rest)
            if mine < limit:
                found = mine, chain
        return found

    def _keys(self, chains: Sequence[Ints]) -> list[Key]:
        """Words too many and costs of many chains, from the largest cost down and added up."""
        many = np.array(chains)
        setting, model = self.setting, self.costs.model
        over = np.zeros(len(many))
        costs = np.zeros((len(many), self.costs.depth))
        for level, order in enumerate(self.orders):
            tiles = many[:, level]
            held = model.safe_occupancy(tiles, order.working) if setting.safe(level) else model.occupancy(tiles)
            over += np.maximum(0.0, np.asarray(held, dtype=float) - setting.capacities[level])
            costs[:, level] = np.asarray(model.traffic(many, level, order.flow, None)) / setting.bandwidths[level]
        ranked = -np.sort(-costs, axis=1)
        return [(float(o), *r.tolist(), float(r.sum())) for o, r in zip(over, ranked, strict=True)]

    def point(self, chain: Ints) -> IntegerPoint:
        """The chain with its exact costs."""
        return self.costs.priced(chain, None, self.orders)

    def refuse(self, chain: Ints) -> None:
        """Refuse a chain that violates something.

        Raises:
            InfeasibleError: naming it.
        """
        wrong = {**self.excess(chain), **self.broken(self.tiles(chain))}
        if wrong:
            names = ", ".join(f"{name} by {over:.3g}" for name, over in wrong.items())
            raise InfeasibleError(
                f"whole tiles next to the point exceed {names}; give a point with more room, or loosen that"
            )
