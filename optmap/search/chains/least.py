"""What mappings of a pair move at least, given a tile and what stays: of what is above a known mapping none is made.

*Fused*, given inner tiles. With `room` words left by what stays of the inner side, outer tiles of which `tile` words an
index stay and a block with `line` words an index, p pinned indices of c words each of an operand with n indices leave
    block * (tile + line) + p*c <= room,    and    outer tile * tile + line + p*c <= room.
So of an operand that comes with every block, or with every outer tile, at least (n - p) * (extent / size - 1) words an
index come again. Where all of it does not fit (n*c >= room) this grows with p, hence is at least what it is for p = 0,
size being as large as it may be; and in any case at least what it is for the largest p, with whole numbers of visits.

*A product by itself*, given tiles of one group of the tensor that stays: no tile of the other group is larger than what
fits, and no more indices are pinned. Where the third group has one iteration what streams may still be there when the
same is needed again: it comes once, at least.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from optmap.base.arrays import Floats, Ints
from optmap.search.chains.pair import PairOperand, ProductPair

STAYS = tuple(product((False, True), repeat=4))
"""Which operands may stay: those of the outer side, then of the inner side, that of the first statement first."""
ROUNDED = 1e-9
"""Share that floats are less than what they stand for, at least."""


def least_words(pair: ProductPair, memory: int, outer: int, inner: Ints) -> Floats:
    """Words that fused mappings move at least for one iteration of what goes through everything.

    Args:
        pair: two products.
        memory: words that fit.
        outer: number of the side with the outer tiles.
        inner: sizes of inner tiles.

    Returns:
        Per entry of `STAYS` and inner tile; infinity where nothing fits.
    """
    out, inn = pair.sides[outer], pair.sides[1 - outer]
    depths = (pair.depth, pair.width)
    stays = np.array(STAYS)
    costs = np.array([each.words * size for each, size in zip((out.first, out.second), depths, strict=True)])
    others = np.array([each.words * size for each, size in zip((inn.first, inn.second), depths, strict=True)])
    tile, line = (stays[:, :2] @ costs)[:, None], inner * pair.shared.words
    room = memory - (stays[:, 2:] @ others)[:, None] * inner
    inners = -(-inn.extent // inner)
    words = np.zeros(room.shape)
    for i, (each, size) in enumerate(zip((out.first, out.second), depths, strict=True)):
        words += out.extent * size * each.moved(np.where(stays[:, i, None], 1, inners))
    for i, (each, size) in enumerate(zip((inn.first, inn.second), depths, strict=True)):
        kept = stays[:, 2 + i, None]
        free, index = np.where(kept, room - line, room), np.where(kept, tile, tile + line)
        again = _again((out.extent, inn.extent), (free, index), (room - line - tile, int(others[i])))
        again = np.where(kept & (inners == 1), 0, again)
        words += size * each.words * (inn.extent * (each.moves - each.free) + each.moves * again)
    return np.where(room >= line + tile, np.ceil(words * (1 - ROUNDED)), np.inf)


def _again(extents: tuple[int, int], sizes: tuple[Ints, Ints], pinned: tuple[Ints, int]) -> Floats:
    """How often an index of an operand comes again at least, of all its indices together.

    Args:
        extents: of the outer side, and of the inner side.
        sizes: words that are free for what the operand comes with, and for pinned indices; and words of an index of
            what it comes with.
        pinned: words that pinned indices may have at most, and words of one.
    """
    (extent, indices), (free, index), (left, cost) = extents, sizes, pinned
    most = np.clip(free // np.maximum(index, 1), 1, extent)
    most = np.where(index > 0, most, extent)
    whole = (indices - np.minimum(indices, np.maximum(left, 0) // max(cost, 1))) * (-(-extent // most) - 1)
    share = np.maximum(extent * index / np.maximum(free, 1) - 1, 0)
    return np.asarray(np.maximum(whole, np.where(indices * cost >= free, indices * share, 0)), float)


def least_alone(operands: Sequence[PairOperand], extents: Sequence[int], memory: int, tiles: Ints) -> Floats:
    """Words that mappings of a product by itself move at least.

    Args:
        operands: the tensor of which a tile stays, the one with its first group, the one with its second one.
        extents: of its groups, and of the third one.
        memory: words that fit.
        tiles: sizes of tiles of the first group.

    Returns:
        Per tile; infinity where nothing fits.
    """
    (own, near, far), (length, breadth, depth) = operands, extents
    room = memory - near.words - far.words
    most = np.clip(room // np.maximum(tiles * own.words, 1), 0, breadth) if own.words else np.full_like(tiles, breadth)
    pinned = np.clip((room - tiles * own.words) // max(far.words * depth, 1), 0, breadth)
    some, again = (-(-breadth // np.maximum(most, 1)), -(-length // tiles))
    if depth == 1:
        some, again = np.ones_like(tiles), np.ones_like(tiles)
    words = length * breadth * own.moved(1) + length * depth * near.moved(some)
    words += depth * (pinned * far.moved(1) + (breadth - pinned) * far.moved(again))
    return np.where((most > 0) & (room >= tiles * own.words), words, np.inf)
