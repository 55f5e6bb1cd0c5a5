"""Where the next block of the output begins, and whether the innermost cache keeps what is asked for before it."""

from __future__ import annotations

from collections.abc import Iterable

from optmap.kernels.depthwise_blocks import DepthwiseBlock, each_point, fullest_set, relative
from optmap.kernels.kernel_roles import KernelRoles
from optmap.machines.machine import LevelKind
from optmap.native.code import Buffer
from optmap.native.emit.leaf import Site
from optmap.workloads.access import TensorAccess


def step(buffer: Buffer, offsets: Iterable[tuple[int, int]]) -> int:
    """Elements between two places of a tensor, from (subscript, difference); subscripts in one piece only."""
    strides = {piece.axis: piece.stride for piece in buffer.layout.pieces(buffer.shape) if piece.alone}
    return sum(difference * strides[axis] for axis, difference in offsets if difference)


def next_block(
    site: Site,
    roles: KernelRoles,
    *,
    output: Buffer,
    block: DepthwiseBlock,
    takes: tuple[str, ...],
    reach: dict[str, int],
) -> int:
    """Elements from a block of the output to the one that comes after it, where a loop leads there; else 0.

    Args:
        site: the mapping.
        roles: of the dims.
        output: its buffer.
        block: of a whole register tile.
        takes: dims whose loops at level 0 are the leaf's.
        reach: largest region that the leaf is called with, per dim.
    """
    levels, extents = site.mapping.levels, site.workload.extents
    held = dict.fromkeys(extents, 1) | dict(block.points) | {roles.vector: site.lanes}
    loops = [[(dim, held[dim], reach[dim]) for dim in (*roles.shared, *roles.points, roles.vector)]]
    for number, level in enumerate(levels):
        above = levels[number + 1].tile if number + 1 < len(levels) else extents
        names = [dim for dim in level.permutation if number or dim not in takes]
        loops.append([(dim, level.tile[dim], above[dim]) for dim in names])
    for loop in loops:
        for dim, size, whole in reversed(loop):
            if size < whole:
                return _distance(site, roles, output, dim, size)
    return 0


def _distance(site: Site, roles: KernelRoles, output: Buffer, dim: str, size: int) -> int:
    """Elements that the output moves by when a dim does."""
    axis = next((n for n, each in enumerate(site.workload.output.axes) if dim in each.dims), None)
    if axis is None:
        return 0
    if dim != roles.vector:
        return step(output, [(axis, size)])
    slowest = next(piece for piece in output.layout.pieces(output.shape) if piece.axis == axis)
    return size // slowest.block * slowest.stride


def stays(site: Site, block: DepthwiseBlock, image: TensorAccess, buffer: Buffer) -> bool:
    """Whether the elements of the image that a block reads fit into their sets of the innermost cache.

    Pixels a power of two apart fall into few sets; there what is asked for ahead is gone before it is used, or
    drives out what is. A cache of unknown ways is taken for one without sets.
    """
    cache = next((level for level in site.machine.levels if level.kind is LevelKind.CACHE), None)
    if cache is None:
        return True
    places = []
    for point in each_point(block.points):
        for tap in (tap for group in block.groups for tap in group):
            at = {**point, **dict(zip(block.tapped, tap, strict=True))}
            places.append(step(buffer, enumerate(relative(image, at))) * buffer.bits // 8)
    return fullest_set(places, cache, site.workload.word_bits) <= (cache.ways or 0)
