"""From a real tile to whole numbers in one memory: shrink until it fits, then grow greedily; its best loop order."""

from __future__ import annotations

from collections.abc import Mapping as Values
from functools import lru_cache
from math import floor, prod

from optmap.base.errors import InfeasibleError, InputError
from optmap.base.texts import several
from optmap.workloads.halo import grid_values
from optmap.workloads.workload import TensorAccess, Workload

SHRINK = 0.9
"""Factor by which a dim of a tile that is too large shrinks at least."""


def tile_words(workload: Workload, tile: Values[str, int]) -> int:
    """Words that one tile of every tensor needs together."""
    return sum(workload.weight(t) * t.footprint(tile) for t in workload.tensors)


def tile_loads(workload: Workload, tile: Values[str, int], permutation: tuple[str, ...]) -> int:
    """Words loaded by all tensors; see `tensor_loads`."""
    return sum(tensor_loads(workload, t, tile, permutation) for t in workload.tensors)


def tensor_loads(workload: Workload, tensor: TensorAccess, tile: Values[str, int], permutation: tuple[str, ...]) -> int:
    """Words loaded of one tensor when its tile is loaded whole whenever it changes.

    Loops with one trip are skipped; a tensor stays while the loops inside its innermost dim turn.
    Ragged tiles are counted as they are (as whole ones for a dim in two subscripts); the overlap of
    neighbouring windows is loaded again, so this is an upper estimate, used to compare tiles and
    loop orders.

    Args:
        workload: gives the extents and the words per element.
        tensor: one of its accesses (an accumulating output is loaded on every visit).
        tile: extent per dim.
        permutation: dims, outermost first.
    """
    trips = {d: -(-n // tile[d]) for d, n in workload.sizes}
    return _repeats(tensor, permutation, trips) * _grid_words(workload, tensor, tile, trips)


def round_tile(workload: Workload, tile: Values[str, float], *, capacity_words: int) -> dict[str, int]:
    """A whole-number tile near a real one, of which all tensors fit together.

    The real tile is rounded down. If it is too large (a tiling LP lets each tensor alone fill the
    memory), the dim whose loss costs the fewest loads per word shrinks until everything fits; then
    the dim whose growth saves the most loads per word grows, as long as anything fits.

    Args:
        workload: the computation.
        tile: extent per dim, at least 1.
        capacity_words: words of the memory.

    Raises:
        InputError: if a dim has no extent in the tile.
        InfeasibleError: if not even one iteration fits.
    """
    missing = [d for d in workload.dims if d not in tile]
    if missing:
        raise InputError(f"{workload.title}: the tile has no extent for {', '.join(missing)}")
    smallest = tile_words(workload, dict.fromkeys(workload.dims, 1))
    if smallest > capacity_words:
        raise InfeasibleError(
            f"{workload.title}: one iteration needs {several(smallest, 'word')}, the memory holds {capacity_words:,}; "
            f"use at least {several(smallest, 'word')}"
        )
    # A whole number that came through a logarithm may lie just below itself.
    whole = {d: max(1, min(n, floor(tile[d] * (1 + 1e-9)))) for d, n in workload.sizes}
    return _grown(workload, _shrunk(workload, whole, capacity_words), capacity_words)


def best_permutation(workload: Workload, tile: Values[str, int]) -> tuple[str, ...]:
    """The loop order, among those that keep one tensor stationary, that loads least for a tile.

    Args:
        workload: the computation.
        tile: extent per dim.

    Returns:
        Dims, outermost first. For each tensor the dims that it lacks are innermost, and next to
        them the dims that a second tensor lacks.
    """
    return _best(workload, tile)[1]


def _best(workload: Workload, tile: Values[str, int]) -> tuple[int, tuple[str, ...]]:
    """(loads, order) of the order that loads least, the first of them in a tie."""
    trips = {d: -(-n // tile[d]) for d, n in workload.sizes}
    grids = [(t, _grid_words(workload, t, tile, trips)) for t in workload.tensors]
    return min(
        ((sum(_repeats(t, order, trips) * words for t, words in grids), order) for order in _orders(workload)),
        key=lambda pair: pair[0],
    )


@lru_cache(maxsize=64)
def _orders(workload: Workload) -> tuple[tuple[str, ...], ...]:
    """The loop orders of `best_permutation`."""
    orders = []
    for first in workload.tensors:
        inner = tuple(d for d in workload.dims if d not in first.dims)
        for second in workload.tensors:
            middle = tuple(d for d in workload.dims if d in first.dims and d not in second.dims)
            outer = tuple(d for d in workload.dims if d in first.dims and d in second.dims)
            orders.append(outer + middle + inner)
    return tuple(dict.fromkeys(orders))


def _repeats(tensor: TensorAccess, order: tuple[str, ...], trips: Values[str, int]) -> int:
    """How often the whole tensor is visited: trips of the dims it lacks outside its innermost own loop."""
    looping = [d for d in order if trips[d] > 1]
    own = tensor.dims
    last = max((i for i, d in enumerate(looping) if d in own), default=0)
    return prod(trips[d] for d in looping[:last] if d not in own)


def _grid_words(workload: Workload, tensor: TensorAccess, tile: Values[str, int], trips: Values[str, int]) -> int:
    """Words of all tiles of a tensor together, ragged ones as they are, halos once per tile."""
    if len(tensor.dims) < sum(len(axis.terms) for axis in tensor.axes):
        elements = tensor.footprint(tile) * prod(trips[d] for d in tensor.dims)
    else:
        extents = workload.extents
        elements = prod(
            grid_values(
                tuple(c for _, c in axis.terms), tuple(extents[d] for d in axis.dims), tuple(tile[d] for d in axis.dims)
            )
            for axis in tensor.axes
        )
    return workload.weight(tensor) * elements


def _shrunk(workload: Workload, tile: dict[str, int], capacity_words: int) -> dict[str, int]:
    """Shrink one dim at a time, by a tenth or to the next extent with more trips, until all fits."""
    words = tile_words(workload, tile)
    while words > capacity_words:
        loads = _best(workload, tile)[0]
        choices = []
        for dim, extent in workload.sizes:
            if tile[dim] > 1:
                trips = -(-extent // min(tile[dim] - 1, floor(SHRINK * tile[dim]) or 1))
                smaller = {**tile, dim: -(-extent // trips)}
                freed = words - tile_words(workload, smaller)
                choices.append(((_best(workload, smaller)[0] - loads) / max(1, freed), dim, smaller))
        _, _, tile = min(choices, key=lambda choice: choice[:2])
        words = tile_words(workload, tile)
    return tile


def _grown(workload: Workload, tile: dict[str, int], capacity_words: int) -> dict[str, int]:
    """Grow one dim at a time to the next extent with fewer trips while anything fits."""
    while True:
        loads, words = _best(workload, tile)[0], tile_words(workload, tile)
        choices = []
        for dim, extent in workload.sizes:
            trips = -(-extent // tile[dim])
            if trips == 1:
                continue
            larger = {**tile, dim: -(-extent // (trips - 1))}
            needed = tile_words(workload, larger)
            if needed <= capacity_words:
                saved = loads - _best(workload, larger)[0]
                choices.append((saved / max(1, needed - words), dim, larger))
        if not choices:
            return tile
        _, _, tile = max(choices, key=lambda choice: choice[:2])
