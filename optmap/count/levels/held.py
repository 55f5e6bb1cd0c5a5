"""Exact traffic and occupancy of a held mapping, in closed form (defined in `optmap.mappings.held`).

**Held at position p >= 1.** The area has the whole extent of every dim inside p, so only loops at p and
outside it change it. For every combination of the loops outside, the loop at p takes its tiles one
after the other: the first area enters whole, since nothing is kept from before, every further one
without what it shares with the one before it, since only the loop at p has moved (the front and back
domains of IOOpt, section 4.2). Two neighbours along p differ in one dim, so that subscript by subscript
|new and old| = |new| + |old| - |both together|, and the sum over all areas is a product over groups of
subscripts that share no dim. If p is a dim that the tensor does not have, nothing enters after the first.

**Position 0.** The area is the tile, and all of it enters at every tile.

**Streamed** (position 0). Nothing is kept between tiles, and inside a tile a slice moves. A word of the tile
enters with the first slice that has it and stays until the last one: once per tile. How many are held at the
same time is counted in `rolling`. Words of different accesses are kept apart.

**Corners** (of dims x and y). A tensor with one of the two has all of its words: with every iteration of x some of y
that are in no corner. Of one with both, area and what enters are sums over pairs of an iteration of x and one of y,
each alone in its subscript, so that words of different pairs differ; every pair enters as often as any other, and
those of the corners, |X||Y| of all Nx Ny, do not. Of an area that is not streamed along x or y, at every time each
pair has as many words as any other, too: the corner's share is left out. A smaller last tile has no more of it than
a whole one, and an area grows with every iteration of y, so that the first area is still the largest. The corners
are a workload on its own, counted like one; the memory must do for both runs, one after the other.

**Pieces.** Each is a workload on its own that starts with nothing held, counted like one, with every touch of an
output a load; under `assign` every element of the output is touched first once, in one piece: as many loads less.

**Occupancy.** No area is larger than the first one, in which every tile is whole. Nor does a smaller tile stream
through more words: its iterations are some of the whole tile's, in the same order, so that a word's first slice
there is no later and its last one no earlier. Every access has room for the most words that it holds at the same
time; occupancy is the sum, and the run is a schedule that works in a memory of that size: its loads are at least
those of optimal replacement in that memory.
"""

from __future__ import annotations

from collections.abc import Mapping as MappingABC
from collections.abc import Sequence
from dataclasses import replace
from math import prod

import numpy as np

from optmap.count.levels.cutting import cut_once
from optmap.count.levels.first_touches import check_output
from optmap.count.levels.halo import entering
from optmap.count.levels.rolling import slice_words
from optmap.count.results import BoundaryTraffic, CostReport, LevelCost
from optmap.machines.machine import CapacityRule, Machine
from optmap.machines.partitions import capacity_groups
from optmap.mappings.held import Held
from optmap.mappings.levels import Mapping
from optmap.mappings.reuse import Reuse
from optmap.workloads.axes import axis_groups
from optmap.workloads.workload import Semantics, TensorAccess, Workload, access_names


def held_traffic(
    workload: Workload, mapping: Mapping, held: Held, between: tuple[str, str]
) -> tuple[BoundaryTraffic, ...]:
    """Exact words per access across the boundary of a one-level mapping.

    Args:
        workload: what is computed.
        mapping: tile and loop order.
        held: what is held of every tensor; `Held.check` has accepted it.
        between: names of the inner and the outer memory.

    Returns:
        One entry per access, output first. Under `accumulate` an output is loaded and stored on every
        visit; under `assign` its first touch is not loaded.

    Raises:
        InputError: under `assign`, if a dim stands in two subscripts of the output.
    """
    check_output(workload)
    if held.pieces:
        return _traffic_of_pieces(workload, mapping, held, between)
    level, corner = mapping.levels[0], held.corner
    cut = {} if corner is None else corner.cut(workload, mapping)
    rows = []
    for tensor, name, (how, _) in zip(
        workload.tensors, access_names(workload), held.ways(workload, level.permutation), strict=True
    ):
        enter = entering_words(workload, tensor, level.tile, how)
        enter -= _corner_share(enter, tensor, workload.extents, cut)
        stores = enter if tensor is workload.output else 0
        created = _created(workload, tensor, cut)
        rows.append(BoundaryTraffic(between=between, tensor=name, loads_words=enter - created, stores_words=stores))
    if corner is None:
        return tuple(rows)
    again = held_traffic(corner.rest(workload, mapping), corner.mapping, corner.held, between)
    return tuple(
        replace(row, loads_words=row.loads_words + more.loads_words, stores_words=row.stores_words + more.stores_words)
        for row, more in zip(rows, again, strict=True)
    )


def _traffic_of_pieces(
    workload: Workload, mapping: Mapping, held: Held, between: tuple[str, str]
) -> tuple[BoundaryTraffic, ...]:
    """The sum over the pieces; of an output less what they touch first."""
    runs = [held_traffic(p.workload(workload), p.mapping, p.held, between) for p in held.every(mapping)]
    return tuple(
        BoundaryTraffic(
            between=between,
            tensor=rows[0].tensor,
            loads_words=sum(row.loads_words for row in rows) - _created(workload, tensor, {}),
            stores_words=sum(row.stores_words for row in rows),
        )
        for tensor, rows in zip(workload.tensors, zip(*runs, strict=True), strict=True)
    )


def _corner_share(words: int, tensor: TensorAccess, sizes: MappingABC[str, int], cut: MappingABC[str, int]) -> int:
    """Of words that are alike for all pairs of both dims of a corner, those of the corner; 0 without both.

    Args:
        words: of all pairs.
        tensor: whose words they are.
        sizes: extent of both dims.
        cut: iterations of both that are in the corner; {} for no corner.
    """
    if not cut or not cut.keys() <= tensor.dims:
        return 0
    return words * prod(cut.values()) // prod(sizes[d] for d in cut)


def _created(workload: Workload, tensor: TensorAccess, cut: MappingABC[str, int]) -> int:
    """Words of the tensor that are not loaded when the tiles touch them first."""
    if tensor is not workload.output or workload.semantics is not Semantics.ASSIGN:
        return 0
    words = workload.weight(tensor) * tensor.footprint(workload.extents)
    return words - _corner_share(words, tensor, workload.extents, cut)


def held_occupancy(workload: Workload, mapping: Mapping, held: Held, accesses: Sequence[int] | None = None) -> int:
    """Exact words that a one-level mapping has room for: the most that every access holds at the same time.

    With a corner or pieces, the largest need of the runs.

    Args:
        workload: what is computed.
        mapping: tile and loop order.
        held: what is held of every tensor.
        accesses: numbers of the accesses to count, output first; None for all.
    """
    if held.pieces:
        runs = ((p.workload(workload), p.mapping, p.held) for p in held.every(mapping))
        return max(held_occupancy(*run, accesses) for run in runs)
    level, corner = mapping.levels[0], held.corner
    ways = held.ways(workload, level.permutation)
    need = 0
    for i in range(len(ways)) if accesses is None else accesses:
        tensor, (how, streamed) = workload.tensors[i], ways[i]
        words = held_words(workload, tensor, level.tile, how, streamed)
        if corner is not None:
            whole = corner.cut(workload, mapping)
            area = {d: workload.extents[d] if d in how.full else level.tile[d] for d in whole}
            cut = {d: whole[d] if d in how.full else size for d, size in corner.sizes.items()}
            words -= _corner_share(words, tensor, area, cut)
        need += words
    if corner is None:
        return need
    return max(need, held_occupancy(corner.rest(workload, mapping), corner.mapping, corner.held, accesses))


def held_report(
    workload: Workload,
    machine: Machine,
    mapping: Mapping,
    held: Held,
    rule: CapacityRule,
    *,
    rows: tuple[BoundaryTraffic, ...],
) -> CostReport:
    """The cost of a one-level mapping that holds every tensor at a reuse position of its own.

    Args:
        workload: what is computed.
        machine: its one level, unified or with partitions.
        mapping: tile and loop order.
        held: what is held of every tensor; `Held.check` has accepted it.
        rule: the capacity rule in force.
        rows: what it moves.
    """
    (level,) = machine.levels
    groups = capacity_groups(workload, level)
    needs = {group.name: held_occupancy(workload, mapping, held, group.tensors) for group in groups}
    words = sum(row.words for row in rows)
    cost = LevelCost(
        level=level.name,
        occupancy_words=held_occupancy(workload, mapping, held),
        capacity_words=sum(group.words for group in groups),
        traffic_words=words,
        rate=level.bandwidth.words(workload.word_bits),
        overfull=tuple(group.name for group in groups if needs[group.name] > group.words),
    )
    return CostReport(levels=(cost,), boundaries=rows, rule=rule)


def held_words(
    workload: Workload,
    tensor: TensorAccess,
    tile: MappingABC[str, int],
    how: Reuse,
    streamed: Sequence[str] = (),
) -> int:
    """Words that the tensor takes in the fast memory.

    Args:
        workload: gives extents and word size.
        tensor: one of its tensors.
        tile: extent per dim.
        how: its reuse.
        streamed: dims of which one iteration at a time is needed, in the order of their loops.

    Raises:
        LimitError: if windows of too many values are streamed.
    """
    extents = workload.extents
    part = {d: extents[d] if d in how.full else tile[d] for d in tile}
    elements = slice_words(tensor, part, streamed) if streamed else tensor.footprint(part)
    return workload.weight(tensor) * elements


def loaded_words(workload: Workload, tensor: TensorAccess, tile: MappingABC[str, int], how: Reuse) -> int:
    """Words of the tensor that enter the fast memory over the whole run.

    Under `assign` the first touch of an output element is not loaded.

    Args:
        workload: gives extents, word size and semantics.
        tensor: one of its tensors.
        tile: extent per dim.
        how: its reuse.
    """
    return entering_words(workload, tensor, tile, how) - _created(workload, tensor, {})


def entering_words(workload: Workload, tensor: TensorAccess, tile: MappingABC[str, int], how: Reuse) -> int:
    """Words of the tensor that the fast memory takes in or creates: loads, or stores of an output."""
    extents = workload.extents
    visits = prod(-(-extents[d] // tile[d]) for d in extents if d not in tensor.dims and d not in how.free)
    tiles = {d: np.array([extents[d] if d in how.full else tile[d]], dtype=object) for d in tensor.dims}
    along = {d: cut_once(extents[d], size) for d, size in tiles.items()}
    factors = (int(entering(group, along, how.at)[0]) for group in axis_groups(tensor))
    return workload.weight(tensor) * visits * prod(factors)
