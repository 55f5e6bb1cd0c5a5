"""Footprint and halo over arrays: what whole batches of tiles hold, share and bring in, exactly.

The one place where tiles are counted for arrays of sizes; `workloads.halo` counts for whole numbers.
The tile of a tensor is the product of the value sets of its axes, so counts are products over groups of
axes that share no dim (`workloads.axes`), and sums over all tiles factorise over them. Two neighbours along
one dim differ in that dim alone, so that subscript by subscript |new and old| = |new| + |old| - |both
together|, both together being one tile of both sizes.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from math import gcd, prod

import numpy as np

from optmap.count.levels.cutting import Along, Array
from optmap.workloads.axes import group_dims
from optmap.workloads.halo import distinct_values
from optmap.workloads.workload import Subscript

Group = tuple[Subscript, ...]
"""Subscripts that share dims."""


def axis_counts(axis: Subscript, sizes: Mapping[str, Array]) -> Array:
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
    if len(axis.terms) == 1:
        return sizes[axis.terms[0][0]]
    columns = [sizes[d] for d, _ in axis.terms]
    divisor = gcd(*(c for _, c in axis.terms))
    coefficients = tuple(c // divisor for _, c in axis.terms)
    if len(columns) == 2:
        return _pair_counts(coefficients, columns[0], columns[1])
    return _many_counts(coefficients, columns)


def _pair_counts(coefficients: tuple[int, ...], a: Array, b: Array) -> Array:
    m, n = coefficients
    if m == n == 1:
        return np.asarray(a + b - 1)
    if n == 1:
        return np.asarray((a - 1) * np.minimum(m, b) + b)
    if m == 1:
        return np.asarray((b - 1) * np.minimum(n, a) + a)
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


def group_counts(group: Group, sizes: Mapping[str, Array]) -> Array:
    """Elements that a tile of a group of subscripts holds; arguments as `axis_counts`."""
    return np.asarray(prod((axis_counts(axis, sizes) for axis in group), start=1))


def shared_counts(group: Group, sizes: Mapping[str, Array], at: str, before: Array) -> Array:
    """Elements that a tile of a group shares with its predecessor along one dim.

    Args:
        group: the subscripts.
        sizes: dim -> tile sizes, at least 1.
        at: the dim along which they are neighbours.
        before: size of the predecessor along it, at least 1.
    """
    shared: Array | int = 1
    for axis in group:
        count = axis_counts(axis, sizes)
        if at in axis.dims:
            together = axis_counts(axis, {**sizes, at: before + sizes[at]})
            count = axis_counts(axis, {**sizes, at: before}) + count - together
        shared = shared * count
    return np.asarray(shared)


def entering(group: Group, along: Mapping[str, Along], at: str | None) -> Array:
    """Elements of a group of subscripts that enter, summed over all its tiles.

    Args:
        group: the subscripts (`workloads.axes.axis_groups`).
        along: how each of their dims is cut.
        at: the dim along which a tile enters without what its predecessor had; None, or a dim of
            another group, if tiles enter whole.
    """
    if len(group) == 1 and len(group[0].terms) == 1:
        return along[group[0].dims[0]].total
    pair = window_pair(group)
    if pair is None:
        return _tiles_entering(group, along, at)
    x, y, m = pair
    return pair_entering(along[x], along[y], None if m == 1 else m, at={x: 0, y: 1}.get(at or ""))


def window_pair(group: Group) -> tuple[str, str, int] | None:
    """Dims x, y and the factor m of a single subscript m*x + y, up to a common factor; None for any other group."""
    if len(group) == 1 and len(group[0].terms) == 2:
        (x, m), (y, n) = group[0].terms
        if m % n == 0:
            return x, y, m // n
        if n % m == 0:
            return y, x, n // m
    return None


def pair_entering(a: Along, b: Along, m: int | Array | None, *, at: int | None) -> Array:
    """Elements of a subscript m*x + y that enter, summed over all its tiles.

    A tile of (a, b) has (a-1)*min(m, b) + b values, which is linear in a (exact for every b).

    Args:
        a: how x is cut.
        b: how y is cut.
        m: the factor; of several subscripts an array, (W, 1), or None if all are 1.
        at: along which of the two a tile enters without what its predecessor had: 0 for x, 1 for y; None for neither.
    """
    if at == 1:  # the union with the next tile along y has (a-1)*min(m, b+b') + b + b' values
        grown = b.parents if m is None else _grown(b, m)
        return np.asarray((a.total - a.children) * grown + a.children * b.total)
    narrow = b.children if m is None else _narrow(b, m)
    return np.asarray(a.total * narrow + (a.parents if at == 0 else a.children) * (b.total - narrow))


def _narrow(b: Along, m: int | Array) -> Array:
    """Over all tiles the sum of their sizes, none counted larger than m."""
    sizes, times = b.classes
    return np.asarray((times * np.minimum(m, sizes)).sum(axis=0))


def _grown(b: Along, m: int | Array) -> Array:
    """As `_narrow`, each tile counted with the one before it, less that one."""
    before, sizes, times = b.steps
    return np.asarray((times * (np.minimum(m, before + sizes) - np.minimum(m, before))).sum(axis=0))


def _tiles_entering(group: Group, along: Mapping[str, Along], at: str | None) -> Array:
    """Any group: sum over all combinations of actual sizes."""
    dims = group_dims(group)
    total: Array | int = 0
    for choice in product(*(list(along[d].visits(sliding=d == at)) for d in dims)):
        times = np.asarray(prod((t for _, _, t in choice), start=1))
        if not times.any():
            continue
        sizes = {d: size for d, (_, size, _) in zip(dims, choice, strict=True)}
        elements = group_counts(group, sizes)
        before = choice[dims.index(at)][0] if at in dims else None
        if at is not None and before is not None:
            elements = elements - shared_counts(group, sizes, at, before)
        total = total + times * elements
    return np.asarray(total)
