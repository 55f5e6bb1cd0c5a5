"""A literal walk of every tile of every level: what the per-level closed form is tested against."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from optmap.count.reference.simulate import tiles_in_order
from optmap.count.tally import Box, Budget, Element, Moved, WalkTally, tallies_of
from optmap.machines.machine import Machine
from optmap.mappings.levels import Mapping
from optmap.mappings.reuse import reuse
from optmap.workloads.workload import Workload

MOST = 5_000_000
"""Elements handled at one boundary, at most."""


def walk_levels(workload: Workload, machine: Machine, mapping: Mapping) -> tuple[Moved, ...]:
    """Per-level traffic, counted by walking every tile of every level: what `cost` is.

    Inside each tile of the next outer level the loops of a level run in their order. When the outermost loop that
    advances is outside a tensor's reuse position the next tile is loaded whole, when it is at that position only what
    the previous tile did not hold, when it is inside nothing. One-trip loops count like all others.

    Args:
        workload: what is computed.
        machine: gives the boundaries.
        mapping: tiles, loop orders and splits; the first child of every split is followed.

    Returns:
        One entry per boundary (inner first) and tensor (output first).

    Raises:
        InputError: if the mapping does not belong to workload and machine.
        LimitError: for more elements than `MOST`.
    """
    mapping.check(workload, machine)
    budget = Budget(MOST)
    moved: list[Moved] = []
    for level, between in enumerate(machine.boundaries):
        order = mapping.levels[level].permutation
        tallies = tallies_of(workload)
        for parent in _parents(workload, mapping, level):
            for tally in tallies:
                at = reuse(tally.tensor, order).at
                _walk_parent(tally, tiles_in_order(parent, mapping.levels[level].tile, order), order, at, budget)
        moved.extend(tally.result(between) for tally in tallies)
    return tuple(moved)


def _parents(workload: Workload, mapping: Mapping, level: int) -> Iterator[Box]:
    """What the tiles of a level are cut from: shares of the next outer tiles, or everything."""
    sides: list[list[range]] = []
    for dim, extent in workload.sizes:
        parts = [range(extent)]
        for outer in reversed(mapping.levels[level + 1 :]):
            ways = outer.spatial.get(dim, 1)
            parts = [_child(tile, ways) for part in parts for tile in _tiles(part, outer.tile[dim])]
        sides.append(parts)
    for box in itertools.product(*sides):
        yield dict(zip(workload.dims, box, strict=True))


def _tiles(whole: range, tile: int) -> list[range]:
    return [range(start, min(start + tile, whole.stop)) for start in range(whole.start, whole.stop, tile)]


def _child(tile: range, ways: int) -> range:
    """The first child's part of a tile that is split in so many ways."""
    return range(tile.start, tile.start + -(-len(tile) // ways))


def _walk_parent(tally: WalkTally, tiles: Iterator[Box], order: Sequence[str], at: str | None, budget: Budget) -> None:
    position = order.index(at) if at is not None else -1
    previous: Box = {}
    held: set[Element] = set()
    for tile in tiles:
        advancing = next((i for i, dim in enumerate(order) if previous.get(dim) != tile[dim]), len(order))
        if not previous or advancing <= position:
            elements = budget.elements(tally.tensor, tile)
            tally.enter(elements if not previous or advancing < position else elements - held)
            held = elements
        previous = tile
