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
from enum import Enum
from itertools import combinations, permutations, product
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from optmap.base.clock import Clock
from optmap.base.errors import InputError
from optmap.mappings.nodes import Compute, Keep, Loop, Node
from optmap.mappings.nodes import Sequence as InOrder
from optmap.search.chains.pair import ProductStep, is_plain
from optmap.search.chains.window_tiles import Passing, WindowTiles, Words
from optmap.workloads.access import Subscript, TensorAccess
from optmap.workloads.workload import Semantics, Workload

FAMILY = (
    "fused: a tile of the intermediate made and used before the next one, an image kept for one channel or for all, "
    "with all taps or sliding along one, a line of a result kept or all of it until everything is added up, filters "
    "streaming word by word or staying, for good or for a tile of columns; unfused: a tile of its own for each "
    "statement; of every number of tiles the smallest ones"
)
"""The mappings among which the best is found, in words."""


MOST_PERMUTED = 2
"""Rows of which loops are tried in all orders."""


class RowOrder(NamedTuple):
    """Rows in the order of their loops over tiles, from the outside in."""

    outer: tuple[str, ...]
    """Those outside the loops over tiles of columns."""
    inner: tuple[str, ...]


class Stay(Enum):
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
class Make:
    """How the first statement makes a tile."""

    order: RowOrder
    filter: Stay
    within: int | None
    """Loops over tiles of rows outside an image kept for all channels; None for one that is kept for one channel."""
    singly: tuple[str, ...] = ()
    """Taps that an image kept for one channel has one after the other, and then rows; along the last one it slides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """How the second statement uses a tile."""

    order: RowOrder
    other: Stay
    """Of its input."""
    result: ResultKept


@dataclass(frozen=True, slots=True)
class _Price:
    """What all tiles cost in one of these ways."""

    words: Words
    room: Words
    """Words while the statement runs."""
    above: Words
    """Words that are held above both statements, beside the tile of the intermediate."""
    fits: NDArray[np.bool_] | None = None
    """Where it is possible; None everywhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Windowed:
    """A mapping: ways and tiles, one tile for both where they are fused."""

    make: Make
    use: Use
    tiles: tuple[dict[str, int], dict[str, int]]
    fused: bool
    words: int


class WindowPair:
    """A statement with an image and a filter, and a product that reads what it makes.

    Args:
        workload: the chain.
        steps: its two products.
        stores: whether words that are stored count.

    Raises:
        InputError: saying why they are no such pair.
    """

    def __init__(self, workload: Workload, steps: Sequence[ProductStep], *, stores: bool) -> None:
        self.workload, (self.first, self.second) = workload, steps
        self.stores, self.extents = stores, workload.extents
        self.shared, self.result = self.first.product.output, self.second.product.output
        (self.other,) = (each for each in self.second.product.inputs if each.name != self.first.result)
        dims = self.shared.dims
        self.summed = tuple(d for d in self.order(self.shared) if d not in self.result.dims)
        self.dims = (*(d for d in self.order(self.shared) if d in self.result.dims), *self.summed)
        rows = {d for d in dims if d in self.result.dims}
        one, two = self.first.product.inputs
        slides = [not is_plain(each) for each in (one, two)]
        swap = slides[1] or (not slides[0] and len(rows & two.dims) > len(rows & one.dims))
        self.image, self.filter = (two, one) if swap else (one, two)
        if not (is_plain(self.filter) and all(map(is_plain, self.second.product.accesses))):
            raise InputError(
                f"{self.second.product.name} or both inputs of {self.first.product.name} have windows; mappings are "
                "known where only one input of the first statement has"
            )
        self.rows = tuple(d for d in self.dims if d in self.image.dims and d not in self.filter.dims)
        self.columns = tuple(d for d in self.dims if d not in self.rows)
        windows = [axis for axis in self.image.axes if len(axis.terms) > 1]
        self.taps = tuple(d for axis in windows for d in axis.dims if d not in dims)
        self.channels = tuple(d for d in self.order(self.image) if d not in self.rows and d not in self.taps)
        self.beyond = tuple(d for d in self.order(self.result) if d not in self.dims)
        self._check()

    @property
    def sharp(self) -> bool:
        """Whether words of unfused mappings are what is said, and not at most so many.

        Without channels, or dims of the result alone, a tile may find there what the one before has left.
        """
        return min(prod(self.extents[d] for d in some) for some in (self.channels, self.beyond)) > 1

    def order(self, access: TensorAccess) -> tuple[str, ...]:
        """Dims of an access in the order of its subscripts."""
        return tuple(d for axis in access.axes for d in axis.dims)

    def _check(self) -> None:
        """Refuse images and inputs that are of another kind."""
        names = self.order(self.image)
        if len(set(names)) < len(names):
            raise InputError(f"{self.image}: a dim is in two subscripts; mappings are not known for it")
        for axis in self.image.axes:
            plain = axis.terms[0][1] == 1 and not axis.offset if axis.terms else False
            moving = [d for d in axis.dims if d in self.rows]
            if axis.real is not None or not (plain or len(axis.terms) > 1) or len(moving) > 1:
                raise InputError(
                    f"{self.image}: mappings are known of windows with one moving dim each, without padding"
                )
            some = {d: min(2, n) if d in self.rows else n for d, n in self.extents.items()}
            if any(axis.count(each) < axis.span(each) for each in (some, {**some, **dict.fromkeys(moving, 1)})):
                raise InputError(f"{self.image}: mappings are known of windows without gaps between their index values")
            if len(axis.terms) > 1 and any(d in self.channels for d in axis.dims):
                raise InputError(f"{self.image}: mappings are known of windows of dims of {self.shared} and taps")
        missing = set(self.dims) - self.image.dims - self.filter.dims
        strange = [d for d in self.other.dims if d not in self.dims and d not in self.result.dims]
        alone = [d for d in (*self.taps, *self.channels) if d not in self.dims and d not in self.filter.dims]
        lone = [d for d in self.filter.dims if d not in self.dims and d not in self.image.dims]
        if missing or strange or alone or lone:
            dim = [*missing, *strange, *alone, *lone][0]
            raise InputError(f"{self.workload.title}: {dim} subscripts one tensor only; mappings are not known for it")

    def _moving(self, axis: Subscript) -> str | None:
        """The row dim of a subscript of the image; None without one."""
        return next((d for d in axis.dims if d in self.rows), None)

    def _orders(self) -> Iterator[RowOrder]:
        """Orders of loops over tiles of rows, all of them outermost first; of more than two some."""
        some = list(permutations(self.rows)) if len(self.rows) <= MOST_PERMUTED else [self.rows]
        for count in range(len(self.rows), -1 if self.columns else len(self.rows) - 1, -1):
            yield from (RowOrder(rows[:count], rows[count:]) for rows in some)

    def _stays(self, order: RowOrder, access: TensorAccess) -> Iterator[Stay]:
        """How long words of an input may stay that is not the image."""
        yield Stay.NOT
        if order.inner and access.dims & {*self.dims} == {*self.columns}:
            yield Stay.COLUMNS
        yield Stay.GOOD

    def _staying(
        self, tiles: WindowTiles, order: RowOrder, access: TensorAccess, stay: Stay
    ) -> tuple[Words, Words, int]:
        """Of an input that is not the image: words, those that stay above both statements, and that stream past."""
        every, nothing = tiles.size(access, {}), tiles.fixed(0)
        if stay is Stay.GOOD:
            return every, every, 0
        if stay is Stay.COLUMNS:
            again = np.where(tiles.times(self.columns) > 1, tiles.times(order.outer), 1)
            return every * again, tiles.size(access, dict.fromkeys(self.columns)), 0
        again = tiles.times([d for d in self.dims if d not in access.dims])
        return every * again, nothing, self.workload.weight(access)

    def makes(self, tiles: WindowTiles, order: RowOrder) -> Iterator[tuple[Make, _Price]]:
        """Ways to make all tiles, and what they cost."""
        nothing = tiles.fixed(0)
        places = range(-1 if self.columns else 0, len(order.inner) + 1)
        kept = [(place, *self._kept(tiles, order, place)) for place in places]
        sliding = list(self._sliding()) if order.outer + order.inner == self.rows or order.inner else []
        slabs = [(singly, *self._slabs(tiles, singly)) for singly in sliding]
        for stay in self._stays(order, self.filter):
            filters, stays, word = self._staying(tiles, order, self.filter, stay)
            for place, words, room in kept:
                make = Make(order=order, filter=stay, within=place)
                yield make, _Price(words + filters, nothing + word, stays + room)
            for singly, words, room, fits in slabs:
                mine = stay
                if stay is Stay.NOT and {*singly} & {*self.rows}:
                    mine = Stay.CHANNEL
                    beside = tiles.size(self.filter, self._single(singly))
                else:
                    beside = nothing + word
                make = Make(order=order, filter=mine, within=None, singly=singly)
                yield make, _Price(words + filters, room + beside, stays, fits)

    def _single(self, singly: Sequence[str]) -> dict[str, int | None]:
        """Sizes of what is there of a tile for one channel, and of dims that come one after the other."""
        return {**dict.fromkeys(self.dims), **dict.fromkeys([*self.channels, *singly], 1)}

    def _sliding(self) -> Iterator[tuple[str, ...]]:
        """What an image kept for one channel may have one after the other: of every subscript one tap or row at most."""
        windows = [[d for d in axis.dims if d in self.taps and self.extents[d] > 1] for axis in self.image.axes]
        rows = [[d for d in axis.dims if d in self.rows] for axis in self.image.axes]
        moving = [mine for mine in rows if mine]
        for many in range(len(moving) + 1 if len(moving) <= MOST_PERMUTED else 1):
            for lines in permutations([d for (d,) in moving], many):
                free = [taps for taps, mine in zip(windows, rows, strict=True) if taps and not {*mine} & {*lines}]
                for count in range(len(free) + 1):
                    for some in combinations(free, count):
                        for taps in product(*some):
                            lasts = range(count) if not lines and count else [-1]
                            for last in lasts:
                                slides = (*taps[:last], *taps[last + 1 :], taps[last]) if last >= 0 else taps
                                yield (*slides, *lines)

    def _slabs(self, tiles: WindowTiles, singly: Sequence[str]) -> tuple[Words, Words, NDArray[np.bool_]]:
        """Of an image kept for one channel: words, room, and where it has no gaps."""
        beyond = [d for d in self.columns if d not in self.image.dims]
        words = room = tiles.fixed(self.workload.weight(self.image))
        fits, loops = tiles.fixed(1) > 0, dict[str, Passing]()
        for axis in self.image.axes:
            if any(d in self.channels for d in axis.dims):
                words = words * axis.count(self.extents)
                continue
            moving, one = self._moving(axis), next((d for d in axis.dims if d in singly), None)
            along = None if moving == one else moving
            some = {**self.extents, **({one: 1} if one else {})}

            def span(size: int, axis: Subscript = axis, along: str | None = along, some: dict[str, int] = some) -> int:
                return axis.span({**some, along: size} if along else some)

            def gaps(size: int, axis: Subscript = axis, along: str | None = along, some: dict[str, int] = some) -> int:
                return axis.span({**some, along: size} if along else some) - axis.count(
                    {**some, along: size} if along else some
                )

            room = room * (tiles.per_tile(along, span) if along else span(0))
            if one is None:
                words = words * tiles.per_line(along, span)
            else:
                fits = fits & ((tiles.per_tile(along, gaps) if along else tiles.fixed(gaps(0))) == 0)
                loops[one] = tiles.single_loop(one, axis, moving)
        words = words * tiles.times(beyond) * tiles.entering([loops[d] for d in singly])
        return words, room, fits

    def _kept(self, tiles: WindowTiles, order: RowOrder, within: int) -> tuple[Words, Words]:
        """Of an image kept for all channels: words and room; inside so many loops over inner rows, or -1 above columns."""
        axes = {d: axis for axis in self.image.axes for d in axis.dims}
        loops = (*order.outer, *(self.columns if within >= 0 else ()), *order.inner[: max(within, 0)])
        words = room = tiles.fixed(self.workload.weight(self.image))
        for axis in self.image.axes:
            moving = next((d for d in axis.dims if d in loops), None)
            if moving is None:
                words, room = (each * axis.count(self.extents) for each in (words, room))
            else:
                room = room * tiles.per_tile(
                    moving, lambda size, axis=axis, moving=moving: axis.span({**self.extents, moving: size})
                )
        return words * tiles.entering([tiles.tile_loop(d, axes.get(d)) for d in loops]), room

    def uses(self, tiles: WindowTiles, order: RowOrder) -> Iterator[tuple[Use, _Price]]:
        """Ways to use all tiles, and what they cost."""
        nothing = tiles.fixed(0)
        line = {**dict.fromkeys(self.dims), **dict.fromkeys(self.beyond, 1)}
        again = self._results(tiles, tiles.times(self.summed))
        for stay in self._stays(order, self.other):
            others, stays, word = self._staying(tiles, order, self.other, stay)
            inputs = tiles.size(self.other, line) if stay is Stay.NOT else nothing
            room = inputs + self.workload.weight(self.result)
            yield Use(order=order, other=stay, result=ResultKept.WORD), _Price(others + again, room, stays)
            room = tiles.size(self.result, line) + word
            yield Use(order=order, other=stay, result=ResultKept.LINE), _Price(others + again, room, stays)
            if self.summed and not {*self.summed} & {*self.rows}:
                tile = dict.fromkeys([*order.outer, *(d for d in self.columns if d not in self.summed)])
                above = stays + tiles.size(self.result, tile)
                once = self._results(tiles, tiles.fixed(1))
                yield Use(order=order, other=stay, result=ResultKept.SUMS), _Price(others + once, nothing + word, above)

    def _results(self, tiles: WindowTiles, visits: Words) -> Words:
        """Words of the result that move where every one is visited so often."""
        empty = self.workload.semantics is Semantics.ASSIGN
        return tiles.size(self.result, {}) * ((1 + self.stores) * visits - empty)

    def best(self, memory: int, clock: Clock, *, apart: bool) -> Windowed | None:
        """The mapping that moves the fewest words; None if none fits.

        Args:
            memory: words that fit.
            clock: when it is late, the best so far is taken.
            apart: whether nothing is to be fused.
        """
        tiles = WindowTiles(self.workload, self.dims)
        tile = dict.fromkeys(self.dims)
        tiles = tiles.some(tiles.size(self.shared, tile) < memory)
        held = tiles.size(self.shared, tile)
        best: Windowed | None = None
        making, using = list[tuple[int, int, Make]](), list[tuple[int, int, Use]]()
        for order in self._orders():
            uses = list(self.uses(tiles, order))
            least = min(
                (each for _, used in uses for each, _ in _least(used.words, used.room + used.above, memory, None)),
                default=0,
            )
            for make, made in self.makes(tiles, order):
                if clock.late and best is not None:
                    break
                own = _least(made.words, held + made.room + made.above, memory, made.fits)
                if self._alone(order, [d for d in self.channels if d not in self.dims]):
                    making += [(*at, make) for at in own]
                if apart or not own or (best is not None and own[0][0] + least >= best.words):
                    continue
                for use, used in uses:
                    room = held + np.maximum(made.room, used.room) + made.above + used.above
                    for words, row in _least(made.words + used.words, room, memory, made.fits):
                        if best is None or words < best.words:
                            best = Windowed(make=make, use=use, tiles=(tiles.at(row),) * 2, fused=True, words=words)
            if self._alone(order, self.beyond):
                for use, used in uses:
                    own = _least(used.words, held + used.room + used.above, memory, None)
                    using += [(*at, use) for at in own]
        if making and using:
            (one, first, make), (two, second, use) = (min(some, key=lambda each: each[:2]) for some in (making, using))
            words = one + two + int(tiles.size(self.shared, {})[0]) * (1 + self.stores)
            if best is None or words < best.words:
                both = (tiles.at(first), tiles.at(second))
                best = Windowed(make=make, use=use, tiles=both, fused=False, words=words)
        return best

    def _alone(self, order: RowOrder, between: Sequence[str]) -> bool:
        """Whether words of all ways are what is said where a statement is done by itself.

        No tile may leave what the next one needs: where rows are innermost, other dims have to come in between.
        """
        return not order.inner or prod(self.extents[d] for d in between) > 1

    def least_apart(self) -> int:
        """Words that move at least where both statements are done by themselves."""
        workload = self.workload
        once = [self.image, self.filter, self.other, *[self.shared] * (1 + self.stores), *[self.result] * self.stores]
        return sum(workload.weight(access) * access.footprint(self.extents) for access in once)

    def least_room(self) -> int:
        """Words that every mapping needs."""
        tiles, order = WindowTiles(self.workload, self.dims), RowOrder(self.rows, ())
        rooms = [
            min(int((price.room + price.above)[0]) for _, price in some)
            for some in (self.makes(tiles, order), self.uses(tiles, order))
        ]
        return self.workload.weight(self.shared) + max(rooms)

    def tree(self, member: Windowed, level: str, memory: str) -> tuple[Node, ...]:
        """A mapping as a tree.

        Args:
            member: the mapping.
            level: name of the memory that is filled.
            memory: name of the one outside it.
        """
        done = tuple((Compute(statement=name),) for name in self.first.functions)
        make, use = self._make(member, level), self._use(member, level)
        if member.fused:
            outer = self._outer(level, member.tiles[0], make=member.make, use=member.use)
            return (*outer, InOrder(branches=(make, *done, use)))
        first = (
            *self._outer(level, member.tiles[0], make=member.make),
            *((InOrder(branches=(make, *done)),) if done else make),
        )
        second = (*self._outer(level, member.tiles[1], use=member.use), *use)
        return (Keep(level=memory, tensors=(self.shared.name,)), InOrder(branches=(first, second)))

    def _outer(
        self, level: str, tile: Mapping[str, int], *, make: Make | None = None, use: Use | None = None
    ) -> tuple[Node, ...]:
        """Loops over tiles, and what is kept above the statements."""
        order = next(way.order for way in (make, use) if way is not None)
        stays = [(self.filter, make.filter)] if make is not None else []
        stays += [(self.other, use.other)] if use is not None else []
        sums = [self.result.name] if use is not None and use.result is ResultKept.SUMS else []

        def loops(dims: Sequence[str]) -> list[Node]:
            return [Loop(dim=d, tile=tile[d]) for d in dims if tile[d] < self.extents[d]]

        def kept(stay: Stay) -> list[str]:
            return [access.name for access, mine in stays if mine is stay]

        def image(within: int) -> list[str]:
            return [self.image.name] if make is not None and make.within == within else []

        nodes = [*_keeps(level, kept(Stay.GOOD)), *loops(order.outer), *_keeps(level, image(-1))]
        nodes += [*loops([d for d in self.columns if d not in self.summed]), *_keeps(level, sums)]
        nodes += [*loops([d for d in self.columns if d in self.summed])]
        nodes += _keeps(level, [*kept(Stay.COLUMNS), *image(0)])
        for number, d in enumerate(order.inner, start=1):
            nodes += [*loops([d]), *_keeps(level, image(number))]
        return (*nodes, *_keeps(level, [self.shared.name]))

    def _make(self, member: Windowed, level: str) -> tuple[Node, ...]:
        make, left = member.make, {**self.extents, **member.tiles[0]}
        lines = [d for d in make.singly if d in self.rows]
        there = (*self.channels, *(d for d in make.singly if d not in lines)) if make.within is None else ()
        nodes: list[Node] = [*_singly(left, there)]
        nodes += _keeps(level, [self.filter.name] if make.filter is Stay.CHANNEL else [])
        nodes += _singly(left, lines)
        nodes += _keeps(level, [self.image.name] if make.within is None else [])
        if make.filter is Stay.NOT:
            dims = [d for d in self.order(self.filter) if d not in there]
            nodes += [*_singly(left, dims), *_keeps(level, [self.filter.name])]
        return (*nodes, Compute(statement=self.first.product.name))

    def _use(self, member: Windowed, level: str) -> tuple[Node, ...]:
        use, left = member.use, {**self.extents, **member.tiles[1]}
        word, sums = use.result is ResultKept.WORD, use.result is ResultKept.SUMS
        kept, streaming = (self.other, self.result) if word else (self.result, self.other)
        beyond = () if sums else self.beyond
        nodes: list[Node] = [*_singly(left, beyond)]
        if use.result is ResultKept.LINE or (word and use.other is Stay.NOT):
            nodes += _keeps(level, [kept.name])
        if word or use.other is Stay.NOT:
            dims = [d for d in self.order(streaming) if d not in beyond]
            nodes += [*_singly(left, dims), *_keeps(level, [streaming.name])]
        return (*nodes, Compute(statement=self.second.product.name))


def _least(words: Words, room: Words, memory: int, fits: NDArray[np.bool_] | None) -> list[tuple[int, int]]:
    """The fewest words of tiles that fit, and the number of the tile; none where none does."""
    rows = np.flatnonzero(room <= memory if fits is None else (room <= memory) & fits)
    if not len(rows):
        return []
    row = int(rows[int(np.argmin(words[rows]))])
    return [(int(words[row]), row)]


def _keeps(level: str, tensors: Sequence[str]) -> list[Node]:
    return [Keep(level=level, tensors=tuple(tensors))] if tensors else []


def _singly(left: Mapping[str, int], dims: Sequence[str]) -> list[Node]:
    """Loops in single steps."""
    return [Loop(dim=d, tile=1) for d in dims if left[d] > 1]
