"""A mapping on an accelerator as the loop nest that it stands for: spatial and temporal loops per memory.

Documents hold tiles (`Mapping`); counting and searching want trips. A memory's temporal loops run over
the tiles of the memory inside it, its spatial loops over its children. From inner to outer a nest is, per
memory, [along x, along y, temporal]; the tile of a memory is all that its loops and those inside it touch.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

from optmap.base.shown import Concise
from optmap.machines.accelerator import KeepRule
from optmap.machines.fabric import Fabric
from optmap.mappings.levels import LevelMapping, Mapping, nest_entries

Loop = tuple[int, int]
"""(dim by number, trips)."""
Way = tuple[int, int, int]
"""(dim by number, children along that dim from one index to the next, ways): a spatial loop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryNest(Concise):
    """The loops that belong to one memory."""

    x: tuple[int, ...]
    """Ways along the first axis of its mesh, per dim; 1 for none."""
    y: tuple[int, ...]
    """Ways along the second axis, per dim."""
    temporal: tuple[Loop, ...]
    """Loops over its children's tiles, outermost first, of two trips or more; a dim at most once."""
    keeps: tuple[bool, ...]
    """Per operand, whether it is held here."""
    x_order: tuple[int, ...] = ()
    """Its dims that are split along x in the order in which children are numbered, the slowest first (`split_order`);
    empty for the workload's order. Only the price of wires depends on it."""
    y_order: tuple[int, ...] = ()
    """Likewise along y."""

    @property
    def numbering(self) -> tuple[Way, ...]:
        """How children are numbered, the slowest index first: those along y outside those along x."""
        rows, columns = self.y_order or range(len(self.y)), self.x_order or range(len(self.x))
        return (
            *((dim, self.x[dim], self.y[dim]) for dim in rows if self.y[dim] > 1),
            *((dim, 1, self.x[dim]) for dim in columns if self.x[dim] > 1),
        )

    def trips(self, dim: int) -> int:
        """Trips of the temporal loop of a dim; 1 for none."""
        return next((trips for own, trips in self.temporal if own == dim), 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Nest(Concise):
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


def split_order(order: Iterable[int], ways: Sequence[int]) -> tuple[int, ...]:
    """An order of dims along an axis as nests hold it: of the dims that are split, empty for the workload's.

    Args:
        order: dims by number, the slowest first.
        ways: per dim, along this axis.
    """
    found = tuple(dim for dim in order if ways[dim] > 1)
    return () if found == tuple(sorted(found)) else found


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
                x_order=tuple(fabric.dims[dim] for dim in memory.x_order),
                y_order=tuple(fabric.dims[dim] for dim in memory.y_order),
            )
        )
    return Mapping(levels=tuple(entries))


def nest_of(mapping: Mapping, fabric: Fabric) -> Nest:
    """The loops of a mapping. Whether it fits and keeps to the machine's rules is a question for `evaluate`.

    No count depends on the order of the innermost memory's own loops, and a mapping does not say it: they come
    as the machine's rule has it.

    Args:
        mapping: an entry per memory of the fabric, the outermost memory's among them; left out, it is the whole
            problem, without a split.
        fabric: what it is for.

    Raises:
        InputError: for entries that are not those of the machine, or tiles that do not divide.
    """
    entries = nest_entries(mapping, fabric)
    found = []
    for number, entry in enumerate(entries):
        inner = entries[number - 1] if number else None
        trips = {dim: _trips(entry, inner, dim) for dim in fabric.dims}
        order = inner.permutation if inner is not None else _innermost_order(fabric)
        x, y = (tuple(ways.get(dim, 1) for dim in fabric.dims) for ways in (entry.spatial_x, entry.spatial_y))
        found.append(
            MemoryNest(
                x=x,
                y=y,
                temporal=tuple((fabric.dims.index(dim), trips[dim]) for dim in order if trips[dim] > 1),
                keeps=_kept(entry, fabric, number),
                x_order=split_order(map(fabric.dims.index, entry.x_order), x),
                y_order=split_order(map(fabric.dims.index, entry.y_order), y),
            )
        )
    return Nest(memories=tuple(found))


def _innermost_order(fabric: Fabric) -> tuple[str, ...]:
    """Dims as the innermost memory's order asks for, those that it does not name in its first gap or at the end."""
    pattern = fabric.memories[0].order
    named = {dim for entry in pattern if entry is not None for dim in entry}
    others = tuple(dim for dim in range(len(fabric.dims)) if dim not in named)
    found: list[int] = []
    for entry in (*pattern, None):
        found += [dim for dim in (others if entry is None else entry) if dim not in found]
    return tuple(fabric.dims[dim] for dim in found)


def _trips(entry: LevelMapping, inner: LevelMapping | None, dim: str) -> int:
    """Trips of a memory's loop; `nest_entries` has seen that they are whole."""
    inside = 1 if inner is None else inner.tile[dim]
    return entry.tile[dim] // (inside * entry.spatial.get(dim, 1))


def _kept(entry: LevelMapping, fabric: Fabric, number: int) -> tuple[bool, ...]:
    if entry.keeps is None:
        return tuple(keep is not KeepRule.REFUSED for keep in fabric.memories[number].keeps)
    return tuple(operand.name in entry.keeps for operand in fabric.operands)
