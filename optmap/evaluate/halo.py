"""Footprint and halo over arrays: index values of whole batches of tiles, exactly.

The one place where tiles are counted for arrays of sizes; `problem.halo` counts for whole numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd
from typing import Any

import numpy as np
import numpy.typing as npt

from optmap.problem.halo import distinct_values
from optmap.problem.workload import Axis

Array = npt.NDArray[Any]


def axis_counts(axis: Axis, sizes: Mapping[str, Array]) -> Array:
    """Distinct index values of one axis for arrays of tile sizes, exactly.

    Args:
        axis: the subscript.
        sizes: dim -> tile sizes, integer arrays of shapes that broadcast to one shape.

    Returns:
        Integer array of the broadcast shape. Source: QuickFlow, section IV-A, for two dims;
        `distinct_values` on unique rows where three or more dims leave gaps.

    Raises:
        LimitError: for three or more dims with gaps and too wide an index range.
    """
    columns = [sizes[d] for d in axis.dims]
    if len(columns) == 1:
        return columns[0]
    if len(columns) == 2:
        (_, m), (_, n) = axis.terms
        divisor = gcd(m, n)
        return _pair_counts(m // divisor, n // divisor, columns[0], columns[1])
    divisor = gcd(*(c for _, c in axis.terms))
    return _many_counts(tuple(c // divisor for _, c in axis.terms), columns)


def _pair_counts(m: int, n: int, a: Array, b: Array) -> Array:
    dense = m * (a - 1) + n * (b - 1) - ((m - 1) * (n - 1) - 1)
    return np.where((a > n) & (b > m), dense, a * b)


def _many_counts(coefficients: tuple[int, ...], columns: list[Array]) -> Array:
    """Three or more dims: the span where every step closes up, else one exact count per row."""
    order = sorted(range(len(columns)), key=lambda i: coefficients[i])
    arrays = np.broadcast_arrays(*columns)
    span = np.ones_like(arrays[0])
    dense = np.ones(span.shape, dtype=bool)
    for i in order:
        dense &= (arrays[i] == 1) | (span >= coefficients[i])
        span = span + coefficients[i] * (arrays[i] - 1)
    if dense.all():
        return span
    gaps = ~dense
    rows = list(zip(*(a[gaps].tolist() for a in arrays), strict=True))
    counts = {row: distinct_values(coefficients, row) for row in set(rows)}
    result: Array = span.copy()
    result[gaps] = np.array([counts[row] for row in rows], dtype=span.dtype)
    return result
