"""Where equal tiles start: rows of rows of steps, however many there are.

A dim of a million iterations has few kinds of tiles, but a million places for them. What depends on the place is
added up over whole grids (`count.levels.windows`), so that the work is that of the kinds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import prod

Row = tuple[int, int]
"""Step from one start to the next, and how many starts there are."""


@dataclass(frozen=True, slots=True, order=True)
class Grid:
    """Starts of equal tiles in a dim."""

    first: int = 0
    """The first start."""
    rows: tuple[Row, ...] = ()
    """The start is moved by one of the steps of each row; outer rows first."""

    @property
    def count(self) -> int:
        """How many starts there are."""
        return prod(times for _, times in self.rows)

    def moved(self, by: int) -> Grid:
        """The grid further on."""
        return Grid(self.first + by, self.rows)

    def repeated(self, step: int, times: int) -> Grid:
        """The grid with several starts, a step apart, for each one; rows that follow on one another are one row."""
        if times == 1:
            return self
        if self.rows and self.rows[-1][0] == step * times:
            return Grid(self.first, (*self.rows[:-1], (step, times * self.rows[-1][1])))
        return Grid(self.first, (*self.rows, (step, times)))

    def __iter__(self) -> Iterator[int]:
        """The starts one by one."""
        for steps in product(*(range(0, step * times, step) for step, times in self.rows)):
            yield self.first + sum(steps)
