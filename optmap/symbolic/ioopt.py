"""IOOpt's upper bound in symbols: loop orders by reuse, traffic at chosen reuse levels, closed forms.

Source: IOOpt sections 4.1 to 4.3 and 6. What the paper prints differently: the subset in line 8 of
Algorithm 1 is strict, line 3 returns the set that holds the empty order, and the front domain of a
loop is its first tile.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from sympy import Expr, Integer, Mul, Symbol, sqrt

from optmap.errors import InputError
from optmap.problem.axes import overlaps
from optmap.problem.workload import TensorAccess, Workload
from optmap.symbolic.footprint import footprint
from optmap.symbolic.symbols import tiles
from optmap.symbolic.traffic import check_permutation, visits


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
        raise InputError(f"{workload.name} has no dim {', '.join(unknown)}; dims are {', '.join(workload.dims)}")
    return {
        dim: frozenset(
            tensor.name
            for tensor in workload.tensors
            if dim not in tensor.dims or (dim in declared and overlaps(tensor, dim))
        )
        for dim in workload.dims
    }


def reuse_orders(workload: Workload, small: Iterable[str] = ()) -> tuple[tuple[str, ...], ...]:
    """The loop orders worth tiling (IOOpt, Algorithm 1), outermost first.

    Where no tensor can be reused any more, the remaining dims keep their canonical order.

    Args:
        workload: the tensors.
        small: dims declared small (see `reuse_sets`).

    Raises:
        InputError: for a small dim that the workload does not have.
    """
    return tuple(dict.fromkeys(_orders(workload.dims, reuse_sets(workload, small))))


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


MEMORY = Symbol("S", positive=True)
"""Words of the fast memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedForm:
    """An upper bound without tile sizes."""

    expression: Expr
    """Words loaded, in the extents N_… and the memory S."""
    tile: Expr
    """The side of the square tile, in S."""
    stationary: str
    """The tensor that is loaded once."""
    streamed: tuple[tuple[str, ...], ...]
    """The two groups of dims whose tile sizes have the product `tile`."""
    assumptions: tuple[str, ...]
    """When the bound holds."""


def contraction_closed_form(workload: Workload, stationary: str | None = None) -> ClosedForm:
    """The upper bound of a matrix product or a tensor contraction in N and S (IOOpt, section 6).

    Dims fall into three groups by the pair of tensors they occur in. The tile of the stationary
    tensor is square after merging each of its groups and fills the memory together with one column of
    each of the others: T^2 + 2T = S, hence T = sqrt(S+1) - 1 and

        loads = 2 * (product of all extents) / T + (words of the stationary tensor).

    Args:
        workload: an output and two inputs, each dim alone in its subscripts and in exactly two of them.
        stationary: the tensor that is loaded once; None for the one with the fewest words.

    Raises:
        InputError: if the workload is not such a contraction, or has no such tensor.
    """
    groups = _groups(workload)
    names = [tensor.name for tensor in workload.tensors]
    if stationary is None:
        stationary = min(workload.tensors, key=lambda t: t.footprint(workload.extents)).name
    if stationary not in names:
        raise InputError(f"{workload.name} has no tensor {stationary!r}; tensors are {', '.join(names)}")
    kept = names.index(stationary)
    extents = tiles(workload.dims, 2)
    side = sqrt(MEMORY + 1) - 1
    words = Mul(*(extents[d] for d in workload.dims if d in workload.tensors[kept].dims))
    own = tuple(dims for pair, dims in groups.items() if kept in pair)
    return ClosedForm(
        expression=2 * Mul(*extents.values()) / side + words,
        tile=side,
        stationary=stationary,
        streamed=own,
        assumptions=(
            "square tiles: in each of the stationary tensor's two groups of dims the tile sizes have the product T",
            "T = sqrt(S+1) - 1 does not exceed the product of the extents of either group",
            "real quotients: T divides what it cuts",
        ),
    )


def _groups(workload: Workload) -> dict[tuple[int, int], tuple[str, ...]]:
    if len(workload.tensors) != 3 or any(len(a.terms) != 1 for t in workload.tensors for a in t.axes):
        raise InputError(f"{workload.expression}: a closed form needs two inputs and one dim per subscript")
    if len({workload.weight(tensor) for tensor in workload.tensors}) > 1:
        raise InputError(f"{workload.expression}: a closed form needs one element size for all tensors")
    groups: dict[tuple[int, int], tuple[str, ...]] = {}
    for dim in workload.dims:
        inside = [i for i, tensor in enumerate(workload.tensors) if dim in tensor.dims]
        if len(inside) != 2:
            raise InputError(f"{workload.expression}: dim {dim} occurs in {len(inside)} tensors; a closed form needs 2")
        pair = (inside[0], inside[1])
        groups[pair] = (*groups.get(pair, ()), dim)
    if len(groups) != 3:
        raise InputError(f"{workload.expression}: every two tensors of a contraction share a dim for a closed form")
    return groups


def convolution_closed_form() -> tuple[Expr, Expr]:
    """The printed upper bound of a two-dimensional convolution, batch 1 (IOOpt, Figure 6).

    Filter-stationary with tiles of side Delta along f, c and y and extent 1 along x, filters whole:

        CFHWXY * (1/(XY) + 1/(H Delta W) + (H+Delta-1)(W+X-1)/(H Delta^2 W X)),

    where Delta fills the memory: (HW+W+1) Delta^2 + (HW-W) Delta = S. It holds while Delta fits f, c
    and y, and its leading term is not the lower bound's.

    Returns:
        The bound and Delta, in the symbols N_c, N_f, N_h, N_w, N_x, N_y and S.
    """
    N = tiles(("c", "f", "h", "w", "x", "y"), 2)
    c, f, h, w, x, y = (N[d] for d in ("c", "f", "h", "w", "x", "y"))
    square, linear = h * w + w + 1, h * w - w
    delta = (-linear + sqrt(linear**2 + 4 * square * MEMORY)) / (2 * square)
    halo = (h + delta - 1) * (w + x - 1)
    bound = c * f * h * w * x * y * (1 / (x * y) + 1 / (h * delta * w) + halo / (h * delta**2 * w * x))
    return bound, delta


def at_extents(expression: Expr, workload: Workload, memory_words: int | None = None) -> Expr:
    """An expression with the extents of a workload, and the memory, put in.

    Args:
        expression: in N_… and S.
        workload: gives the extents.
        memory_words: words of the fast memory; None leaves S.
    """
    values = {symbol: Integer(workload.extents[d]) for d, symbol in tiles(workload.dims, 2).items()}
    if memory_words is not None:
        values[MEMORY] = Integer(memory_words)
    return expression.subs(values)
