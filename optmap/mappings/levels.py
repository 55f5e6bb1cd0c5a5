"""Mappings: integer tiles, loop orders and spatial splits, one entry per bounded level."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

from optmap.base.errors import InputError
from optmap.base.shown import Concise
from optmap.machines.fabric import Fabric, fabric_of
from optmap.machines.form import FormName
from optmap.machines.machine import Machine
from optmap.workloads.workload import LARGEST_EXTENT, Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelMapping(Concise):
    """What one bounded level holds and in which order its tiles are visited."""

    level: str
    tile: dict[str, int]
    """Extent per dim of the tile that this level holds."""
    permutation: tuple[str, ...]
    """Loops over the tiles of this level inside the tile of the next outer level (or the whole
    problem), outermost first, innermost last."""
    spatial: dict[str, int]
    """Ways in which the tile of this level is split among the children it feeds, per dim;
    dims that are not split may be left out."""
    spatial_y: dict[str, int] = field(default_factory=dict)
    """Of these ways, those along the second axis of the level's mesh; the others are along the first."""
    keeps: tuple[str, ...] | None = None
    """Names of the accesses whose tile the level holds; the others bypass it. None for all that the machine keeps."""
    x_order: tuple[str, ...] = ()
    """The dims that are split along the first axis in the order in which children are numbered, the slowest first;
    empty for the workload's order."""
    y_order: tuple[str, ...] = ()
    """Likewise along the second axis."""

    @property
    def ways(self) -> int:
        """Children that the tile of this level is split among."""
        return prod(self.spatial.values())

    @property
    def spatial_x(self) -> dict[str, int]:
        """The ways along the first axis of the level's mesh, per dim."""
        return {dim: ways // self.spatial_y.get(dim, 1) for dim, ways in self.spatial.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Mapping(Concise):
    """A complete mapping of a workload onto a machine, inner level first."""

    levels: tuple[LevelMapping, ...]

    @property
    def ways(self) -> int:
        """Instances that the splits of all levels feed together: threads, where levels are caches."""
        return prod(level.ways for level in self.levels)

    def check(self, workload: Workload, machine: Machine) -> None:
        """Refuse a mapping that does not belong to the workload and the machine.

        Capacities are not looked at: whether a tile fits is a question for `evaluate`. So are, on an
        accelerator, the machine's rules: who is kept, factors and orders.

        Raises:
            InputError: naming level and dim of the first thing that is wrong.
        """
        _CHECKS[machine.form](self, workload, machine)


def _check_tiles(mapping: Mapping, workload: Workload, machine: Machine) -> None:
    """Refuse what is no nesting of tiles, or splits one among more children than there are."""
    if any(level.keeps is not None or level.spatial_y or level.x_order or level.y_order for level in mapping.levels):
        raise InputError(
            f"mapping has keeps, a second axis or an order of children; machine {machine.name} is no accelerator"
        )
    names = tuple(level.name for level in machine.levels)
    mine = tuple(level.level for level in mapping.levels)
    if mine != names:
        raise InputError(f"mapping has levels {list(mine)}, machine {machine.name} has {list(names)}")
    dims = set(workload.dims)
    outer = workload.extents
    for level in reversed(mapping.levels):
        if set(level.tile) != dims:
            raise InputError(f"level {level.level}: tile has dims {sorted(level.tile)}, workload has {sorted(dims)}")
        if sorted(level.permutation) != sorted(dims):
            raise InputError(
                f"level {level.level}: permutation {list(level.permutation)} must name each of {sorted(dims)} once"
            )
        for dim, size in level.tile.items():
            if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= outer[dim]:
                raise InputError(
                    f"level {level.level}: tile of {dim} is {size!r}; it must be a whole number from 1 to {outer[dim]}"
                )
        ways = prod(n for n in level.spatial.values() if isinstance(n, int))
        children = machine.levels[names.index(level.level)].fanout
        inside = dict(level.tile)
        for dim, parts in level.spatial.items():
            if dim not in dims or isinstance(parts, bool) or not isinstance(parts, int) or parts < 1:
                raise InputError(f"level {level.level}: spatial {dim}={parts!r} must be a dim with a whole number >= 1")
            inside[dim] = -(-inside[dim] // parts)
        if ways > children:
            raise InputError(f"level {level.level}: the tile is split {ways} ways, but feeds {children} children")
        outer = inside


def nest_entries(mapping: Mapping, fabric: Fabric) -> tuple[LevelMapping, ...]:
    """The entries of a mapping on an accelerator, which are a nest: its tiles divide, the outermost memory has one.

    Raises:
        InputError: naming level and dim of the first thing that is wrong.
    """
    names = [memory.name for memory in fabric.memories]
    entries = list(mapping.levels)
    if [entry.level for entry in entries] == names[:-1]:
        whole = dict(zip(fabric.dims, fabric.extents, strict=True))
        entries.append(LevelMapping(level=names[-1], tile=whole, permutation=fabric.dims, spatial={}))
    if [entry.level for entry in entries] != names:
        raise InputError(f"mapping has levels {[e.level for e in entries]}, the machine has {names}, inner first")
    for number, entry in enumerate(entries):
        _check_entry(entry, entries[number - 1].tile if number else {}, fabric)
        if number < len(entries) - 1 and sorted(entry.permutation) != sorted(fabric.dims):
            raise InputError(
                f"level {entry.level}: permutation {list(entry.permutation)} must name each of {list(fabric.dims)} once"
            )
    return tuple(entries)


def _check_entry(entry: LevelMapping, inside: dict[str, int], fabric: Fabric) -> None:
    where = f"level {entry.level}"
    for name in (*entry.tile, *entry.permutation, *entry.spatial, *entry.spatial_y):
        if name not in fabric.dims:
            raise InputError(f"{where}: {name!r} is no dim; the dims are {list(fabric.dims)}")
    for dim in fabric.dims:
        size, ways, y = entry.tile.get(dim), entry.spatial.get(dim, 1), entry.spatial_y.get(dim, 1)
        wrong = (isinstance(n, bool) or not isinstance(n, int) or not 1 <= n <= LARGEST_EXTENT for n in (size, ways, y))
        if size is None or any(wrong):
            raise InputError(f"{where}: tile and ways of {dim} must be whole numbers from 1 to 2^63-1")
        if size % (inside.get(dim, 1) * ways) or ways % y:
            raise InputError(
                f"{where}: the tile of {dim} is {size}, which is no multiple of {inside.get(dim, 1)} (the tile "
                f"inside) times {ways} ways ({y} along y); on an accelerator tiles divide, pad the dim if need be"
            )
    for axis, order, along in (("x", entry.x_order, entry.spatial_x), ("y", entry.y_order, entry.spatial_y)):
        split = sorted(dim for dim, n in along.items() if n > 1)
        if order and sorted(order) != split:
            raise InputError(f"{where}: the order along {axis} is {list(order)}; it must name each of {split} once")
    names = [operand.name for operand in fabric.operands]
    unknown = next((name for name in entry.keeps or () if name not in names), None)
    if unknown is not None:
        raise InputError(f"{where}: keeps {unknown!r}, which is no tensor; the tensors are {names}")


def _check_nest(mapping: Mapping, workload: Workload, machine: Machine) -> None:
    """Refuse what is no nest, splits among more children than there are, or leaves out a part of the problem."""
    fabric = fabric_of(workload, machine)
    entries = nest_entries(mapping, fabric)
    for memory, entry in zip(fabric.memories, entries, strict=True):
        for axis, ways, size in (
            ("x", prod(entry.spatial_x.values()), memory.x.size),
            ("y", prod(entry.spatial_y.values()), memory.y.size),
        ):
            if ways > size:
                raise InputError(
                    f"level {memory.name}: the tile is split {ways} ways along {axis}, but feeds {size} children there"
                )
    for dim, extent in zip(fabric.dims, fabric.extents, strict=True):
        whole = entries[-1].tile[dim]
        if whole < extent:
            raise InputError(f"level {entries[-1].level}: the nest covers {whole} of {dim}, the workload has {extent}")


_CHECKS = {FormName.TILES: _check_tiles, FormName.NEST: _check_nest}
