"""Pairs of which the first reads windows or has rows of several dims, as a convolution does; the second is a product.

A tile of the intermediate is made and used before the next one: a tile of every one of its dims, those of the result
outermost. To make it, what the first statement slides over (the *image*) is kept for one iteration of the dims that it
shares with the other input (the *filter*), or that are summed, while single words of the filter stream past; or the
image is kept for all of them, and neighbouring tiles share what overlaps. To use it, a line of the second statement's
input and single words of the result, or a line of the result and single words. The filter and that input may stay for
good. Unfused: both statements with tiles of their own, the intermediate stored and loaded. Of every number of tiles the
smallest one is tried. Words are counted by dims: what an access has not makes its words come again with every tile of
that dim; along a window a tile of `t` needs `factor*(t - 1) + taps` index values, if there are no gaps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from math import prod

from optmap.base.clock import Clock
from optmap.base.errors import InputError, LimitError
from optmap.count.trees.windows import entered
from optmap.mappings.nodes import Compute, Keep, Loop, Node
from optmap.mappings.nodes import Sequence as InOrder
from optmap.search.chains.family import smallest_tiles
from optmap.search.chains.pair import ProductStep, is_plain
from optmap.workloads.workload import Semantics, TensorAccess, Workload

FAMILY = (
    "fused: a tile of the intermediate made and used before the next one, an image kept for one channel or for all, "
    "filters streaming word by word or staying; unfused: a tile of its own for each statement; of every number of "
    "tiles the smallest ones"
)
"""The mappings among which the best is found, in words."""
MOST = 300_000
"""Tiles that are looked at."""
Tile = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """How a statement works on a tile of the intermediate."""

    stays: bool
    """Of the first: whether the image is kept for all channels; of the second: whether a line of the result is kept."""
    resident: bool
    """Whether the filter, or the second statement's input, stays for good."""
    tile: Tile
    words: int
    room: int
    """Words while it runs, without the tile of the intermediate and what stays for good."""
    around: int
    """Words that are held above both statements: the image kept for all channels."""
    kept: int
    """Words that stay for good."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Windowed:
    """A mapping."""

    make: Phase
    use: Phase
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
        windows = [axis for axis in self.image.axes if len(axis.terms) > 1]
        self.taps = tuple(d for axis in windows for d in axis.dims if d not in dims)
        self.channels = tuple(d for d in self.order(self.image) if d not in self.rows and d not in self.taps)
        self._check()

    @property
    def sharp(self) -> bool:
        """Whether words of unfused mappings are what is said, and not at most so many.

        Without channels, or dims of the result alone, a tile may find there what the one before has left.
        """
        beyond = [d for d in self.result.dims if d not in self.dims]
        return min(prod(self.extents[d] for d in some) for some in (self.channels, beyond)) > 1

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

    def weight(self, access: TensorAccess) -> int:
        """Words of an element."""
        return self.workload.weight(access)

    def size(self, access: TensorAccess, left: Mapping[str, int]) -> int:
        """Words that an access touches."""
        return self.weight(access) * prod(axis.count(left) for axis in access.axes)

    def trips(self, tile: Tile, access: TensorAccess) -> int:
        """How often all words of an access come again: once per tile of the dims that it has not."""
        return prod(-(-self.extents[d] // t) for d, t in zip(self.dims, tile, strict=True) if d not in access.dims)

    def tile_loops(self, tile: Tile, dims: Sequence[str]) -> tuple[Loop, ...]:
        """Loops over tiles of some dims."""
        sizes = dict(zip(self.dims, tile, strict=True))
        return tuple(Loop(dim=d, tile=sizes[d]) for d in dims if sizes[d] < self.extents[d])

    def tiles(self) -> Iterator[Tile]:
        """All tiles.

        Raises:
            LimitError: if they are too many.
        """
        sizes = [smallest_tiles(self.extents[d]).tolist() for d in self.dims]
        if prod(map(len, sizes)) > MOST:
            raise LimitError(
                f"{self.workload.title} has {prod(map(len, sizes)):,} tiles of {self.shared}; {MOST:,} are tried"
            )
        yield from product(*sizes)

    def makes(self, tile: Tile) -> Iterator[Phase]:
        """Ways to make a tile."""
        left = {**self.extents, **dict(zip(self.dims, tile, strict=True))}
        single = {**left, **dict.fromkeys(self.channels, 1)}
        weight, whole = self.weight(self.filter), self.size(self.filter, self.extents)
        slab = self.size(self.image, single)
        every = {**left, **{d: self.extents[d] for d in self.channels}}
        for resident in (False, True):
            filters = whole * (1 if resident else self.trips(tile, self.filter))
            room = 0 if resident else weight
            phase = partial(Phase, resident=resident, tile=tile, kept=whole * resident)
            words = self._slabs(tile) + filters
            yield phase(stays=False, words=words, room=slab + room, around=0)
            if self.channels:
                found = entered((self.image,), self.tile_loops(tile, self.rows), 0, self.extents)
                if found is not None:
                    words = found * self.weight(self.image) + filters
                    yield phase(stays=True, words=words, room=room, around=self.size(self.image, every))

    def _slabs(self, tile: Tile) -> int:
        """Words of the image where it comes for every tile, channel by channel."""
        sizes = dict(zip(self.dims, tile, strict=True))
        words = self.weight(self.image) * self.trips(tile, self.image)
        for axis in self.image.axes:
            moving = next((d for d in axis.dims if d in self.rows), None)
            if moving is None:
                words *= axis.count(self.extents)
                continue
            full, rest = divmod(self.extents[moving], sizes[moving])
            last = axis.count({**self.extents, moving: rest}) if rest else 0
            words *= full * axis.count({**self.extents, moving: sizes[moving]}) + last
        return words

    def uses(self, tile: Tile) -> Iterator[Phase]:
        """Ways to use a tile."""
        left = {**self.extents, **dict(zip(self.dims, tile, strict=True))}
        beyond = [d for d in self.result.dims if d not in self.dims]
        single = {**left, **dict.fromkeys(beyond, 1)}
        whole, empty = self.size(self.other, self.extents), self.workload.semantics is Semantics.ASSIGN
        visits = prod(-(-self.extents[d] // t) for d, t in zip(self.dims, tile, strict=True) if d in self.summed)
        words = self.size(self.result, self.extents) * ((1 + self.stores) * visits - empty)
        for resident in (False, True):
            others = whole * (1 if resident else self.trips(tile, self.other))
            phase = partial(Phase, resident=resident, tile=tile, kept=whole * resident, around=0)
            line = 0 if resident else self.size(self.other, single)
            yield phase(stays=False, words=words + others, room=line + self.weight(self.result))
            word = 0 if resident else self.weight(self.other)
            yield phase(stays=True, words=words + others, room=self.size(self.result, single) + word)

    def best(self, memory: int, clock: Clock, *, apart: bool) -> Windowed | None:
        """The mapping that moves the fewest words; None if none fits.

        Args:
            memory: words that fit.
            clock: when it is late, the best so far is taken.
            apart: whether nothing is to be fused.
        """
        found: list[Windowed] = []
        making, using = list[Phase](), list[Phase]()
        for tile in self.tiles():
            if clock.late and found:
                break
            held = self.weight(self.shared) * prod(tile)
            if held >= memory:
                continue
            makes, uses = list(self.makes(tile)), list(self.uses(tile))
            making += [each for each in makes if held + each.room + each.around + each.kept <= memory]
            using += [each for each in uses if held + each.room + each.kept <= memory]
            for make, use in product(makes, uses) if not apart else ():
                room = held + max(make.room, use.room) + make.around + make.kept + use.kept
                if room <= memory:
                    found.append(Windowed(make=make, use=use, fused=True, words=make.words + use.words))
            found = [min(found, key=lambda each: each.words)] if found else []
        between = self.size(self.shared, self.extents)
        if making and using:
            make, use = (min(some, key=lambda each: each.words) for some in (making, using))
            words = make.words + use.words + between * (1 + self.stores)
            found.append(Windowed(make=make, use=use, fused=False, words=words))
        return min(found, key=lambda each: each.words, default=None)

    def least_room(self) -> int:
        """Words that every mapping needs."""
        tile = (1,) * len(self.dims)
        rooms = (
            each.room + each.around
            for phases in (self.makes(tile), self.uses(tile))
            for each in phases
            if not each.kept
        )
        return self.weight(self.shared) + min(rooms)

    def tree(self, member: Windowed, level: str, memory: str) -> tuple[Node, ...]:
        """A mapping as a tree.

        Args:
            member: the mapping.
            level: name of the memory that is filled.
            memory: name of the one outside it.
        """
        residents = [
            access.name for access, phase in ((self.filter, member.make), (self.other, member.use)) if phase.resident
        ]
        done = tuple((Compute(statement=name),) for name in self.first.functions)
        if member.fused:
            make, use = self._make(member.make, level), self._use(member.use, level)
            inside = InOrder(branches=(make, *done, use))
            return (*_keeps(level, residents), *self._outer(member.make, level), inside)
        made = self._make(member.make, level)
        first = (*self._outer(member.make, level), *((InOrder(branches=(made, *done)),) if done else made))
        second = (*self._outer(replace(member.use, stays=False), level), *self._use(member.use, level))
        kept = [[name for name in residents if name == access.name] for access in (self.filter, self.other)]
        branches = ((*_keeps(level, kept[0]), *first), (*_keeps(level, kept[1]), *second))
        return (Keep(level=memory, tensors=(self.shared.name,)), InOrder(branches=branches))

    def _outer(self, phase: Phase, level: str) -> tuple[Node, ...]:
        """Loops over tiles, and what is kept above both statements."""
        rows = self.rows if phase.stays else ()
        others = [d for d in self.dims if d not in rows]
        image = [self.image.name] if phase.stays else []
        inside = _keeps(level, [self.shared.name])
        return (
            *self.tile_loops(phase.tile, rows),
            *_keeps(level, image),
            *self.tile_loops(phase.tile, others),
            *inside,
        )

    def _make(self, phase: Phase, level: str) -> tuple[Node, ...]:
        left = {**self.extents, **dict(zip(self.dims, phase.tile, strict=True))}
        leaf = Compute(statement=self.first.product.name)
        nodes: list[Node] = []
        if not phase.stays:
            nodes += [*_singly(left, self.channels), *_keeps(level, [self.image.name])]
        if not phase.resident:
            dims = [d for d in self.order(self.filter) if phase.stays or d not in self.channels]
            nodes += [*_singly(left, dims), *_keeps(level, [self.filter.name])]
        return (*nodes, leaf)

    def _use(self, phase: Phase, level: str) -> tuple[Node, ...]:
        left = {**self.extents, **dict(zip(self.dims, phase.tile, strict=True))}
        beyond = [d for d in self.order(self.result) if d not in self.dims]
        kept, streaming = (self.result, self.other) if phase.stays else (self.other, self.result)
        nodes: list[Node] = [*_singly(left, beyond)]
        if phase.stays or not phase.resident:
            nodes += _keeps(level, [kept.name])
        if not (phase.stays and phase.resident):
            dims = [d for d in self.order(streaming) if d not in beyond]
            nodes += [*_singly(left, dims), *_keeps(level, [streaming.name])]
        return (*nodes, Compute(statement=self.second.product.name))


def _keeps(level: str, tensors: Sequence[str]) -> list[Node]:
    return [Keep(level=level, tensors=tuple(tensors))] if tensors else []


def _singly(left: Mapping[str, int], dims: Sequence[str]) -> list[Node]:
    """Loops in single steps."""
    return [Loop(dim=d, tile=1) for d in dims if left[d] > 1]
