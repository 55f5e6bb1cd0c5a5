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
EVERY = 2**20
"""Iterations that are looked at one by one, in some ten microseconds each: up to a minute per Keep and tensor."""
Cuts = tuple[int, ...]
Course = tuple[tuple[int, int], ...]
"""What is left of a dim, from first to before beyond: of all of it, and inside each of the loops over it."""
Grid = tuple[int, int]
"""Of a loop: its tile, and how far ahead of what it goes through its grid begins."""
Loops = tuple[tuple[int, Grid], ...]
"""Of one dim, outermost first: how many loops there are down to each, over whatever dim, and its grid."""


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
        elements * prod(_iterations(extents[d], tuple(grid for _, grid in _over(loops[:depth], d))) for d in idle)
        for depth, elements in reached.items()
    )


def _over(loops: tuple[StatedLoop, ...], dim: str) -> Loops:
    return tuple((depth, (loop.tile, loop.ahead)) for depth, loop in enumerate(loops, 1) if loop.dim == dim)


@lru_cache(maxsize=4096)
def _depths(extent: int, loops: Loops, low: int, high: int) -> dict[int, int]:
    """Of the iterations of a dim from low on to before high: by the innermost loop with several trips, how many."""
    low, high = max(low, 0), min(high, extent)
    if low >= high:
        return {}
    if not loops:
        return {0: high - low}
    (depth, (tile, ahead)), *inner = loops
    first, last = (low + ahead) // tile, (high - 1 + ahead) // tile
    found = Counter[int]()
    for trip, times in ((first, 1), (last, int(last > first)), (first + 1, max(0, last - first - 1))):
        if times:
            start = max(0, trip * tile - ahead)
            part = min((trip + 1) * tile - ahead, extent) - start
            inside = _depths(part, tuple(inner), max(low - start, 0), min(high - start, part))
            for deeper, elements in inside.items():
                found[max(deeper, depth if part < extent else 0)] += times * elements
    return dict(found)


@lru_cache(maxsize=4096)
def _iterations(extent: int, grids: tuple[Grid, ...]) -> int:
    """Iterations of loops over one dim inside each other."""
    if not grids:
        return 1
    (tile, ahead), *inner = grids
    begin = min(tile - ahead, extent) if ahead else 0
    full, rest = divmod(extent - begin, tile)
    return sum(
        times * _iterations(size, tuple(inner)) for size, times in ((begin, 1), (tile, full), (rest, 1)) if size * times
    )


def every_course(extent: int, grids: Iterable[Grid]) -> list[Course]:
    """All iterations of the loops over one dim.

    Args:
        extent: of the dim.
        grids: of the loops, outermost first.
    """
    found: list[Course] = [((0, extent),)]
    for tile, ahead in grids:
        trips = sum(-(-(course[-1][1] - course[-1][0] + ahead) // tile) for course in found)
        need(trips <= EVERY, "not counted: too many iterations of a dim of several accesses")
        found = [
            (*course, (max(low, start), min(start + tile, high)))
            for course in found
            for low, high in course[-1:]
            for start in range(low - ahead, high, tile)
        ]
    return found


def courses(extent: int, grids: Iterable[Grid], cuts: Cuts) -> list[Course]:
    """Of all iterations of the loops over one dim, one of each kind.

    Two are of one kind if inside each of the loops as much is left of the dim in every part between cuts. Tiles
    that no cut divides are alike if the same two cuts are around them; the last one may be a ragged one.

    Args:
        extent: of the dim.
        grids: of the loops, outermost first.
        cuts: increasing; without any, and where every loop begins with a whole tile, the first iteration alone is
            looked at, in which all is largest.
    """
    grids = tuple(grids)
    if not cuts and not any(ahead for _, ahead in grids):
        return [tuple((0, size) for size in accumulate((tile for tile, _ in grids), min, initial=extent))]
    found: list[Course] = [((0, extent),)]
    for grid in grids:
        need(len(found) <= MOST, "not counted: too many kinds of iterations of a pinned dim")
        longer: dict[tuple[object, ...], Course] = {}
        for course in found:
            for part in _parts(course[-1], grid, cuts):
                grown = (*course, part)
                _ = longer.setdefault(tuple(_kind(each, cuts) for each in grown), grown)
        found = list(longer.values())
    return found


def _parts(whole: tuple[int, int], grid: Grid, cuts: Cuts) -> list[tuple[int, int]]:
    """Tiles: the first two, the last, and those at every cut and beside them."""
    (low, high), (tile, ahead) = whole, grid
    begin = low - ahead
    last = -(-(high - begin) // tile) - 1
    beside = {(cut - begin) // tile + step for cut in cuts if low < cut < high for step in (-1, 0, 1)}
    trips = sorted({0, min(1, last), last} | {trip for trip in beside if 0 <= trip <= last})
    return [(max(low, begin + trip * tile), min(begin + (trip + 1) * tile, high)) for trip in trips]


def _kind(part: tuple[int, int], cuts: Cuts) -> tuple[int, ...]:
    ends = (part[0], *(min(max(cut, part[0]), part[1]) for cut in cuts), part[1])
    return tuple(beyond - first for first, beyond in pairwise(ends))
