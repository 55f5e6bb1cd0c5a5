"""The boxes of filter-like extents that the tree of the relaxation begins with."""

from __future__ import annotations

from itertools import product
from math import prod

from optmap.programs.geometric import Box, TileSpace

BOXES = 48
"""Boxes per loop order to begin with; wider ones are split when they matter."""


def first_boxes(space: TileSpace) -> tuple[Box, ...]:
    """Boxes to begin with: single values where few, else a few ranges per dim."""
    fine = [_ranges(space, dim, coarse=False) for dim in space.boxed]
    coarse = [_ranges(space, dim, coarse=True) for dim in space.boxed]
    for choice in (fine, coarse):
        if prod(map(len, choice)) <= BOXES:
            return tuple(product(*choice))
    return (space.whole(),)


def _ranges(space: TileSpace, dim: str, *, coarse: bool) -> tuple[tuple[int, int], ...]:
    extent = space.extents[dim]
    if dim in space.concave:
        return ((1, extent),) if coarse else space.pieces(dim)
    if extent <= 3 and not coarse:
        return tuple((n, n) for n in range(1, extent + 1))
    if coarse:
        return ((1, extent - 1), (extent, extent)) if extent > 1 else ((1, 1),)
    ranges = []
    low = 1
    while low < extent:
        high = min(2 * low - 1, extent - 1)
        ranges.append((low, high))
        low = high + 1
    return (*ranges, (extent, extent))


def compatible(space: TileSpace, inner: Box, outer: Box) -> bool:
    """Whether a tile of the inner box fits into some tile of the outer box.

    The bend that two ranges of a piecewise linear dim share counts as the end of the lower one alone, which is always
    there: constraints and imposed tiles may leave a single size, at a bend or at the extent.
    """
    for dim, (low, high), (_, most) in zip(space.boxed, inner, outer, strict=True):
        shared = low == most and low < high and dim in space.concave and low in space.bends(dim)
        if low > most or shared:
            return False
    return True
