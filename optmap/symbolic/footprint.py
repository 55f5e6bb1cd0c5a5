"""Footprints as SymPy expressions in tile symbols."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sympy import Add, Expr, Function, Integer, Max, Min, Mul

from optmap.loop_orders.structure import reduced
from optmap.workloads.halo import distinct_values
from optmap.workloads.workload import Subscript, TensorAccess

Tile = Mapping[str, Expr]
"""Extent per dim: symbols, numbers or expressions in them."""


class distinct(Function):  # type: ignore[misc]  # noqa: N801  # printed in lower case, as Min is not
    """`distinct(c1, T1, c2, T2, …)`: values of c1*x1 + c2*x2 + … over 0 <= xi < Ti, exactly.

    Stays symbolic until every argument is a whole number; then it is counted. Used for subscripts
    of three or more dims, which have no closed form.
    """

    @classmethod
    def eval(cls, *args: Any) -> Expr | None:
        """The number of values if all arguments are positive integers, else None."""
        if all(isinstance(a, Integer) and a > 0 for a in args):
            numbers = tuple(int(a) for a in args)
            return Integer(distinct_values(numbers[::2], numbers[1::2]))
        return None


def axis_values(axis: Subscript, tile: Tile) -> Expr:
    """Distinct values of one subscript over a tile.

    After division by the common factor of the coefficients: no dim 1; one dim T; unit
    coefficients Σ T - (dims - 1); two dims with coefficients m, 1 the smaller of A*B and
    m(A-1) + B; two dims with coprime m, n >= 2

        A*B - max(A-n, 0) * max(B-m, 0),

    which is QuickFlow's closed form (section IV-A) in one line: the dense count
    m(A-1)+n(B-1)-(m-1)(n-1)+1 equals A*B - (A-n)(B-m). Their minimum is *not* the count if both
    A < n and B < m (2x+3y with A = 2, B = 1 has 2 values, the dense count is 1); with n = 1 that
    cannot happen. Three and more dims with other coefficients: `distinct`.

    Args:
        axis: the subscript.
        tile: extent per dim.
    """
    terms = reduced(axis)
    if all(c == 1 for _, c in terms):
        return Add(*(tile[d] for d, _ in terms), Integer(1 - len(terms)))
    if len(terms) > 2:
        return distinct(*(part for d, c in terms for part in (Integer(c), tile[d])))
    (a, m), (b, n) = sorted(terms, key=lambda term: -term[1])
    A, B = tile[a], tile[b]
    if n == 1:
        return Min(A * B, m * (A - 1) + B)
    return A * B - Max(A - n, 0) * Max(B - m, 0)


def footprint(tensor: TensorAccess, tile: Tile) -> Expr:
    """Elements of a tensor that a tile touches: the product over its subscripts."""
    return Mul(*(axis_values(axis, tile) for axis in tensor.axes))


def axis_run(axis: Subscript, dim: str, tile: Tile, trips: Expr) -> Expr:
    """Values that one run of the loop over `dim` brings in, tile by tile, for one subscript.

    The first tile counts whole, every next one by what it does not share with its predecessor:
    f(T) + (trips - 1) * (f(2T) - f(T)), because f(2T) is the union of two neighbours. This equals
    f(T*trips) exactly if the union of all tiles has no gaps that a later tile fills: for a dim
    alone, for unit coefficients, and for a pair if the coefficient of the *other* dim is 1. It
    does not for the dim with coefficient 1 beside one with m > 1 (while its tile is below m).

    Args:
        axis: a subscript in which `dim` occurs.
        dim: the dim at the reuse position.
        tile: extent per dim.
        trips: iterations of the loop over `dim`.
    """
    terms = reduced(axis)
    others = [c for d, c in terms if d != dim]
    one = axis_values(axis, tile)
    if all(c == 1 for _, c in terms) or others == [1]:
        return axis_values(axis, {**tile, dim: tile[dim] * trips})
    two = axis_values(axis, {**tile, dim: 2 * tile[dim]})
    return one + (trips - 1) * (two - one)


def axis_overlap(axis: Subscript, dim: str, tile: Tile) -> Expr:
    """Values of a subscript that two neighbouring tiles along `dim` share: 2 f(T) - f(2T)."""
    return 2 * axis_values(axis, tile) - axis_values(axis, {**tile, dim: 2 * tile[dim]})
