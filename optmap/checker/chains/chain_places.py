"""Where elements of two products that are one meet, under conditions or none (theorem: `docs/chain-floors.md`)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..core.tools import need
from .chain import StatedChain, dims_of
from .chain_masks import met, rules_of
from .chain_pairs import MISSING, Pair, join
from .chain_shared import way_of

Met = dict[int, int]
"""How many rows, or columns, meet so many of the others."""


@dataclass(frozen=True)
class StatedPlaces:
    """Two products as one, with what its rows and columns meet."""

    pair: Pair
    rows: Met
    columns: Met
    free_elements: int
    """That may appear without a load."""

    @property
    def depth(self) -> int:
        """Values of j."""
        return self.pair.extents["k"] + self.pair.extents["n"]

    @property
    def elements(self) -> dict[str, int]:
        """Elements of each tensor that are touched."""
        heads = self.pair.extents["h"]
        return {
            "G": heads * sum(n * times for n, times in self.rows.items()),
            "X": heads * self.depth * sum(self.rows.values()),
            "Y": heads * self.depth * sum(self.columns.values()),
        }

    def at(self, cut: str, full: str) -> list[tuple[int, int, tuple[int, int]]]:
        """Places of a cut: how many are alike, operations of each, and elements of the full and the other tensor."""
        heads = self.pair.extents["h"]
        if cut == "G":
            sides = {"X": sum(self.rows.values()), "Y": sum(self.columns.values())}
            other = "Y" if full == "X" else "X"
            pairs = sum(n * times for n, times in self.rows.items())
            return [(heads * self.depth, pairs, (sides[full], sides[other]))]
        found = []
        for n, times in (self.rows if cut == "Y" else self.columns).items():
            found.append((heads * times, n * self.depth, (n, self.depth) if full == "G" else (self.depth, n)))
        return found


def join_places(chain: StatedChain, names: list[str]) -> StatedPlaces:
    """Two statements as one product.

    Args:
        chain: with both.
        names: of the statements.

    Raises:
        RefusedError: if they are not of the form that the theorem needs.
    """
    need(len(names) == 2, "two statements are needed")
    first, second = (chain.names.index(each) for each in names)
    if not (chain.said[first].conditions or chain.said[second].conditions):
        pair = join(chain, names)
        m, l = pair.extents["m"], pair.extents["l"]  # noqa: E741
        return StatedPlaces(pair, {l: m}, {m: l}, pair.free_elements)
    plain = chain.without_conditions()
    pair = join(plain, names)
    made = chain.held[names[0]]
    others = [access["tensor"] for n in (first, second) for access in chain.accesses[n][1:]]
    need(all(chain.is_whole(tensor) for tensor in others if chain.held[tensor] != made), MISSING)
    (read,) = (access for access in chain.accesses[second][1:] if chain.held[access["tensor"]] == made)
    writers = [(n, chain.accesses[n][0]) for n, name in enumerate(chain.names) if chain.held[name] == made]
    ways = {way_of(chain, *each) for each in [*writers, (second, read)]}
    need(len(ways) == 1, "what is made and read is so under different conditions")
    (row,), (column,) = (sorted(side) if len(side) == 1 else ("",) for side in pair.sides)
    rules = rules_of(chain.said[first])
    fine = {row, column} <= {*dims_of(chain.accesses[first][0])} and all(rule.dims <= {row, column} for rule in rules)
    need(fine, "conditions must be of one dim of rows and one of columns")
    rows, columns = (met(*each, rules, chain.extents) for each in ((row, column), (column, row)))
    need(bool(rows), "nothing is done")
    found = StatedPlaces(pair, rows, columns, 0)
    free = pair.free_elements
    if names[0] in chain.appearing(names):
        free += found.elements["G"] - plain.elements(plain.accesses[first][0])
    return replace(found, free_elements=free)
