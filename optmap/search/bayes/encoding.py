"""Mappings as points of the unit cube, for any optimiser (Dinh, dissertation, section 6.2.1).

    encoding = encoding_of(fabric_of(workload, machine))
    nest = encoding.decode(point)            # any point of [0, 1]^d is a valid mapping
    batch = encoding.decode_batch(points)    # thousands per second
    point = encoding.encode(nest)            # decode(encode(nest)) == nest

A point says, axis by axis (`Encoding.names`):

- `L1 keep A`: whether a memory holds a tensor, where the machine leaves that open: from 1/2 on it does.
- `L2 x k`: how the children along an axis of a mesh are shared among dims, as a ratio that is scaled to fill it.
- `L1 tile k`: the shape of the tile of a memory, as a ratio on a logarithmic scale that is scaled to fill its room; or,
  of free tiles, `L1 size k`: the most that it measures along a dim, as a power of the extent.
- `L2 order k`: rank of a loop among those of a memory, the smallest outermost; or `L2 stays A`: rank of a tensor among
  those whose words stay while the innermost loops run.

Decoded from it are, in this order: what is kept; what rules of the machine demand; meshes, inner first; tiles, inner
first; the rest goes to the loops of the outermost memory. There is no axis where there is no choice.

Not every valid mapping is a point: meshes are filled, tiles, too, unless they are free, so that no dim of one can
grow; of a rule that asks for a product of several dims, or at least for a number, the first way to meet it stands;
`stays` leaves out orders within a group. `encode` refuses what it cannot express. Where the loops that are left over
break a rule of the outermost memory, a point stands for one mapping that is known to be valid (`reached` tells).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from math import log

import numpy as np

from optmap.base.arrays import Flags, Floats, Ints
from optmap.base.errors import InputError, LimitError
from optmap.count.meshes.batch_columns import Columns
from optmap.count.meshes.batch_valid import valid_rows
from optmap.count.meshes.count import NEST_EXACT
from optmap.machines.accelerator import KeepRule
from optmap.machines.fabric import Fabric
from optmap.machines.relations import Relation
from optmap.mappings.nest import Nest
from optmap.mappings.nest_batch import KINDS, TIME, NestBatch, batch_of
from optmap.questions.policy import Policy
from optmap.search.accelerators.fitting import Fitting
from optmap.search.accelerators.random_nests import random_nests
from optmap.search.bayes.demands import demanded
from optmap.search.bayes.growth import Growth
from optmap.search.bayes.orders import KeyOrder, Stationary, stationary
from optmap.search.bayes.ways import Ways, fillings

DRAWS = 16_384
"""Random mappings among which a valid one is looked for, where a point has none of its own."""


class Orders(StrEnum):
    """How loop orders are encoded."""

    KEYS = "keys"
    """A key per memory and dim."""
    REUSE = "reuse"
    """A key per memory and tensor."""


class Tiles(StrEnum):
    """How tiles are encoded."""

    FILLED = "filled"
    """As shapes that are scaled to fill their memories."""
    FREE = "free"
    """As sizes; those of tiles that do not fit are scaled down."""


@dataclass(frozen=True, kw_only=True)
class Encoding:
    """The points of a fabric; `encoding_of` makes one."""

    fabric: Fabric
    fitting: Fitting
    base: Ints
    """(memories, kinds, dims): trips that rules demand."""
    free: tuple[tuple[int, int], ...]
    """(memory, operand) that the machine leaves open."""
    ways: tuple[Ways, ...]
    growths: tuple[Growth, ...]
    orders: tuple[KeyOrder | Stationary, ...]
    """Per memory."""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What every axis says, such as `L1 tile k`."""
        return tuple(self._names())

    def _names(self) -> Iterator[str]:
        memories = [memory.name for memory in self.fabric.memories]
        dims, tensors = self.fabric.dims, [operand.name for operand in self.fabric.operands]
        yield from (f"{memories[number]} keep {tensors[operand]}" for number, operand in self.free)
        for ways in self.ways:
            yield from (f"{memories[ways.memory]} {'xy'[ways.kind]} {dims[dim]}" for dim in ways.axes)
        for growth in self.growths:
            word = "tile" if growth.filled else "size"
            yield from (f"{memories[growth.memory]} {word} {dims[dim]}" for dim in growth.axes)
        for name, order in zip(memories, self.orders, strict=True):
            if isinstance(order, KeyOrder):
                yield from (f"{name} order {dims[dim]}" for dim in order.axes)
            else:
                yield from (f"{name} stays {tensors[operand]}" for operand in order.axes)

    @property
    def size(self) -> int:
        """Axes of a point."""
        return len(self.names)

    def decode(self, point: Floats) -> Nest:
        """The mapping of one point (axes,).

        Raises:
            InputError: for another number of axes, or numbers outside the cube.
            LimitError: if no valid mapping is known.
        """
        return self.decode_batch(np.asarray(point, np.float64)[None]).nest(0)

    def decode_batch(self, points: Floats) -> NestBatch:
        """The mappings of points (points, axes); raises what `decode` does."""
        batch = self._decoded(self._checked(points))
        lost = ~self._valid(batch)
        if lost.any():
            for part in ("x", "y", "temporal", "order", "keeps"):
                getattr(batch, part)[lost] = getattr(self._known, part)[0]
        return batch

    def reached(self, points: Floats) -> Flags:
        """(points,): which points have a mapping of their own."""
        return self._valid(self._decoded(self._checked(points)))

    def encode(self, nest: Nest) -> Floats:
        """(axes,): a point that stands for a mapping.

        Raises:
            InputError: for a mapping that no point stands for.
        """
        points = self.encode_batch(batch_of([nest], self.fabric))
        if self.decode(points[0]) != nest:
            raise InputError(
                "no point of the encoding stands for this mapping: its meshes must be filled, its tiles, too, unless "
                "they are free, so that no dim of one can grow, and its extents must be those of the workload"
            )
        return np.asarray(points[0])

    def encode_batch(self, batch: NestBatch) -> Floats:
        """(nests, axes): for each a point that stands for it, if there is one; for others one that comes near.

        Points of the same mapping become one point, so that `encode_batch(decode_batch(points))` rounds points.
        """
        tiles = (batch.x * batch.y * batch.temporal).cumprod(axis=1)
        parts: list[Floats] = (
            [np.stack([0.25 + 0.5 * batch.keeps[:, m, o] for m, o in self.free], axis=1)] if (self.free) else []
        )
        for ways in self.ways:
            own = (batch.x, batch.y)[ways.kind][:, ways.memory]
            parts.append(ways.encode(own // self.base[ways.memory, ways.kind]))
        parts += [growth.encode(tiles[:, growth.memory]) for growth in self.growths]
        for number, order in enumerate(self.orders):
            parts.append(order.encode(batch.order[:, number], batch.temporal[:, number] > 1))
        return np.concatenate([np.empty((len(batch), 0)), *parts], axis=1)

    def _checked(self, points: Floats) -> Floats:
        found = np.asarray(points, np.float64)
        if found.ndim != 2 or found.shape[1] != self.size:
            raise InputError(f"points must be (points, {self.size}), not {found.shape}")
        if not bool(((found >= 0) & (found <= 1)).all()):
            raise InputError("a point lies outside the unit cube; its numbers must be from 0 to 1")
        return found

    def _decoded(self, points: Floats) -> NestBatch:
        count, start = len(points), 0

        def keys(number: int) -> Floats:
            nonlocal start
            start += number
            return points[:, start - number : start]

        keeps = self._keeps(keys(len(self.free)))
        trips = np.repeat(self.base[None], count, axis=0)
        left = np.array(self.fabric.extents, np.int64) // self.base.prod(axis=(0, 1)) * np.ones((count, 1), np.int64)
        for ways in self.ways:
            found = ways.decode(keys(len(ways.axes)), trips, left, keeps, self.fitting)
            trips[:, ways.memory, ways.kind] *= found
            left //= found
        for growth in self.growths:
            found = growth.grow(keys(len(growth.axes)), trips, left, keeps, self.fitting)
            trips[:, growth.memory, TIME] *= found
            left //= found
        trips[:, -1, TIME] *= left
        order = [order.decode(keys(len(order.axes))) for order in self.orders]
        return NestBatch(
            x=trips[:, :, 0], y=trips[:, :, 1], temporal=trips[:, :, TIME], order=np.stack(order, axis=1), keeps=keeps
        )

    def _keeps(self, keys: Floats) -> Flags:
        """(nests, memories, operands): as asked for, but for what would not fit beside what the machine demands."""
        asked = np.array([[keep is KeepRule.KEPT for keep in memory.keeps] for memory in self.fabric.memories])
        found = np.repeat(asked[None], len(keys), axis=0)
        weight = np.full(found.shape, np.inf)
        for place, (memory, operand) in enumerate(self.free):
            found[:, memory, operand] = keys[:, place] >= 0.5
            weight[:, memory, operand] = keys[:, place]
        tiles = self.base.prod(axis=1).cumprod(axis=0)
        for number in {memory for memory, _ in self.free}:
            for _ in range(len(self.fabric.operands)):
                over = ~self.fitting.fit(number, np.repeat(tiles[None, number], len(keys), axis=0), found[:, number])
                least = np.where(found[:, number], weight[:, number], np.inf)
                over &= np.isfinite(least).any(axis=1)
                found[over, number, least.argmin(axis=1)[over]] = False
        return found

    def _valid(self, batch: NestBatch) -> Flags:
        columns = Columns.of(batch)
        words = np.zeros((len(self.fabric.memories), len(self.fabric.operands), len(batch)))
        for number in range(len(self.fabric.memories)):
            if self.fabric.memories[number].rooms:
                tiles = columns.tiles[number].T.astype(np.int64)
                for place, operand in enumerate(self.fabric.operands):
                    words[number, place] = self.fitting.words(operand, tiles)
        return np.asarray(valid_rows(columns, words, self.fabric))

    @cached_property
    def _known(self) -> NestBatch:
        """One valid mapping."""
        batch = random_nests(self.fabric, DRAWS, np.random.default_rng(0))
        valid = np.flatnonzero(self._valid(batch))
        if not len(valid):
            raise LimitError(
                f"{self.fabric.workload.title} on {self.fabric.machine.name}: no valid mapping was met among "
                f"{DRAWS:,} random ones; use --method exact, which proves that there is none or finds one"
            )
        return batch[valid[:1]]


def encoding_of(
    fabric: Fabric,
    *,
    counting: Policy = NEST_EXACT,
    orders: Orders = Orders.KEYS,
    tiles: Tiles = Tiles.FILLED,
) -> Encoding:
    """The encoding of the mappings of a fabric.

    Args:
        fabric: the machine as the workload sees it.
        counting: how tiles are sized: exactly, or as hulls.
        orders: how loop orders are encoded.
        tiles: how tiles are encoded.
    """
    # Capacities may take strides as 1 (FactorFlow's): what fits exactly fits them, too, and is no fault.
    fitting = Fitting(fabric, counting.footprint)
    found = demanded(fabric, fitting)
    base = np.ones((len(fabric.memories), KINDS, len(fabric.dims)), np.int64) if found is None else found
    left = tuple(int(n) for n in np.array(fabric.extents) // base.prod(axis=(0, 1)))
    free = tuple(
        (number, operand)
        for number, memory in enumerate(fabric.memories)
        for operand, keep in enumerate(memory.keeps)
        if keep is KeepRule.FREE
    )
    loops = [_loops(fabric, number, base, left) for number in range(len(fabric.memories))]
    reach = log(max(2, *fabric.extents))
    return Encoding(
        fabric=fabric,
        fitting=fitting,
        base=base,
        free=free,
        ways=tuple(_ways(fabric, base, left)),
        growths=tuple(
            Growth(memory=number, dims=dims, extents=fabric.extents, reach=reach, filled=tiles is Tiles.FILLED)
            for number, dims in enumerate(loops[:-1])
        ),
        orders=tuple(_order(fabric, number, dims, base, orders) for number, dims in enumerate(loops)),
    )


def _loops(fabric: Fabric, number: int, base: Ints, left: tuple[int, ...]) -> tuple[int, ...]:
    """The dims that may have a loop at a memory beside what rules demand."""
    memory = fabric.memories[number]
    loopable = memory.loopable(len(fabric.dims))
    own = tuple(int(n) for n in base[number, TIME])
    shut = {
        dim
        for rule in memory.rules
        for dim in rule.dims
        if rule.relation is Relation.EQUAL or (rule.relation is Relation.AT_MOST and 2 * rule.product(own) > rule.value)
    }
    return tuple(dim for dim, size in enumerate(left) if size > 1 and loopable[dim] and dim not in shut)


def _ways(fabric: Fabric, base: Ints, left: tuple[int, ...]) -> Iterator[Ways]:
    for number, memory in enumerate(fabric.memories):
        for kind, direction in enumerate((memory.x, memory.y)):
            found = fillings(direction, left, tuple(int(n) for n in base[number, kind]))
            dims = tuple(int(dim) for dim in np.flatnonzero((found > 1).any(axis=0)))
            if dims:
                yield Ways(memory=number, kind=kind, dims=dims, fillings=found)


def _order(fabric: Fabric, number: int, dims: tuple[int, ...], base: Ints, orders: Orders) -> KeyOrder | Stationary:
    """No count depends on the order of the innermost memory's own loops."""
    demanded_too = {int(dim) for dim in np.flatnonzero(base[number, TIME] > 1)}
    own = tuple(sorted({*dims, *demanded_too})) if number else ()
    if orders is Orders.REUSE:
        return stationary(fabric, number, own)
    return KeyOrder(dims=own, places=tuple(map(fabric.memories[number].entries, range(len(fabric.dims)))))
