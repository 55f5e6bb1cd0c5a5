"""The tile of a memory: an aspect ratio scaled to fill its room (Dinh, dissertation, section 6.2.1).

All dims grow by one common factor alpha, each rounded down to an allowed size: a divisor chain, within the rules, such
that this memory and all outside it hold what they keep. A dim that cannot follow stays behind, the others go on: so the
tile is one that no dim can be grown in. Where tiles are free, each dim grows to a size of its own at most, a power
of its extent; only a tile that does not fit is scaled down.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optmap.base.arrays import Flags, Floats, Ints
from optmap.machines.fabric import Fabric
from optmap.machines.relations import Relation
from optmap.mappings.nest_batch import TIME
from optmap.search.accelerators.fitting import Fitting
from optmap.symbolic.numbers import divisors_of

CLOSE = 1e-9
"""Distance within which logarithms of sizes are the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """The temporal loops of one bounded memory."""

    memory: int
    dims: tuple[int, ...]
    """That may have a loop here."""
    extents: tuple[int, ...]
    """Of all dims."""
    reach: float
    """Logarithm of the largest ratio between two dims that a point can ask for."""
    filled: bool
    """Whether the tile is scaled to fill its room."""

    @property
    def axes(self) -> tuple[int, ...]:
        """The dims that need an axis: none where there is no choice."""
        return self.dims if len(self.dims) > 1 or not self.filled else ()

    def grow(self, keys: Floats, trips: Ints, left: Ints, keeps: Flags, fitting: Fitting) -> Ints:
        """(nests, dims): the trips of every nest beside those that rules demand.

        Args:
            keys: (nests, axes): ratios of tile sizes as logarithms, 1 for 1 and 0 for the least; of free tiles the
                largest sizes as powers of the extents.
            trips: (nests, memories, kinds, dims) so far.
            left: (nests, dims): factors that have no place yet.
            keeps: (nests, memories, operands).
            fitting: the capacities.
        """
        rows = np.arange(len(left))
        found = np.ones_like(left)
        open_ = np.ones(left.shape, bool)
        tiles = trips.prod(axis=2).cumprod(axis=1)
        dims, sizes = self._steps(keys, tiles[:, self.memory])
        for dim, size in zip(dims.T, sizes.T, strict=True):
            asked = np.flatnonzero((size > 1) & open_[rows, dim] & (left[rows, dim] % size == 0))
            if not len(asked):
                continue
            own, whole = dim[asked], size[asked]
            grown, loops = self._grown(tiles[asked], found[asked], own, whole)
            fits = fitting.fit_from(self.memory, grown, keeps[asked])
            fits &= self._admitted(fitting.fabric, trips[asked, self.memory, TIME] * loops)
            taken = asked[fits]
            found[taken, own[fits]] = whole[fits]
            tiles[taken] = grown[fits]
            open_[asked[~fits], own[~fits]] = False
        return found

    def _grown(self, tiles: Ints, found: Ints, dim: Ints, size: Ints) -> tuple[Ints, Ints]:
        """Tiles (nests, memories, dims) and trips (nests, dims) after one dim has grown to its next size."""
        rows = np.arange(len(tiles))
        loops = found.copy()
        loops[rows, dim] = size
        grown = tiles.copy()
        grown[rows, self.memory :, dim] = tiles[rows, self.memory :, dim] // found[rows, dim, None] * size[:, None]
        return grown, loops

    def _steps(self, keys: Floats, tile: Ints) -> tuple[Ints, Ints]:
        """(nests, steps): dims and their next sizes, as a growing alpha reaches them; 1 for what it never reaches."""
        steps = [(dim, size) for dim in self.dims for size in divisors_of(self.extents[dim]) if size > 1]
        if not steps:
            return np.zeros((len(tile), 0), np.int64), np.zeros((len(tile), 0), np.int64)
        dims, sizes = np.array(steps, np.int64).T
        at = np.log(tile[:, dims].astype(np.float64)) + np.log(sizes)
        turn = at
        if self.axes:
            place = {dim: number for number, dim in enumerate(self.axes)}
            own = keys[:, [place[dim] for dim, _ in steps]]
            most = own * np.log([self.extents[dim] for dim, _ in steps])
            turn = at - (own - 1.0) * self.reach if self.filled else at / np.maximum(most, CLOSE)
            sizes = sizes if self.filled else np.where(at <= most + CLOSE, sizes, 1)
        turns = turn.argsort(axis=1, kind="stable")
        return dims[turns], np.take_along_axis(np.broadcast_to(sizes, turn.shape), turns, axis=1)

    def _admitted(self, fabric: Fabric, loops: Ints) -> Flags:
        """Whether no rule on the loops of the memory is exceeded by trips (nests, dims)."""
        found = np.ones(len(loops), bool)
        for rule in fabric.memories[self.memory].rules:
            if rule.relation is not Relation.AT_LEAST:
                found &= loops[:, list(rule.dims)].prod(axis=1) <= rule.value
        return found

    def encode(self, tile: Ints) -> Floats:
        """(nests, axes): keys that lead to tiles (nests, all dims) of this memory."""
        own = np.log(tile[:, list(self.axes)].astype(np.float64))
        if not self.filled:
            return np.asarray(own / np.log([self.extents[dim] for dim in self.axes]))
        ratio = own - own.max(axis=1, keepdims=True, initial=0)
        return np.asarray(1.0 + ratio / self.reach)
