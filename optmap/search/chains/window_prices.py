"""Ways to make and to use tiles of a pair with windows, and what they cost: of all tiles at once.

Words are counted by dims: what an access has not makes its words come again with every tile of that dim.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property, partial
from itertools import combinations, permutations, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from optmap.search.chains.window_pair import WindowPair
from optmap.search.chains.window_tiles import LoopValues, WindowTiles, Words
from optmap.workloads.access import Subscript, TensorAccess
from optmap.workloads.workload import Semantics

MOST_PERMUTED = 2
"""Rows of which loops are tried in all orders."""


class RowOrder(NamedTuple):
    """Rows in the order of their loops over tiles, from the outside in."""

    outer: tuple[str, ...]
    """Those outside the loops over tiles of columns."""
    inner: tuple[str, ...]


class InputStay(Enum):
    """How long words of the filter, or of the second statement's input, stay."""

    NOT = "single words stream past"
    CHANNEL = "those of one channel, while rows of a tile pass"
    COLUMNS = "those of a tile of columns, while the inner rows pass"
    GOOD = "all of them, for good"


class ResultKept(Enum):
    """Whether a line of the result stays where a tile of the intermediate is used."""

    WORD = "single words stream past a line of the second statement's input"
    LINE = "a line, and single words of that input stream past"
    SUMS = "all that belongs to a tile of the outer rows, until everything is added up"


@dataclass(frozen=True, slots=True, kw_only=True)
class TileMake:
    """How the first statement makes a tile."""

    order: RowOrder
    filter: InputStay
    within: int | None
    """Loops over tiles of rows outside an image kept for all channels; None for one that is kept for one channel."""
    singly: tuple[str, ...] = ()
    """Taps that an image kept for one channel has one after the other, and then rows; along the last one it slides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TileUse:
    """How the second statement uses a tile."""

    order: RowOrder
    other: InputStay
    """Of its input."""
    result: ResultKept


@dataclass(frozen=True, slots=True)
class Price:
    """What all tiles cost in one of these ways."""

    words: Words
    room: Words
    """Words while the statement runs."""
    above: Words
    """Words that are held above both statements, beside the tile of the intermediate."""
    fits: NDArray[np.bool_] | None = None
    """Where it is possible; None everywhere."""


class WindowPrices:
    """The ways of a pair.

    Args:
        pair: the statements.
        tiles: of the intermediate.
    """

    def __init__(self, pair: WindowPair, tiles: WindowTiles) -> None:
        self.pair, self.tiles = pair, tiles

    @property
    def all_orders(self) -> bool:
        """Whether rows are looked at in all orders."""
        return len(self.pair.long_rows) <= MOST_PERMUTED

    def orders(self) -> Iterator[RowOrder]:
        """Orders of loops over tiles of rows, all of them outermost first; of more than two some."""
        short = tuple(d for d in self.pair.rows if d not in self.pair.long_rows)
        some = [(*short, *long) for long in permutations(self.pair.long_rows)] if self.all_orders else [self.pair.rows]
        for count in range(len(self.pair.rows), -1, -1):
            yield from (RowOrder(rows[:count], rows[count:]) for rows in some)

    def _stays(self, order: RowOrder, access: TensorAccess) -> Iterator[InputStay]:
        """How long words of an input may stay that is not the image."""
        yield InputStay.NOT
        if order.inner and access.dims & {*self.pair.dims} == {*self.pair.columns}:
            yield InputStay.COLUMNS
        yield InputStay.GOOD

    def _staying(self, order: RowOrder, access: TensorAccess, stay: InputStay) -> tuple[Words, Words, int]:
        """Of an input that is not the image: words, those that stay above both statements, and that stream past."""
        every, nothing = self.tiles.size(access, {}), self.tiles.fixed(0)
        if stay is InputStay.GOOD:
            return every, every, 0
        if stay is InputStay.COLUMNS:
            again = np.where(self.tiles.times(self.pair.columns) > 1, self.tiles.times(order.outer), 1)
            return every * again, self.tiles.size(access, dict.fromkeys(self.pair.columns)), 0
        again = self.tiles.times([d for d in self.pair.dims if d not in access.dims])
        return every * again, nothing, self.pair.workload.weight(access)

    def makes(self, order: RowOrder) -> Iterator[tuple[TileMake, Price]]:
        """Ways to make all tiles, and what they cost."""
        nothing = self.tiles.fixed(0)
        places = range(-1 if self.pair.columns else 0, len(order.inner) + 1)
        kept = [(place, *self._kept(order, place)) for place in places]
        for stay in self._stays(order, self.pair.filter):
            filters, stays, word = self._staying(order, self.pair.filter, stay)
            for place, words, room in kept:
                make = TileMake(order=order, filter=stay, within=place)
                yield make, Price(words + filters, nothing + word, stays + room)
            for singly, words, room, fits in self._slabs:
                channel = stay is InputStay.NOT and not {*singly}.isdisjoint(self.pair.rows)
                make = TileMake(order=order, filter=InputStay.CHANNEL if channel else stay, within=None, singly=singly)
                one = {**dict.fromkeys(self.pair.dims), **dict.fromkeys([*self.pair.channels, *singly], 1)}
                beside = self.tiles.size(self.pair.filter, one) if channel else word
                yield make, Price(words + filters, room + beside, stays, fits)

    def _sliding(self) -> Iterator[tuple[str, ...]]:
        """What an image kept for one channel may have one after the other: a tap or a row of a subscript at most."""
        windows = [
            [d for d in axis.dims if d in self.pair.taps and self.pair.extents[d] > 1] for axis in self.pair.image.axes
        ]
        rows = [[d for d in axis.dims if d in self.pair.long_rows] for axis in self.pair.image.axes]
        moving = [mine for mine in rows if mine]
        for many in range(len(moving) + 1 if self.all_orders else 1):
            for lines in permutations([d for (d,) in moving], many):
                free = [taps for taps, mine in zip(windows, rows, strict=True) if taps and not {*mine} & {*lines}]
                for count in range(len(free) + 1):
                    for some in combinations(free, count):
                        for taps in product(*some):
                            lasts = range(count) if not lines and count else [-1]
                            for last in lasts:
                                slides = (*taps[:last], *taps[last + 1 :], taps[last]) if last >= 0 else taps
                                yield (*slides, *lines)

    @cached_property
    def _slabs(self) -> list[tuple[tuple[str, ...], Words, Words, NDArray[np.bool_]]]:
        """Ways to keep an image for one channel: what comes one by one, words, room, and where it has no gaps."""
        return [(singly, *self._slab(singly)) for singly in self._sliding()]

    def _slab(self, singly: Sequence[str]) -> tuple[Words, Words, NDArray[np.bool_]]:
        beyond = [d for d in self.pair.columns if d not in self.pair.image.dims]
        words = room = self.tiles.fixed(self.pair.workload.weight(self.pair.image))
        fits, loops = self.tiles.fixed(1) > 0, dict[str, LoopValues]()
        for axis in self.pair.image.axes:
            if any(d in self.pair.channels for d in axis.dims):
                words = words * axis.count(self.pair.extents)
                continue
            moving, one = self.pair.moving(axis), next((d for d in axis.dims if d in singly), None)
            along = None if moving == one else moving
            some = {**self.pair.extents, **({one: 1} if one else {})}
            span = partial(_span, axis, some, along)
            room = room * self.tiles.per_tile(along, span)
            if one is None:
                words = words * self.tiles.per_line(along, span)
            else:
                fits = fits & (self.tiles.per_tile(along, partial(_gaps, axis, some, along)) == 0)
                loops[one] = self.tiles.single_loop(one, axis, moving)
        words = words * self.tiles.times(beyond) * self.tiles.entering([loops[d] for d in singly])
        return words, room, fits

    def _kept(self, order: RowOrder, within: int) -> tuple[Words, Words]:
        """Of an image kept for all channels: words and room.

        Args:
            order: of the loops over tiles of rows.
            within: loops over inner rows outside it; -1 where it is above those over columns.
        """
        axes = {d: axis for axis in self.pair.image.axes for d in axis.dims}
        loops = (*order.outer, *(self.pair.columns if within >= 0 else ()), *order.inner[: max(within, 0)])
        words = room = self.tiles.fixed(self.pair.workload.weight(self.pair.image))
        for axis in self.pair.image.axes:
            moving = next((d for d in axis.dims if d in loops), None)
            room = room * self.tiles.per_tile(moving, partial(_span, axis, self.pair.extents, moving))
            words = words if moving else words * axis.count(self.pair.extents)
        return words * self.tiles.entering([self.tiles.tile_loop(d, axes.get(d)) for d in loops]), room

    def uses(self, order: RowOrder) -> Iterator[tuple[TileUse, Price]]:
        """Ways to use all tiles, and what they cost."""
        nothing = self.tiles.fixed(0)
        line = {**dict.fromkeys(self.pair.dims), **dict.fromkeys(self.pair.beyond, 1)}
        again = self._results(self.tiles.times(self.pair.summed))
        for stay in self._stays(order, self.pair.other):
            others, stays, word = self._staying(order, self.pair.other, stay)
            inputs = self.tiles.size(self.pair.other, line) if stay is InputStay.NOT else nothing
            room = inputs + self.pair.workload.weight(self.pair.result)
            yield TileUse(order=order, other=stay, result=ResultKept.WORD), Price(others + again, room, stays)
            room = self.tiles.size(self.pair.result, line) + word
            yield TileUse(order=order, other=stay, result=ResultKept.LINE), Price(others + again, room, stays)
            if self.pair.summed and not {*self.pair.summed} & {*self.pair.rows}:
                tile = dict.fromkeys([*order.outer, *(d for d in self.pair.columns if d not in self.pair.summed)])
                above = stays + self.tiles.size(self.pair.result, tile)
                once = self._results(self.tiles.fixed(1))
                yield (
                    TileUse(order=order, other=stay, result=ResultKept.SUMS),
                    Price(others + once, nothing + word, above),
                )

    def _results(self, visits: Words) -> Words:
        """Words of the result that move where every one is visited so often."""
        empty = self.pair.workload.semantics is Semantics.ASSIGN
        words: Words = self.tiles.size(self.pair.result, {}) * ((1 + self.pair.stores) * visits - empty)
        return words


def _span(axis: Subscript, sizes: Mapping[str, int], along: str | None, size: int) -> int:
    """Index values of a subscript over a tile of a dim, and of others over their sizes."""
    return axis.span({**sizes, along: size} if along else sizes)


def _gaps(axis: Subscript, sizes: Mapping[str, int], along: str | None, size: int) -> int:
    """Those among them that nothing touches."""
    return _span(axis, sizes, along, size) - axis.count({**sizes, along: size} if along else sizes)
