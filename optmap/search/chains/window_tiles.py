"""Tiles of the intermediate of a pair with windows, all at once: sizes, numbers, and what an image takes in.

Tiles go along dims of the intermediate; of every number of tiles the smallest one is tried. What a mapping moves is
made of products over dims, so that every factor is a short table over sizes along one dim. Along a subscript
`factor*d + taps` a tile of `t` needs `factor*(t - 1) + span of the taps` index values, if there are no gaps. What one
iteration of loops finds there of the one before it follows from three numbers per loop: index values of all its
iterations, those that neighbours have in common, and those that the last one and the first one have in common.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from math import prod
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from optmap.base.arrays import Ints
from optmap.search.chains.family import smallest_tiles
from optmap.workloads.access import Subscript, TensorAccess
from optmap.workloads.workload import Workload

MOST = 300_000
"""Tiles that are looked at: where there are more, fewer sizes are, spread evenly."""
WIDEST = 2**58
"""Operations above which numbers are Python's."""
Words = NDArray[Any]
"""A whole number per tile, of 64 bits or any size."""


class LoopValues(NamedTuple):
    """Index values of a subscript while a loop goes on, per tile."""

    every: Words
    """Of all its iterations together."""
    going_on: Words
    """That an iteration has in common with the one before, of all together."""
    again: Words
    """That the last iteration has in common with the first one."""


class WindowTiles:
    """All tiles.

    Args:
        workload: of the pair.
        dims: of the intermediate.
    """

    def __init__(self, workload: Workload, dims: Sequence[str]) -> None:
        self.extents, self._weight = workload.extents, workload.weight
        sizes = {d: smallest_tiles(self.extents[d]) for d in dims}
        most = _most_sizes([len(every) for every in sizes.values()])
        self.all_sizes = max(map(len, sizes.values()), default=0) <= most
        """Whether none of these sizes is left out because there are too many."""
        self._sizes = {d: _spread(every, most) for d, every in sizes.items()}
        widths = [workload.weight(access) for each in workload.statements for access in each.accesses]
        self._kind: Any = object if 8 * max(widths) * prod(self.extents.values()) > WIDEST else np.int64
        grid = np.indices([len(sizes) for sizes in self._sizes.values()]).reshape(len(self._sizes), -1)
        self._places = dict(zip(self._sizes, grid, strict=True))

    def some(self, chosen: NDArray[np.bool_]) -> Self:
        """Some of them.

        Args:
            chosen: which ones.
        """
        other = copy(self)
        other._places = {d: places[chosen] for d, places in self._places.items()}
        return other

    def at(self, number: int) -> dict[str, int]:
        """Sizes of one of them."""
        return {d: int(self._sizes[d][places[number]]) for d, places in self._places.items()}

    def fixed(self, number: int) -> Words:
        """The same number for every tile."""
        return np.full(len(next(iter(self._places.values()))), number, self._kind)

    def per_tile(self, dim: str | None, number: Callable[[int], int]) -> Words:
        """What depends on the size along a dim; without one what is the same everywhere."""
        if dim is None:
            return self.fixed(number(0))
        return np.array([number(size) for size in self._sizes[dim].tolist()], self._kind)[self._places[dim]]

    def per_line(self, dim: str | None, number: Callable[[int], int]) -> Words:
        """The sum over all tiles along a dim of what depends on their size; without a dim of everything at once."""
        if dim is None:
            return self.fixed(number(0))
        extent = self.extents[dim]

        def line(size: int) -> int:
            full, rest = divmod(extent, size)
            return full * number(size) + (number(rest) if rest else 0)

        return self.per_tile(dim, line)

    def times(self, dims: Sequence[str]) -> Words:
        """How many tiles there are along some dims together."""
        return self._product([self.per_line(d, one) for d in dims])

    def size(self, access: TensorAccess, sizes: Mapping[str, int | None]) -> Words:
        """Words of a part of a tensor with plain subscripts.

        Args:
            access: to it.
            sizes: per dim its extent; None for that of a tile, and where it is left out for all of it.
        """
        one = self.fixed(self._weight(access))
        for d in access.dims:
            size = sizes.get(d, self.extents[d])
            one = one * (self.per_tile(d, lambda size: size) if size is None else size)
        return one

    def entering(self, loops: Sequence[LoopValues]) -> Words:
        """Index values of all subscripts that enter while loops go on.

        From one iteration to the next one loop goes on, those inside it begin again, and those outside it stay.

        Args:
            loops: outermost first.
        """
        found = self._product([each.every for each in loops])
        for n, each in enumerate(loops):
            outside = self._product([other.every for other in loops[:n]])
            found = found - outside * each.going_on * self._product([other.again for other in loops[n + 1 :]])
        return found

    def tile_loop(self, dim: str, axis: Subscript | None) -> LoopValues:
        """A loop over tiles of a dim.

        Args:
            dim: that tiles go along.
            axis: the subscript with it, with all its taps; None for a tensor without the dim.
        """
        extent = self.extents[dim]
        if axis is None:
            many = self.times([dim])
            return LoopValues(many, many - 1, self.fixed(1))
        factor = dict(axis.terms)[dim]

        def span(size: int) -> int:
            return axis.span({**self.extents, dim: size})

        def shared(size: int, steps: int) -> int:
            """Of a tile and the last one, which is so many steps further on."""
            rest = (extent - 1) % size + 1
            return max(0, min(span(size) - factor * size * steps, span(rest)))

        def going_on(size: int) -> int:
            steps = -(-extent // size) - 1
            return max(0, steps - 1) * max(0, span(size) - factor * size) + (shared(size, 1) if steps else 0)

        return LoopValues(
            self.per_line(dim, span),
            self.per_tile(dim, going_on),
            self.per_tile(dim, lambda size: shared(size, -(-extent // size) - 1)),
        )

    def single_loop(self, dim: str, axis: Subscript, moving: str | None) -> LoopValues:
        """A loop in single steps over a tap or a row inside every tile, added up over all tiles along the subscript.

        Args:
            dim: that it is over.
            axis: the subscript with it; the other taps are there.
            moving: its dim that tiles go along.
        """
        factor, taps = dict(axis.terms)[dim], self.extents[dim]

        def trips(size: int) -> int:
            return size if dim == moving else taps

        def shared(size: int, steps: int) -> int:
            sizes = {**self.extents, **({moving: size} if moving else {}), dim: 1}
            return max(0, axis.span(sizes) - factor * steps)

        every, going_on, again = (
            self.per_line(moving, number)
            for number in (
                lambda size: trips(size) * shared(size, 0),
                lambda size: (trips(size) - 1) * shared(size, 1),
                lambda size: shared(size, trips(size) - 1),
            )
        )
        return LoopValues(every, going_on, again)

    def _product(self, some: Sequence[Words]) -> Words:
        found = self.fixed(1)
        for each in some:
            found = found * each
        return found


def one(size: int) -> int:
    """Of every tile, however large."""
    return 1


def _most_sizes(numbers: Sequence[int]) -> int:
    """Sizes along one dim of which there are no more than `MOST` tiles, of dims with so many each."""
    most = max(numbers, default=1)
    while most > 1 and prod(min(number, most) for number in numbers) > MOST:
        most -= 1
    return most


def _spread(sizes: Ints, most: int) -> Ints:
    """So many of some sizes, the least and the largest among them."""
    if len(sizes) <= most:
        return sizes
    return sizes[np.linspace(0, len(sizes) - 1, most).round().astype(np.int64)]
