"""Values of one axis for columns of tiles: how many a tile holds, keeps after a shift, and children start at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import gcd

import numpy as np

from optmap.count.meshes.batch_columns import Column
from optmap.questions.policy import Footprint
from optmap.workloads.halo import distinct_values, span, value_mask


def axis_sizes(coefficients: Sequence[int], extents: Sequence[Column], footprint: Footprint) -> Column:
    """Words of one axis that tiles hold.

    Args:
        coefficients: of the dims of the axis; columns of which no entry exceeds 1 may be left out.
        extents: of the tiles, per dim.
        footprint: what the axis has of them (`Footprint.words`).
    """
    if not extents:
        return np.ones(1)
    if footprint is Footprint.HULL:
        return _span(coefficients, extents)
    if footprint is Footprint.UNIT_STRIDES:
        return _span((1,) * len(extents), extents)
    if len(extents) == 1:
        return extents[0]
    divisor = gcd(*coefficients)
    terms = tuple(c // divisor for c in coefficients)
    if len(extents) == 2:
        (m, n), (a, b) = terms, extents
        dense = _span(terms, extents) - (m - 1) * (n - 1)
        return np.where((a > n) & (b > m), dense, a * b)
    return _each(lambda *box: distinct_values(terms, box), *extents)


def _span(coefficients: Sequence[int], extents: Sequence[Column]) -> Column:
    found = coefficients[0] * extents[0] - (sum(coefficients) - 1)
    for factor, extent in zip(coefficients[1:], extents[1:], strict=True):
        found = found + (factor * extent if factor > 1 else extent)
    return found


def axis_overlaps(
    coefficients: Sequence[int], extents: Sequence[Column], sizes: Column, shift: Column, footprint: Footprint
) -> Column:
    """Words of one axis that a tile still holds after it moved.

    Args:
        coefficients: of the dims of the axis, two or more.
        extents: of the tiles, per dim.
        sizes: what `axis_sizes` found for them.
        shift: by how much the index grows.
        footprint: as for `axis_sizes`, hulls or what is touched.
    """
    divisor = 1 if footprint is Footprint.HULL else gcd(*coefficients)
    steps = shift / divisor if divisor > 1 else shift
    found = np.maximum(sizes - steps, 0)
    if footprint is Footprint.HULL:
        return found
    terms = tuple(c // divisor for c in coefficients)
    gaps = np.flatnonzero(sizes < _span(terms, extents))
    if len(gaps):
        found[gaps] = _each(
            lambda step, *box: _shared(terms, box, step), steps[gaps], *(extent[gaps] for extent in extents)
        )
    return found


@lru_cache(maxsize=65536)
def _shared(terms: tuple[int, ...], box: tuple[int, ...], step: int) -> int:
    if step >= span(terms, box):
        return 0
    values = value_mask(terms, box)
    return (values & values >> step).bit_count()


def axis_groups(coefficients: Sequence[int], inside: Sequence[Column], ways: Sequence[Column]) -> Column:
    """How many different places along one axis the tiles of a memory's children start at.

    Args:
        coefficients: of the dims of the axis.
        inside: extents of a child's tile, per dim.
        ways: children per dim.
    """
    found = ways[0]
    several = (ways[0] > 1).view(np.int8)
    for own in ways[1:]:
        found = found * own
        several = several + (own > 1)
    shared = np.flatnonzero(several > 1)
    if len(shared):
        found = found.copy()
        columns = [column[shared] for column in (*inside, *ways)]
        found[shared] = _each(lambda *numbers: _starts(tuple(coefficients), numbers), *columns)
    return found


@lru_cache(maxsize=65536)
def _starts(coefficients: tuple[int, ...], numbers: tuple[int, ...]) -> int:
    inside, ways = numbers[: len(coefficients)], numbers[len(coefficients) :]
    steps = [factor * size for factor, size in zip(coefficients, inside, strict=True)]
    return distinct_values(tuple(steps), ways)


def _each(function: Callable[..., int], *columns: Column) -> Column:
    """A function of whole numbers, called once per different row of its arguments."""
    key = np.zeros(len(columns[0]))
    for column in columns:
        key = key * (column.max(initial=0) + 1) + column
    if key.max(initial=0) >= 2.0**53:
        rows = np.stack(columns)
        _, first, back = np.unique(rows, axis=1, return_index=True, return_inverse=True)
    else:
        _, first, back = np.unique(key, return_index=True, return_inverse=True)
    numbers = zip(*(column[first].astype(np.int64).tolist() for column in columns), strict=True)
    found = np.array([function(*row) for row in numbers], np.float64)
    result: Column = found[back]
    return result
