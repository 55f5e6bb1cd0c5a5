"""Register tiles for a vector kernel, those with the cheapest steps first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import prod

from optmap.count.timing.kernel import kernel_cycles
from optmap.kernels.code_options import ActivationLayout
from optmap.kernels.depthwise_blocks import depthwise_block, lines_per_set
from optmap.kernels.kernel_roles import KernelKind, KernelRoles, RegisterShape
from optmap.machines.core import Core
from optmap.machines.machine import Level
from optmap.mappings.levels import LevelMapping, Mapping
from optmap.workloads import halo
from optmap.workloads.workload import Workload

SHAPES_PER_WIDTH = 2
"""Register tiles of each number of vectors around which loops are searched."""
MOST_SHAPES = 8
"""Register tiles around which loops are searched."""
WORTH = 1.12
"""Steps of a tile may cost so much more than those of the cheapest, since it may move less."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedShape:
    """A register tile with the cycles of its kernel where nothing is split or cut further."""

    tile: dict[str, int]
    cycles: float


def free_dims(roles: KernelRoles) -> tuple[str, ...]:
    """The dims of the output that a register tile spreads over beside the vector dim: two at most, the last ones.

    Where vectors run along rows: the last one, whose rows share what they read.
    """
    if roles.apart is not None:
        return roles.points[-1:]
    return (roles.points or roles.filters or roles.shared)[-2:]


def shapes(
    workload: Workload,
    roles: KernelRoles,
    core: Core,
    *,
    layout: ActivationLayout = ActivationLayout.NHWC,
    cache: Level | None = None,
) -> tuple[TimedShape, ...]:
    """Register tiles worth a search, the cheapest first; among equal ones the one that loads less.

    Args:
        workload: what is computed.
        roles: of its dims.
        core: whose registers limit them.
        layout: of image and output.
        cache: the innermost one, if channels lie side by side: pixels a power of two apart crowd its sets.
    """
    found = []
    for tile in _tiles(workload, roles, core):
        kernel = kernel_cycles(workload, alone(workload, roles, tile), core, layout)
        found.append((kernel.cycles, kernel.loads, sorted(tile.items()), tile))
    found.sort(key=lambda each: each[:3])
    limit = found[0][0] * WORTH if found else 0.0
    cheap = [TimedShape(tile=tile, cycles=cycles) for cycles, _, _, tile in found if cycles <= limit]
    if roles.kind is KernelKind.DEPTHWISE:
        return _least_read(workload, roles, core, cheap, cache)
    widths, ranks = Counter[int](), []
    for place, shape in enumerate(cheap):
        width = shape.tile[roles.vector]
        if widths[width] < SHAPES_PER_WIDTH:
            ranks.append((widths[width], place, shape))
            widths[width] += 1
    kept = sorted(ranks, key=lambda each: each[:2])[:MOST_SHAPES]  # the best of each number of vectors before others
    return tuple(shape for _, _, shape in sorted(kept, key=lambda each: each[1]))


def _least_read(
    workload: Workload, roles: KernelRoles, core: Core, cheap: list[TimedShape], cache: Level | None
) -> tuple[TimedShape, ...]:
    """Tiles of a depthwise kernel, whose steps are few for what they read: those that load least, none wider than tall.

    What a tile shares with the row of tiles below is met again much later than what it shares with the next. Where
    some tiles fit into their sets of the innermost cache, others, which drive out their own elements, are left aside.
    """

    def roomy(shape: TimedShape) -> bool:
        if cache is None or cache.ways is None:
            return True
        block = depthwise_block(workload, roles, shape.tile, workload.extents, core)
        return lines_per_set(workload, roles, block, cache) <= cache.ways

    free = free_dims(roles)
    tall = [shape for shape in cheap if not free or shape.tile[free[0]] >= shape.tile[free[-1]]] or cheap
    chosen = [shape for shape in tall if roomy(shape)] or tall
    chosen.sort(
        key=lambda each: (
            _block_loads(workload, roles, core, each.tile),
            each.cycles,
            [-each.tile[dim] for dim in free],
        )
    )
    return tuple(chosen[: MOST_SHAPES // 2])


def _block_loads(workload: Workload, roles: KernelRoles, core: Core, tile: dict[str, int]) -> int:
    """Vectors that a depthwise kernel loads for one vector of the whole output."""
    extents = workload.extents
    cuts = [[(dim, *each) for each in halo.ragged(extents[dim], tile[dim])] for dim in roles.points]
    total = 0
    for part in product(*cuts):
        block = depthwise_block(workload, roles, {dim: size for dim, size, _ in part}, extents, core)
        total += block.loads * prod(times for _, _, times in part)
    return total


def alone(workload: Workload, roles: KernelRoles, tile: dict[str, int]) -> Mapping:
    """A register tile under one level of loops, reductions innermost."""
    order = tuple(dim for dim in workload.dims if dim not in roles.reduction) + roles.reduction
    return Mapping(levels=(LevelMapping(level="registers", tile=tile, permutation=order, spatial={}),))


def _tiles(workload: Workload, roles: KernelRoles, core: Core) -> Iterator[dict[str, int]]:
    """Tiles that fit the registers: for every number of vectors, balanced cuts of a dim, or of whole rows of it.

    Neighbours in both directions share elements in a depthwise kernel: there rows are cut, too. So they are for one
    vector, which reads as many elements as it multiplies: of a tile of two rows they come from fewer lines. Tall tiles
    are left out, whose rows are far apart in memory.
    """
    lanes, extents, free = core.lanes(workload.output.bits), workload.extents, free_dims(roles)
    whole = -(-extents[roles.vector] // lanes)
    depthwise = roles.kind is KernelKind.DEPTHWISE
    for vectors in [1] if depthwise else sorted(even_cuts_up_to(whole, core.registers)):
        columns = even_cuts_up_to(extents[free[-1]], core.registers) if free else [1]
        rows = even_cuts_up_to(extents[free[0]], core.registers) if len(free) > 1 else [1]
        for column in columns:
            for row in rows:
                shape = RegisterShape(vectors=vectors, points=column * row)
                if shape.registers > core.registers:
                    continue
                if row > 1 and column < extents[free[-1]] and not depthwise and (vectors > 1 or row > column):
                    continue
                tile = dict.fromkeys(workload.dims, 1)
                tile[roles.vector] = min(vectors * lanes, extents[roles.vector])
                tile |= dict(zip(free, (row, column)[-len(free) :], strict=True)) if free else {}
                if depthwise and depthwise_block(workload, roles, tile, extents, core).sums < shape.points:
                    continue  # the kernel cuts it
                yield tile


def even_cuts_up_to(extent: int, largest: int) -> list[int]:
    """Sizes that cut an extent into so many tiles as even as can be, falling: those that are not above one."""
    found = {-(-extent // -(-extent // size)) for size in range(1, min(extent, largest) + 1)}
    return sorted(found, reverse=True)
