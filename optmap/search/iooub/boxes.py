"""Boxes cut in two, and their halves again: the least sum of what the boxes cost, over all ways to do so."""

from __future__ import annotations

import numpy as np

from optmap.base.clock import NO_LIMIT, Clock
from optmap.search.whole.chain_costs import FloatArray

Sizes = tuple[int, ...]
"""Extent of a box per dim."""


class Boxes:
    """The least cost of a box of any size that is cut into boxes, in two at a time, or left whole.

    Args:
        whole: what a box costs that is not cut, infinite where it is too large; entry i stands for the extent i + 1.
        clock: when to stop looking.

    Raises:
        LimitError: if the time is over.
    """

    def __init__(self, whole: FloatArray, clock: Clock = NO_LIMIT) -> None:
        self.clock = clock
        self.whole = np.pad(whole, [(1, 0)] * whole.ndim, constant_values=np.inf)
        self.least: FloatArray = self.whole.copy()
        self._fill(self.least)

    def _fill(self, least: FloatArray) -> None:
        """Cut along the first dim wherever everything smaller is known, then inside every slice along the others."""
        for n in range(1, len(least)):
            self.clock.check()
            at = np.arange(1, n // 2 + 1)
            if len(at):
                least[n] = np.minimum(least[n], (least[at] + least[n - at]).min(axis=0))
            if least.ndim > 1:
                self._fill(least[n])

    def halves(self, box: Sizes) -> tuple[Sizes, Sizes, int] | None:
        """Where a box is cut best: both halves and the dim; None if it is best left whole.

        Args:
            box: its extents.
        """
        if not self.least[box] < self.whole[box]:
            return None
        ways = [(d, n) for d, size in enumerate(box) for n in range(1, size // 2 + 1)]
        made = [tuple((*box[:d], n, *box[d + 1 :]) for n in (at, box[d] - at)) for d, at in ways]
        best = min(range(len(ways)), key=lambda i: self.least[made[i][0]] + self.least[made[i][1]])
        return made[best][0], made[best][1], ways[best][0]
