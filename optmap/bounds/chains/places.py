"""Two products as one under conditions: how many columns a row meets, and what is touched at the places of a cut.

Conditions bound the difference of the rows and the columns of what the first product makes, the same ones in every
statement that writes or reads it. Symbols and theorem: `docs/chain-floors.md`, Lines: cuts by any tensor.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from optmap.bounds.chains.counts import is_whole
from optmap.bounds.chains.joined import Joined, join, live_dims
from optmap.bounds.chains.shared import rules_by_place
from optmap.bounds.chains.touching import Place
from optmap.workloads.band import band_of
from optmap.workloads.statement import Statement
from optmap.workloads.workload import Workload

BINS = 24
"""Kinds of rows and of columns that are left where places are looked at in floats."""
MOST_VALUES = 2**18
"""Rows and columns that are gone through."""
Met = tuple[tuple[int, int], ...]
"""How many of the others a row, or a column, meets, and how many rows or columns do so."""


@dataclass(frozen=True, slots=True)
class ProductPlaces:
    """Which elements of X and Y of the product meet."""

    heads: int
    """Values of h."""
    depth: int
    """Values of j."""
    rows: Met
    columns: Met

    @classmethod
    def whole(cls, sizes: Mapping[str, int]) -> ProductPlaces:
        """Every row meets every column.

        Args:
            sizes: extents of h, m, l and j.
        """
        return cls(sizes["h"], sizes["j"], ((sizes["l"], sizes["m"]),), ((sizes["m"], sizes["l"]),))

    @property
    def elements(self) -> dict[str, int]:
        """Elements of each tensor that are touched."""
        rows, columns = (sum(times for _, times in met) for met in (self.rows, self.columns))
        pairs = sum(met * times for met, times in self.rows)
        return {"G": self.heads * pairs, "X": self.heads * self.depth * rows, "Y": self.heads * self.depth * columns}

    def at(self, cut: str, full: str) -> tuple[Place, ...]:
        """The places of a cut, alike ones together.

        Args:
            cut: the tensor whose loads end segments.
            full: the tensor whose loads count once.
        """
        if cut == "G":
            pairs = sum(met * times for met, times in self.rows)
            sides = sum(times for _, times in self.rows), sum(times for _, times in self.columns)
            return ((self.heads * self.depth, pairs, sides if full == "X" else sides[::-1]),)
        lines = self.rows if cut == "Y" else self.columns
        return tuple(
            (self.heads * times, self.depth * met, (met, self.depth) if full == "G" else (self.depth, met))
            for met, times in lines
        )

    @property
    def coarse(self) -> ProductPlaces:
        """About the same with fewer kinds of rows and columns."""
        return replace(self, rows=_coarse(self.rows), columns=_coarse(self.columns))


@lru_cache(maxsize=64)
def _coarse(met: Met) -> Met:
    """Neighbours put together: as many of them, each with the mean."""
    size = -(-len(met) // BINS)
    parts = [sorted(met)[first : first + size] for first in range(0, len(met), size)]
    sums = [(sum(n * times for n, times in part), sum(times for _, times in part)) for part in parts]
    return tuple((max(1, total // times), times) for total, times in sums)


@lru_cache(maxsize=64)
def join_places(workload: Workload, first: Statement, second: Statement) -> tuple[Joined, ProductPlaces] | None:
    """Two products of a chain as one, under the same conditions or none; None if they are none."""
    if not (first.domain or second.domain):
        found = join(workload, first, second)
        return None if found is None else (found, ProductPlaces.whole(found.product.extents))
    plain = workload.without_conditions
    pair = join(plain, plain.statement(first.name), plain.statement(second.name))
    if pair is None:
        return None
    sizes = pair.product.extents
    met = _met(workload, first, second)
    if met is None:
        return None
    places = ProductPlaces(sizes["h"], sizes["j"], *met)
    made = places.elements["G"] - first.output.footprint(workload.extents) if first.name in pair.less else 0
    return replace(pair, free_elements=pair.free_elements + made), places


def _met(workload: Workload, first: Statement, second: Statement) -> tuple[Met, Met] | None:
    """What rows and columns of the first product's result meet; None for conditions of another form."""
    held = workload.stored_as
    reads = [access for access in second.inputs if held[access.name] == held[first.name]]
    others = [access for each in (first, second) for access in each.inputs if held[access.name] != held[first.name]]
    if len(reads) != 1 or not all(is_whole(workload, access.name) for access in others):
        return None
    writers = [each for each in workload.statements if held[each.name] == held[first.name]]
    involved = [*((each, each.output) for each in writers), (second, reads[0])]
    rules = {rules_by_place(*each) for each in involved}
    band, live = band_of(first.domain), live_dims(workload, first.accesses)
    if len(rules) != 1 or None in rules or band is None or live is None:
        return None
    made, at = live[first.output], [live[access] for access in first.inputs]
    sides = [made & at[0] - at[1], made & at[1] - at[0]]
    if {len(side) for side in sides} != {1} or sides[0] | sides[1] != {band.first, band.second}:
        return None
    if max(workload.extents[d] for d in made) > MOST_VALUES:
        return None
    band, found = band.within(workload.extents), []
    for (own,), (other,) in (sides, sides[::-1]):
        index = np.arange(workload.extents[own], dtype=np.int64)
        mine = index, index + 1
        all_of = np.zeros_like(index), np.full_like(index, workload.extents[other])
        low, high = band.left(other, *((mine, all_of) if own == band.first else (all_of, mine)))
        found.append(tuple(sorted((n, times) for n, times in Counter((high - low).tolist()).items() if n > 0)))
    return (found[0], found[1]) if found[0] else None
