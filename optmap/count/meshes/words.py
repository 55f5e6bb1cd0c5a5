"""Words of tiles: how many one holds, how many of them are new after a move, how many children differ.

A tile gives each dim an extent; the words that an operand needs of it are the distinct values of its
subscripts. Subscripts that share a dim, as those of `A[a+b,a]`, are counted together, as one subscript
whose coefficients are far enough apart; the others one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod

from optmap.machines.operands import Operand
from optmap.questions.policy import Footprint
from optmap.workloads.halo import distinct_values, shared_values, span

Term = tuple[int, int, int]
"""(dim, iterations from one index value to the next, index values)."""
Block = tuple[tuple[tuple[int, int], ...], ...]
"""Subscripts that have dims in common, as `Operand.axes` writes them."""


@lru_cache(maxsize=4096)
def blocks(axes: Block) -> tuple[Block, ...]:
    """The subscripts, those that share a dim (through others, too) together."""
    found: list[list[tuple[tuple[int, int], ...]]] = []
    for axis in axes:
        dims = {dim for dim, _ in axis}
        met = [group for group in found if any(dim in dims for other in group for dim, _ in other)]
        found = [group for group in found if group not in met]
        found.append([*(other for group in met for other in group), axis])
    return tuple(tuple(group) for group in found)


def _joined(block: Block, dims: Sequence[int], reach: Sequence[int]) -> tuple[int, ...]:
    """Coefficient per dim of one subscript with a value of its own for every point of a block.

    Args:
        block: subscripts.
        dims: that occur in them.
        reach: per subscript, more than its values can differ by.
    """
    found = dict.fromkeys(dims, 0)
    weight = 1
    for axis, width in zip(block, reach, strict=True):
        for dim, factor in axis:
            found[dim] += weight * factor
        weight *= width
    return tuple(found[dim] for dim in dims)


def _dims(block: Block) -> tuple[int, ...]:
    return tuple(dict.fromkeys(dim for axis in block for dim, _ in axis))


def _block_words(block: Block, terms: tuple[Term, ...]) -> int:
    """Distinct points of a block over index values `sum(step * k)`, 0 <= k < times, of its dims."""
    own = [
        (step, times, dim)
        for dim, step, times in terms
        if times > 1 and any(dim == d for axis in block for d, _ in axis)
    ]
    reach = [1 + sum(dict(axis).get(dim, 0) * step * (times - 1) for step, times, dim in own) for axis in block]
    found = dict(zip(_dims(block), _joined(block, _dims(block), reach), strict=True))
    return distinct_values(tuple(found[dim] * step for step, _, dim in own), tuple(times for _, times, _ in own))


def visited_words(operand: Operand, terms: tuple[Term, ...]) -> int:
    """Distinct words over all index values that the terms reach, gaps between them left out."""
    return prod(_block_words(block, terms) for block in blocks(operand.axes))


@lru_cache(maxsize=65536)
def tile_words(operand: Operand, tile: tuple[int, ...], footprint: Footprint = Footprint.TOUCHED) -> int:
    """Words of an operand that a tile needs.

    Args:
        operand: whose words.
        tile: extent per dim.
        footprint: what each subscript has; values that occur are counted together where subscripts share a dim.
    """
    if footprint is Footprint.TOUCHED:
        return visited_words(operand, tuple((dim, 1, tile[dim]) for dim in sorted(operand.dims)))
    return prod(
        footprint.words(*zip(*((c, tile[dim]) for dim, c in axis), strict=True)) for axis in operand.axes if axis
    )


def _hull(axis: tuple[tuple[int, int], ...], tile: tuple[int, ...]) -> int:
    return span(tuple(factor for _, factor in axis), tuple(tile[dim] for dim, _ in axis))


def moved(operand: Operand, move: tuple[int, ...]) -> tuple[int, ...]:
    """How far each subscript moves when the tile moves that many iterations along every dim."""
    return tuple(sum(factor * move[dim] for dim, factor in axis) for axis in operand.axes)


@lru_cache(maxsize=65536)
def kept_words(operand: Operand, tile: tuple[int, ...], move: tuple[int, ...], footprint: Footprint) -> int:
    """Words that a tile has in common with itself moved.

    Args:
        operand: whose words.
        tile: extent per dim.
        move: iterations along every dim.
        footprint: of the tile, its hull or what it touches.
    """
    shifts = moved(operand, move)
    if footprint is Footprint.HULL:
        both = (_hull(axis, tile) - abs(shift) for axis, shift in zip(operand.axes, shifts, strict=True))
        return prod(max(0, words) for words in both)
    return prod(_block_kept(block, tile, move) for block in blocks(operand.axes))


def _block_kept(block: Block, tile: tuple[int, ...], move: tuple[int, ...]) -> int:
    dims = _dims(block)
    if not dims:
        return 1
    reach = [
        1
        + 2 * sum(factor * (tile[dim] - 1) for dim, factor in axis)
        + abs(sum(factor * move[dim] for dim, factor in axis))
        for axis in block
    ]
    box = tuple(tile[dim] for dim in dims)
    return shared_values(_joined(block, dims, reach), box, box, tuple(move[dim] for dim in dims))


@lru_cache(maxsize=65536)
def groups(operand: Operand, inner: tuple[int, ...], ways: tuple[int, ...]) -> int:
    """Children of a mesh that need different words of an operand.

    All children move alike, so that two of them need the same words at every step if they start at the same ones.

    Args:
        operand: whose words.
        inner: extent per dim of a child's tile.
        ways: children per dim, both axes of the mesh together.
    """
    return visited_words(operand, tuple((dim, inner[dim], ways[dim]) for dim in sorted(operand.dims)))
