"""Tilings drawn from all that fit, good and bad: what a model is held against (MOpt section 9)."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product
from math import prod

from optmap.base.errors import InputError, LimitError
from optmap.kernels.kernel_roles import RegisterShape, kernel_roles
from optmap.loop_orders import dataflow_classes
from optmap.machines.machine import Level, LevelKind, Machine
from optmap.mappings.levels import LevelMapping, Mapping
from optmap.search.space.sizes import even_cuts
from optmap.workloads.workload import Workload

TRIES = 400
"""Draws per wanted sample, before fewer are handed back."""
Tile = dict[str, int]


def sample_mappings(workload: Workload, machine: Machine, count: int, *, seed: int = 0) -> tuple[Mapping, ...]:
    """Different mappings for one thread, drawn at random from all that fit.

    Registers: any tile of a microkernel that fits, with enough sums to keep the units busy (`register_tiles`); its
    reduction loops are innermost. Every other level: a loop order of any dataflow class of the workload (for a
    convolution the eight of MOpt), and a size per dim that cuts the extent evenly into whole tiles of the level
    inside, any of these cuts as likely as the others. A draw counts if one tile of every tensor fits into every level,
    so good and bad ones come as they are in that space; drawing goes on until there are enough that differ in more
    than loops that run once.

    Args:
        workload: what is computed.
        machine: its levels; level 0 is registers unless it is a cache.
        count: of mappings that are wanted.
        seed: the same one gives the same mappings.

    Returns:
        Fewer than `count` if no more were found in `TRIES` draws each.

    Raises:
        InputError: for a count below one.
        LimitError: if no draw fits.
    """
    if count < 1:
        raise InputError(f"{count} samples; at least one is needed")
    drawn = _Drawing(workload, machine, seed)
    found: dict[object, Mapping] = {}
    for _ in range(TRIES * count):
        mapping = drawn.mapping()
        if mapping is not None:
            found.setdefault(_code(workload, mapping), mapping)
        if len(found) == count:
            break
    if not found:
        raise LimitError(
            f"{workload.title}: none of {TRIES * count:,} random tilings fits machine {machine.name}; "
            "its innermost levels are too small for a tile of every tensor"
        )
    return tuple(found.values())


def register_tiles(workload: Workload, machine: Machine) -> tuple[tuple[Tile, ...], ...]:
    """Tiles of a microkernel that fit the registers, grouped by their number of vectors.

    Vectors and points are even cuts of their extents. Sums, weights of a step and one image element fit the
    registers, and there are as many sums as multiply-adds under way (latency times ports, MOpt section 6), where the
    extents have so many.

    Args:
        workload: what is computed.
        machine: its core.

    Returns:
        () without a core, or if the workload has no microkernel.
    """
    roles, core = kernel_roles(workload), machine.core
    if roles is None or core is None:
        return ()
    extents, lanes = workload.extents, core.lanes(workload.output.bits)
    one = dict.fromkeys(workload.dims, 1)
    groups: dict[int, list[tuple[int, Tile]]] = {}
    for vectors in even_cuts(-(-extents[roles.vector] // lanes)):
        for sizes in product(*(even_cuts(extents[dim]) for dim in roles.points)):
            shape = RegisterShape(vectors=vectors, points=prod(sizes))
            if shape.registers <= core.registers:
                width = min(vectors * lanes, extents[roles.vector])
                tile = one | {roles.vector: width} | dict(zip(roles.points, sizes, strict=True))
                groups.setdefault(vectors, []).append((vectors * prod(sizes), tile))
    most = max(sums for group in groups.values() for sums, _ in group)
    busy = min(core.fma_latency * core.fma_ports, most)
    kept = (tuple(tile for sums, tile in group if sums >= busy) for group in groups.values())
    return tuple(group for group in kept if group)


class _Drawing:
    """Draws mappings of one workload."""

    def __init__(self, workload: Workload, machine: Machine, seed: int) -> None:
        self._workload = workload
        self._levels = machine.levels
        self._random = random.Random(f"{seed} {workload.expression} {workload.sizes}")
        self._orders = [each.representative for each in dataflow_classes(workload).classes]
        self._registers = register_tiles(workload, machine)

    def mapping(self) -> Mapping | None:
        """One draw; None if it does not fit."""
        sizes = self._sizes()
        if not all(self._fits(level, tile) for level, tile in zip(self._levels, sizes, strict=True)):
            return None
        orders = [self._random.choice(self._orders) for _ in sizes]
        if self._levels[0].kind is not LevelKind.CACHE:
            orders[0] = self._kernel_order()
        return Mapping(
            levels=tuple(
                LevelMapping(level=level.name, tile=tile, permutation=order, spatial={})
                for level, tile, order in zip(self._levels, sizes, orders, strict=True)
            )
        )

    def _sizes(self) -> list[Tile]:
        """A tile per level, inner first."""
        tiles = [self._random.choice(self._random.choice(self._registers))] if self._registers else []
        inner = tiles[0] if tiles else dict.fromkeys(self._workload.dims, 1)
        number = len(self._levels) - len(tiles)
        ladders = {dim: self._ladder(inner[dim], extent, number) for dim, extent in self._workload.sizes}
        return tiles + [{dim: ladder[at] for dim, ladder in ladders.items()} for at in range(number)]

    def _ladder(self, inner: int, extent: int, number: int) -> list[int]:
        """Sizes of one dim at the levels, ascending."""
        found = []
        for _ in range(number):
            inner = min(inner * self._random.choice(even_cuts(-(-extent // inner))), extent)
            found.append(inner)
        return found

    def _kernel_order(self) -> tuple[str, ...]:
        """Loops of a kernel, which sums up without a break."""
        reduction = list(self._workload.reduction_dims)
        others = [dim for dim in self._workload.dims if dim not in reduction]
        self._random.shuffle(others)
        self._random.shuffle(reduction)
        return (*others, *reduction)

    def _fits(self, level: Level, tile: Tile) -> bool:
        if level is self._levels[0] and self._registers:
            return True
        workload = self._workload
        words = sum(workload.weight(tensor) * tensor.footprint(tile) for tensor in workload.tensors)
        return words <= level.words(workload.word_bits)


def _code(workload: Workload, mapping: Mapping) -> object:
    """What decides which loops run: tiles, and the order of the loops that run more than once."""
    return tuple(_levels(workload, mapping))


def _levels(workload: Workload, mapping: Mapping) -> Iterator[tuple[tuple[int, ...], tuple[str, ...]]]:
    outer = workload.extents
    for level in reversed(mapping.levels):
        tile = level.tile
        yield tuple(tile.values()), tuple(dim for dim in level.permutation if tile[dim] < outer[dim])
        outer = tile
