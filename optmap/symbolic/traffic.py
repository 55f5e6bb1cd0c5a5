"""Traffic and occupancy as SymPy expressions, for one level or several.

Source: MOpt sections 3 and 5. With n_k = N_k/T_k, a tensor whose
reuse position holds dim d moves, per visit, what one run of the loop over d brings in; every loop
outside multiplies that by n_k, the loops inside are free.
"""

from __future__ import annotations

from dataclasses import dataclass

from sympy import Expr, Integer, Mul

from optmap.base.errors import InputError
from optmap.mappings.reuse import reuse, safe_working_set
from optmap.symbolic.footprint import Tile, axis_overlap, axis_run, axis_values, footprint
from optmap.symbolic.symbols import tiles
from optmap.workloads.axes import overlaps
from optmap.workloads.workload import Semantics, TensorAccess, Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Visits:
    """Elements of one tensor that enter a level: the product of ratios and factors."""

    ratios: tuple[str, ...]
    """Dims k that contribute a factor (outer extent)/(tile extent), outermost first."""
    factors: tuple[Expr, ...]
    """What each subscript brings in per run of the loop at the reuse position, in elements."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorTraffic:
    """Words of one tensor across the boundary between a level and the next outer one."""

    name: str
    """Name of the tensor."""
    visits: Visits
    """The structure of the count, before weights (and without what lies outside this level)."""
    loads: Expr
    """Words into the level."""
    stores: Expr
    """Words out of the level (0 for inputs)."""

    @property
    def total(self) -> Expr:
        """Loads and stores, in words (MOpt's convention)."""
        return self.loads + self.stores


def check_permutation(workload: Workload, permutation: tuple[str, ...]) -> None:
    """Refuse a loop order that does not name every dim once.

    Raises:
        InputError: naming the missing, repeated or unknown dims.
    """
    if sorted(permutation) == sorted(workload.dims):
        return
    unknown = [d for d in permutation if d not in workload.dims]
    missing = [d for d in workload.dims if d not in permutation]
    repeated = sorted({d for d in permutation if permutation.count(d) > 1})
    faults = (("unknown", unknown), ("missing", missing), ("repeated", repeated))
    details = "; ".join(f"{what} {', '.join(dims)}" for what, dims in faults if dims)
    raise InputError(
        f"permutation {','.join(permutation)} of {workload.title}: {details}; "
        f"name every dim of {','.join(workload.dims)} once, outermost first"
    )


def visits(tensor: TensorAccess, permutation: tuple[str, ...], tile: Tile, outer: Tile) -> Visits:
    """Elements that enter a level while one outer tile is executed (MOpt section 3.2).

    Args:
        tensor: the access.
        permutation: loop order at this level, outermost first.
        tile: tile extents of this level.
        outer: tile extents of the next outer level, or the problem.
    """
    flow = reuse(tensor, permutation)
    outside = tuple(d for d in permutation if d not in flow.free and d != flow.at)
    whole = tuple(axis_values(axis, tile) for axis in tensor.axes)
    if flow.at is None:
        return Visits(ratios=(), factors=whole)
    if not overlaps(tensor, flow.at):
        return Visits(ratios=(*outside, flow.at), factors=whole)
    trips = outer[flow.at] / tile[flow.at]
    moving = [axis for axis in tensor.axes if flow.at in axis.dims]
    still = [axis_values(axis, tile) for axis in tensor.axes if flow.at not in axis.dims]
    if len(moving) == 1:
        factors = tuple(
            axis_run(axis, flow.at, tile, trips) if axis is moving[0] else values
            for axis, values in zip(tensor.axes, whole, strict=True)
        )
        return Visits(ratios=outside, factors=factors)
    one = Mul(*(axis_values(axis, tile) for axis in moving))
    shared = Mul(*(axis_overlap(axis, flow.at, tile) for axis in moving))
    return Visits(ratios=outside, factors=(*still, one + (trips - 1) * (one - shared)))


def tensor_traffic(
    workload: Workload, permutation: tuple[str, ...], level: int = 1, levels: int = 1
) -> tuple[TensorTraffic, ...]:
    """Loads and stores of every tensor at one level, over the whole execution, in words.

    At level l the problem is the tile of level l+1, and everything repeats once per such tile
    (MOpt section 5). Under `accumulate` the output is stored as often as it is loaded; under
    `assign` the first touch of each element is not loaded.

    Args:
        workload: tensors, word sizes and semantics; extents stay symbolic.
        permutation: loop order of this level, outermost first.
        level: 1 for the innermost.
        levels: bounded memory levels.

    Raises:
        InputError: for a loop order or a level that does not exist.
    """
    check_permutation(workload, permutation)
    tile, outer = tiles(workload.dims, level, levels), tiles(workload.dims, level + 1, levels)
    problem = tiles(workload.dims, levels + 1, levels)
    repeats = Mul(*(problem[d] / outer[d] for d in workload.dims))
    rows = []
    for tensor in workload.tensors:
        seen = visits(tensor, permutation, tile, outer)
        weight = workload.weight(tensor)
        moved = weight * repeats * Mul(*(outer[d] / tile[d] for d in seen.ratios), *seen.factors)
        loads, stores = moved, Integer(0)
        if tensor is workload.output:
            stores = moved
            if workload.semantics is Semantics.ASSIGN:
                loads = moved - weight * footprint(tensor, problem)
        rows.append(TensorTraffic(name=tensor.name, visits=seen, loads=loads, stores=stores))
    return tuple(rows)


def traffic(workload: Workload, permutation: tuple[str, ...], level: int = 1, levels: int = 1) -> Expr:
    """Loads plus stores of all tensors at one level, in words (see `tensor_traffic`)."""
    return sum((row.total for row in tensor_traffic(workload, permutation, level, levels)), Integer(0))


def occupancy(workload: Workload, level: int = 1, levels: int = 1) -> Expr:
    """Words of one tile of every tensor (MOpt Eq. 2 and 4).

    Raises:
        InputError: for a level that does not exist.
    """
    tile = tiles(workload.dims, level, levels)
    return sum((workload.weight(t) * footprint(t, tile) for t in workload.tensors), Integer(0))


def safe_occupancy(workload: Workload, permutation: tuple[str, ...], level: int = 1, levels: int = 1) -> Expr:
    """Words that LRU must hold to move no more than the traffic says (`safe_working_set`).

    Raises:
        InputError: for a loop order or a level that does not exist.
    """
    check_permutation(workload, permutation)
    tile = tiles(workload.dims, level, levels)
    total: Expr = Integer(0)
    for tensor, room in zip(workload.tensors, safe_working_set(workload, permutation), strict=True):
        total += room.copies * workload.weight(tensor) * footprint(tensor, room.tile(tile))
    return total
