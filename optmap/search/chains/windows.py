"""Pairs of which the first reads windows or has rows of several dims, as a convolution does; the second is a product.

A tile of the intermediate is made and used before the next one: a tile of every one of its dims. *Rows* are the dims
that the image has and the filter has not, *columns* the others. Tiles of some rows are outermost, then those of
columns, then those of the other rows.

To make a tile, what the first statement slides over (the *image*) is kept for one iteration of its other dims (the
*channels*): with all taps or sliding along one of them while single words of the other input (the *filter*) stream
past; or sliding along rows of the tile while the words of the filter stay. Or the image is kept for all channels, for a
tile or further out, and neighbouring tiles share what overlaps. To use a tile, a line of the second statement's input
and single words of the result, or a line of the result and single words of that input; or the result is kept until
everything is added up. The filter and that input stay for good, or the parts of them for one tile of columns do while
tiles of the inner rows pass.
Unfused: both statements with tiles of their own, the intermediate stored and loaded. Of every number of tiles the
smallest one is tried.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from optmap.base.clock import Clock
from optmap.mappings.nodes import Compute, Keep, Node
from optmap.mappings.nodes import Sequence as InOrder
from optmap.search.chains.trees import keeps, loops
from optmap.search.chains.window_pair import WindowPair
from optmap.search.chains.window_prices import InputStay, ResultKept, RowOrder, TileMake, TileUse, WindowPrices
from optmap.search.chains.window_tiles import WindowTiles, Words

FAMILY = (
    "fused: a tile of the intermediate made and used before the next one, an image kept for one channel or for all, "
    "with all taps or sliding along one, a line of a result kept or all of it until everything is added up, filters "
    "streaming word by word or staying, for good or for a tile of columns; unfused: a tile of its own for each "
    "statement; of every number of tiles the smallest ones"
)
"""The mappings among which the best is found, in words."""
APART = (
    "unfused: a tile of its own for each statement, an image kept for one channel or for all, with all taps or sliding "
    "along one, filters streaming word by word or staying, for good or for a tile of columns; of every number of tiles "
    "the smallest ones"
)
"""Of these the mappings without anything fused."""
SOME_OF_THEM = "; there are too many tiles or rows, and not all sizes of tiles and orders of rows were tried"
"""Said beside them where this is so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Windowed:
    """A mapping: ways and tiles, one tile for both where they are fused."""

    make: TileMake
    use: TileUse
    tiles: tuple[dict[str, int], dict[str, int]]
    fused: bool
    words: int


class WindowMappings:
    """The mappings of a pair.

    Args:
        pair: the statements.
    """

    def __init__(self, pair: WindowPair) -> None:
        self.pair = pair

    @cached_property
    def _tiles(self) -> WindowTiles:
        """All tiles of the intermediate."""
        return WindowTiles(self.pair.workload, self.pair.dims)

    @property
    def complete(self) -> bool:
        """Whether all sizes of tiles and all orders of rows are looked at."""
        return self._tiles.all_sizes and WindowPrices(self.pair, self._tiles).all_orders

    def best(self, memory: int, clock: Clock, *, apart: bool) -> Windowed | None:
        """The mapping that moves the fewest words; None if none fits.

        Args:
            memory: words that fit.
            clock: when it is late, the best so far is taken.
            apart: whether nothing is to be fused.
        """
        tile = dict.fromkeys(self.pair.dims)
        tiles = self._tiles.some(self._tiles.size(self.pair.shared, tile) < memory)
        prices = WindowPrices(self.pair, tiles)
        held = tiles.size(self.pair.shared, tile)
        best: Windowed | None = None
        making, using = list[tuple[int, int, TileMake]](), list[tuple[int, int, TileUse]]()
        for order in prices.orders():
            uses = list(prices.uses(order))
            least = min(
                (each for _, used in uses for each, _ in _least(used.words, used.room + used.above, memory, None)),
                default=0,
            )
            for make, made in prices.makes(order):
                if clock.late and (best is not None or (making and using)):
                    break
                own = _least(made.words, held + made.room + made.above, memory, made.fits)
                if self._alone(order, [d for d in self.pair.channels if d not in self.pair.dims]):
                    making += [(*at, make) for at in own]
                if apart or not own or (best is not None and own[0][0] + least >= best.words):
                    continue
                for use, used in uses:
                    room = held + np.maximum(made.room, used.room) + made.above + used.above
                    for words, row in _least(made.words + used.words, room, memory, made.fits):
                        if best is None or words < best.words:
                            best = Windowed(make=make, use=use, tiles=(tiles.at(row),) * 2, fused=True, words=words)
            if self._alone(order, self.pair.beyond):
                for use, used in uses:
                    own = _least(used.words, held + used.room + used.above, memory, None)
                    using += [(*at, use) for at in own]
        if making and using:
            one, first, make = min(making, key=lambda each: each[:2])
            two, second, use = min(using, key=lambda each: each[:2])
            words = one + two + int(tiles.size(self.pair.shared, {})[0]) * (1 + self.pair.stores)
            if best is None or words < best.words:
                both = (tiles.at(first), tiles.at(second))
                best = Windowed(make=make, use=use, tiles=both, fused=False, words=words)
        return best

    def _alone(self, order: RowOrder, between: Sequence[str]) -> bool:
        """Whether words of all ways are what is said where a statement is done by itself.

        No tile may leave what the next one needs: where rows are innermost, other dims have to come in between.
        """
        return not order.inner or prod(self.pair.extents[d] for d in between) > 1

    def least_apart(self) -> int:
        """Words that move at least where both statements are done by themselves."""
        workload = self.pair.workload
        once = [
            self.pair.image,
            self.pair.filter,
            self.pair.other,
            *[self.pair.shared] * (1 + self.pair.stores),
            *[self.pair.result] * self.pair.stores,
        ]
        return sum(workload.weight(access) * access.footprint(self.pair.extents) for access in once)

    def least_room(self) -> int:
        """Words that every mapping needs."""
        prices = WindowPrices(self.pair, self._tiles)
        order = RowOrder(self.pair.rows, ())
        rooms = [
            min(int((price.room + price.above)[0]) for _, price in some)
            for some in (prices.makes(order), prices.uses(order))
        ]
        return self.pair.workload.weight(self.pair.shared) + max(rooms)

    def tree(self, member: Windowed, level: str, memory: str) -> tuple[Node, ...]:
        """A mapping as a tree.

        Args:
            member: the mapping.
            level: name of the memory that is filled.
            memory: name of the one outside it.
        """
        done = tuple((Compute(statement=name),) for name in self.pair.first.functions)
        make, use = self._make(member, level), self._use(member, level)
        if member.fused:
            outer = self._outer(level, member.tiles[0], make=member.make, use=member.use)
            return (*outer, InOrder(branches=(make, *done, use)))
        first = (
            *self._outer(level, member.tiles[0], make=member.make),
            *((InOrder(branches=(make, *done)),) if done else make),
        )
        second = (*self._outer(level, member.tiles[1], use=member.use), *use)
        return (Keep(level=memory, tensors=(self.pair.shared.name,)), InOrder(branches=(first, second)))

    def _outer(
        self, level: str, tile: Mapping[str, int], *, make: TileMake | None = None, use: TileUse | None = None
    ) -> tuple[Node, ...]:
        """Loops over tiles, and what is kept above the statements."""
        order = next(way.order for way in (make, use) if way is not None)
        stays = [(self.pair.filter, make.filter)] if make is not None else []
        stays += [(self.pair.other, use.other)] if use is not None else []
        sums = [self.pair.result.name] if use is not None and use.result is ResultKept.SUMS else []

        def tiled(dims: Sequence[str]) -> Iterator[Node]:
            return loops(self.pair.extents, {d: tile[d] for d in dims})

        def kept(stay: InputStay) -> list[str]:
            return [access.name for access, mine in stays if mine is stay]

        def image(within: int) -> list[str]:
            return [self.pair.image.name] if make is not None and make.within == within else []

        nodes = [*keeps(level, kept(InputStay.GOOD)), *tiled(order.outer), *keeps(level, image(-1))]
        nodes += [*tiled([d for d in self.pair.columns if d not in self.pair.summed]), *keeps(level, sums)]
        nodes += [*tiled([d for d in self.pair.columns if d in self.pair.summed])]
        nodes += keeps(level, [*kept(InputStay.COLUMNS), *image(0)])
        for number, d in enumerate(order.inner, start=1):
            nodes += [*tiled([d]), *keeps(level, image(number))]
        return (*nodes, *keeps(level, [self.pair.shared.name]))

    def _make(self, member: Windowed, level: str) -> tuple[Node, ...]:
        make, left = member.make, {**self.pair.extents, **member.tiles[0]}
        lines = [d for d in make.singly if d in self.pair.rows]
        there = (*self.pair.channels, *(d for d in make.singly if d not in lines)) if make.within is None else ()
        nodes: list[Node] = [*loops(left, _singly(there))]
        nodes += keeps(level, [self.pair.filter.name] if make.filter is InputStay.CHANNEL else [])
        nodes += loops(left, _singly(lines))
        nodes += keeps(level, [self.pair.image.name] if make.within is None else [])
        if make.filter is InputStay.NOT:
            dims = [d for d in self.pair.order(self.pair.filter) if d not in there]
            nodes += [*loops(left, _singly(dims)), *keeps(level, [self.pair.filter.name])]
        return (*nodes, Compute(statement=self.pair.first.product.name))

    def _use(self, member: Windowed, level: str) -> tuple[Node, ...]:
        use, left = member.use, {**self.pair.extents, **member.tiles[1]}
        word, sums = use.result is ResultKept.WORD, use.result is ResultKept.SUMS
        kept, streaming = (self.pair.other, self.pair.result) if word else (self.pair.result, self.pair.other)
        beyond = () if sums else self.pair.beyond
        nodes: list[Node] = [*loops(left, _singly(beyond))]
        if use.result is ResultKept.LINE or (word and use.other is InputStay.NOT):
            nodes += keeps(level, [kept.name])
        if word or use.other is InputStay.NOT:
            dims = [d for d in self.pair.order(streaming) if d not in beyond]
            nodes += [*loops(left, _singly(dims)), *keeps(level, [streaming.name])]
        return (*nodes, Compute(statement=self.pair.second.product.name))


def _least(words: Words, room: Words, memory: int, fits: NDArray[np.bool_] | None) -> list[tuple[int, int]]:
    """The fewest words of tiles that fit, and the number of the tile; none where none does."""
    rows = np.flatnonzero(room <= memory if fits is None else (room <= memory) & fits)
    if not len(rows):
        return []
    row = int(rows[int(np.argmin(words[rows]))])
    return [(int(words[row]), row)]


def _singly(dims: Sequence[str]) -> dict[str, int]:
    """Steps of one iteration."""
    return dict.fromkeys(dims, 1)
