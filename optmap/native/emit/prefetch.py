"""What a kernel asks of memory before it is needed: the next tile of weights, the next rows of the image."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from math import prod

from optmap.native.emit.indices import sum_text
from optmap.native.emit.leaf import Site


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeLoop:
    """A loop of the nest with more than one trip."""

    dim: str
    tile: int
    trips: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ahead:
    """Memory that is asked for while something else is computed, a share by every call of a kernel."""

    what: str
    """For comments."""
    start: str
    """C expression of the address of its first element."""
    place: str
    """C expression of the number of the call among those that share it."""
    lines: int
    """That one call asks for."""


def nest_loops(site: Site, takes: Collection[str]) -> list[CodeLoop]:
    """Loops of the nest around a leaf, outermost first.

    Args:
        site: the mapping.
        takes: dims whose loops of level 0 are the leaf's.
    """
    found: list[CodeLoop] = []
    sizes = dict(site.workload.extents)
    for number in range(len(site.mapping.levels) - 1, -1, -1):
        level = site.mapping.levels[number]
        for dim in level.permutation:
            tile = level.tile[dim]
            if tile < sizes[dim] and not (number == 0 and dim in takes):
                found.append(CodeLoop(dim=dim, tile=tile, trips=-(-sizes[dim] // tile)))
        sizes = {d: -(-level.tile[d] // level.spatial.get(d, 1)) for d in sizes}
    return found


def place_text(site: Site, loops: Iterable[CodeLoop]) -> str:
    """Number of a trip among those of nested loops, outermost first; nearly, if tiles are ragged."""
    found: list[tuple[str, int]] = []
    inside = 1
    for loop in reversed(list(loops)):
        name = f"d_{site.dims[loop.dim]}"
        found.append(
            (f"({name} / {loop.tile} % {loop.trips})" if loop.tile > 1 else f"({name} % {loop.trips})", inside)
        )
        inside *= loop.trips
    return found[0][0] if len(found) == 1 else f"({sum_text(reversed(found))})"


def trips(loops: Iterable[CodeLoop]) -> int:
    """Of loops inside each other."""
    return prod(loop.trips for loop in loops)


def own_bytes(site: Site) -> int:
    """Of the largest memory that a core has for itself; what is larger is asked for ahead. 0 if there is none."""
    bits = site.workload.word_bits
    return max((int(level.capacity.bytes(bits)) for level in site.machine.levels[1:] if not level.shared), default=0)
