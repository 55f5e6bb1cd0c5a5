"""How often the elements of a tensor enter a Keep, and what it may hold in an iteration; see `tree_counts`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from itertools import accumulate, pairwise
from math import prod

from ..core.tools import need
from .regions import Box
from .stated_tree import StatedKeep, StatedLoop

MOST = 10_000
"""Kinds of iterations that are looked at."""
Cuts = tuple[int, ...]
Course = tuple[tuple[int, int], ...]
"""What is left of a dim, from first to before beyond: of all of it, and inside each of the loops over it."""
Loops = tuple[tuple[int, int], ...]
"""Of one dim, outermost first: how many loops there are down to each, over whatever dim, and its tile."""


def entries(keep: StatedKeep, dims: list[str], box: Box, extents: dict[str, int]) -> int:
    """How often elements of a box enter a Keep, all together.

    Args:
        keep: which holds all of the box.
        dims: of the subscripts of the tensor.
        box: with a first and a beyond per subscript.
        extents: iterations per dim.
    """
    loops = keep.above.loops
    reached = {keep.above.ended: 1}
    for dim, (low, high) in zip(dims, box, strict=True):
        found = Counter[int]()
        for depth, elements in _depths(extents[dim], _over(loops, dim), low, high).items():
            for before, others in reached.items():
                found[max(before, depth)] += elements * others
        reached = found
    idle = {loop.dim for loop in loops} - set(dims)
    return sum(
        elements * prod(_iterations(extents[d], tuple(tile for _, tile in _over(loops[:depth], d))) for d in idle)
        for depth, elements in reached.items()
    )


def _over(loops: tuple[StatedLoop, ...], dim: str) -> Loops:
    return tuple((depth, loop.tile) for depth, loop in enumerate(loops, 1) if loop.dim == dim)


@lru_cache(maxsize=4096)
def _depths(extent: int, loops: Loops, low: int, high: int) -> dict[int, int]:
    """Of the iterations of a dim from low on to before high: by the innermost loop with several trips, how many."""
    low, high = max(low, 0), min(high, extent)
    if low >= high:
        return {}
    if not loops:
        return {0: high - low}
    (depth, tile), *inner = loops
    first, last = low // tile, (high - 1) // tile
    found = Counter[int]()
    for trip, times in ((first, 1), (last, int(last > first)), (first + 1, max(0, last - first - 1))):
        if times:
            start = trip * tile
            part = min(tile, extent - start)
            inside = _depths(part, tuple(inner), max(low - start, 0), min(high - start, part))
            for deeper, elements in inside.items():
                found[max(deeper, depth if tile < extent else 0)] += times * elements
    return dict(found)


@lru_cache(maxsize=4096)
def _iterations(extent: int, tiles: tuple[int, ...]) -> int:
    """Iterations of loops over one dim inside each other."""
    if not tiles:
        return 1
    full, rest = divmod(extent, tiles[0])
    return full * _iterations(tiles[0], tiles[1:]) + (_iterations(rest, tiles[1:]) if rest else 0)


def courses(extent: int, tiles: Iterable[int], cuts: Cuts) -> list[Course]:
    """Of all iterations of the loops over one dim, one of each kind.

    Two are of one kind if inside each of the loops as much is left of the dim in every part between cuts. Tiles
    that no cut divides are alike if the same two cuts are around them; the last one may be a ragged one.

    Args:
        extent: of the dim.
        tiles: of the loops, outermost first.
        cuts: increasing; without any, the first iteration alone is looked at, in which all is largest.
    """
    if not cuts:
        return [tuple((0, size) for size in accumulate(tiles, min, initial=extent))]
    found: list[Course] = [((0, extent),)]
    for tile in tiles:
        need(len(found) <= MOST, "not counted: too many kinds of iterations of a pinned dim")
        longer: dict[tuple[object, ...], Course] = {}
        for course in found:
            for part in _parts(course[-1], tile, cuts):
                grown = (*course, part)
                _ = longer.setdefault(tuple(_kind(each, cuts) for each in grown), grown)
        found = list(longer.values())
    return found


def every_course(extent: int, tiles: Iterable[int]) -> list[Course]:
    """All iterations of the loops over one dim."""
    found: list[Course] = [((0, extent),)]
    for tile in tiles:
        many = sum(-(-(course[-1][1] - course[-1][0]) // tile) for course in found)
        need(many <= 2**18, "not counted: too many iterations under conditions")
        found = [
            (*course, (low, min(low + tile, course[-1][1]))) for course in found for low in range(*course[-1], tile)
        ]
    return found


def _parts(whole: tuple[int, int], tile: int, cuts: Cuts) -> list[tuple[int, int]]:
    """Tiles: the first, the last, and those at every cut and beside them."""
    low, high = whole
    last = -(-(high - low) // tile) - 1
    beside = {(cut - low) // tile + step for cut in cuts if low < cut < high for step in (-1, 0, 1)}
    trips = sorted({0, last} | {trip for trip in beside if 0 <= trip <= last})
    return [(low + trip * tile, min(low + (trip + 1) * tile, high)) for trip in trips]


def _kind(part: tuple[int, int], cuts: Cuts) -> tuple[int, ...]:
    ends = (part[0], *(min(max(cut, part[0]), part[1]) for cut in cuts), part[1])
    return tuple(beyond - first for first, beyond in pairwise(ends))
