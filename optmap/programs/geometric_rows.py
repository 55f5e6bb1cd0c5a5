"""Rows of posynomials in two parts: exponents that boxes do not change, and coefficients that they do.

What a tensor moves or needs is a product of one number and a line per subscript. Which monomials
that product has depends on what is reused; how often each counts depends on the boxes as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from optmap.base.arrays import Floats
from optmap.programs.linear_subscripts import LineAxis

Coefficients = tuple[float, ...]
"""(m,): coefficients of monomials; zero where a box leaves one out."""
Line = tuple[float, float]
"""Slope and constant of a subscript's count as a function of its free dim."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Posynomials:
    """A posynomial: coefficients and exponents over the free dims of two neighbouring levels."""

    logs: Floats
    """(m,): logarithms of the coefficients."""
    own: Floats
    """(m, F): exponents of this level's tile sizes."""
    next: Floats
    """(m, F): exponents of the next outer level's tile sizes."""
    parts: tuple[int, ...] = ()
    """Rows of each tensor, output first, where the rows of several are joined."""


@dataclass(frozen=True, slots=True, eq=False)
class Factor:
    """A subscript's count as a factor of what a tensor moves or needs."""

    axis: LineAxis
    at: str | None
    """The dim along which its tiles are counted one after the other; None where each comes in whole."""
    terms: tuple[tuple[float, float, int | None], ...]
    """Per monomial: by what slope and constant are multiplied, and the column of the tile size, if it has one."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TensorRows:
    """What the rows of one tensor have in common, whatever the boxes."""

    weight: float
    """What every coefficient is multiplied by."""
    tiles: tuple[float, ...]
    """(2F,): exponents of the number of tiles: own sizes, then those of the next outer tile."""
    divided: tuple[tuple[int, bool], ...]
    """Boxed dims that coefficients are divided by: position in a box, and whether in the level's own."""
    factors: tuple[Factor, ...]
    room: bool
    """Whether it is what the tensor needs, rather than what it moves."""

    def exponents(self) -> Floats:
        """(m, 2F): exponents of every monomial."""
        rows = [list(self.tiles)]
        for factor in self.factors:
            rows = [_raised(row, column) for row in rows for *_, column in factor.terms]
        return np.array(rows).reshape(len(rows), len(self.tiles))

    def coefficients(self, divisor: float, lines: Iterable[Line]) -> Coefficients:
        """(m,): one per monomial.

        Args:
            divisor: product of the sizes in `divided`.
            lines: of every factor.
        """
        found = [self.weight / divisor]
        for factor, (slope, constant) in zip(self.factors, lines, strict=True):
            found = [c * (a * slope + b * constant) for c in found for a, b, _ in factor.terms]
        return tuple(found)


class Frames:
    """What the rows of all tensors have in common, one tensor after the other."""

    def __init__(self, each: Sequence[TensorRows]) -> None:
        self.each = tuple(each)
        exponents = [frame.exponents() for frame in each]
        both = np.concatenate(exponents)
        self.own, self.next = both[:, : both.shape[1] // 2], both[:, both.shape[1] // 2 :]
        """(m, F): exponents of this level's tile sizes, and of the next outer level's."""
        self._sizes = [len(rows) for rows in exponents]

    def rows(self, coefficients: Coefficients) -> Posynomials:
        """The monomials that are there.

        Args:
            coefficients: (m,) of all that there can be.
        """
        found = np.array(coefficients)
        kept = found > 0
        parts = (int(part.sum()) for part in np.split(kept, np.cumsum(self._sizes)[:-1]))
        return Posynomials(logs=np.log(found[kept]), own=self.own[kept], next=self.next[kept], parts=tuple(parts))


def _raised(row: list[float], column: int | None) -> list[float]:
    return row if column is None else [*row[:column], row[column] + 1.0, *row[column + 1 :]]
