"""What a cache keeps of a loop nest: the part that fits, whatever the tiles of the mapping are called.

A mapping names a tile per level, a cache does not know of it: it keeps what was used last. Cut the nest at any place
between two loops; the loops inside are a body, visited once per iteration of the loops outside. A memory that holds
all that two consecutive visits use (`problem.reuse.safe_working_set`: enough for least recently used; a scratchpad
needs one visit's) loads at every visit what the visit before it had not. So the largest body that fits is what
counts, and its traffic is that of a mapping one of whose tiles it is, counted exactly as every mapping's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod

from optmap.evaluate.whole_nest import traffic_outside
from optmap.problem.machine import Level, LevelKind
from optmap.problem.mapping import LevelMapping, Mapping
from optmap.problem.reuse import Room, safe_working_set
from optmap.problem.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """Loops inside a cut."""

    tile: dict[str, int]
    """Iterations per dim of one visit."""
    around: Mapping
    """The nest as a mapping whose innermost tile is the body."""

    def occupancy(self, workload: Workload, *, cache: bool) -> int:
        """Words that must fit for the body to be kept.

        Args:
            workload: what is computed.
            cache: whether two visits must fit, or one.
        """
        rooms = safe_working_set(workload, self._order(workload)) if cache else (Room(),) * len(workload.tensors)
        return sum(
            workload.weight(tensor) * min(room.elements(tensor, self.tile), tensor.footprint(workload.extents))
            for tensor, room in zip(workload.tensors, rooms, strict=True)
        )

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
        return traffic_outside(workload, self.around, 0)


def shares(mapping: Mapping, number: int, workload: Workload) -> dict[str, int]:
    """What the first child gets of the tile of a level; of everything beyond the last one."""
    if number == len(mapping.levels):
        return workload.extents
    level = mapping.levels[number]
    return {dim: -(-size // level.spatial.get(dim, 1)) for dim, size in level.tile.items()}


def split_at(mapping: Mapping) -> int | None:
    """Number of the outermost level whose tile is split; None without a split."""
    split = [number for number, level in enumerate(mapping.levels) if prod(level.spatial.values()) > 1]
    return max(split, default=None)


def bodies(workload: Workload, mapping: Mapping, levels: range) -> Iterator[Body]:
    """The bodies of a nest, the largest first, each once.

    Args:
        workload: what is computed.
        mapping: tiles, loop orders and splits.
        levels: whose loops may be cut, inner first.
    """
    last: dict[str, int] | None = None
    for number in reversed(levels):
        level, outside = mapping.levels[number], shares(mapping, number + 1, workload)
        for place in range(len(level.permutation) + 1):
            outer = level.permutation[:place]
            tile = {dim: min(level.tile[dim], size) if dim in outer else size for dim, size in outside.items()}
            if tile == last:
                continue
            last = tile
            mine = LevelMapping(level=level.level, tile=tile, permutation=level.permutation, spatial={})
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


def kept_body(workload: Workload, mapping: Mapping, level: Level, levels: range) -> Kept:
    """The largest body that a memory keeps.

    Args:
        workload: what is computed.
        mapping: tiles, loop orders and splits.
        level: the memory.
        levels: whose loops may be cut.
    """
    room = level.capacity.words(workload.word_bits) // level.buffering
    passing: dict[str, int] = {}
    for body in bodies(workload, mapping, levels):
        kept = Kept(body=body, fits=True, passing=passing or body.tile)
        passing = body.tile
        if body.occupancy(workload, cache=False) > room:
            continue  # quick: two visits use no less than one
        if level.kind is LevelKind.SCRATCHPAD or body.occupancy(workload, cache=True) <= room:
            return kept
    return replace(kept, fits=False)
