"""A tile of whole numbers near the shape of a closed form, of which all tensors fit together, and what it moves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from optmap.base.errors import InfeasibleError
from optmap.count.levels.whole_nest import exact_traffic
from optmap.files.inputs import machine_of
from optmap.mappings.levels import LevelMapping
from optmap.mappings.levels import Mapping as Tiles
from optmap.programs.parametric_tiling import ParametricTiling
from optmap.programs.rounding import best_permutation, round_tile, tile_words
from optmap.workloads.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedTile:
    """A tile that a memory holds, with the loads of its mapping."""

    sizes: dict[str, int]
    """Extent per dim."""
    words: int
    """Of one tile of every tensor, together at most the memory."""
    permutation: tuple[str, ...]
    """Loops over tiles, outermost first."""
    loads_words: int
    """That the mapping moves into the memory, counted exactly."""


def fitted_tile(
    workload: Workload, tiling: ParametricTiling, shape: Mapping[str, float], memory_words: int
) -> FittedTile | None:
    """The shape of a tile in whole numbers, made smaller until all tensors fit; None if not one element of each does.

    Args:
        workload: with its extents.
        tiling: says of which dims the digits of the shape are.
        shape: extent per dim or digit, real numbers.
        memory_words: of the memory.
    """
    real = {dim: prod(shape[d.name] for d in tiling.digits if d.dim == dim) for dim in workload.dims}
    try:
        sizes = round_tile(workload, real, capacity_words=memory_words)
    except InfeasibleError:
        return None
    machine, order = machine_of(None, f"{memory_words}w"), best_permutation(workload, sizes)
    level = LevelMapping(level=machine.levels[0].name, tile=sizes, permutation=order, spatial={})
    moved = exact_traffic(workload, machine, Tiles(levels=(level,)))
    return FittedTile(
        sizes=sizes,
        words=tile_words(workload, sizes),
        permutation=order,
        loads_words=sum(row.loads_words for row in moved),
    )
