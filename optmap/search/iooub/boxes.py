"""Boxes cut in two, and their halves again: the least sum of what the boxes cost, over all ways to do so."""

from __future__ import annotations

from math import inf

import numpy as np

from optmap.base.arrays import Floats
from optmap.base.clock import NO_LIMIT, Clock

Sizes = tuple[int, ...]
"""Extent of a box per dim."""
Halves = tuple[Sizes, Sizes, int]
"""Two boxes that are one together, and the dim that they lie beside each other along."""


def least_sum(whole: Floats) -> float:
    """A floor of what the largest box costs however it is cut: all of it at the least cost per volume of any box.

    Args:
        whole: what a box costs that is not cut, as in `Boxes`.
    """
    share = whole
    for d, extent in enumerate(whole.shape):
        share = share * (extent / np.arange(1, extent + 1)).reshape(
            [-1 if d == axis else 1 for axis in range(share.ndim)]
        )
    return float(share.min())


class Boxes:
    """The least cost of a box of any size that is cut into boxes, in two at a time, or left whole.

    Args:
        whole: what a box costs that is not cut, infinite where it is too large; entry i stands for the extent i + 1.
        clock: when to stop looking.

    Raises:
        LimitError: if the time is over.
    """

    def __init__(self, whole: Floats, clock: Clock = NO_LIMIT) -> None:
        self.clock = clock
        self.whole = np.pad(whole, [(1, 0)] * whole.ndim, constant_values=np.inf)
        self.least: Floats = self.whole.copy()
        self._fill(self.least)

    def _fill(self, least: Floats) -> None:
        """Cut along the first dim wherever everything smaller is known, then inside every slice along the others."""
        if least.ndim == 2:
            self._fill_plane(least)
            return
        for n in range(1, len(least)):
            self.clock.check()
            at = np.arange(1, n // 2 + 1)
            if len(at):
                least[n] = np.minimum(least[n], (least[at] + least[n - at]).min(axis=0))
            if least.ndim > 1:
                self._fill(least[n])

    def _fill_plane(self, least: Floats) -> None:
        """Two dims at once: boxes of which both extents add up to the same need nothing of each other.

        With the other halves of all of them in rows by that sum, a cut is a sum of two slices. Where both dims cost
        alike the cuts along one of them are those along the other.
        """
        rows, columns = least.shape
        turned = np.ascontiguousarray(least.T)
        by_row, by_column = (np.full((rows + columns, n), np.inf) for n in least.shape)
        alike = rows == columns and np.array_equal(least, turned)
        for total in range(2, rows + columns - 1):
            self.clock.check()
            row = np.arange(max(1, total - columns + 1), min(rows, total))
            column = total - row
            found = least[row, column]
            along = (turned, by_row, row), (least, by_column, column[::-1])
            for whole, rest, mine in along[: 1 if alike else 2]:
                several = min(len(whole) - 1, total - 1) // 2
                if several:
                    ends = slice(mine[0], mine[-1] + 1)
                    halves = whole[1 : several + 1, ends] + rest[total - 1 : total - several - 1 : -1, ends]
                    least_of = halves.min(axis=0)
                    np.minimum(found, least_of if whole is turned else least_of[::-1], out=found)
            if alike:
                np.minimum(found, found[::-1], out=found)
            least[row, column] = turned[column, row] = by_row[total, row] = by_column[total, column] = found

    def halves(self, box: Sizes) -> Halves | None:
        """Where a box is cut best: both halves and the dim; None if it is best left whole.

        Args:
            box: its extents.
        """
        if not self.least[box] < self.whole[box]:
            return None
        best = (inf, 0, 0)
        for d, size in enumerate(box):
            if size > 1:
                line = np.moveaxis(self.least, d, -1)[(*box[:d], *box[d + 1 :])][1:size]
                sums = (line + line[::-1])[: size // 2]
                at = int(sums.argmin())
                best = min(best, (float(sums[at]), d, at + 1))
        _, d, at = best
        one, other = ((*box[:d], n, *box[d + 1 :]) for n in (at, box[d] - at))
        return one, other, d
