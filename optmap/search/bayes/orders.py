"""Loop orders from continuous keys: a ranking of dims, or of the tensors that stay where they are.

`keys` ranks the dims of every memory by a key each (Dinh, dissertation, section 6.2.1). `reuse` ranks the tensors:
loops that the first one does not depend on come innermost, around them those of the second, and so on. It has fewer
axes and leaves out orders that differ within such a group.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

import numpy as np

from optmap.base.arrays import Flags, Floats, Ints
from optmap.machines.fabric import Fabric


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyOrder:
    """The order of the temporal loops of one memory by a key per dim, the smallest outermost."""

    dims: tuple[int, ...]
    """That may have a loop there; empty where the order is of no account."""
    places: tuple[tuple[int, ...], ...]
    """Per dim of the workload, the entries of the memory's pattern that it suits."""

    @property
    def axes(self) -> tuple[int, ...]:
        """The dims that need an axis."""
        return self.dims if len(self.dims) > 1 else ()

    def decode(self, keys: Floats) -> Ints:
        """(nests, all dims), outermost first, of keys (nests, axes)."""
        at = np.full((len(keys), len(self.places)), 0.5)
        at[:, list(self.axes)] = np.clip(keys, 0.0, 1.0 - 1e-9)
        for dim, own in enumerate(self.places):
            if not own:
                continue
            gap = np.minimum((at[:, dim] * len(own)).astype(np.int64), len(own) - 1)
            inside = at[:, dim] * len(own) - gap
            at[:, dim] = np.array(own)[gap] + inside
        return at.argsort(axis=1, kind="stable")

    def encode(self, order: Ints, several: Flags) -> Floats:
        """(nests, axes): keys that lead to an order (nests, all dims) of the loops that take several trips."""
        inside = (loop_ranks(order, several) + 0.5) / np.maximum(several.sum(axis=1, keepdims=True), 1)
        gaps = self._gaps(order, several)
        counts = np.array([max(1, len(places)) for places in self.places])
        keys = np.where(several, (gaps + inside) / counts, 0.5)
        return np.asarray(keys[:, list(self.axes)])

    def _gaps(self, order: Ints, several: Flags) -> Ints:
        """(nests, dims): which of the entries that a dim suits its loop takes: the first from where the pattern is."""
        found = np.zeros_like(order)
        rows, last = np.arange(len(order)), np.zeros(len(order), np.int64)
        entries = 1 + max((place for places in self.places for place in places), default=0)
        table = np.zeros((entries, len(self.places)), np.int64)
        for dim, places in enumerate(self.places):
            for entry in range(entries):
                table[entry, dim] = next((n for n, place in enumerate(places) if place >= entry), len(places) - 1)
        for now in order.T:
            gap = table[last, now]
            loop = several[rows, now]
            found[rows, now] = np.where(loop, gap, 0)
            for which, places in enumerate(self.places):
                here = loop & (now == which)
                last[here] = np.array(places, np.int64)[gap[here]]
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Stationary:
    """The order of the temporal loops of one memory by a key per tensor, the largest innermost."""

    axes: tuple[int, ...]
    """The operands; empty where the order is of no account."""
    orders: Ints
    """(rankings, dims): orders, of every ranking of the operands."""

    def decode(self, keys: Floats) -> Ints:
        """(nests, all dims), outermost first, of keys (nests, axes)."""
        if not self.axes:
            return np.repeat(self.orders[:1], len(keys), axis=0)
        turn = (-keys).argsort(axis=1, kind="stable")
        number = {ranking: place for place, ranking in enumerate(permutations(range(len(self.axes))))}
        code = np.array([number[tuple(row)] for row in turn.tolist()], np.int64)
        return self.orders[code]

    def encode(self, order: Ints, several: Flags) -> Floats:
        """(nests, axes): keys that lead to the order of the loops that take several trips, where there are some."""
        keys = np.full((len(order), len(self.axes)), 0.5)
        if not self.axes:
            return keys
        wanted, met = loop_ranks(order, several), several.sum(axis=1) < 2
        for ranking, own in zip(permutations(range(len(self.axes))), self.orders, strict=True):
            same = (loop_ranks(np.repeat(own[None], len(order), axis=0), several) == wanted).all(axis=1) & ~met
            keys[np.ix_(same, ranking)] = 1.0 - (np.arange(len(ranking)) + 0.5) / len(ranking)
            met |= same
        return keys


def loop_ranks(order: Ints, several: Flags) -> Ints:
    """(nests, dims): how many loops of several trips stand outside that of a dim; 0 for dims without such a loop."""
    along = np.take_along_axis(several, order, axis=1)
    before = along.cumsum(axis=1) - along
    found = np.zeros_like(order)
    np.put_along_axis(found, order, before * along, axis=1)
    return found


def stationary(fabric: Fabric, number: int, dims: tuple[int, ...]) -> Stationary:
    """The orders of a memory by the ranking of the tensors."""
    places = [fabric.memories[number].entries(dim) for dim in range(len(fabric.dims))]
    windows = frozenset().union(*(operand.window_dims for operand in fabric.operands))

    def order(ranking: tuple[int, ...]) -> list[int]:
        def inwards(dim: int) -> tuple[int, ...]:
            free = [place for place, operand in enumerate(ranking) if dim not in fabric.operands[operand].dims]
            place = places[dim][0] if places[dim] else 0
            return place, -(free[0] if free else len(ranking)), int(dim in windows)

        return sorted(range(len(fabric.dims)), key=inwards)

    operands = tuple(range(len(fabric.operands)))
    if len(dims) < 2:
        return Stationary(axes=(), orders=np.array([order(operands)], np.int64))
    return Stationary(axes=operands, orders=np.array([order(r) for r in permutations(operands)], np.int64))
