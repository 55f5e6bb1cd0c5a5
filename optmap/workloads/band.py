"""Points of two dims whose difference is bounded: conditions such as `l <= m`, or a sliding window.

In a box of iterations the values of one of the two dims with which some value of the other one is in the band are an
interval, and the points of both are counted in closed form.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from optmap.workloads.domain import Comparator, Condition
from optmap.workloads.statement import Statement

Interval = tuple[int, int]
"""First index and the one beyond the last."""
V = TypeVar("V", int, NDArray[np.int64])
"""A number or an array of numbers."""
FAR = 2**64
"""A difference that no two iterations have."""


@dataclass(frozen=True, slots=True)
class IndexBand:
    """Points of two dims with `low <= second - first <= high`."""

    first: str
    second: str
    low: int
    high: int

    def within(self, extents: Mapping[str, int]) -> IndexBand:
        """The same points of dims of some extents, with ends that are differences there: small numbers in arrays."""
        return replace(self, low=max(self.low, 1 - extents[self.first]), high=min(self.high, extents[self.second] - 1))

    def points(self, a: tuple[V, V], b: tuple[V, V]) -> V:
        """How many points of a box are in the band.

        Args:
            a: first and beyond of the first dim.
            b: of the second one.
        """
        most: Any = max if all(isinstance(end, int) for end in (*a, *b)) else np.maximum
        sizes = most(0, a[1] - a[0]), most(0, b[1] - b[0])
        corners = (0, 1), (sizes[0], -1), (sizes[1], -1), (sizes[0] + sizes[1], 1)

        def up_to(difference: int) -> V:
            far = difference - b[0] + a[1]  # of u + v + 1, with u, v counted from the last and from the first
            sides = [(sign, most(0, far - less)) for less, sign in corners]
            return cast(V, sum(sign * (side * (side + 1) // 2) for sign, side in sides))

        return up_to(self.high) - up_to(self.low - 1)

    def left(self, dim: str, a: tuple[V, V], b: tuple[V, V]) -> tuple[V, V]:
        """Of one of the dims the values with which a point of a box is in the band, where the box has any."""
        if dim == self.first:
            low, high = _most(a[0], b[0] - self.high), -_most(-a[1], self.low - b[1])
        else:
            low, high = _most(b[0], a[0] + self.low), -_most(-b[1], -a[1] - self.high)
        return low, high

    def held(self, dims: Sequence[str], left: Mapping[str, tuple[V, V]], cell: Mapping[str, Interval]) -> V:
        """Values of some of the two dims of which something of a cell is touched, where so much is left of both.

        Args:
            dims: of the two.
            left: first and beyond of both, numbers or arrays.
            cell: what is looked at.
        """
        a, b = left[self.first], left[self.second]
        if len(dims) == 2:
            sides: dict[str, tuple[V, V]] = {d: _common(left[d], cell[d]) for d in dims}
            return self.points(sides[self.first], sides[self.second])
        if not dims:
            one: Any = 1
            return cast(V, one)
        low, high = _common(self.left(dims[0], a, b), cell[dims[0]])
        return _most(0, high - low)

    def always(self, dim: str, other: tuple[V, V]) -> tuple[V, V]:
        """Values of one dim that are in the band with all values of the other one."""
        first, beyond = other
        if dim == self.first:
            return beyond - 1 - self.high, first - self.low + 1
        return beyond - 1 + self.low, first + self.high + 1


def _common(one: tuple[V, V], other: Interval) -> tuple[V, V]:
    """What an interval has in common with another one."""
    return _most(one[0], other[0]), -_most(-one[1], -other[1])


def _most(one: V | int, other: V | int) -> V:
    """The larger one, of arrays one by one."""
    most: Any = max if isinstance(one, int) and isinstance(other, int) else np.maximum
    return cast(V, most(one, other))


def band_of(conditions: Iterable[Condition]) -> IndexBand | None:
    """The band of the points that meet all conditions; None if they are of another form."""
    found: IndexBand | None = None
    for each in conditions:
        terms: dict[str, int] = {}
        for sign, side in ((1, each.left), (-1, each.right)):
            for dim, factor in side.terms:
                terms[dim] = terms.get(dim, 0) + sign * factor
        terms = {dim: factor for dim, factor in sorted(terms.items()) if factor}
        if sorted(terms.values()) != [-1, 1]:
            return None
        (first, factor), (second, _) = terms.items()
        offset = each.left.offset - each.right.offset  # -factor * (second - first) + offset REL 0
        at_most = each.relation in (Comparator.AT_MOST, Comparator.LESS)
        strict = each.relation in (Comparator.LESS, Comparator.MORE)
        edge = factor * offset
        if each.relation is Comparator.EQUAL:
            low, high = edge, edge
        elif at_most == (factor < 0):  # second - first <= edge
            low, high = -FAR, edge - strict
        else:
            low, high = edge + strict, FAR
        if found is None:
            found = IndexBand(first, second, low, high)
        elif (first, second) == (found.first, found.second):
            found = IndexBand(first, second, max(low, found.low), min(high, found.high))
        else:
            return None
    return found if found is None or found.low <= found.high else None


def band_of_statements(statements: Iterable[Statement], extents: Mapping[str, int]) -> IndexBand | None:
    """The band of all statements with conditions.

    Returns:
        None if two differ, one is of another form or met by no point, or another statement has one of the two dims.
        Its ends are differences that there are.
    """
    every = tuple(statements)
    bands = {band_of(each.domain) for each in every if each.domain}
    if len(bands) != 1:
        return None
    (band,) = bands
    if band is None or any(not each.domain and {band.first, band.second} & {*each.dims} for each in every):
        return None
    return band.within(extents) if band.points((0, extents[band.first]), (0, extents[band.second])) else None
