"""What a cache keeps of a loop nest: the part that fits, whatever the tiles of the mapping are called.

A mapping names a tile per level, a cache does not know of it: it keeps what was used last. Cut the nest at any place
between two loops; the loops inside are a body, visited once per iteration of the loops outside. A memory that holds
all that two consecutive visits use (`mappings.reuse.safe_working_set`: enough for least recently used; a scratchpad
needs one visit's) loads at every visit what the visit before it had not. So the largest body that fits is what
counts, and its traffic is that of a mapping one of whose tiles it is, counted exactly as every mapping's.

Where a cache's sets are chosen by the addresses of a program, each set keeps the largest body that fits into it, and
one visit's lines must (`conflicts`): what a set holds of two visits in a row depends on where tensors begin.

A memory may be too small for all of these: for a tile that is split among children inside it, or for the innermost
tile. Then it keeps a smaller body (`inner_bodies`): of every child one, at the same place of its part, so that a
tensor without the dims that are split is there once; or iterations of the innermost tile, which run in the order of
the innermost loops.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import prod

from optmap.count.levels.first_touches import first_touches
from optmap.count.levels.whole_nest import traffic_outside
from optmap.count.timing.conflicts import cache_geometry, kept_shares, tile_loads
from optmap.kernels.code_options import CodeOptions
from optmap.machines.machine import Level, LevelKind
from optmap.mappings.cutting import TileDescent
from optmap.mappings.levels import LevelMapping, Mapping
from optmap.mappings.reuse import safe_working_set
from optmap.workloads.workload import TensorAccess, Workload

KEPT = "kept"
"""Name of the innermost level of the nest around a body."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """Loops inside a cut."""

    tile: dict[str, int]
    """Iterations per dim of one visit."""
    around: Mapping
    """The nest as a mapping whose innermost tile is the body."""
    ways: dict[str, int] = field(default_factory=dict)
    """Children side by side that each run a body of their own, per dim that a split inside the memory cuts."""
    inside: int = 0
    """Place in `around` of the level from which on splits are outside the memory; those up to it are inside."""

    def copies(self, tensor: TensorAccess) -> int:
        """How many of the children's bodies have elements of a tensor to themselves."""
        return prod(ways for dim, ways in self.ways.items() if dim in tensor.dims)

    def visits(self, workload: Workload) -> tuple[float, ...]:
        """Per tensor the elements that a cache must hold at once, two visits' where they differ, over one visit's."""
        rooms = safe_working_set(workload, self._order(workload))
        return tuple(
            min(room.elements(tensor, self.tile), tensor.footprint(workload.extents)) / tensor.footprint(self.tile)
            for tensor, room in zip(workload.tensors, rooms, strict=True)
        )

    def parts(self, workload: Workload) -> tuple[int, ...]:
        """Words that one visit uses of every tensor, output first."""
        return tuple(
            workload.weight(tensor) * tensor.footprint(self.tile) * self.copies(tensor) for tensor in workload.tensors
        )

    def words(self, workload: Workload) -> int:
        """What one visit uses."""
        return sum(self.parts(workload))

    def is_everything(self, workload: Workload) -> bool:
        """Whether it is all that one thread has to do: no loop outside has a second iteration."""
        return all(TileDescent.of(workload, self.around, d, 0).executed == size for d, size in self.tile.items())

    def _order(self, workload: Workload) -> tuple[str, ...]:
        """The loops outside that advance, each dim once, where it stands innermost; outermost first."""
        found: list[str] = []
        for number, level in enumerate(self.around.levels):
            outside = shares(self.around, number + 1, workload)
            found += [d for d in reversed(level.permutation) if d not in found and outside[d] > level.tile[d]]
        found += [d for d in workload.dims if d not in found]
        return tuple(reversed(found))

    def traffic(self, workload: Workload) -> tuple[tuple[int, int], ...]:
        """Loads and stores in words per tensor, output first, of one instance that keeps the body."""
        (_, left), *inputs = traffic_outside(workload, self.around, 0)
        stores = self.copies(workload.output) * left
        read = [(self.copies(tensor) * loads, 0) for tensor, (loads, _) in zip(workload.inputs, inputs, strict=True)]
        return ((stores - self.created(workload) * workload.weight(workload.output), stores), *read)

    def created(self, workload: Workload) -> int:
        """Output elements that are begun in the memory and not loaded: those of several children once."""
        found = self.copies(workload.output) * first_touches(workload, self.around, 0)
        return min(found, first_touches(workload, self.around, self.inside)) if self.ways else found


def shares(mapping: Mapping, number: int, workload: Workload) -> dict[str, int]:
    """What the first child gets of the tile of a level; of everything beyond the last one."""
    if number == len(mapping.levels):
        return workload.extents
    level = mapping.levels[number]
    return {dim: -(-size // level.spatial.get(dim, 1)) for dim, size in level.tile.items()}


def between_splits(mapping: Mapping, number: int) -> range:
    """Levels whose loops one instance of a level runs through, whole: from the outermost split it spans to the next."""
    split = [place for place, level in enumerate(mapping.levels) if level.ways > 1]
    first = max((place for place in split if place <= number), default=0)
    return range(first, min((place for place in split if place > number), default=len(mapping.levels)))


def bodies(workload: Workload, mapping: Mapping, levels: range) -> Iterator[Body]:
    """The bodies of a nest, the largest first, each once.

    Args:
        workload: what is computed.
        mapping: tiles, loop orders and splits.
        levels: whose loops may be cut, inner first.
    """
    last: dict[str, int] | None = None
    for number in reversed(levels):
        for body in _cuts(workload, mapping, number):
            if body.tile != last:
                yield body
            last = body.tile


def inner_bodies(workload: Workload, mapping: Mapping, number: int) -> Iterator[Body]:
    """What is left to a memory that cannot hold the tile of a level: smaller bodies, the largest first.

    Args:
        workload: what is computed.
        mapping: tiles, loop orders and splits.
        number: of the level; all splits from its own inwards are inside the memory.
    """
    ways: dict[str, int] = {}
    for inner in range(number - 1, -2, -1):
        for dim, many in mapping.levels[inner + 1].spatial.items():
            ways[dim] = ways.get(dim, 1) * many
        cut = {dim: many for dim, many in ways.items() if many > 1}
        yield from (replace(body, ways=cut, inside=number - inner) for body in _cuts(workload, mapping, inner))


def _cuts(workload: Workload, mapping: Mapping, number: int) -> Iterator[Body]:
    """Bodies that end between two loops of a level; -1 has the iterations of the innermost tiles."""
    level, outside = mapping.levels[max(number, 0)], shares(mapping, number + 1, workload)
    inside = level.tile if number >= 0 else dict.fromkeys(outside, 1)
    for place in range(len(level.permutation) + 1):
        outer = level.permutation[:place]
        tile = {dim: min(inside[dim], size) if dim in outer else size for dim, size in outside.items()}
        mine = LevelMapping(level=KEPT, tile=tile, permutation=level.permutation, spatial={})
        yield Body(tile=tile, around=Mapping(levels=(mine, *mapping.levels[number + 1 :])))


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What a memory keeps of a nest."""

    body: Body
    fits: bool
    """Whether it does: else it is the smallest one."""
    passing: dict[str, int]
    """Iterations per dim of the loop just outside, over which lines are used up: the next larger body's."""
    written: dict[str, int] | None = None
    """The same for outputs where it matters over what they are written in one go."""


def kept_bodies(
    workload: Workload, mapping: Mapping, level: Level, levels: range, *, options: CodeOptions, lanes: int
) -> Iterator[tuple[Kept, tuple[float, ...]]]:
    """The bodies that a memory keeps, the largest first, each with the share of every tensor that it is kept for.

    A scratchpad keeps the largest one that fits. A cache keeps it in the sets where it fits, in whole lines; in the
    others it keeps the largest smaller one that fits there (`conflicts`).

    Args:
        workload: what is computed.
        mapping: tiles, loop orders and splits.
        level: the memory.
        levels: whose loops may be cut.
        options: layouts.
        lanes: of a vector.
    """
    room = level.capacity.words(workload.word_bits) // level.buffering
    left = [1.0] * len(workload.tensors)
    kept: Kept | None = None
    passing: dict[str, int] = {}
    for body in _candidates(workload, mapping, levels, room):
        kept = Kept(body=body, fits=True, passing=passing or body.tile)
        passing = body.tile
        if body.words(workload) > room:
            continue  # quick: lines hold no less
        parts: tuple[float, ...] = (1.0,) * len(left)
        if level.kind is LevelKind.CACHE:
            parts = _parts_in_sets(workload, body, level, options, lanes)
        new = tuple(max(part - (1 - rest), 0.0) for part, rest in zip(parts, left, strict=True))
        left = [rest - more for rest, more in zip(left, new, strict=True)]
        if any(new):
            yield kept, new
        if not any(left):
            return
    if kept is not None:
        yield replace(kept, fits=False), tuple(left)


def _candidates(workload: Workload, mapping: Mapping, levels: range, room: int) -> Iterator[Body]:
    """All bodies, and smaller ones if none of them fits."""
    smallest = 0
    for body in bodies(workload, mapping, levels):
        smallest = body.words(workload)
        yield body
    if smallest > room:
        yield from inner_bodies(workload, mapping, levels.start)


def _parts_in_sets(workload: Workload, body: Body, level: Level, options: CodeOptions, lanes: int) -> tuple[float, ...]:
    """Part of each tensor's lines in sets where a body fits."""
    sets, ways, line = cache_geometry(level, workload.word_bits)
    visits = body.visits(workload) if sets == 1 else (1.0,) * len(workload.tensors)
    loads = [
        times
        * body.copies(workload.tensors[number])
        * tile_loads(workload, number, body.tile, layout=options.layout, lanes=lanes, line_bytes=line, sets=sets)
        for number, times in enumerate(visits)
    ]
    return kept_shares(loads, ways)
