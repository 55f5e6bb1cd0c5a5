"""Two products fused, with a corner of the result that is left for later: where rows just do not fit.

    for each tile of rows: for each column: rows make their words of the intermediate and use them; the last rows of
    the tile use theirs for some columns of the result only, and store them
    for each column: the stored words are loaded, and used for the columns of the result that were left

Rows are the side of the intermediate that the result has, columns the other one. Of a tile A and what is made of the
result stay; of a column B and D stay while the intermediate comes word by word, or the words of the tile stay while B
and D come word by word. A corner of y rows and n columns of the result makes room for y*n of its elements. It costs n
more elements of D per column and, per row of it, a store and a load of the intermediate: 2*sqrt(2*y*n) elements per
column where one tile holds all rows, against a pass over all of B and D for one row that does not fit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from optmap.mappings.nodes import Box, Compute, Node, Sequence
from optmap.search.chains.pair import ProductPair, Side
from optmap.search.chains.trees import Branch, keeps, loops, sequence_of
from optmap.workloads.workload import Workload

MOST_TILES = 16
"""Tiles of rows at most, as a tree names each of them."""
MOST_COLUMNS = 4096
"""Columns of the result that are left at most."""
FAMILY = (
    f"fused over up to {MOST_TILES} tiles of rows with a corner of the result that is made at the end, from the "
    "intermediate that is stored for it"
)
"""The mappings among which the best is found, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LateCorner:
    """One such mapping."""

    rows: int
    """Number of the side of the rows."""
    tile: int
    """Rows of a tile; the last one may have fewer."""
    lines: bool
    """Whether operands of a column stay while words of the intermediate come, and not the other way round."""
    columns: int
    """Columns of the result, the last ones, that are left for later."""
    left: tuple[int, ...]
    """Rows, the last ones, for which they are, of each tile."""
    words: int


def best_late_corner(pair: ProductPair, memory: int, *, stores: bool = True) -> LateCorner | None:
    """The mapping with a corner that moves the fewest words: of every number of tiles the smallest tile is tried.

    Args:
        pair: two products.
        memory: words that fit.
        stores: whether words that are stored count beside those that are loaded.

    Returns:
        None if none fits, and of products with a function of rows, or with a result of several dims beside the rows.
    """
    rows = next((number for number, side in enumerate(pair.sides) if side.second.name == pair.uses), None)
    if rows is None or pair.rows is not None or len(pair.beyond) != 1:
        return None
    extent = pair.sides[rows].extent
    tiles = sorted({-(-extent // number) for number in range(1, min(MOST_TILES, extent) + 1)})
    found = [
        _of_tile(pair, rows, tile, memory, lines=lines, stores=stores) for tile in tiles for lines in (True, False)
    ]
    return min((each for each in found if each is not None), key=lambda each: each.words, default=None)


def _of_tile(pair: ProductPair, rows: int, tile: int, memory: int, *, lines: bool, stores: bool) -> LateCorner | None:
    """The best of those with tiles of so many rows."""
    out, inn, shared = pair.sides[rows], pair.sides[1 - rows], pair.shared.words
    numbers = Counter(_sizes(out.extent, tile))  # of tiles, by their rows: all alike but for the last one
    row, beside = _words_of(pair, out), _words_of(pair, inn) + shared
    if not lines:
        row, beside = row + shared, max(inn.first.words, inn.second.words)
    columns = np.arange(1, min(pair.width, MOST_COLUMNS) + 1)
    room = columns * out.second.words
    left = {size: np.maximum(0, -((memory - size * row - beside) // room)) for size in numbers}
    every = sum(number * left[size] for size, number in numbers.items())
    fits = (left[tile] > 0) & (every * room + columns * inn.second.words + shared <= memory)
    for size in numbers:
        fits &= left[size] < size
    if not fits.any():
        return None
    many = numbers.total()
    moved = out.extent * (pair.depth * out.first.moved(1) + pair.width * out.second.moved(1)) + inn.extent * (
        pair.depth * inn.first.moved(many) + pair.width * inn.second.moved(many)
    )
    again = columns * (inn.second.moved(many + 1) - inn.second.moved(many))
    words = moved + inn.extent * (again + every * (1 + stores) * shared)
    best = int(np.flatnonzero(fits)[np.argmin(words[fits])])
    return LateCorner(
        rows=rows,
        tile=tile,
        lines=lines,
        columns=int(columns[best]),
        left=tuple(int(left[size][best]) for size in _sizes(out.extent, tile)),
        words=int(words[best]) * pair.times,
    )


def _words_of(pair: ProductPair, side: Side) -> int:
    """Words of an index of a side, of both of its operands."""
    return pair.depth * side.first.words + pair.width * side.second.words


def _sizes(extent: int, tile: int) -> list[int]:
    """Rows of each tile."""
    return [min(tile, extent - first) for first in range(0, extent, tile)]


def late_corner_tree(workload: Workload, pair: ProductPair, member: LateCorner, level: str, memory: str) -> Branch:
    """The tree of such a mapping.

    Args:
        workload: the chain.
        pair: its two products.
        member: the mapping.
        level: name of the memory that is filled.
        memory: name of the one outside it.
    """
    tree = _CornerTree(pair, member, level, {**workload.extents, **dict.fromkeys(pair.batch, 1)})
    return (
        *loops(workload.extents, dict.fromkeys(pair.batch, 1)),
        *keeps(memory, [pair.shared.name]),
        Sequence(branches=(*tree.tiles(), tree.corners())),
    )


@dataclass(frozen=True, slots=True)
class _CornerTree:
    """The branches of a tree."""

    pair: ProductPair
    member: LateCorner
    level: str
    extents: Mapping[str, int]
    """Iterations of a dim that the loops so far leave."""

    def tiles(self) -> Iterator[Branch]:
        """The tiles of rows, one after the other."""
        out, inn = self._sides
        for whole, left in self._parts():
            parts = [each for each in (whole, left) if each]
            yield (
                *keeps(self.level, [out.first.name, out.second.name]),
                *loops(self.extents, {inn.dim: 1}),
                *(self._by_words(parts) if self.member.lines else self._by_columns(parts)),
            )

    def corners(self) -> Branch:
        """What was left of the result."""
        out, inn = self._sides
        branches = [(*self._rows(left), Compute(statement=self.pair.uses)) for _, left in self._parts() if left]
        return (
            *self._result(later=True),
            *keeps(self.level, [out.second.name]),
            *loops(self.extents, {inn.dim: 1}),
            *keeps(self.level, [inn.second.name]),
            *sequence_of(branches),
        )

    @property
    def _sides(self) -> tuple[Side, Side]:
        """That of the rows, that of the columns."""
        return self.pair.sides[self.member.rows], self.pair.sides[1 - self.member.rows]

    def _parts(self) -> Iterator[tuple[range, range]]:
        """The rows of every tile, without and with something left for later."""
        first = 0
        for size, left in zip(_sizes(self._sides[0].extent, self.member.tile), self.member.left, strict=True):
            yield range(first, first + size - left), range(first + size - left, first + size)
            first += size

    def _by_words(self, parts: list[range]) -> Branch:
        """A column whose operands stay, rows one after the other."""
        first, *_ = parts
        branches = list[Branch]()
        for part in parts:
            done: list[Branch] = [(Compute(statement=name),) for name in self._made]
            done += [(*each, Compute(statement=self.pair.uses)) for each in self._uses(whole=part is first)]
            branches.append((*self._rows(part), *sequence_of(done)))
        inn = self._sides[1]
        return (*keeps(self.level, [inn.first.name, inn.second.name]), *sequence_of(branches))

    def _by_columns(self, parts: list[range]) -> Branch:
        """A column whose operands come word by word, for all rows."""
        (makes, *functions), uses, inn = self._made, self.pair.uses, self._sides[1]
        summed = loops(self.extents, dict.fromkeys(self.pair.summed, 1))
        branches: list[Branch] = [(*summed, *keeps(self.level, [inn.first.name]), *self._all(makes, parts))]
        branches += [self._all(name, parts) for name in functions]
        for part in self._uses(whole=True):
            some = parts if part in self._uses(whole=False) else parts[:1]
            single = loops(self._left(part), dict.fromkeys(self.pair.beyond, 1))
            branches.append((*part, *single, *keeps(self.level, [inn.second.name]), *self._all(uses, some)))
        return (*keeps(self.level, [self.pair.shared.name]), *sequence_of(branches))

    @property
    def _made(self) -> tuple[str, ...]:
        """Statements that make the intermediate, and what is done to it in place."""
        return (self.pair.makes, *self.pair.functions)

    def _all(self, statement: str, parts: list[range]) -> Branch:
        """A statement for some rows."""
        return sequence_of([(*self._boxed(part), Compute(statement=statement)) for part in parts])

    def _uses(self, *, whole: bool) -> list[Branch]:
        """Of which columns of the result a row makes its part in its tile: those that none leaves, and the others."""
        now, later = self._result(later=False), self._result(later=True)
        if not later:  # all are left
            return [()] if whole else []
        return [now, later] if whole else [now]

    def _result(self, *, later: bool) -> Branch:
        """The columns of the result that are left for later, or the others; all of them need no box."""
        (dim,), begin = self.pair.beyond, self.pair.width - self.member.columns
        return (Box(ranges={dim: range(begin, self.pair.width) if later else range(begin)}),) if begin else ()

    def _left(self, part: Branch) -> dict[str, int]:
        """Iterations that are left inside a box, if there is one."""
        ranges = {d: len(each) for node in part if isinstance(node, Box) for d, each in node.ranges.items()}
        return {**self.extents, **ranges}

    def _rows(self, part: range) -> Branch:
        """Some rows, one after the other, each with its word of the intermediate."""
        dim = self._sides[0].dim
        return (*self._boxed(part), *loops({dim: len(part)}, {dim: 1}), *keeps(self.level, [self.pair.shared.name]))

    def _boxed(self, part: range) -> tuple[Node, ...]:
        """Some rows."""
        return (Box(ranges={self._sides[0].dim: part}),)
