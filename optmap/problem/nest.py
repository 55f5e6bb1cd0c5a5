"""A mapping on an accelerator as the loop nest that it stands for: spatial and temporal loops per memory.

Documents hold tiles (`Mapping`); counting and searching want trips. A memory's temporal loops run over
the tiles of the memory inside it, its spatial loops over its children. From inner to outer a nest is, per
memory, [along x, along y, temporal]; the tile of a memory is all that its loops and those inside it touch.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from optmap.errors import InputError
from optmap.problem.accelerator import Keep
from optmap.problem.fabric import Fabric
from optmap.problem.mapping import LevelMapping, Mapping

Loop = tuple[int, int]
"""(dim by number, trips)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryNest:
    """The loops that belong to one memory."""

    x: tuple[int, ...]
    """Ways along the first axis of its mesh, per dim; 1 for none."""
    y: tuple[int, ...]
    """Ways along the second axis, per dim."""
    temporal: tuple[Loop, ...]
    """Loops over its children's tiles, outermost first, of two trips or more; a dim at most once."""
    keeps: tuple[bool, ...]
    """Per operand, whether it is held here."""

    def trips(self, dim: int) -> int:
        """Trips of the temporal loop of a dim; 1 for none."""
        return next((trips for own, trips in self.temporal if own == dim), 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Nest:
    """A mapping as loops."""

    memories: tuple[MemoryNest, ...]
    """As `Fabric.memories`, the outermost last."""

    def tiles(self) -> tuple[tuple[int, ...], ...]:
        """Extent per dim of the tile of every memory, inner first; the last is the (padded) problem."""
        found, tile = [], (1,) * len(self.memories[0].x)
        for memory in self.memories:
            tile = tuple(size * memory.x[dim] * memory.y[dim] * memory.trips(dim) for dim, size in enumerate(tile))
            found.append(tile)
        return tuple(found)

    def instances(self, number: int) -> int:
        """Instances of a memory that are in use."""
        return prod(ways for memory in self.memories[number + 1 :] for ways in (*memory.x, *memory.y))


def mapping_of(nest: Nest, fabric: Fabric) -> Mapping:
    """The mapping of a nest: an entry per bounded level, and one of the outermost memory for its tile and split.

    A level's permutation is that of the loops over its tiles: the temporal loops of the memory outside it,
    with loops of one trip at the inner end.
    """
    tiles = nest.tiles()
    entries = []
    for number, memory in enumerate(nest.memories):
        outside = nest.memories[number + 1].temporal if number + 1 < len(nest.memories) else ()
        loops = [dim for dim, _ in outside]
        order = [*loops, *(dim for dim in range(len(fabric.dims)) if dim not in loops)]
        ways = [x * y for x, y in zip(memory.x, memory.y, strict=True)]
        entries.append(
            LevelMapping(
                level=fabric.memories[number].name,
                tile=dict(zip(fabric.dims, tiles[number], strict=True)),
                permutation=tuple(fabric.dims[dim] for dim in order),
                spatial={fabric.dims[dim]: n for dim, n in enumerate(ways) if n > 1},
                spatial_y={fabric.dims[dim]: n for dim, n in enumerate(memory.y) if n > 1},
                keeps=tuple(o.name for o, kept in zip(fabric.operands, memory.keeps, strict=True) if kept),
            )
        )
    return Mapping(levels=tuple(entries))


def nest_of(mapping: Mapping, fabric: Fabric) -> Nest:
    """The loops of a mapping. Whether it fits and keeps to the machine's rules is a question for `evaluate`.

    Args:
        mapping: an entry per memory of the fabric, the outermost memory's among them; left out, it is the whole
            problem, without a split.
        fabric: what it is for.

    Raises:
        InputError: for entries that are not those of the machine, or tiles that do not divide.
    """
    names = [memory.name for memory in fabric.memories]
    entries = list(mapping.levels)
    if [entry.level for entry in entries] == names[:-1]:
        entries.append(
            LevelMapping(
                level=names[-1], tile=dict(zip(fabric.dims, fabric.extents, strict=True)), permutation=(), spatial={}
            )
        )
    if [entry.level for entry in entries] != names:
        raise InputError(f"mapping has levels {[e.level for e in entries]}, the machine has {names}, inner first")
    found = []
    for number, entry in enumerate(entries):
        inner = entries[number - 1] if number else None
        trips = [_trips(entry, inner, dim) for dim in fabric.dims]
        order = inner.permutation if inner is not None else fabric.dims
        if sorted(order) != sorted(fabric.dims):
            raise InputError(f"level {names[number - 1]}: permutation {list(order)} must name each dim once")
        temporal = tuple((place, trips[place]) for place in map(fabric.dims.index, order) if trips[place] > 1)
        x, y = entry.spatial_x, entry.spatial_y
        found.append(
            MemoryNest(
                x=tuple(x.get(dim, 1) for dim in fabric.dims),
                y=tuple(y.get(dim, 1) for dim in fabric.dims),
                temporal=temporal,
                keeps=_kept(entry, fabric, number),
            )
        )
    return Nest(memories=tuple(found))


def _trips(entry: LevelMapping, inner: LevelMapping | None, dim: str) -> int:
    size, inside = entry.tile.get(dim), 1 if inner is None else inner.tile.get(dim, 1)
    ways, y = entry.spatial.get(dim, 1), entry.spatial_y.get(dim, 1)
    if size is None or any(isinstance(n, bool) or not isinstance(n, int) or n < 1 for n in (size, ways, y)):
        raise InputError(f"level {entry.level}: tile and ways of {dim} must be whole numbers from 1")
    if size % (inside * ways) or ways % y:
        raise InputError(
            f"level {entry.level}: the tile of {dim} is {size}, which is no multiple of {inside} (the tile "
            f"inside) times {ways} ways ({y} along y); on an accelerator tiles divide, pad the dim if need be"
        )
    return size // (inside * ways)


def _kept(entry: LevelMapping, fabric: Fabric, number: int) -> tuple[bool, ...]:
    names = [operand.name for operand in fabric.operands]
    if entry.keeps is None:
        return tuple(keep is not Keep.REFUSED for keep in fabric.memories[number].keeps)
    unknown = [name for name in entry.keeps if name not in names]
    if unknown:
        raise InputError(f"level {entry.level}: keeps {unknown[0]!r}, which is no tensor; the tensors are {names}")
    return tuple(name in entry.keeps for name in names)
