"""Tiles that leave out a corner: what does not quite fit in full, and is worth it all the same.

A tile a little too large for the memory fits if the last iterations of two of its dims, x and y, are left out where
both meet (`optmap.mappings.held`): the tensor with both dims then is L-shaped in the memory, and everything else moves
as if the tile were whole. The corners of all tiles run afterwards, X iterations of x by Y of y. A tensor with x alone
is moved once more for X of its Nx iterations, one with y alone for Y of Ny. Where w and v words have x alone and y
alone, and a part p of the room of the tensor with both is to be saved, X/Nx * Y/Ny is about p, so that the corners cost

    w X/Nx + v Y/Ny  >=  2 sqrt(w v p).

Where all corners together do not fit they are cut into tiles as everything else is, and then cost about the part of the
whole that their operations are, which is more than corners save: few large tiles of what nearly fits gain by them.
A matrix product whose one operand is as large as the memory costs that little beyond every word once, where whole
tiles bring in another operand twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import inf, prod

import numpy as np
import numpy.typing as npt

from optmap.base.arrays import Floats, Ints
from optmap.base.clock import NO_LIMIT, Clock
from optmap.count.levels.held import entering_words, held_words
from optmap.mappings.held import corner_dims
from optmap.search.iooub.flows import Flow, ways_of
from optmap.search.iooub.grid import BestOfFlow, TileGrid, kept_grid
from optmap.search.iooub.products import spread
from optmap.search.iooub.tiling import EQUAL, Tiling, best_tiling, least_words, tile_of
from optmap.search.iooub.units import Bundle
from optmap.workloads.workload import Workload

BEYOND = (1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64)
"""By how much of the memory a tile may be too large: the largest of every kind are looked at."""
WORK = 10_000_000
"""Combinations of flow and tile that are looked at: of many flows the best ones, of few with fewer tiles."""
FEWEST = 24
"""Flows that are looked at, if there are so many, before tiles are."""
FITTED = 200
"""Tiles of which corners are cut, the most promising ones."""
SOLVED = 3
"""Corners of which a tiling of their own is searched, until one is found that is better than none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cornered:
    """A tiling whose tiles leave out a corner."""

    tiling: Tiling
    """Of the tiles; its value counts the corners, too."""
    sizes: dict[str, int]
    """Of two dims, the iterations of a whole tile that are in the corner."""
    corners: Workload
    """What the corners of all tiles compute."""
    rest: Tiling
    """Of the corners of all tiles, a workload of their own."""


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two units a corner may be cut along."""

    x: int
    y: int
    both: int
    """The one access that has both."""
    beside: float
    """Weighted words of accesses with neither, which the corners move again."""
    scale: float
    """2 sqrt(w v)."""


def best_cornered(
    workload: Workload, words: int, weights: Sequence[float], plain: Tiling, *, clock: Clock = NO_LIMIT
) -> Cornered | None:
    """A tiling whose tiles leave out a corner, if one is found that is better than all whole tiles.

    Args:
        workload: what is tiled.
        words: of the memory, one for all tensors.
        weights: objective weight per tensor, output first.
        plain: the tiling of whole tiles, with the flows that are tried here, too.
        clock: when to stop looking.
    """
    for cut in _cuts(workload, words, weights, plain, clock)[:SOLVED]:
        if clock.late:
            break
        rest = workload.with_extents(**cut.rest)
        again = best_tiling(rest, [(words, tuple(range(len(workload.tensors))))], weights, clock=clock)
        if again is not None and cut.tiles + again.value < plain.value * (1 - EQUAL):
            tiling = replace(cut.tiling, value=cut.tiles + again.value)
            return Cornered(tiling=tiling, sizes=cut.sizes, corners=rest, rest=again)
    return None


@dataclass(frozen=True, slots=True)
class _Cut:
    """Corners that make a tile fit."""

    estimate: float
    """Weighted loads of tiles and corners, about: every word of the corners once, or their part of the operations."""
    tiles: float
    """Those of the tiles."""
    tiling: Tiling
    sizes: dict[str, int]
    rest: dict[str, int]
    """Extents of what the corners of all tiles compute, of the dims that they are cut along."""


def _cuts(workload: Workload, words: int, weights: Sequence[float], plain: Tiling, clock: Clock) -> list[_Cut]:
    """Corners that promise more than the tiling of whole tiles, the best ones first."""
    pairs = _pairs(workload, plain.units, weights)
    if not pairs or plain.value <= least_words(workload, weights):
        return []
    grid = kept_grid(_Overfull, workload, plain.units, tuple(weights))
    grid = grid.under([(words, tuple(range(len(workload.tensors))))])
    found: list[tuple[float, int, BestOfFlow, Flow]] = []
    most = max(FEWEST, WORK // (len(BEYOND) * grid.points()))
    lists = grid.thinned(min(most, len(plain.tried)) * len(BEYOND), WORK)
    for flow in plain.tried[:most]:
        if clock.late:
            break
        found += [(each.value, len(found), each, flow) for each in grid.beyond(flow, pairs, lists, plain.value)]
    cuts: list[_Cut] = []
    for estimate, _, each, flow in sorted(found, key=lambda entry: entry[:2]):
        if estimate >= plain.value or len(cuts) >= FITTED or clock.late:
            break
        tile = tile_of(workload, plain.units, each)
        value = grid.value(flow, each)
        tiling = replace(plain, flow=flow, tile=tile, value=value, complete=False, streams_complete=False)
        cut = _Fitting(workload, words, weights, tiling, plain.value).best()
        cuts += [cut] if cut is not None and cut.estimate < plain.value * (1 - EQUAL) else []
    return sorted(cuts, key=lambda cut: cut.estimate)


def _pairs(workload: Workload, units: tuple[Bundle, ...], weights: Sequence[float]) -> tuple[_Pair, ...]:
    """The units with dims that a corner may be cut along, both in one access only."""
    words = [
        w * workload.weight(t) * t.footprint(workload.extents) for w, t in zip(weights, workload.tensors, strict=True)
    ]
    has = [[unit.dims[0] in tensor.dims for unit in units] for tensor in workload.tensors]
    found, dims = [], corner_dims(workload)
    for x, y in combinations([u for u, unit in enumerate(units) if unit.plain and set(unit.dims) & set(dims)], 2):
        both = [i for i, mine in enumerate(has) if mine[x] and mine[y]]
        if len(both) == 1:
            one, other = (
                sum(n for n, mine in zip(words, has, strict=True) if mine[u] and not mine[v])
                for u, v in ((x, y), (y, x))
            )
            beside = sum(n for n, mine in zip(words, has, strict=True) if not (mine[x] or mine[y]))
            found.append(_Pair(x, y, both[0], beside, 2 * (one * other) ** 0.5))
    return tuple(found)


class _Overfull(TileGrid):
    """Tiles that are too large for the memory, with the price of corners that make them fit."""

    def beyond(self, flow: Flow, pairs: Sequence[_Pair], lists: Sequence[Ints], ceiling: float) -> list[BestOfFlow]:
        """Per excess and pair of units, the tile that costs least with an estimate of what its corners cost.

        Args:
            flow: loop order and holds.
            pairs: the units that corners are cut along.
            lists: per unit, candidates to combine.
            ceiling: value to undercut.
        """
        shape = tuple(1 if u == self.last else len(values) for u, values in enumerate(lists))
        ((words, every),) = self.groups
        found = []
        for excess in BEYOND:
            grown = self._largest(flow, lists, shape, slack=excess)
            fixed, slope = self._need(flow, every, lists)
            loads = self._loads(flow, lists, grown)
            size = self.units[self.last].sizes[np.maximum(grown, 0)] if self.last >= 0 else 1.0
            over = np.maximum(0.0, fixed + slope * size - words)
            for pair in pairs if np.min(loads) < ceiling else ():
                if {pair.x, pair.y} & set(flow.stream(pair.both)):
                    continue
                steady, grows = self._need(flow, (pair.both,), lists)
                part = over / (steady + grows * size)
                fits = (part < 1) & self._several(pair.x, lists, grown) & self._several(pair.y, lists, grown)
                corners = np.maximum(pair.beside + pair.scale * np.sqrt(part), part * ceiling)
                values = np.broadcast_to(np.where(fits, loads + corners, inf), shape)
                flat = int(values.argmin())
                if values.flat[flat] < ceiling:
                    found.append(BestOfFlow(float(values.flat[flat]), self._chosen(lists, grown, shape, flat)))
            if not np.any(slope):
                break
        return found

    def value(self, flow: Flow, found: BestOfFlow) -> float:
        """Weighted loads of a combination with whole tiles."""
        lists = [np.array([c]) for c in found.choice]
        grown = np.full((1,) * len(lists), found.choice[self.last] if self.last >= 0 else 0)
        return float(np.asarray(self._loads(flow, lists, grown)).sum())

    def _several(self, u: int, lists: Sequence[Ints], grown: Ints) -> npt.NDArray[np.bool_]:
        """Where a tile has several iterations of some dim of a unit."""
        most = self.units[u].longest
        return (most[np.maximum(grown, 0)] if u == self.last else spread(most, (u,), lists)) > 1


class _Fitting:
    """The search for the corner of a tile that makes it fit."""

    def __init__(
        self, workload: Workload, words: int, weights: Sequence[float], tiling: Tiling, ceiling: float
    ) -> None:
        self.workload, self.weights, self.tiling, self.tile = workload, weights, tiling, tiling.tile
        self.ceiling = ceiling
        self.ways = ways_of(tiling.flow, workload, tiling.units)
        tensors = zip(workload.tensors, self.ways, strict=True)
        self.rooms = [held_words(workload, tensor, self.tile, *way) for tensor, way in tensors]
        self.over = sum(self.rooms) - words

    def best(self) -> _Cut | None:
        """The corner that costs least; None if none makes the tile fit."""
        tensors, dims = self.workload.tensors, [d for d in corner_dims(self.workload) if self.tile[d] > 1]
        found = []
        for x, y in combinations(dims, 2):
            both = [i for i, tensor in enumerate(tensors) if {x, y} <= tensor.dims]
            if len(both) == 1 and not {x, y} & set(self.ways[both[0]][1]):
                found += self._along(x, y, both[0])
        return min(found, key=lambda cut: cut.estimate, default=None)

    def _cut(self, d: str) -> Ints:
        """Iterations of a dim in the corners of all tiles, for corners of 1, 2, ... iterations."""
        tile, sizes = self.tile[d], np.arange(1, self.tile[d])
        whole, rest = divmod(self.workload.extents[d], tile)
        return whole * sizes + np.maximum(0, rest - (tile - sizes))

    def _along(self, x: str, y: str, both: int) -> list[_Cut]:
        """The corner along two dims that costs least; none if none saves enough room."""
        extents, full = self.workload.extents, self.ways[both][0].full
        cuts = {d: self._cut(d) for d in (x, y)}
        held = {d: cuts[d] if d in full else np.arange(1, self.tile[d]) for d in (x, y)}
        sides = {d: extents[d] if d in full else self.tile[d] for d in (x, y)}
        each = self.rooms[both] // (sides[x] * sides[y])  # words per pair of iterations of both
        at = np.searchsorted(held[y], -(-self.over // (each * held[x])))
        sizes = np.flatnonzero(at < len(held[y]))
        if not len(sizes):
            return []
        cut = {x: cuts[x][sizes], y: cuts[y][at[sizes]]}
        again: Floats = np.zeros(len(sizes))
        for number, tensor in enumerate(self.workload.tensors):
            share = prod((cut[d] / extents[d] for d in (x, y) if d in tensor.dims), start=np.ones(len(sizes)))
            words = self.weights[number] * self.workload.weight(tensor) * tensor.footprint(extents)
            again = again + words * share
        entering = entering_words(self.workload, self.workload.tensors[both], self.tile, self.ways[both][0])
        operations = (cut[x] / extents[x]) * (cut[y] / extents[y])
        again, spared = np.maximum(again, operations * self.ceiling), self.weights[both] * entering * operations
        best = int((again - spared).argmin())
        rest = {d: int(number[best]) for d, number in cut.items()}
        value = self.tiling.value - float(spared[best])
        corner = {x: int(sizes[best]) + 1, y: int(at[sizes[best]]) + 1}
        return [_Cut(value + float(again[best]), value, self.tiling, corner, rest)]
