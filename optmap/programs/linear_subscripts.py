"""Subscripts as the convex programs see them: one free dim, counts linear in it.

A `LineAxis` has at most one free dim; the others are fixed filter-like extents. Its count as a
function of the free dim is concave and piecewise linear, with bends at known sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd

from optmap.workloads.canonical import Terms
from optmap.workloads.halo import distinct_values, run_values


@dataclass(frozen=True, slots=True, kw_only=True)
class LineAxis:
    """A subscript as the relaxation sees it: at most one free dim, no dim seen before."""

    coefficients: tuple[int, ...]
    """Factor of each dim."""
    dims: tuple[str, ...]
    """The dims, in the order of `coefficients`."""
    main: str | None
    """The free dim, None if every dim is a branch dim."""

    def count(self, values: dict[str, int]) -> int:
        """Distinct index values for an extent per dim."""
        return distinct_values(self.coefficients, tuple(values[d] for d in self.dims))

    def run(self, values: dict[str, int], at: str, extent: int) -> int:
        """Values that enter while the tile moves along a dim of some extent (`workloads.halo.run_values`)."""
        box = tuple(values[d] for d in self.dims)
        return run_values(self.coefficients, box, self.dims.index(at), extent)


def distinct_axes(subscripts: Sequence[Terms], live: tuple[str, ...]) -> list[Terms]:
    """Subscripts of an access without one-trip dims and without dims that an earlier subscript has.

    Leaving a dim out of a later subscript only lowers the count: still a lower estimate.
    """
    seen: set[str] = set()
    axes = []
    for subscript in subscripts:
        terms = tuple((d, c) for d, c in subscript if d in live and d not in seen)
        seen.update(d for d, _ in terms)
        if terms:
            axes.append(terms)
    return axes


def branch_dims(axes: Sequence[Terms], extents: dict[str, int]) -> frozenset[str]:
    """The smallest-extent dims that must be fixed so that every axis has one free dim at most."""
    branch: set[str] = set()
    for terms in axes:
        open_dims = [d for d, _ in terms if d not in branch]
        if len(open_dims) > 1:
            main = max(open_dims, key=lambda d: extents[d])
            branch.update(d for d in open_dims if d != main)
    return frozenset(branch)


def line_axis(terms: Terms, branch: frozenset[str]) -> LineAxis:
    """The subscript with the given (dim, coefficient) terms, `branch` dims being fixed."""
    dims = tuple(d for d, _ in terms)
    free = [d for d in dims if d not in branch]
    return LineAxis(coefficients=tuple(c for _, c in terms), dims=dims, main=free[0] if free else None)


def axis_bends(axis: LineAxis, extents: dict[str, int]) -> tuple[int, ...]:
    """Sizes of the free dim at which the axis's count changes slope, for some branch values.

    For two dims there is one, the coefficient of the other dim (QuickFlow IV-A); beyond, every
    size may be one, and the end of the range of the others is taken as the last.
    """
    if axis.main is None or len(axis.dims) == 1:
        return ()
    own = axis.coefficients[axis.dims.index(axis.main)]
    others = [(c, extents[d]) for c, d in zip(axis.coefficients, axis.dims, strict=True) if d != axis.main]
    if len(others) == 1:
        other = others[0][0]
        divisor = gcd(own, other)
        bend = other // divisor
        return (bend,) if 1 < bend < extents[axis.main] else ()
    reach = sum(c * (e - 1) for c, e in others) // own + 1
    return tuple(range(2, min(reach, extents[axis.main] - 1) + 1)) if not _dense(own, others) else ()


def _dense(own: int, others: Sequence[tuple[int, int]]) -> bool:
    """Whether every coefficient is 1: the count is then linear for every branch value."""
    return own == 1 and all(c == 1 for c, _ in others)


def chord(low: int, at_low: int, high: int, at_high: int) -> tuple[float, float]:
    """Slope and constant of the line through two points of a concave count."""
    if low == high:
        return at_low / low, 0.0
    slope = (at_high - at_low) / (high - low)
    return slope, max(0.0, at_low - slope * low)
