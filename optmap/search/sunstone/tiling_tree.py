"""Tiles of one memory as a tree that grows one dim at a time to its next larger divisor (section IV-B)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from optmap.base.arrays import Flags, Ints
from optmap.machines.operands import Operand
from optmap.search.space.sizes import maximal
from optmap.symbolic.numbers import divisors_of


def grown_dims(operands: Sequence[Operand], stationary: frozenset[int], dims: int) -> frozenset[int]:
    """The dims that tiles grow along: those that index an operand that the order reuses (Tiling Principle).

    Words that enter are, for each tensor, tile(T) * product of n_d over the loops outside its reuse; of the reused
    operand they are the whole tensor whatever the tile, of the others each indexing dim of the reused one that is
    not one of theirs multiplies by n_d = D / d: so d should grow, other dims need not.

    Args:
        operands: of the workload.
        stationary: those that are reused; without any, all dims grow.
        dims: how many there are.
    """
    if not stationary:
        return frozenset(range(dims))
    return frozenset().union(*(operands[number].dims for number in stationary))


def tile_grid(rest: Sequence[int], dims: frozenset[int]) -> tuple[Ints, tuple[int, ...]]:
    """All nodes of the tree: every divisor of every dim that grows.

    Returns:
        (nodes, dims) factors in C order of the shape, and the shape, the divisors per dim.
    """
    choices = [np.array(divisors_of(size) if dim in dims else (1,), np.int64) for dim, size in enumerate(rest)]
    grid = np.meshgrid(*choices, indexing="ij")
    return np.stack([part.ravel() for part in grid], axis=1), tuple(len(own) for own in choices)


def tiles_of(
    rest: Sequence[int],
    dims: frozenset[int],
    feasible: Callable[[Ints], Flags],
    *,
    principle: bool,
    count: Callable[[str, int, int], None],
) -> Ints:
    """The factors by which a memory's tile is worth growing, (tiles, dims).

    Args:
        rest: what is left of each dim.
        dims: that grow.
        feasible: whether a memory holds the tile of some factors, and its rules admit it.
        principle: whether only the largest are kept.
        count: takes a rule, what it saw and what it cut.
    """
    grid, shape = tile_grid(rest, dims)
    nodes = prod(len(divisors_of(size)) for size in rest)
    count("tiles: reuse dims", nodes, nodes - len(grid))
    fits = feasible(grid)
    count("tiles: capacity and rules", len(grid), len(grid) - int(fits.sum()))
    if not principle:
        return grid[fits]
    # The Tiling Principle: T goes if T' = T with the next larger divisor d' > d for one d fits, too.
    kept: Flags = maximal(fits.reshape(shape)).ravel()
    count("tiles: tiling principle", int(fits.sum()), int(fits.sum() - kept.sum()))
    return grid[kept]
