"""The ways along one axis of a mesh: ratios between dims, scaled to fill it.

A mesh is small, so that all its fillings can be listed; a point takes the one whose ratios come nearest, among those
that use most of the mesh. Its own ratios lead back to it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from optmap.base.arrays import Flags, Floats, Ints
from optmap.machines.fabric import Direction
from optmap.machines.relations import Relation
from optmap.search.accelerators.fitting import Fitting
from optmap.symbolic.numbers import divisors_of

SHARE = 0.75
"""Of the units that the best filling of a mesh axis uses, those that every filling must use."""
SHARPNESS = 3.0
"""Power of the ratios of a point: larger ones leave out more dims."""
PAIRS = 2_000_000
"""Pairs of nest and filling that are looked at together."""


def _admits(direction: Direction, trips: tuple[int, ...]) -> bool:
    """Whether trips break no rule of a mesh axis for good: more trips meet those that ask for at least a number."""
    return all(rule.admits(trips) if rule.relation is not Relation.AT_LEAST else True for rule in direction.rules)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ways:
    """The fillings of one axis of a mesh."""

    memory: int
    kind: int
    """0 for x, 1 for y."""
    dims: tuple[int, ...]
    """That occur in a filling."""
    fillings: Ints
    """(fillings, all dims): ways beside those that rules demand."""
    directions: Floats = field(init=False)
    """(fillings, dims): logarithms of the ways, the largest 1."""

    def __post_init__(self) -> None:
        logs = np.log(self.fillings[:, list(self.dims)].astype(np.float64))
        object.__setattr__(self, "directions", logs / np.maximum(logs.max(axis=1, keepdims=True, initial=0), 1e-12))

    @property
    def axes(self) -> tuple[int, ...]:
        """The dims that need an axis: none where there is no choice."""
        return self.dims if len(self.dims) > 1 else ()

    def decode(self, keys: Floats, trips: Ints, left: Ints, keeps: Flags, fitting: Fitting) -> Ints:
        """(nests, dims): the ways of every nest.

        Args:
            keys: (nests, axes).
            trips: (nests, memories, kinds, dims) so far.
            left: (nests, dims): factors that have no place yet.
            keeps: (nests, memories, operands).
            fitting: the capacities.
        """
        found = np.ones_like(left)
        rows = max(1, PAIRS // len(self.fillings))
        for start in range(0, len(left), rows):
            part = slice(start, start + rows)
            valid = self._valid(trips[part], left[part], keeps[part], fitting)
            found[part] = self.fillings[self._nearest(keys[part], valid)]
        return found

    def _valid(self, trips: Ints, left: Ints, keeps: Flags, fitting: Fitting) -> Flags:
        """(nests, fillings): which of them have their factors left and fit."""
        valid = np.ones((len(left), len(self.fillings)), bool)
        for dim in self.dims:
            sizes, place = np.unique(self.fillings[:, dim], return_inverse=True)
            valid &= (left[:, dim, None] % sizes == 0)[:, place]
        most = np.where(np.isin(np.arange(left.shape[1]), self.dims), self.fillings.max(axis=0), 1)
        tiles = trips.prod(axis=2).cumprod(axis=1)
        grown = tiles.copy()
        grown[:, self.memory :] *= most
        tight = ~fitting.fit_from(self.memory, grown, keeps)
        rows, places = np.nonzero(valid & tight[:, None])
        if len(rows):
            grown = tiles[rows]
            grown[:, self.memory :] *= self.fillings[places][:, None]
            valid[rows, places] = fitting.fit_from(self.memory, grown, keeps[rows])
        return valid

    def _nearest(self, keys: Floats, valid: Flags) -> Ints:
        """(nests,): numbers of the fillings; of several in one direction the largest."""
        sizes = self.fillings.prod(axis=1)
        used = np.where(valid, sizes, 0)
        valid = valid & (used >= SHARE * used.max(axis=1, keepdims=True))
        if not self.axes:
            return np.asarray(np.where(valid, sizes, 0).argmax(axis=1))
        wanted = (np.maximum(keys, 1e-9) / np.maximum(keys, 1e-9).max(axis=1, keepdims=True)) ** SHARPNESS
        # The nearest in Euclid's sense; what is the same for all fillings is left out.
        away = (self.directions**2).sum(axis=1) - 2 * wanted @ self.directions.T
        away = np.where(valid, away, np.inf)
        near = away <= away.min(axis=1, keepdims=True) + 1e-9
        return np.asarray(np.where(near, sizes, 0).argmax(axis=1))

    def encode(self, ways: Ints) -> Floats:
        """(nests, axes): keys that lead to ways (nests, all dims)."""
        logs = np.log(ways[:, list(self.axes)].astype(np.float64))
        most = logs.max(axis=1, keepdims=True, initial=0)
        directions = np.where(most > 0, logs / np.maximum(most, 1e-12), 1.0)
        return np.asarray(directions ** (1 / SHARPNESS))


def fillings(direction: Direction, extents: tuple[int, ...], base: tuple[int, ...]) -> Ints:
    """(fillings, dims): all ways along an axis beside those that rules demand.

    Args:
        direction: the axis.
        extents: per dim, those factors that have no place yet.
        base: ways that rules demand.
    """
    found: list[tuple[int, ...]] = [base]
    for dim, extent in enumerate(extents):
        if not direction.allowed[dim]:
            continue
        grown = []
        for ways in found:
            room = direction.size // int(np.prod(ways))
            for size in divisors_of(extent):
                more = (*ways[:dim], ways[dim] * size, *ways[dim + 1 :])
                if size <= room and _admits(direction, more):
                    grown.append(more)
        found = grown
    return np.array(found, np.int64).reshape(-1, len(extents)) // np.array(base, np.int64)
