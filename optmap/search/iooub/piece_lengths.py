"""What pieces of a workload cost that are one tile along some units, for all their sizes at once."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from optmap.base.arrays import Floats, Ints
from optmap.count.levels.cutting import Along, Array, uncut
from optmap.search.iooub.flows import Flow, Hold
from optmap.search.iooub.grid import Factor, TileGrid
from optmap.search.iooub.products import over
from optmap.search.iooub.units import Bundle
from optmap.workloads.workload import Workload

SLAB = 2**13
"""Combinations that are looked at together where there are more than twice as many."""


class PieceLengths(TileGrid):
    """Tiles that are a whole piece along some units: what a piece of every size costs.

    Args:
        workload: what is cut.
        units: its units; along the piece, sizes of it.
        groups: as for `TileGrid`.
        weights: as for `TileGrid`.
        along: numbers of the units along which the tile is the piece, in order.
    """

    def __init__(
        self,
        workload: Workload,
        units: tuple[Bundle, ...],
        groups: Sequence[tuple[int, tuple[int, ...]]],
        weights: Sequence[float],
        along: tuple[int, ...],
    ) -> None:
        super().__init__(workload, units, groups, weights)
        self.along = along
        self._others = ~sum(1 << u for u in along)
        others = [u for u, unit in enumerate(units) if unit.plain and u not in along]
        self.last = max(others, key=lambda u: len(units[u].boxes), default=-1)
        self._whole = {self.last, *along}
        self._slabs = self._cut_up(self.every)
        self._share(self._slabs)

    def slabs(self, lists: list[Ints]) -> list[list[Ints]]:
        """Candidates with some of the sizes along the first unit at a time.

        Tables over a part of the grid stay near the processor; large ones it gets from the system anew every time.

        Args:
            lists: per unit, candidates to combine.
        """
        return self._slabs if lists is self.every else self._cut_up(lists)

    def _cut_up(self, lists: list[Ints]) -> list[list[Ints]]:
        first = self.along[0]
        others = prod(len(each) for u, each in enumerate(lists) if u not in (first, self.last))
        sizes = lists[first]
        step = len(sizes) if others * len(sizes) <= 2 * SLAB else max(1, SLAB // others)
        parts = [sizes[start : start + step] for start in range(0, len(sizes), step)]
        return [[*lists[:first], part, *lists[first + 1 :]] for part in parts]

    def per_size(self, flow: Flow, lists: Sequence[Ints]) -> Floats:
        """The least loads of a piece of every size, an axis per unit; infinite where none fits.

        Args:
            flow: loop order and holds.
            lists: per unit, candidates to combine; all of them along the piece.
        """
        shape = tuple(1 if u == self.last else len(values) for u, values in enumerate(lists))
        grown = self._largest(flow, lists, shape)
        values = over(self._loads(flow, lists, grown), shape)
        least: Floats = values.min(axis=tuple(u for u in range(len(shape)) if u not in self.along))
        return least

    def alike(self, flow: Flow) -> tuple[object, ...]:
        """What flows have in common that cost the same of every piece."""
        return *(self._inside(hold) for hold in flow.holds), *(flow.stream(n) for n in range(len(flow.holds)))

    def _inside(self, hold: Hold) -> Hold:
        """A hold of a piece: along it there is one tile, and what is held of all tiles is the tile."""
        return Hold(hold.free | ~self._others, hold.full & self._others, -1 if hold.at in self.along else hold.at)

    def _factors(self, number: int, hold: Hold, stream: tuple[int, ...] | None = None) -> list[Factor]:
        """As they are of a piece."""
        return super()._factors(number, self._inside(hold), stream)

    def _bundle(self, u: int, hold: Hold, stream: tuple[int, ...] | None) -> Factor:
        """The factor of a plain unit; all that there is of the piece's own is one tile."""
        if u in self.along and stream is None:
            return self.units[u].sizes, (u,)
        return super()._bundle(u, hold, stream)

    def _cut(self, dim: str, size: Array) -> Along:
        """The tiles of a dim for all candidates: one tile along the piece."""
        return uncut(size) if self._owner[dim] in self.along else super()._cut(dim, size)
