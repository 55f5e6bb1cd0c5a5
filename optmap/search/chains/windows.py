"""Pairs of which the first reads windows or has rows of several dims, as a convolution does; the second is a product.

A tile of the intermediate is made and used before the next one: a tile of every one of its dims. *Rows* are the dims
that the image has and the filter has not, *columns* the others. Tiles of some rows are outermost, then those of
columns, then those of the other rows.

To make a tile, what the first statement slides over (the *image*) is kept for one iteration of its other dims (the
*channels*) while single words of the other input (the *filter*) stream past: with all taps, or sliding along one of
them, with those around it one after the other. Or the image is kept for all channels, for a tile or further out, and
neighbouring tiles share what overlaps. To use it, a line of the second statement's input and single words of the
result, or a line of the result and single words of that input; or the result is kept until everything is added up. The
filter and that input stay for good, or the parts of them for one tile of columns do while tiles of the inner rows pass.
Unfused: both statements with tiles of their own, the intermediate stored and loaded. Of every number of tiles the
smallest one is tried.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import combinations, product
from math import prod

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


class Stay(Enum):
    """How long words of the filter, or of the second statement's input, stay."""

    NOT = "single words stream past"
    COLUMNS = "those of a tile of columns, while the inner rows pass"
    GOOD = "all of them, for good"


class ImageKept(Enum):
    """Where the image is kept."""

    CHANNEL = "inside a tile, for one channel"
    TILE = "for a tile, all channels"
    INNER_ROWS = "for all inner rows"
    COLUMNS = "for all columns and inner rows"


class ResultKept(Enum):
    """Whether a line of the result stays where a tile of the intermediate is used."""

    WORD = "single words stream past a line of the second statement's input"
    LINE = "a line, and single words of that input stream past"
    SUMS = "all that belongs to a tile of the outer rows, until everything is added up"


@dataclass(frozen=True, slots=True, kw_only=True)
class Make:
    """How the first statement makes a tile."""

    outer: tuple[str, ...]
    """Rows of which tiles are outside those of columns."""
    filter: Stay
    image: ImageKept
    singly: tuple[str, ...] = ()
    """Taps that an image kept for one channel has one after the other; along the last one it slides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """How the second statement uses a tile."""

    outer: tuple[str, ...]
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

    def _outer_rows(self) -> Iterator[tuple[str, ...]]:
        """Rows that may be outermost: all of them first."""
        for count in range(len(self.rows), -1 if self.columns else len(self.rows) - 1, -1):
            yield from combinations(self.rows, count)

    def _inner_rows(self, outer: Sequence[str]) -> tuple[str, ...]:
        return tuple(d for d in self.rows if d not in outer)

    def _stays(self, outer: Sequence[str], access: TensorAccess) -> Iterator[Stay]:
        """How long words of an input may stay that is not the image."""
        yield Stay.NOT
        if self._inner_rows(outer) and access.dims & {*self.dims} == {*self.columns}:
            yield Stay.COLUMNS
        yield Stay.GOOD

    def _staying(
        self, tiles: WindowTiles, outer: Sequence[str], access: TensorAccess, stay: Stay
    ) -> tuple[Words, Words, int]:
        """Of an input that is not the image: words, those that stay above both statements, and that stream past."""
        every, nothing = tiles.size(access, {}), tiles.fixed(0)
        if stay is Stay.GOOD:
            return every, every, 0
        if stay is Stay.COLUMNS:
            again = np.where(tiles.times(self.columns) > 1, tiles.times(outer), 1)
            return every * again, tiles.size(access, dict.fromkeys(self.columns)), 0
        again = tiles.times([d for d in self.dims if d not in access.dims])
        return every * again, nothing, self.workload.weight(access)

    def makes(self, tiles: WindowTiles, outer: tuple[str, ...]) -> Iterator[tuple[Make, _Price]]:
        """Ways to make all tiles, and what they cost."""
        nothing = tiles.fixed(0)
        slabs = [(taps, *self._slabs(tiles, taps)) for taps in self._sliding()]
        places = [ImageKept.TILE] if self.channels else []
        places += [ImageKept.INNER_ROWS] if self._inner_rows(outer) else []
        places += [ImageKept.COLUMNS] if self.columns else []
        kept = [(place, *self._kept(tiles, outer, place)) for place in places]
        for stay in self._stays(outer, self.filter):
            filters, stays, word = self._staying(tiles, outer, self.filter, stay)
            for taps, words, room, fits in slabs:
                make = Make(outer=outer, filter=stay, image=ImageKept.CHANNEL, singly=taps)
                yield make, _Price(words + filters, room + word, stays, fits)
            for place, words, room in kept:
                make = Make(outer=outer, filter=stay, image=place)
                yield make, _Price(words + filters, nothing + word, stays + room)

    def _sliding(self) -> Iterator[tuple[str, ...]]:
        """Taps that an image kept for one channel may have one after the other: of every subscript one at most."""
        windows = [[d for d in axis.dims if d in self.taps and self.extents[d] > 1] for axis in self.image.axes]
        for count in range(len(windows) + 1):
            for some in combinations([taps for taps in windows if taps], count):
                for taps in product(*some):
                    yield from {(*taps[:n], *taps[n + 1 :], taps[n]) for n in range(count)} or {()}

    def _slabs(self, tiles: WindowTiles, singly: Sequence[str]) -> tuple[Words, Words, NDArray[np.bool_]]:
        """Of an image kept for one channel: words, room, and where it has no gaps."""
        beyond = [d for d in self.columns if d not in self.image.dims]
        words = room = tiles.fixed(self.workload.weight(self.image))
        fits, loops = tiles.fixed(1) > 0, dict[str, Passing]()
        for axis in self.image.axes:
            moving, tap = self._moving(axis), next((d for d in axis.dims if d in singly), None)
            some = {**self.extents, **({tap: 1} if tap else {})}

            def span(size: int, axis: Subscript = axis, at: str | None = moving, some: dict[str, int] = some) -> int:
                return axis.span({**some, at: size} if at else some)

            def dense(size: int, axis: Subscript = axis, at: str | None = moving, some: dict[str, int] = some) -> bool:
                here = {**some, at: size} if at else some
                return axis.span(here) == axis.count(here)

            if any(d in self.channels for d in axis.dims):
                words = words * axis.count(self.extents)
                continue
            room = room * (tiles.per_tile(moving, span) if moving else span(0))
            if tap is None:
                words = words * tiles.per_line(moving, span)
            else:
                fits = fits & (tiles.per_tile(moving, dense) > 0 if moving else dense(0))
                loops[tap] = tiles.tap_loop(tap, axis, moving)
        words = words * tiles.times(beyond) * tiles.entering([loops[tap] for tap in singly])
        return words, room, fits

    def _kept(self, tiles: WindowTiles, outer: Sequence[str], place: ImageKept) -> tuple[Words, Words]:
        """Of an image kept for all channels: words and room."""
        axes = {d: axis for axis in self.image.axes for d in axis.dims}
        columns = () if place is ImageKept.COLUMNS else self.columns
        loops = (*outer, *columns, *(self._inner_rows(outer) if place is ImageKept.TILE else ()))
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

    def uses(self, tiles: WindowTiles, outer: tuple[str, ...]) -> Iterator[tuple[Use, _Price]]:
        """Ways to use all tiles, and what they cost."""
        nothing = tiles.fixed(0)
        line = {**dict.fromkeys(self.dims), **dict.fromkeys(self.beyond, 1)}
        again = self._results(tiles, tiles.times(self.summed))
        for stay in self._stays(outer, self.other):
            others, stays, word = self._staying(tiles, outer, self.other, stay)
            inputs = tiles.size(self.other, line) if stay is Stay.NOT else nothing
            room = inputs + self.workload.weight(self.result)
            yield Use(outer=outer, other=stay, result=ResultKept.WORD), _Price(others + again, room, stays)
            room = tiles.size(self.result, line) + word
            yield Use(outer=outer, other=stay, result=ResultKept.LINE), _Price(others + again, room, stays)
            if self.summed and not {*self.summed} & {*self.rows}:
                tile = dict.fromkeys([*outer, *(d for d in self.columns if d not in self.summed)])
                above = stays + tiles.size(self.result, tile)
                once = self._results(tiles, tiles.fixed(1))
                yield Use(outer=outer, other=stay, result=ResultKept.SUMS), _Price(others + once, nothing + word, above)

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
        for outer in self._outer_rows():
            uses = list(self.uses(tiles, outer))
            for make, made in self.makes(tiles, outer):
                if clock.late and best is not None:
                    break
                if self._alone(outer, [d for d in self.channels if d not in self.dims]):
                    own = _least(made.words, held + made.room + made.above, memory, made.fits)
                    making += [(*at, make) for at in own]
                for use, used in uses if not apart else ():
                    room = held + np.maximum(made.room, used.room) + made.above + used.above
                    for words, row in _least(made.words + used.words, room, memory, made.fits):
                        if best is None or words < best.words:
                            best = Windowed(make=make, use=use, tiles=(tiles.at(row),) * 2, fused=True, words=words)
            if self._alone(outer, self.beyond):
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

    def _alone(self, outer: Sequence[str], between: Sequence[str]) -> bool:
        """Whether words of all ways are what is said where a statement is done by itself.

        No tile may leave what the next one needs: where rows are innermost, other dims have to come in between.
        """
        return not self._inner_rows(outer) or prod(self.extents[d] for d in between) > 1

    def least_apart(self) -> int:
        """Words that move at least where both statements are done by themselves."""
        workload = self.workload
        once = [self.image, self.filter, self.other, *[self.shared] * (1 + self.stores), *[self.result] * self.stores]
        return sum(workload.weight(access) * access.footprint(self.extents) for access in once)

    def least_room(self) -> int:
        """Words that every mapping needs."""
        tiles, outer = WindowTiles(self.workload, self.dims), self.rows
        rooms = [
            min(int((price.room + price.above)[0]) for _, price in some)
            for some in (self.makes(tiles, outer), self.uses(tiles, outer))
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
        outer = next(way.outer for way in (make, use) if way is not None)
        stays = [(self.filter, make.filter)] if make is not None else []
        stays += [(self.other, use.other)] if use is not None else []
        sums = [self.result.name] if use is not None and use.result is ResultKept.SUMS else []

        def loops(dims: Sequence[str]) -> list[Node]:
            return [Loop(dim=d, tile=tile[d]) for d in dims if tile[d] < self.extents[d]]

        def kept(stay: Stay | None, place: ImageKept | None) -> list[Node]:
            image = [self.image.name] if make is not None and make.image is place else []
            return _keeps(level, [*(access.name for access, mine in stays if mine is stay), *image])

        return (
            *kept(Stay.GOOD, None),
            *loops(outer),
            *kept(None, ImageKept.COLUMNS),
            *loops([d for d in self.columns if d not in self.summed]),
            *_keeps(level, sums),
            *loops([d for d in self.columns if d in self.summed]),
            *kept(Stay.COLUMNS, ImageKept.INNER_ROWS),
            *loops(self._inner_rows(outer)),
            *kept(None, ImageKept.TILE),
            *_keeps(level, [self.shared.name]),
        )

    def _make(self, member: Windowed, level: str) -> tuple[Node, ...]:
        make, left = member.make, {**self.extents, **member.tiles[0]}
        nodes: list[Node] = []
        there = (*self.channels, *make.singly) if make.image is ImageKept.CHANNEL else ()
        if make.image is ImageKept.CHANNEL:
            nodes += [*_singly(left, there), *_keeps(level, [self.image.name])]
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
