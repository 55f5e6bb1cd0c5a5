"""IOOpt's upper bound in symbols: loop orders by reuse, traffic at chosen reuse levels.

Source: IOOpt sections 4.1 to 4.3. What the paper prints differently: the subset in line 8 of
Algorithm 1 is strict, line 3 returns the set that holds the empty order, and the front domain of a
loop is its first tile.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from sympy import Expr, Mul

from optmap.base.errors import InputError
from optmap.symbolic.footprint import footprint
from optmap.symbolic.symbols import tiles
from optmap.symbolic.traffic import check_permutation, visits
from optmap.workloads.axes import overlaps
from optmap.workloads.workload import TensorAccess, Workload


def reuse_sets(workload: Workload, small: Iterable[str] = ()) -> dict[str, frozenset[str]]:
    """Which tensors are reused along each dim if its loop is innermost (IOOpt, section 4.3).

    A tensor is reused along the dims it lacks and, as the oracle of the paper, along a dim declared
    small that it has only in subscripts shared with another dim.

    Args:
        workload: the tensors.
        small: dims whose extent is small beside their partner in a subscript.

    Raises:
        InputError: for a small dim that the workload does not have.
    """
    declared = frozenset(small)
    unknown = sorted(declared - set(workload.dims))
    if unknown:
        raise InputError(f"{workload.title} has no dim {', '.join(unknown)}; dims are {', '.join(workload.dims)}")
    return {
        dim: frozenset(
            tensor.name
            for tensor in workload.tensors
            if dim not in tensor.dims or (dim in declared and overlaps(tensor, dim))
        )
        for dim in workload.dims
    }


def reuse_orders(
    workload: Workload, small: Iterable[str] = (), *, limit: int | None = None
) -> tuple[tuple[str, ...], ...]:
    """The loop orders worth tiling (IOOpt, Algorithm 1), outermost first.

    Where no tensor can be reused any more, the remaining dims keep their canonical order.

    Args:
        workload: the tensors.
        small: dims declared small (see `reuse_sets`).
        limit: how many to derive at most; dims that reuse the same tensors have every order among themselves.

    Raises:
        InputError: for a small dim that the workload does not have.
    """
    return tuple(islice(_orders(workload.dims, reuse_sets(workload, small)), limit))


def _orders(dims: tuple[str, ...], sets: Mapping[str, frozenset[str]]) -> Iterator[tuple[str, ...]]:
    if not any(sets.values()):
        yield dims
        return
    for dim in dims:
        if any(sets[dim] < other for other in sets.values()):
            continue
        rest = tuple(d for d in dims if d != dim)
        for order in _orders(rest, {d: sets[d] & sets[dim] for d in rest}):
            yield (*order, dim)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldTraffic:
    """One tensor held at a reuse position, in symbols."""

    name: str
    """Name of the tensor."""
    position: int
    """Reuse position: 1 for the innermost loop."""
    held: Expr
    """Words it takes: its footprint with T := N for every loop inside the position."""
    entering: Expr
    """Words that enter over the whole run (loads; stores too for an output)."""


def held_traffic(
    workload: Workload, permutation: tuple[str, ...], positions: Mapping[str, int]
) -> tuple[HeldTraffic, ...]:
    """Footprint and cost of every tensor at a reuse position of its own (IOOpt, sections 4.1, 4.2).

    The front domain (the first tile along the loop at the position) loads the sub-domain's footprint,
    the back domain what the sub-domain does not share with the one before; the loops outside repeat
    that N/T times (real quotients).

    Args:
        workload: tensors and word sizes; extents stay symbolic.
        permutation: loop order, outermost first.
        positions: reuse position per tensor name, 1 … number of dims + 1.

    Returns:
        One entry per access, output first.

    Raises:
        InputError: for a loop order, a tensor or a position that does not exist.
    """
    check_permutation(workload, permutation)
    rows = []
    for tensor in workload.tensors:
        position = positions.get(tensor.name, 0)
        if not 1 <= position <= len(permutation) + 1:
            raise InputError(
                f"reuse position of {tensor.name} is {positions.get(tensor.name, 'missing')}; "
                f"give 1 (innermost loop) to {len(permutation) + 1} (everything is held)"
            )
        rows.append(_held(workload, tensor, permutation, position))
    return tuple(rows)


def _held(workload: Workload, tensor: TensorAccess, permutation: tuple[str, ...], position: int) -> HeldTraffic:
    extents = tiles(workload.dims, 2)
    inner = tuple(reversed(permutation))
    inside, outside = inner[: position - 1], tuple(reversed(inner[position:]))
    at = inner[position - 1] if position <= len(inner) else None
    part = tiles(workload.dims) | {d: extents[d] for d in inside}
    weight = workload.weight(tensor)
    if at is not None and at in tensor.dims and overlaps(tensor, at):
        # Dims inside the position have ratio 1, so their loops may stand anywhere outside.
        own = tuple(d for d in inside if d in tensor.dims)
        seen = visits(tensor, (*own, *outside, at, *(d for d in inside if d not in own)), part, extents)
        entering = Mul(*(extents[d] / part[d] for d in seen.ratios), *seen.factors)
    else:
        moving = (*outside, at) if at is not None and at in tensor.dims else outside
        entering = Mul(*(extents[d] / part[d] for d in moving), footprint(tensor, part))
    return HeldTraffic(
        name=tensor.name, position=position, held=weight * footprint(tensor, part), entering=weight * entering
    )
