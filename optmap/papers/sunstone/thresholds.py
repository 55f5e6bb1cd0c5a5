"""Searches by what Sunstone's text says of dMazeRunner and of Interstellar (Tables I and V, section V-B2).

Of neither tool: the text fixes least uses of memories and of units, whether units add up sums, and which dims are
unrolled; it does not fix in which order their spaces are looked at. Loop orders are those that the ordering principles
leave, which the text cites from dMazeRunner; tiles are taken at random where there are more than can be judged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from math import prod

import numpy as np

from optmap.base.arrays import Flags, Ints
from optmap.machines.accelerator import MeshAxis
from optmap.machines.fabric import Fabric
from optmap.machines.machine import Machine
from optmap.mappings.nest_batch import NestBatch
from optmap.papers.counting import Sizes
from optmap.questions.policy import Footprint
from optmap.search.accelerators.fitting import Fitting
from optmap.search.explore.protocol import Brief, NoSettings, Proposals
from optmap.search.sunstone.loops import whole_orders
from optmap.search.sunstone.order_trie import trie_of
from optmap.search.sunstone.tiling_tree import tile_grid
from optmap.search.sunstone.unrolling import Ways, along

PAIRED = 4000
"""Inner tiles that are looked at."""
EMPTY = 500
"""Tiles taken in a row for which no ways along the axes use enough units, after which the search gives up."""
BATCH = 2048
Choice = tuple[Ints, Ints, tuple[Ways, Ways]]
"""Tiles of both memories, and ways along both axes."""
SECOND = 64
"""Mappings of which all loop orders are judged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """Least uses, as parts, and what meshes may do (Table V)."""

    inner: float
    """Of the units' buffers."""
    outer: float
    """Of the shared buffer."""
    units: float
    reduction: bool
    """Whether dims that the output lacks are unrolled."""


FAST_USES = Thresholds(inner=0.8, outer=0.5, units=0.8, reduction=False)
SLOW_USES = Thresholds(inner=0.6, outer=0.4, units=0.8, reduction=True)


class ThresholdSpace:
    """The mappings that meet thresholds, on a machine of two bounded memories that keep all, the outer with a mesh."""

    def __init__(self, fabric: Fabric, thresholds: Thresholds) -> None:
        self.fabric, self.thresholds = fabric, thresholds
        self.grid, _ = tile_grid(fabric.extents, frozenset(range(len(fabric.dims))))
        self.uses = [self._use(number) for number in (0, 1)]
        self.inner = self.grid[self.uses[0] >= thresholds.inner]
        self.outer = self.grid[self.uses[1] >= thresholds.outer]
        output = next(operand for operand in fabric.operands if operand.output)
        spread = [thresholds.reduction or dim in output.dims for dim in range(len(fabric.dims))]
        mesh = fabric.memories[1]
        self.axes = [
            replace(axis, allowed=tuple(a and b for a, b in zip(axis.allowed, spread, strict=True)))
            for axis in (mesh.x, mesh.y)
        ]
        self.least_units = thresholds.units * mesh.x.size * mesh.y.size
        self.ways: Callable[[tuple[int, ...]], tuple[tuple[Ways, Ways], ...]] = cache(self._ways)

    def _use(self, number: int) -> np.ndarray:
        """Part of a memory that each tile takes; -1 where it does not fit."""
        fitting, kept = Fitting(self.fabric, Footprint.TOUCHED), np.ones(len(self.fabric.operands), bool)
        fits: Flags = fitting.fit(number, self.grid, kept)
        room = self.fabric.memories[number].rooms[0]
        words = sum(fitting.words(self.fabric.operands[operand], self.grid) for operand in room.operands)
        return np.where(fits, words / room.capacity, -1.0)

    @cached_property
    def paired(self) -> Ints:
        """Inner tiles that go into an outer one with enough left to spread; some of them if there are many."""
        rng = np.random.default_rng(0)
        some = self.inner[rng.permutation(len(self.inner))[:PAIRED]]
        return np.array([tile for tile in some if len(self.around(tile))], np.int64).reshape(-1, len(self.fabric.dims))

    def around(self, inner: Ints) -> Ints:
        """Outer tiles that an inner one divides, with enough to spread over the units."""
        found = self.outer[(self.outer % inner == 0).all(axis=1)]
        spread = np.array([any(axis.allowed[dim] for axis in self.axes) for dim in range(len(self.fabric.dims))])
        left: Ints = np.where(spread, found // inner, 1).prod(axis=1)
        return np.asarray(found[left >= self.least_units])

    @property
    def why_none(self) -> str:
        """Which threshold no tile meets; empty if tiles meet all."""
        for number, least in ((0, self.thresholds.inner), (1, self.thresholds.outer)):
            most = float(self.uses[number].max())
            if most < least:
                return f"{self.fabric.memories[number].name} is used to {100 * max(most, 0.0):.0f} % at most"
        if not len(self.paired):
            return f"no tiles that fill both memories leave {self.least_units:.0f} units something to do"
        return ""

    def _ways(self, left: tuple[int, ...]) -> tuple[tuple[Ways, Ways], ...]:
        """Ways along both axes of what an outer tile has more than an inner one, on enough units."""
        found = []
        for first in along(self.axes[0], left):
            if prod(first) * self.axes[1].size >= self.least_units:
                rest = [size // n for size, n in zip(left, first, strict=True)]
                found += [
                    (first, second)
                    for second in along(self.axes[1], rest)
                    if prod(first) * prod(second) >= self.least_units
                ]
        return tuple(found)

    def orders(self, number: int) -> np.ndarray:
        """Orders of a memory's loops that the ordering principles leave, outermost first."""
        wide = frozenset(dim for dim, size in enumerate(self.fabric.extents) if size > 1)
        trie = trie_of(sorted(wide), list(enumerate(self.fabric.operands)), wide)
        inner = [node.order for node in trie.nodes]
        return np.array(whole_orders(inner, self.fabric.memories[number], len(self.fabric.dims)))

    def drawn(self, rng: np.random.Generator) -> Sequence[Choice]:
        """Inner tile, outer tile and ways of one inner tile that is taken at random; none that do not go together."""
        inner = self.paired[rng.integers(len(self.paired))]
        around = self.around(inner)
        found = []
        for outer in around[rng.permutation(len(around))[:4]]:
            ways = self.ways(tuple((outer // inner).tolist()))
            found += [(inner, outer, ways[place]) for place in rng.permutation(len(ways))[:16]]
        return found

    def batch(self, chosen: Sequence[Choice], order: Ints) -> NestBatch:
        """Nests of tiles and ways; the innermost memory's order is of no account."""
        shape = (len(chosen), len(self.fabric.memories), len(self.fabric.dims))
        x, y, temporal = np.ones(shape, np.int64), np.ones(shape, np.int64), np.ones(shape, np.int64)
        extents = np.array(self.fabric.extents)
        for row, (inner, outer, (first, second)) in enumerate(chosen):
            x[row, 1], y[row, 1], temporal[row, 0] = first, second, inner
            temporal[row, 1] = outer // inner // np.array(first) // np.array(second)
            temporal[row, 2] = extents // outer
        kept = np.ones((*shape[:2], len(self.fabric.operands)), bool)
        return NestBatch(x=x, y=y, temporal=temporal, order=order, keeps=kept)


def within(thresholds: Thresholds) -> Callable[[Brief[NoSettings]], Proposals]:
    """A strategy that looks at mappings which meet thresholds, and then at all loop orders of the best."""

    def propose(brief: Brief[NoSettings]) -> Proposals:
        space = ThresholdSpace(brief.fabric, thresholds)
        if space.why_none:
            return None
        every = [space.orders(number) for number in (1, 2)]
        best: list[tuple[float, Choice]] = []
        left = (brief.evaluations or 10 * BATCH) - SECOND * len(every[0]) * len(every[1])
        empty = 0
        while left > 0 and empty < EMPTY:
            chosen = list[Choice]()
            while len(chosen) < min(BATCH, left) and empty < EMPTY:
                more = space.drawn(brief.rng)
                empty = 0 if more else empty + 1
                chosen += more
            if chosen:
                order = np.tile(np.arange(len(brief.fabric.dims)), (len(chosen), 3, 1))
                for number, own in enumerate(every, 1):
                    order[:, number] = own[brief.rng.integers(len(own), size=len(chosen))]
                scores = yield space.batch(chosen, order)
                left -= len(chosen)
                best += zip(scores.value.tolist(), chosen, strict=True)
                best = sorted(best, key=lambda each: each[0])[:SECOND]
        for _, one in best:
            pairs = len(every[0]) * len(every[1])
            order = np.tile(np.arange(len(brief.fabric.dims)), (pairs, 3, 1))
            order[:, 1] = np.repeat(every[0], len(every[1]), axis=0)
            order[:, 2] = np.tile(every[1], (len(every[0]), 1))
            yield space.batch([one] * pairs, order)
        return None

    return propose


def only_along(machine: Machine, dims: tuple[str, ...]) -> Machine:
    """A machine whose meshes unroll some dims alone."""
    levels = []
    for level in machine.levels:
        store = level.store
        if store is not None and store.mesh.size > 1:
            axes = [MeshAxis(size=axis.size, dims=dims) for axis in (store.mesh.x, store.mesh.y)]
            store = replace(store, mesh=replace(store.mesh, x=axes[0], y=axes[1]))
        levels.append(replace(level, store=store))
    return replace(machine, name=f"{machine.name}, {' '.join(dims)} unrolled", levels=tuple(levels))


def filled(fabric: Fabric) -> float:
    """The largest part of the units of a mesh that divisors of its allowed dims use."""
    most = 0
    mesh = next(memory for memory in fabric.memories if memory.fanout > 1)
    for first in along(mesh.x, fabric.extents):
        left = [size // n for size, n in zip(fabric.extents, first, strict=True)]
        most = max(most, prod(first) * max(map(prod, along(mesh.y, left))))
    return most / (mesh.x.size * mesh.y.size)


def sizes(space: ThresholdSpace) -> Sizes:
    """How many tiles of each memory meet thresholds."""
    return {"L1": len(space.inner), "L2": len(space.outer)}
