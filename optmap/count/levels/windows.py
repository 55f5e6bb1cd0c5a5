"""What ranges leave of tiles, added up over whole grids of places in closed form.

A subscript with a range counts the values of a tile inside a window, and the window moves with the tile. Over most of
a grid it holds all of the tile or nothing; only tiles at its ends are looked at. Where the values have no gaps, these
too are added up at once: with R(x) = max(0, x), the values from A to B that are at most y are R(y-A+1) - R(y-B), and

    sum over a grid of R(y - place)

is a sum of two arithmetic rows with floors (`_floors`) once all rows but two are fixed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import gcd, prod

from optmap.mappings.grid import Row
from optmap.workloads.halo import distinct_values, shared_values, span
from optmap.workloads.workload import Subscript

_Sizes = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SharedWindow:
    """Values that a tile of a subscript shares with another one, inside a window that moves over a grid."""

    tile: tuple[_Sizes, _Sizes, _Sizes, _Sizes]
    """Coefficients, sizes of the new tile, of the old one, and its shifts."""
    divisor: int
    """Of the coefficients: what follows is in units of it."""
    low: int
    """First value inside, of the first place; 0 is the first value of the tile."""
    high: int
    """Last value inside."""
    last: int
    """Last value of the new tile."""
    whole: int
    """Values in common without a window."""
    dense: tuple[int, int] | None
    """First and last value in common if there is nothing between them that is not; None if there are gaps."""
    steps: tuple[int, ...]
    """By how much a step of every row moves the tile."""

    @classmethod
    def of(
        cls, axis: Subscript, tile: tuple[_Sizes, _Sizes, _Sizes], firsts: _Sizes, rows: Sequence[_Sizes]
    ) -> SharedWindow:
        """The window of a subscript.

        Args:
            axis: with or without a range.
            tile: sizes of the new tile, of the old one, and its shifts, per dim of the subscript.
            firsts: start of the new tile at the first place, per dim.
            rows: of every row its step along each of these dims.
        """
        coefficients = tuple(c for _, c in axis.terms)
        news, olds, shifts = tile
        divisor = gcd(*coefficients)
        terms = tuple(c // divisor for c in coefficients)
        last = span(terms, news) - 1
        low, high = 0, last
        steps = (0,) * len(rows)
        if axis.real is not None:
            origin = axis.offset + sum(c * s for c, s in zip(coefficients, firsts, strict=True))
            low, high = -(-(axis.real[0] - origin) // divisor), (axis.real[1] - origin) // divisor
            steps = tuple(sum(c * s for c, s in zip(terms, row, strict=True)) for row in rows)
        start = -sum(c * s for c, s in zip(terms, shifts, strict=True))
        gaps = any(distinct_values(terms, box) != span(terms, box) for box in (news, olds))
        dense = None if gaps else (max(0, start), min(last, start + span(terms, olds) - 1))
        whole = shared_values(coefficients, news, olds, shifts)
        return cls((coefficients, *tile), divisor, low, high, last, whole, dense, steps)

    def moved(self, row: int, times: int) -> SharedWindow:
        """The window of the places that begin so many steps of a row later."""
        by = self.steps[row] * times
        return replace(self, low=self.low - by, high=self.high - by) if by else self

    def value(self) -> int:
        """Values in common at the first place."""
        return shared_values(*self.tile, (self.low * self.divisor, self.high * self.divisor))

    def settled(self, counts: _Sizes) -> int | None:
        """Values in common at every place of a grid; None if they are not the same, or not known to be."""
        top = sum(step * (times - 1) for step, times in zip(self.steps, counts, strict=True))
        if self.high < 0 or self.low - top > self.last:
            return 0
        return self.whole if self.low <= 0 and self.high - top >= self.last else None

    def total(self, counts: _Sizes) -> int:
        """The sum over a grid of a window without gaps."""
        if self.dense is None or self.dense[0] > self.dense[1]:
            return 0
        first, last = self.dense
        still = prod(times for step, times in zip(self.steps, counts, strict=True) if not step)
        rows = tuple((step, times) for step, times in zip(self.steps, counts, strict=True) if step and times > 1)
        at_most = [_ramps(y - first + 1, rows) - _ramps(y - last, rows) for y in (self.low - 1, self.high)]
        return still * (at_most[1] - at_most[0])


def windowed(windows: Sequence[SharedWindow], counts: _Sizes) -> int:
    """The product of what several windows leave, added up over a grid.

    Args:
        windows: of subscripts that share the grid.
        counts: of every row, how often its step is taken, the place before the first step included.
    """
    settled = [window.settled(counts) for window in windows]
    if 0 in settled:
        return 0
    left = [window for window, value in zip(windows, settled, strict=True) if value is None]
    known = prod(value for value in settled if value is not None)
    if not left:
        return known * prod(counts)
    if len(left) == 1 and left[0].dense is not None:
        return known * left[0].total(counts)
    lengths = [max(window.steps[row] for window in left) * (times - 1) for row, times in enumerate(counts)]
    if not any(lengths):
        return known * prod(window.value() for window in left) * prod(counts)
    row = max(range(len(counts)), key=lengths.__getitem__)
    half = counts[row] // 2
    halves = ((windows, half), ([window.moved(row, half) for window in windows], counts[row] - half))
    return sum(windowed(part, (*counts[:row], times, *counts[row + 1 :])) for part, times in halves)


def _ramps(y: int, rows: tuple[Row, ...]) -> int:
    """The sum of max(0, y - place) over a grid that begins at 0."""
    top = sum(step * (times - 1) for step, times in rows)
    if y <= 0:
        return 0
    if y >= top:
        count = prod(times for _, times in rows)
        return count * y - count * top // 2
    if len(rows) == 1:
        ((step, times),) = rows
        below = min(times, -(-y // step))
        return below * y - step * (below * (below - 1) // 2)
    if len(rows) == 2:
        return _two_ramps(y, *sorted(rows))
    # The row of which fewest steps leave the others neither all below y nor all above it.
    at = min(range(len(rows)), key=lambda k: min(rows[k][1], (top - rows[k][0] * (rows[k][1] - 1)) // rows[k][0] + 2))
    (step, times), rest = rows[at], (*rows[:at], *rows[at + 1 :])
    length, count = top - step * (times - 1), prod(n for _, n in rest)
    below = max(0, min(times, (y - length) // step + 1))
    full = count * (below * y - step * (below * (below - 1) // 2)) - below * (count * length // 2)
    return full + sum(_ramps(y - step * k, rest) for k in range(below, min(times, -(-y // step))))


def _two_ramps(y: int, inner: Row, outer: Row) -> int:
    """The sum of max(0, y - a i - b j) over i < n, j < m."""
    (a, n), (b, m) = inner, outer
    whole = max(0, min(m, (y - a * (n - 1)) // b + 1))  # so many j leave every i above 0
    some = min(m, -(-y // b))  # and so many leave any
    found = n * (whole * y - b * (whole * (whole - 1) // 2)) - whole * a * (n * (n - 1) // 2)
    if some <= whole:
        return found
    # x = y - b j of these j, counted up from the least one: 1 + q of the i are below, q = (x - 1) // a.
    least, last = y - b * (some - 1), some - whole - 1
    q, indexed, squared = _floors(last, b, least - 1, a)
    linear = least * (last + 1) + b * (last * (last + 1) // 2)
    return found + least * q + b * indexed + linear - a * (squared + q) // 2


@lru_cache(maxsize=4096)
def _floors(n: int, a: int, b: int, c: int) -> tuple[int, int, int]:
    """Sums over 0 <= i <= n of f = (a i + b) // c, of i f and of f².

    As Euclid's algorithm: the whole parts of a and b are taken off, then rows and columns change places.
    """
    count, indices, squares = n + 1, n * (n + 1) // 2, n * (n + 1) * (2 * n + 1) // 6
    p, r = a // c, b // c
    if p or r:
        f, g, h = _floors(n, a % c, b % c, c)
        return (
            f + p * indices + r * count,
            g + p * squares + r * indices,
            h + 2 * r * f + 2 * p * g + p * p * squares + r * r * count + 2 * p * r * indices,
        )
    top = (a * n + b) // c
    if not top:
        return 0, 0, 0
    f, g, h = _floors(top - 1, c, c - b - 1, a)
    mine = n * top - f
    return mine, (top * n * (n + 1) - h - f) // 2, n * top * (top + 1) - 2 * g - 2 * f - mine
