"""How large the space of tiles and unrollings is with all dims and with the reuse dims (in the manner of Table I)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import prod

from optmap.machines.fabric import Fabric
from optmap.search.sunstone.order_trie import trie_of
from optmap.search.sunstone.tiling_tree import grown_dims
from optmap.search.sunstone.unrolling import rejected_dims
from optmap.symbolic.numbers import divisors_of

Caps = tuple[int, ...]
"""Per place of a factor the largest that may stand there; 0 for any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceSize:
    """Dims and size of a space of tiles and unrollings; capacities, orders and bypass are not in it."""

    tile_dims: int
    """Dims that build the tile of a memory, at most over the orders."""
    unrolled_dims: int
    """Dims that may be unrolled on a mesh, at most over the orders."""
    size: int
    """Ways to divide the extents over loops and meshes, for every choice of operands that the orders reuse."""


def space_sizes(fabric: Fabric) -> tuple[SpaceSize, SpaceSize]:
    """The space with all dims at every memory, and with those that the principles leave.

    With places S_d of a dim (loops of memories where it grows, axes of meshes where it is unrolled, and the outermost
    loops), size = sum over choices of prod over d of f(D_d, S_d), f the ordered factorisations with each factor on an
    axis at most its size. A choice is what the order outside each bounded memory reuses. The size of a mesh caps every
    dim by itself, so both sizes are above the true ones.

    Args:
        fabric: the machine as the workload sees it.
    """
    dims = len(fabric.dims)
    wide = frozenset(dim for dim, size in enumerate(fabric.extents) if size > 1)
    trie = trie_of(sorted(wide), list(enumerate(fabric.operands)), wide)
    kinds = tuple(dict.fromkeys(node.stationary for node in trie.nodes))
    grown = [grown_dims(fabric.operands, kind, dims) & wide for kind in kinds]
    unrolled = [wide - rejected_dims(fabric.operands, kind, dims) for kind in kinds]
    bounded = len(fabric.memories) - 1
    every = _size(fabric, [wide] * bounded, [wide] * (bounded + 1))
    reuse = sum(
        _size(fabric, [grown[c] for c in choice], [wide, *(unrolled[c] for c in choice)])
        for choice in product(range(len(kinds)), repeat=bounded)
    )
    return (
        SpaceSize(tile_dims=len(wide), unrolled_dims=len(wide), size=every),
        SpaceSize(tile_dims=max(map(len, grown)), unrolled_dims=max(map(len, unrolled)), size=reuse),
    )


def _size(fabric: Fabric, grown: Sequence[frozenset[int]], unrolled: Sequence[frozenset[int]]) -> int:
    found = []
    for dim, extent in enumerate(fabric.extents):
        loops = [0 for number, dims in enumerate(grown) if dim in dims and fabric.memories[number].entries(dim)]
        axes = [
            axis.size
            for memory, dims in zip(fabric.memories, unrolled, strict=True)
            for axis in (memory.x, memory.y)
            if axis.size > 1 and axis.allowed[dim] and dim in dims
        ]
        found.append(_factorisations(extent, (*axes, *loops)))
    return prod(found)


@lru_cache(maxsize=65536)
def _factorisations(number: int, caps: Caps) -> int:
    """Ways to take a factor for each place, the rest going to the outermost loops."""
    if not caps:
        return 1
    return sum(
        _factorisations(number // own, caps[1:]) for own in divisors_of(number) if caps[0] == 0 or own <= caps[0]
    )
