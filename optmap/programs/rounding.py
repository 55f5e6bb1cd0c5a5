"""From a real tile to a valid integer mapping of one level: shrink until it fits, then grow greedily."""

from __future__ import annotations

from collections.abc import Mapping as Values
from math import floor, prod

from optmap.errors import InfeasibleError, InputError
from optmap.problem.dataflow import reuse
from optmap.problem.mapping import LevelMapping, Mapping
from optmap.problem.workload import TensorAccess, Workload

BISECTIONS = 40
"""Halvings of the exponent with which a tile that is too large is shrunk."""


def tile_words(workload: Workload, tile: Values[str, int]) -> int:
    """Words that one tile of every tensor needs together."""
    return sum(workload.weight(t) * t.footprint(tile) for t in workload.tensors)


def tile_loads(workload: Workload, tile: Values[str, int], permutation: tuple[str, ...]) -> int:
    """Words loaded when every tile of a tensor is loaded whole whenever it changes.

    Loops with one trip are skipped; a tensor stays while the loops inside its innermost dim turn.
    Ragged tiles count as whole ones and the overlap of neighbouring windows as loaded twice, so
    this is an upper estimate, used to compare tiles and loop orders.

    Args:
        workload: the computation (an accumulating output is loaded on every visit).
        tile: extent per dim.
        permutation: dims, outermost first.
    """
    trips = {d: -(-n // tile[d]) for d, n in workload.sizes}
    looping = tuple(d for d in permutation if trips[d] > 1)
    return sum(_visits(t, looping, trips) * workload.weight(t) * t.footprint(tile) for t in workload.tensors)


def round_tile(workload: Workload, tile: Values[str, float], *, capacity_words: int) -> dict[str, int]:
    """A whole-number tile near a real one, of which all tensors fit together.

    The real tile is rounded down; if it is too large (a tiling LP lets each tensor alone fill the
    memory), all extents are first raised to the largest common power below 1 at which it fits.
    Then the dim whose growth lowers the loads most per added word grows, as long as anything fits.

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
        raise InputError(f"{workload.name}: the tile has no extent for {', '.join(missing)}")
    smallest = tile_words(workload, dict.fromkeys(workload.dims, 1))
    if smallest > capacity_words:
        raise InfeasibleError(
            f"{workload.name}: one iteration needs {smallest:,} words, the memory holds {capacity_words:,}; "
            f"use at least {smallest:,} words"
        )
    found = _floored(workload, tile, 1.0)
    if tile_words(workload, found) > capacity_words:
        low, high = 0.0, 1.0
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            fits = tile_words(workload, _floored(workload, tile, middle)) <= capacity_words
            low, high = (middle, high) if fits else (low, middle)
        found = _floored(workload, tile, low)
    return _grown(workload, found, capacity_words)


def best_permutation(workload: Workload, tile: Values[str, int]) -> tuple[str, ...]:
    """The loop order, among those that keep one tensor stationary, that loads least for a tile.

    Args:
        workload: the computation.
        tile: extent per dim.

    Returns:
        Dims, outermost first. For each tensor the dims that it lacks are innermost, and next to
        them the dims that a second tensor lacks.
    """
    orders = []
    for first in workload.tensors:
        inner = tuple(d for d in workload.dims if d not in first.dims)
        for second in workload.tensors:
            middle = tuple(d for d in workload.dims if d in first.dims and d not in second.dims)
            outer = tuple(d for d in workload.dims if d in first.dims and d in second.dims)
            orders.append(outer + middle + inner)
    return min(dict.fromkeys(orders), key=lambda order: tile_loads(workload, tile, order))


def rounded_mapping(
    workload: Workload, tile: Values[str, float], *, capacity_words: int, level: str = "Fast"
) -> Mapping:
    """A valid one-level mapping near a real tile.

    Args:
        workload: the computation.
        tile: extent per dim, such as a vertex of a tiling LP.
        capacity_words: words of the memory.
        level: name of the bounded level.

    Raises:
        InputError: if a dim has no extent in the tile.
        InfeasibleError: if not even one iteration fits.
    """
    whole = round_tile(workload, tile, capacity_words=capacity_words)
    order = best_permutation(workload, whole)
    return Mapping(levels=(LevelMapping(level=level, tile=whole, permutation=order, spatial={}),))


def _visits(tensor: TensorAccess, looping: tuple[str, ...], trips: Values[str, int]) -> int:
    flow = reuse(tensor, looping)
    return 1 if flow.at is None else prod(trips[d] for d in looping if d not in flow.inside)


def _floored(workload: Workload, tile: Values[str, float], power: float) -> dict[str, int]:
    # A whole number that came through a logarithm may lie just below itself.
    return {d: max(1, min(n, floor(tile[d] ** power * (1 + 1e-9)))) for d, n in workload.sizes}


def _grown(workload: Workload, tile: dict[str, int], capacity_words: int) -> dict[str, int]:
    """Grow one dim at a time to the next extent with fewer trips; finally fill what is left."""
    while True:
        loads = tile_loads(workload, tile, best_permutation(workload, tile))
        words = tile_words(workload, tile)
        best: tuple[float, dict[str, int]] | None = None
        for dim, extent in workload.sizes:
            trips = -(-extent // tile[dim])
            if trips == 1:
                continue
            larger = {**tile, dim: -(-extent // (trips - 1))}
            needed = tile_words(workload, larger)
            if needed > capacity_words:
                continue
            saved = loads - tile_loads(workload, larger, best_permutation(workload, larger))
            rate = saved / max(1, needed - words)
            if best is None or rate > best[0]:
                best = (rate, larger)
        if best is None:
            return tile
        tile = best[1]
