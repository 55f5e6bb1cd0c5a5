"""The loops of all levels of a mapping, outermost first, and the split among threads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from optmap.base.errors import InputError
from optmap.mappings.levels import LevelMapping, Mapping
from optmap.native.emit.leaf import LeafCode, Site
from optmap.native.emit.points import where
from optmap.native.emit.writer import Writer
from optmap.workloads.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class DimRegion:
    """Iterations of one dim that the code at some depth works on."""

    start: str
    """C expression of the first one."""
    end: str
    """C expression of the one after the last."""
    size: int
    """Number of iterations, at most."""
    whole: bool
    """Whether there are always that many."""

    @property
    def count(self) -> str:
        """C expression of the number of iterations."""
        return str(self.size) if self.whole else f"{self.end} - {self.start}"


def check_splits(workload: Workload, mapping: Mapping) -> None:
    """Refuse a split that would let two threads add to one element.

    Raises:
        InputError: for a split dim that has no subscript of the output for itself.
    """
    alone = {axis.terms[0][0] for axis in workload.output.axes if len(axis.terms) == 1}
    for level in mapping.levels:
        for dim, ways in level.spatial.items():
            if ways > 1 and dim not in alone:
                kind = "a reduction dim" if dim in workload.reduction_dims else "no subscript of the output for itself"
                raise InputError(
                    f"level {level.level}: {dim} is split {ways} ways, but it is {kind}: threads would add to the "
                    f"same elements of {workload.output.name}; split {' or '.join(sorted(alone)) or 'nothing'}"
                )


def write_nest(out: Writer, site: Site, leaf: LeafCode) -> None:
    """The function that runs one thread's share of the loops of all levels.

    Args:
        out: where it is written.
        site: workload and mapping.
        leaf: gives the loops that are not the nest's.
    """
    nest = _Function(out=out, site=site, leaf=leaf, parts=_parts(site.mapping))
    arguments = (*site.arguments, *(["long part"] if nest.parts else []))
    regions = {d: DimRegion(start="0", end=str(n), size=n, whole=True) for d, n in site.workload.sizes}
    with out.block(f"static void {site.entry}_nest({', '.join(arguments)})"):
        nest.level(len(site.mapping.levels) - 1, regions)


def _parts(mapping: Mapping) -> dict[tuple[int, str], tuple[int, int]]:
    """Per level and dim that is split: how many parts the inner ones have together, and its ways."""
    found: dict[tuple[int, str], tuple[int, int]] = {}
    step = 1
    for number, level in enumerate(mapping.levels):
        for dim, ways in level.spatial.items():
            if ways > 1:
                found[number, dim] = (step, ways)
                step *= ways
    return found


@dataclass(frozen=True, kw_only=True)
class _Function:
    """The function while it is written."""

    out: Writer
    site: Site
    leaf: LeafCode
    parts: dict[tuple[int, str], tuple[int, int]]

    def level(self, number: int, regions: dict[str, DimRegion]) -> None:
        """The loops over the tiles of a level and what is inside them; below level 0 the leaf."""
        site = self.site
        if number < 0:
            places = (f"{regions[d].start}, {regions[d].count}" for d in site.dims)
            self.out.line(f"{site.entry}_tile({', '.join((*site.tensors, *places))});")
            return
        level = site.mapping.levels[number]
        taken = self.leaf.takes if number == 0 else ()
        self.out.comment(*_heading(level, regions, taken))
        loops = [d for d in level.permutation if d not in taken and level.tile[d] < regions[d].size]
        self._tiles(number, loops, regions)

    def _tiles(self, number: int, loops: list[str], regions: dict[str, DimRegion]) -> None:
        """Loops inside each other, outermost first, then what is inside a tile."""
        if not loops:
            self._inside(number, regions)
            return
        dim, *others = loops
        tile = self.site.mapping.levels[number].tile[dim]
        with tile_loop(self.out, f"{self.site.dims[dim]}_{number}", tile, regions[dim]) as found:
            self._tiles(number, others, {**regions, dim: found})

    def _inside(self, number: int, tile: dict[str, DimRegion]) -> None:
        """A thread's share of a tile, if it is split, and the next level; a share may be empty."""
        shares = dict(tile)
        for (at, dim), (step, ways) in self.parts.items():
            if at == number:
                shares[dim] = _share(self.out, f"{self.site.dims[dim]}_{number}", tile[dim], step, ways)
        some = where(f"{share.start} < {share.end}" for dim, share in shares.items() if share is not tile[dim])
        with self.out.blocks(some):
            self.level(number - 1, shares)


def _heading(level: LevelMapping, regions: dict[str, DimRegion], taken: tuple[str, ...]) -> list[str]:
    """What a comment says of a level: its tile, its order, its split."""
    looped = [d for d in level.permutation if level.tile[d] < regions[d].size and d not in taken]
    texts = [f"{level.level}: tile {' '.join(f'{d}={n}' for d, n in level.tile.items())}"]
    texts.append(f"order {', '.join(level.permutation)}; loops over {', '.join(looped) or 'nothing: one tile'}")
    split = [f"{d} in {ways}" for d, ways in level.spatial.items() if ways > 1]
    if split:
        texts.append(f"split among threads: {', '.join(split)}")
    if taken:
        texts.append(f"{', '.join(taken)}: inside the kernel")
    return texts


@contextmanager
def tile_loop(out: Writer, name: str, tile: int, region: DimRegion, first: int = 0) -> Iterator[DimRegion]:
    """A loop over the tiles of a region around what is written inside; the last tile may be ragged.

    Args:
        out: where it is written.
        name: of its variable, the first iteration of a tile; `NAME_end` is that after the last of a ragged one.
        tile: iterations of a full one.
        region: what is cut into them.
        first: iterations of the first one, if these are fewer; else 0.

    Yields:
        What one trip works on.
    """
    if first:
        found = DimRegion(start=name, end=f"{name}_end", size=min(tile, region.size), whole=False)
        begin, end = region.start, region.end
        with out.block(f"for (long {name} = {begin}, {found.end}; {name} < {end}; {name} = {found.end})"):
            out.line(f"{found.end} = smaller({name} + ({name} == {begin} ? {first} : {tile}), {end});")
            yield found
        return
    whole = tile == 1 or (region.whole and region.size % tile == 0)
    found = DimRegion(start=name, end=f"{name} + {tile}" if whole else f"{name}_end", size=tile, whole=whole)
    with out.block(f"for (long {name} = {region.start}; {name} < {region.end}; {name} += {tile})"):
        if not whole:
            out.line(f"const long {found.end} = smaller({name} + {tile}, {region.end});")
        yield found


def _share(out: Writer, name: str, tile: DimRegion, step: int, ways: int) -> DimRegion:
    """The part of a tile that one thread gets: the first ones get the rounded-up quotient, the last the rest."""
    part = f"part / {step} % {ways}" if step > 1 else f"part % {ways}"
    size = -(-tile.size // ways)
    share = str(size) if tile.whole else f"(({tile.count} + {ways - 1}) / {ways})"
    start, end = f"{name}_part", f"{name}_part_end"
    first = "" if tile.start == "0" else f"{tile.start} + "
    out.line(f"const long {start} = {first}{part} * {share};")
    out.line(f"const long {end} = smaller({start} + {share}, {tile.end});")
    return DimRegion(start=start, end=end, size=size, whole=tile.whole and tile.size % ways == 0)


def smaller_text() -> str:
    """The function that cuts ragged tiles."""
    return "static inline long smaller(long a, long b) { return a < b ? a : b; }"
