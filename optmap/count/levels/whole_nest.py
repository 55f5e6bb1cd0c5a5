r"""Exact integer traffic of the concatenated nest, in closed form: the number `exact`.

For the boundary outside level l the machine keeps one tile of level l per tensor. The tiles are
visited in the order of all loops of levels L-1 … l, and every step loads what the previous tile
did not hold. Nothing is walked: at every step exactly one loop (dim d, level q) is the outermost
that advances. Then d goes from the last l-tile of one q-tile to the first l-tile of the next
one, and every other dim e goes from the last to the first l-tile of its enclosing tile, which is
its q-tile if its loop at level q is outside that of d and its (q+1)-tile otherwise. Each
combination of these moves occurs once per combination of enclosing tiles, so

    sum of |new \ old| = prod_g sum |new_g| - prod_g sum |new_g ∩ old_g|

over the groups g of axes that share dims, with few distinct moves per dim. Ragged tiles and
one-trip loops need no special case: they are moves that go nowhere, or moves of their own size.

With implicit padding a tile holds its real elements only: of every subscript the values inside its
range. How many these are depends on where the tile is, so that the moves of the dims of such a subscript
carry the starts of the new tiles, as grids (`windows`). Where a split outside the boundary cuts one of these
dims, the first child is no longer the busiest (the others have less padding); there the subscript counts with
padding stored.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import lru_cache
from itertools import product
from math import prod

from optmap.count.levels.first_touches import first_touches
from optmap.count.levels.windows import SharedWindow, windowed
from optmap.count.results import BoundaryTraffic
from optmap.machines.machine import Machine
from optmap.mappings.cutting import TileDescent
from optmap.mappings.grid import Grid
from optmap.mappings.levels import Mapping
from optmap.workloads.axes import axis_groups, group_dims
from optmap.workloads.workload import Subscript, TensorAccess, Workload, access_names

Move = tuple[int, int, int, Grid]
"""Size of the old l-tile, size of the new one, start of the new one minus start of the old, starts of the
new one in the dim (0 unless a range depends on them)."""
Moves = tuple[tuple[Move, int], ...]
"""Moves of one dim, each with how often it occurs at every start."""


def exact_traffic(workload: Workload, machine: Machine, mapping: Mapping) -> tuple[BoundaryTraffic, ...]:
    """Words that cross every boundary when the concatenated nest runs, exactly.

    Under `accumulate` every output element is loaded when it enters and stored when it leaves;
    under `assign` its first touch is not loaded. With spatial splits the first child
    of every split is followed.

    Args:
        workload: what is computed.
        machine: gives the boundaries.
        mapping: tiles, loop orders and splits, inner level first.

    Returns:
        One entry per boundary (inner first) and tensor (output first).

    Raises:
        InputError: if the mapping does not belong to workload and machine, or under `assign` a
            dim stands in two subscripts of the output.
        LimitError: for a subscript with gaps over too wide an index range.
    """
    mapping.check(workload, machine)
    return tuple(
        BoundaryTraffic(between=between, tensor=name, loads_words=loads, stores_words=stores)
        for level, between in enumerate(machine.boundaries)
        for name, (loads, stores) in zip(access_names(workload), traffic_outside(workload, mapping, level), strict=True)
    )


def traffic_outside(workload: Workload, mapping: Mapping, level: int) -> tuple[tuple[int, int], ...]:
    """Loads and stores at the boundary outside one level, in words, per tensor, output first.

    Args:
        workload: what is computed.
        mapping: valid tiles, loop orders and splits; those of levels inside `level` do not matter.
        level: number of the level inside the boundary.

    Raises:
        InputError: under `assign`, if a dim stands in two subscripts of the output.
        LimitError: for a subscript with gaps over too wide an index range.
    """
    limited = _limited(workload, mapping, level)
    placed = {d for axis in limited for d in axis.dims}
    paths = {dim: TileDescent.of(workload, mapping, dim, level, placed=dim in placed) for dim in workload.dims}
    steps = _steps(mapping, level, paths)
    created = _first_touches(workload, mapping, level, limited)
    found = []
    for tensor in workload.tensors:
        entering = _entering(workload, _counted(tensor, limited), paths, steps)
        is_output = tensor is workload.output
        weight = workload.weight(tensor)
        loads = weight * (entering - (created if is_output else 0))
        found.append((loads, weight * entering if is_output else 0))
    return tuple(found)


def passing_words(workload: Workload, mapping: Mapping, level: int, number: int) -> int:
    """Words of an input of which a level keeps nothing: its part of every tile, loaded as often as there are tiles.

    A level with room for one element passes the part through if it takes the iterations of a tile element by element.

    Args:
        workload: what is computed.
        mapping: valid tiles, loop orders and splits; those of levels inside `level` do not matter.
        level: number of the level inside the boundary.
        number: of the input among the workload's tensors.
    """
    tensor = _counted(workload.tensors[number], _limited(workload, mapping, level))
    placed = {d for axis in tensor.axes if axis.real is not None for d in axis.dims}
    stays = {
        dim: _wraps(TileDescent.of(workload, mapping, dim, level, placed=dim in placed), level) for dim in workload.dims
    }
    times = prod(sum(many for _, many in stays[dim]) for dim in workload.dims if dim not in tensor.dims)
    groups = [(group, group_dims(group)) for group in axis_groups(tensor)]
    sums = [_group_sums(group, tuple(stays[dim] for dim in dims))[0] for group, dims in groups]
    return workload.weight(tensor) * times * prod(sums)


def _counted(tensor: TensorAccess, limited: frozenset[Subscript]) -> TensorAccess:
    """A tensor without the ranges of subscripts that are counted with padding stored."""
    axes = (replace(axis, real=None) if axis.real and axis not in limited else axis for axis in tensor.axes)
    return replace(tensor, axes=tuple(axes))


def _limited(workload: Workload, mapping: Mapping, level: int) -> frozenset[Subscript]:
    """Subscripts with a range that no split outside a level cuts."""
    split = {dim for at in mapping.levels[level + 1 :] for dim, ways in at.spatial.items() if ways > 1}
    axes = (axis for tensor in workload.tensors for axis in tensor.axes)
    return frozenset(axis for axis in axes if axis.real is not None and not split & set(axis.dims))


def _first_touches(workload: Workload, mapping: Mapping, level: int, limited: frozenset[Subscript]) -> int:
    """Real output elements that are created: ranges replace the factors of their subscripts."""
    created = first_touches(workload, mapping, level)
    for axis in workload.output.axes:
        if axis in limited:
            created = created // axis.count(workload.extents) * _real_count(axis, workload.extents)
    return created


def _real_count(axis: Subscript, sizes: dict[str, int]) -> int:
    """Real values of a subscript on a tile that starts at 0."""
    extents, still = tuple(sizes[d] for d in axis.dims), (0,) * len(axis.dims)
    return windowed((SharedWindow.of(axis, (extents, extents, still), still, ()),), ())


@lru_cache(maxsize=16384)
def _wraps(path: TileDescent, level: int) -> Moves:
    """Back from the last to the first l-tile, in every tile of a level."""
    moves: Counter[Move] = Counter()
    for (here, size), times in path.grids(level).items():
        start, old = path.last(size, level)
        moves[old, path.first(size, level), -start, here] += times
    return tuple(sorted(moves.items()))


@lru_cache(maxsize=16384)
def _advances(path: TileDescent, level: int) -> Moves:
    """On to the next tile of a level, everywhere it has a next one in its parent."""
    tile = path.tiles[level]
    start, old = path.last(path.share(tile, level), level)
    moves: Counter[Move] = Counter()
    for (here, size), times in path.grids(level + 1).items():
        if size > tile:
            for at, each, many in path.pieces(here.moved(tile), size - tile, tile):
                moves[old, path.first(path.share(each, level), level), tile - start, at] += times * many
    return tuple(sorted(moves.items()))


def _steps(mapping: Mapping, base: int, paths: dict[str, TileDescent]) -> list[dict[str, Moves]]:
    """For every loop that ever advances: the moves of all dims at its steps."""
    wraps = {(d, q): _wraps(path, q) for d, path in paths.items() for q in range(base, len(mapping.levels) + 1)}
    steps: list[dict[str, Moves]] = []
    for level in range(base, len(mapping.levels)):
        order = mapping.levels[level].permutation
        for position, dim in enumerate(order):
            advances = _advances(paths[dim], level)
            if advances:
                outside = {e: wraps[e, level] for e in order[:position]}
                inside = {e: wraps[e, level + 1] for e in order[position + 1 :]}
                steps.append({**outside, dim: advances, **inside})
    return steps


def _entering(
    workload: Workload, tensor: TensorAccess, paths: dict[str, TileDescent], steps: list[dict[str, Moves]]
) -> int:
    """Elements of a tensor that enter, over the whole run, the first tile included."""
    depth = max(len(path.tiles) for path in paths.values())
    total = prod(_real_count(a, {d: paths[d].first(paths[d].extent, depth) for d in a.dims}) for a in tensor.axes)
    groups = [(group, group_dims(group)) for group in axis_groups(tensor)]
    present = tensor.dims
    absent = [d for d in workload.dims if d not in present]
    for moves in steps:
        times = prod(sum(n * starts.count for (*_, starts), n in moves[d]) for d in absent)
        sums = [_group_sums(group, tuple(moves[d] for d in dims)) for group, dims in groups]
        total += times * (prod(new for new, _ in sums) - prod(kept for _, kept in sums))
    return total


@lru_cache(maxsize=16384)
def _group_sums(group: tuple[Subscript, ...], moves: tuple[Moves, ...]) -> tuple[int, int]:
    """Over all combinations of moves: elements of the new tile, and those the old one also held."""
    dims = group_dims(group)
    news, kepts = 0, 0
    for choice in product(*moves):
        times = prod(n for _, n in choice)
        move = {d: m for d, (m, _) in zip(dims, choice, strict=True)}
        rows = [(d, row) for d, (*_, starts) in move.items() for row in starts.rows]
        counts = tuple(times for _, (_, times) in rows)
        new, kept = [], []
        for axis in group:
            olds, sizes, shifts, starts = zip(*(move[d] for d in axis.dims), strict=True)
            firsts = tuple(each.first for each in starts)
            steps = [tuple(step if d == mine else 0 for d in axis.dims) for mine, (step, _) in rows]
            new.append(SharedWindow.of(axis, (sizes, sizes, (0,) * len(sizes)), firsts, steps))
            kept.append(SharedWindow.of(axis, (sizes, olds, shifts), firsts, steps))
        news += times * windowed(new, counts)
        kepts += times * windowed(kept, counts)
    return news, kepts
