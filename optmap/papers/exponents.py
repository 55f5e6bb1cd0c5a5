"""Exponents of Brascamp-Lieb inequalities as the papers derive them: rank conditions and the least sum, exactly."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from optmap.bounds.exponents.lattice import Row, closure, image_rank, kernel
from optmap.solvers.exact import linear_program, solve_exact

Matrix = tuple[Row, ...]
"""Of a map from iterations to elements: a row per subscript, a column per dim."""


def unit_rows(dims: Iterable[int], width: int) -> Matrix:
    """The matrix of a projection on some dims."""
    return tuple(tuple(int(place == dim) for place in range(width)) for dim in dims)


def rank_conditions(maps: Sequence[Matrix], width: int) -> tuple[list[list[int]], list[int]]:
    """What exponents have to meet for every subspace of the lattice that the kernels of the maps generate.

    Args:
        maps: a matrix per tensor.
        width: dims.

    Returns:
        A row per subspace, the rank of its image under each map; and its own rank, which their sum, weighted with the
        exponents, must reach. Both are empty for a lattice with too many members.
    """
    spaces = [space for space in closure(frozenset(kernel(rows, width) for rows in maps), width) or () if space]
    return [[image_rank(own, space) for own in maps] for space in spaces], [len(space) for space in spaces]


def least_sum(
    maps: Sequence[Matrix], width: int, *, free: int = 0, scaled: bool = False
) -> tuple[Fraction | None, tuple[Fraction, ...]]:
    """The least sum of exponents in [0, 1] that meet the rank conditions of the lattice, exactly.

    Args:
        maps: a matrix per tensor.
        width: dims.
        free: maps at the end whose exponents the sum leaves out, such as one that keeps small dims.
        scaled: whether the scaling constraint d = sum of s_j*d_j of the real inequality is added.

    Returns:
        The sum and the exponents; None and no exponents if there are none.
    """
    rows, least = rank_conditions(maps, width)
    lower: list[int | None] = [*least]
    upper: list[int | None] = [None] * len(rows)
    if scaled:
        rows, lower, upper = [*rows, [len(own) for own in maps]], [*lower, width], [*upper, width]
    cost = [1] * (len(maps) - free) + [0] * free
    found = solve_exact(linear_program(cost, rows, row_lower=lower, row_upper=upper, upper=[1] * len(maps)))
    return found.objective, tuple(found.x)
