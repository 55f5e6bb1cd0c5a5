"""Exact traffic and occupancy of one tensor that is held at a reuse position of its own.

A tensor held at position l sees the loops inside l as if their tiles were whole: what it holds is
F(T with T_k := N_k for k inside l), and only the loops at l and outside move it (IOOpt, sections 4.1
and 4.2). The first sub-domain along the loop at l is loaded whole, every further one without what it
shares with the one before (the paper's front and back domains). Tiles that do not divide the extent
end with a smaller one and are counted as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

from optmap.evaluate.axes import Array, axis_counts, axis_groups, group_dims
from optmap.problem.workload import Axis, Semantics, TensorAccess, Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldTensor:
    """How one tensor is held, by dims."""

    free: frozenset[str]
    """Absent dims inside the reuse position."""
    full: frozenset[str]
    """Own dims inside the reuse position."""
    at: str | None
    """The dim at the reuse position if neighbouring tiles overlap along it, else None."""


def held_at(tensor: TensorAccess, permutation: tuple[str, ...], position: int) -> HeldTensor:
    """What a reuse position means for a tensor.

    Args:
        tensor: the access.
        permutation: dims, outermost first.
        position: 1 for the innermost loop; the number of dims plus 1 to hold everything used; 0 to
            keep nothing between tiles.
    """
    if position == 0:
        return HeldTensor(free=frozenset(), full=frozenset(), at=None)
    inner = tuple(reversed(permutation))
    inside = frozenset(inner[: position - 1])
    here = inner[position - 1] if position <= len(inner) else None
    free = inside - tensor.dims
    if here is not None and here not in tensor.dims:
        free |= {here}
        here = None
    return HeldTensor(free=free, full=inside & tensor.dims, at=here)


def held_words(
    workload: Workload,
    tensor: TensorAccess,
    tile: Mapping[str, int],
    held: HeldTensor,
    streamed: frozenset[str] = frozenset(),
) -> int:
    """Words that the tensor takes in the fast memory.

    Args:
        workload: gives extents and word size.
        tensor: one of its tensors.
        tile: extent per dim.
        held: its way of being held.
        streamed: dims of which one iteration at a time is held.
    """
    extents = workload.extents
    part = {d: extents[d] if d in held.full else 1 if d in streamed else tile[d] for d in tile}
    return workload.weight(tensor) * tensor.footprint(part)


def loaded_words(workload: Workload, tensor: TensorAccess, tile: Mapping[str, int], held: HeldTensor) -> int:
    """Words of the tensor that enter the fast memory over the whole run.

    Under `assign` the first touch of an output element is not loaded.

    Args:
        workload: gives extents, word size and semantics.
        tensor: one of its tensors.
        tile: extent per dim.
        held: its way of being held.
    """
    entering = entering_words(workload, tensor, tile, held)
    if tensor is workload.output and workload.semantics is Semantics.ASSIGN:
        return entering - workload.weight(tensor) * tensor.footprint(workload.extents)
    return entering


def entering_words(workload: Workload, tensor: TensorAccess, tile: Mapping[str, int], held: HeldTensor) -> int:
    """Words of the tensor that the fast memory takes in or creates: loads, or stores of an output."""
    extents = workload.extents
    visits = prod(-(-extents[d] // tile[d]) for d in extents if d not in tensor.dims and d not in held.free)
    whole = {d: np.array([extents[d] if d in held.full else tile[d]], dtype=object) for d in tensor.dims}
    factors = (int(group_entering(g, whole, extents, held.at)[0]) for g in axis_groups(tensor))
    return workload.weight(tensor) * visits * prod(factors)


def group_entering(
    group: tuple[Axis, ...], sizes: Mapping[str, Array], extents: Mapping[str, int], at: str | None
) -> Array:
    """Elements of a group of subscripts that enter, summed over all positions of its tiles.

    Args:
        group: subscripts that share dims (`axis_groups`).
        sizes: tile size per dim, integer arrays that broadcast to one shape.
        extents: extent per dim.
        at: the dim along which a tile enters without what its predecessor had, or None.

    Returns:
        Array of the common shape.
    """
    dims = group_dims(group)
    contexts = [_steps(sizes[d], extents[d], sliding=d == at) for d in dims]
    total: Array | int = 0
    for choice in product(*contexts):
        now = {d: size for d, (_, size, _) in zip(dims, choice, strict=True)}
        entering: Array | int = prod((axis_counts(axis, now) for axis in group), start=1)
        if at in dims:
            before = choice[dims.index(at)][0]
            if before is not None:
                entering = entering - _shared(group, now, at, before)
        total = total + entering * prod((times for _, _, times in choice), start=1)
    return np.asarray(total)


def _steps(tile: Array, extent: int, *, sliding: bool) -> list[tuple[Array | None, Array, Array]]:
    """(tile before or None, tile, how often): the tiles of one dim, sizes at least 1."""
    whole, rest = extent // tile, extent % tile
    last, once = np.where(rest > 0, rest, 1), np.where(rest > 0, 1, 0)
    if not sliding:
        return [(None, tile, whole), (None, last, once)]
    return [(None, tile, np.ones_like(tile)), (tile, tile, whole - 1), (tile, last, once)]


def _shared(group: tuple[Axis, ...], now: Mapping[str, Array], at: str, before: Array) -> Array:
    """Elements that a tile of a group shares with its predecessor along one dim."""
    shared: Array | int = 1
    for axis in group:
        count = axis_counts(axis, now)
        if at in axis.dims:
            joined = axis_counts(axis, {**now, at: before + now[at]})
            count = axis_counts(axis, {**now, at: before}) + count - joined
        shared = shared * count
    return np.asarray(shared)
