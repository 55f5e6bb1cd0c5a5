"""Register tiles for a vector kernel, those with the cheapest steps first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import prod

from optmap.evaluate import kernel_cycles
from optmap.problem import halo
from optmap.problem.depthwise_blocks import depthwise_block
from optmap.problem.kernel_roles import KernelKind, KernelRoles, RegisterShape
from optmap.problem.machine import Core
from optmap.problem.mapping import LevelMapping, Mapping
from optmap.problem.workload import Workload

SHAPES_PER_WIDTH = 2
"""Register tiles of each number of vectors around which loops are searched."""
MOST_SHAPES = 8
"""Register tiles around which loops are searched."""
WORTH = 1.12
"""Steps of a tile may cost so much more than those of the cheapest, since it may move less."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A register tile with the cycles of its kernel where nothing is split or cut further."""

    tile: dict[str, int]
    cycles: float


def free_dims(roles: KernelRoles) -> tuple[str, ...]:
    """The dims of the output that a register tile spreads over beside the vector dim: two at most, the last ones."""
    return (roles.points or roles.filters or roles.shared)[-2:]


def shapes(workload: Workload, roles: KernelRoles, core: Core) -> tuple[Shape, ...]:
    """Register tiles worth a search, the cheapest first; among equal ones the one that loads less.

    Steps of a depthwise kernel cost the same in all large tiles, and they are few for what they read: of tiles about as
    cheap as the cheapest those come first that load least, and there is one vector, as the kernel takes them.

    Args:
        workload: what is computed.
        roles: of its dims.
        core: whose registers limit them.
    """
    found = []
    depthwise = roles.kind is KernelKind.DEPTHWISE
    for tile in _tiles(workload, roles, core):
        kernel = kernel_cycles(workload, alone(workload, roles, tile), core)
        loads = _block_loads(workload, roles, core, tile) if depthwise else kernel.loads
        found.append((kernel.cycles, loads, sorted(tile.items()), tile))
    limit = min((each[0] for each in found), default=0.0) * WORTH
    if depthwise:  # among equal ones the taller: what rows of tiles share is met again later than what columns do
        found.sort(key=lambda each: (each[1], each[0], [-each[3][dim] for dim in free_dims(roles)]))
    else:
        found.sort(key=lambda each: each[:3])
    most = MOST_SHAPES // 2 if depthwise else SHAPES_PER_WIDTH
    widths, ranks = Counter[int](), []
    for place, (cycles, _, _, tile) in enumerate(found):
        if cycles <= limit and widths[tile[roles.vector]] < most:
            ranks.append((widths[tile[roles.vector]], place, Shape(tile=tile, cycles=cycles)))
            widths[tile[roles.vector]] += 1
    kept = sorted(ranks, key=lambda each: each[:2])[:MOST_SHAPES]  # the best of each number of vectors before others
    return tuple(shape for _, _, shape in sorted(kept, key=lambda each: each[1]))


def _block_loads(workload: Workload, roles: KernelRoles, core: Core, tile: dict[str, int]) -> int:
    """Vectors that a depthwise kernel loads for one vector of the whole output."""
    extents = workload.extents
    cuts = [[(dim, *each) for each in halo.pieces(extents[dim], tile[dim])] for dim in roles.points]
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
    vector, which reads as many elements as it multiplies: of a tile of two rows they come from fewer lines.
    """
    lanes, extents, free = core.lanes(workload.output.bits), workload.extents, free_dims(roles)
    whole = -(-extents[roles.vector] // lanes)
    depthwise = roles.kind is KernelKind.DEPTHWISE
    for vectors in [1] if depthwise else sorted({cut for cut in balanced(whole) if cut <= core.registers}):
        columns = balanced(extents[free[-1]]) if free else [1]
        rows = balanced(extents[free[0]]) if len(free) > 1 else [1]
        for column in columns:
            for row in rows:
                shape = RegisterShape(vectors=vectors, points=column * row)
                if shape.registers > core.registers or (row > 1 and column < extents[free[-1]] and vectors > 1):
                    continue
                tile = dict.fromkeys(workload.dims, 1)
                tile[roles.vector] = min(vectors * lanes, extents[roles.vector])
                tile |= dict(zip(free, (row, column)[-len(free) :], strict=True)) if free else {}
                if depthwise and depthwise_block(workload, roles, tile, extents, core).sums < shape.points:
                    continue  # the kernel cuts it
                yield tile


def balanced(extent: int, most: int | None = None) -> list[int]:
    """Sizes that cut an extent into so many pieces as even as can be, each once, falling.

    Args:
        extent: to be cut.
        most: pieces to go up to; None for all.
    """
    sizes: list[int] = []
    for pieces in range(1, min(extent, most or extent) + 1):
        size = -(-extent // pieces)
        if not sizes or size < sizes[-1]:
            sizes.append(size)
    return sizes
