"""Footprint, traffic and occupancy as arithmetic, from the reuse of a loop order.

One place for every tile program. A size is a number (a parameter) or anything with arithmetic (a
Pyomo variable or expression); parameters are folded, so that a subscript with one free dim becomes
`slope * T + constant` with both >= 0 and every term stays a posynomial.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import gcd, prod
from typing import Any, TypeAlias

from optmap.mappings.reuse import Reuse, TensorRoom
from optmap.workloads.halo import distinct_values
from optmap.workloads.workload import Semantics, Subscript, TensorAccess, Workload

Size: TypeAlias = Any
"""A number, or a Pyomo variable or expression."""


def is_number(size: Size) -> bool:
    """Whether a size is a parameter rather than a variable or an expression."""
    return isinstance(size, int | float)


def axis_values(axis: Subscript, tile: Mapping[str, Size]) -> Size:
    """Distinct values of a subscript over a tile, as a smooth expression.

    One dim: T. Two dims with coprime coefficients m, n and sizes A, B: exact are A*B if A <= n or
    B <= m, else the dense form m*A + n*B - m*n (QuickFlow IV-A, rearranged). Here the case is
    chosen by what is a parameter:

    - both: exact;
    - B only: A*B if B <= m, else m*A + n*(B - m). Exact for all A >= 1 if n = 1 or B <= m, and
      for A >= n otherwise (below n it is too large, and a run along A is too small).

    Two or more free dims, or three and more altogether: the hull 1 + sum c*(T - 1). It is never
    too small; for two dims it is the dense form if m = 1 or n = 1, and exact if m = n = 1.

    Args:
        axis: the subscript.
        tile: size per dim; parameters may be real numbers.
    """
    live = _live(axis, tile)
    if len(live) < 2:
        return live[0][1] if live else 1
    free = [size for _, size in live if not is_number(size)]
    if not free and all(float(size).is_integer() for _, size in live):
        return distinct_values(tuple(c for c, _ in live), tuple(int(size) for _, size in live))
    if len(live) == 2 and len(free) < 2:
        return _pair(*live[0], *live[1])
    return sum(c * size for c, size in live if not is_number(size)) + _hull_constant(live)


def _live(axis: Subscript, tile: Mapping[str, Size]) -> list[tuple[int, Size]]:
    """(coefficient, size) of the dims that are not fixed at 1, coefficients divided by their gcd."""
    live = [(c, tile[d]) for d, c in axis.terms if not (is_number(tile[d]) and tile[d] == 1)]
    divisor = gcd(*(c for c, _ in live)) if live else 1
    return [(c // divisor, size) for c, size in live]


def _hull_constant(live: list[tuple[int, Size]]) -> float:
    constant: float = 1 - sum(c for c, _ in live) + sum(c * size for c, size in live if is_number(size))
    return constant


def _pair(m: int, a: Size, n: int, b: Size) -> Size:
    """Two sizes of which at least one is a parameter."""
    if is_number(a) and not is_number(b):
        m, a, n, b = n, b, m, a
    if is_number(a) and a <= n:
        return a * b
    slope, constant = _pair_line(m, n, b)
    return slope * a + constant if constant else slope * a


def _pair_line(m: int, n: int, b: float) -> tuple[float, float]:
    """Slope and constant of the values of m*x + n*y (coprime) in the size of x, y having a size b."""
    return (b, 0.0) if b <= m else (m, n * (b - m))


def geometric(workload: Workload, tile: Mapping[str, float], outer: Mapping[str, float]) -> bool:
    """Whether the traffic and occupancy of a level are posynomials in the free sizes.

    Args:
        workload: the tensors.
        tile: sizes of the level that are parameters.
        outer: sizes of the next outer level that are parameters.
    """
    free = object()
    for axis in (axis for tensor in workload.tensors for axis in tensor.axes):
        live = _live(axis, {d: tile.get(d, free) for d in axis.dims})
        variable = sum(not is_number(size) for _, size in live)
        if len(live) < 2 or variable == 0:
            continue
        if variable > 1 or any(d in tile and d not in outer for d in axis.dims):
            return False
        if len(live) > 2 and _hull_constant(live) < 0:
            return False
    return True


def footprint(tensor: TensorAccess, tile: Mapping[str, Size]) -> Size:
    """Elements of a tensor in a tile: the product over its subscripts (see `axis_values`)."""
    return _times(axis_values(axis, tile) for axis in tensor.axes)


def _times(factors: Iterable[Size]) -> Size:
    """The product, numbers first."""
    found = list(factors)
    count = prod((f for f in found if is_number(f)), start=1)
    return prod((f for f in found if not is_number(f)), start=count)


def run_elements(tensor: TensorAccess, at: str | None, tile: Mapping[str, Size], outer: Mapping[str, Size]) -> Size:
    """Elements loaded over one run of the loop at the reuse position.

    The first tile whole, then for every further one what its predecessor does not hold. For a
    dense window this is the footprint with T_at := N_at (MOpt section 3); with gaps it is
    F + (N/T - 1) * (F(2T) - F), which is larger than the union if data comes back later.

    Args:
        tensor: the access.
        at: the dim at the reuse position; None if the tensor has no dims.
        tile: sizes of the tile.
        outer: sizes of the tile of the next outer level, or the extents.
    """
    if at is None:
        return footprint(tensor, tile)
    moving = [axis for axis in tensor.axes if at in axis.dims]
    still = _times(axis_values(axis, tile) for axis in tensor.axes if at not in axis.dims)
    if len(moving) == 1:
        return _times((_axis_run(moving[0], at, tile, outer), still))
    whole = _times(axis_values(axis, tile) for axis in moving)
    trips = _ratio(outer[at], tile[at])
    twice = {**tile, at: 2 * tile[at]}
    if any(_alone(axis, at, tile) for axis in moving):
        return trips * whole * still
    overlap = _times(2 * axis_values(axis, tile) - axis_values(axis, twice) for axis in moving)
    return (trips * (whole - overlap) + overlap) * still


def _axis_run(axis: Subscript, at: str, tile: Mapping[str, Size], outer: Mapping[str, Size]) -> Size:
    """`run_elements` for the only subscript that moves."""
    others = [d for d in axis.dims if d != at and not (is_number(tile[d]) and tile[d] == 1)]
    unit = all(c == axis.terms[0][1] for _, c in axis.terms)
    if len(others) != 1 or unit or not (is_number(tile[at]) and is_number(outer[at])):
        return axis_values(axis, {**tile, at: outer[at]})
    # Moving along a parameter (a filter dim) under a stride: neighbouring tiles may leave gaps.
    partner = others[0]
    slope_1, constant_1 = _line(axis, at, partner, tile[at])
    slope_2, constant_2 = _line(axis, at, partner, 2 * tile[at])
    if is_number(tile[partner]):
        first = axis_values(axis, tile)
        return first + (outer[at] / tile[at] - 1) * (axis_values(axis, {**tile, at: 2 * tile[at]}) - first)
    more = outer[at] / tile[at] - 1
    slope = slope_1 + more * (slope_2 - slope_1)
    constant = constant_1 + more * (constant_2 - constant_1)
    return slope * tile[partner] + constant if constant else slope * tile[partner]


def _line(axis: Subscript, at: str, partner: str, size: float) -> tuple[float, float]:
    """Slope and constant of the subscript's values in the size of `partner`."""
    coefficients = dict(axis.terms)
    divisor = gcd(coefficients[at], coefficients[partner]) if size != 1 else coefficients[partner]
    m, n = coefficients[partner] // divisor, coefficients[at] // divisor
    return _pair_line(m, n, size)


def _alone(axis: Subscript, at: str, tile: Mapping[str, Size]) -> bool:
    """Whether no other dim of the subscript has a tile above 1: neighbouring tiles are disjoint."""
    return all(d == at or (is_number(tile[d]) and tile[d] == 1) for d in axis.dims)


def _ratio(numerator: Size, denominator: Size) -> Size:
    if is_number(numerator) and is_number(denominator):
        return 1 if numerator == denominator else numerator / denominator
    return numerator / denominator


def visits(
    workload: Workload, tensor: TensorAccess, reuse: Reuse, tile: Mapping[str, Size], outer: Mapping[str, Size]
) -> Size:
    """Elements of a tensor that cross the boundary in one direction, over the whole computation.

    prod_{outside} N/T times the elements of one run at the reuse position, the whole repeated
    prod N/T_outer times (MOpt sections 3 and 5); an outside dim's N/T_outer * T_outer/T is N/T.

    Args:
        workload: gives the extents N.
        tensor: the access.
        reuse: its reuse under the loop order of this level.
        tile: sizes of this level's tile.
        outer: sizes of the next outer level's tile; the extents at the outermost level.
    """
    extents = workload.extents
    factors: list[Size] = []
    for dim in workload.dims:
        steady = dim in reuse.free or dim == reuse.at
        factors.append(_ratio(extents[dim], outer[dim] if steady else tile[dim]))
    return _times(factors) * run_elements(tensor, reuse.at, tile, outer)


def tensor_traffic(
    workload: Workload, tensor: TensorAccess, reuse: Reuse, tile: Mapping[str, Size], outer: Mapping[str, Size]
) -> Size:
    """Words of one tensor across a boundary, loads plus stores, first touches not subtracted.

    The output is loaded and stored on every visit (MOpt's factor 2). Under `assign` the first
    touches, `first_touches(workload)` words in all, are not loaded: subtract them from the sum.
    """
    factor = workload.weight(tensor) * (2 if tensor is workload.output else 1)
    return factor * visits(workload, tensor, reuse, tile, outer)


def first_touches(workload: Workload) -> int:
    """Words to subtract from the traffic of a level: |Out| under `assign`, else 0."""
    if workload.semantics is Semantics.ACCUMULATE:
        return 0
    return workload.weight(workload.output) * workload.output.footprint(workload.extents)


def tensor_occupancy(workload: Workload, tensor: TensorAccess, tile: Mapping[str, Size], room: TensorRoom) -> Size:
    """Words of one tensor that a level must hold.

    Args:
        workload: gives the words per element.
        tensor: the access.
        tile: sizes of the level's tile.
        room: one tile, two neighbours, or two tiles (`mappings.reuse.safe_working_set`).
    """
    return workload.weight(tensor) * room.copies * footprint(tensor, room.tile(tile))


def approximations(workload: Workload, fixed: Mapping[str, float]) -> tuple[str, ...]:
    """Subscripts whose count in a program is an estimate, in words.

    Args:
        workload: the tensors.
        fixed: sizes that are parameters.
    """
    notes = []
    for tensor in workload.tensors:
        for axis in tensor.axes:
            live = [(d, c) for d, c in axis.terms if fixed.get(d) != 1]
            free = [(d, c) for d, c in live if d not in fixed]
            if len(live) < 2 or not free:
                continue
            divisor = gcd(*(c for _, c in live))
            if len(live) > 2:
                notes.append(f"{tensor.name}[{axis}]: hull of three or more dims, never too small")
            elif len(free) == 2 and any(c != divisor for _, c in live):
                small = " if one size is below the other's coefficient"
                notes.append(
                    f"{tensor.name}[{axis}]: dense form, too large{small}; fix one of the sizes to make it exact"
                )
            elif len(free) == 1:
                (dim, m), (other, n) = free[0], next(term for term in live if term[0] in fixed)
                if n // divisor > 1 and fixed[other] > m // divisor:
                    notes.append(f"{tensor.name}[{axis}]: not exact while the tile of {dim} is below {n // divisor}")
    return tuple(dict.fromkeys(notes))
