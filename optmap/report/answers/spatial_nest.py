"""A mapping on an accelerator as text: the loop nest as Timeloop prints it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from optmap.machines.fabric import Fabric
from optmap.mappings.nest import Nest

if TYPE_CHECKING:
    from optmap.count.meshes.results import SpatialCost
    from optmap.search.result import Solved

COMPUTE = "<< Compute >>"
"""The innermost line."""


@dataclass(frozen=True, slots=True)
class ShownLoop:
    """One loop of a nest."""

    dim: str
    trips: int
    axis: str = ""
    """X or Y of a loop over the children of a mesh; empty of a loop over time."""

    @property
    def text(self) -> str:
        """As Timeloop writes it."""
        return f"for {self.dim} in [0:{self.trips})" + (f" (Spatial-{self.axis})" if self.axis else "")


@dataclass(frozen=True, slots=True)
class Band:
    """What a nest says about one memory."""

    memory: str
    kept: tuple[tuple[str, int], ...]
    """(tensor, words of its tile) of those that it holds, the output first."""
    bypassed: tuple[str, ...]
    """Tensors that pass by."""
    loops: tuple[ShownLoop, ...]
    """Outermost first: over time, then along y, then along x; loops of one trip are left out."""


def bands(nest: Nest, fabric: Fabric, count: SpatialCost | None = None) -> tuple[Band, ...]:
    """The memories of a nest with their tiles and loops, the outermost first.

    Args:
        nest: a mapping as loops.
        fabric: what it is for; gives names and tensors.
        count: how words are counted; None for the words that are needed, without what else a hull has.
    """
    found = []
    for place, (memory, own, tile) in enumerate(zip(fabric.memories, nest.memories, nest.tiles(), strict=True)):
        counted = {each.operand: each.tile_words for each in count.memories[place].accesses} if count else {}
        extents = dict(zip(fabric.dims, tile, strict=True))
        words = [access.footprint(extents) for access in fabric.workload.tensors]
        held = list(zip(fabric.operands, words, own.keeps, strict=True))
        loops = [ShownLoop(fabric.dims[dim], trips) for dim, trips in own.temporal]
        for axis, ways, order in (("Y", own.y, own.y_order), ("X", own.x, own.x_order)):
            inside = order or range(len(ways))
            loops += [ShownLoop(fabric.dims[dim], ways[dim], axis) for dim in inside if ways[dim] > 1]
        found.append(
            Band(
                memory=memory.name,
                kept=tuple((operand.name, counted.get(operand.name, size)) for operand, size, kept in held if kept),
                bypassed=tuple(operand.name for operand, _, kept in held if not kept),
                loops=tuple(loops),
            )
        )
    return tuple(reversed(found))


def nest_of(answer: Solved) -> str:
    """The loops of a mapping that was found on an accelerator, or of a solution file that was read."""
    return nest_text(answer.nest, answer.fabric)


def nest_text(nest: Nest, fabric: Fabric, count: SpatialCost | None = None) -> str:
    """The loops of a mapping, outermost first, under the memory that each belongs to.

    Behind the name of a memory stand the tensors that it keeps with the words of their tiles: all that the
    loops there and those below touch. A loop over the children of a mesh is marked with its axis, and one
    trip is no loop. This is the form of Timeloop's mapping files ending in `.map.txt`.

    Args:
        nest: a mapping as loops.
        fabric: what it is for; gives names and tensors.
        count: as for `bands`.
    """
    lines: list[str] = []
    depth = 0
    for band in bands(nest, fabric, count):
        head = " ".join([f"{band.memory} [", *(f"{name}:{words}" for name, words in band.kept), "]"])
        lines += [head, "-" * len(head)]
        for loop in band.loops:
            lines.append("| " + "  " * depth + loop.text)
            depth += 1
        lines += ([] if band.loops else ["|"]) + [""]
    lines[-1] = "| " + "  " * depth + COMPUTE
    return "\n".join(lines) + "\n"
