"""Two products fused, of the result a corner that is left for later: rows that just do not fit.

    for each tile of rows: for each column: rows make their word of the intermediate and use it; the last rows of the
    tile use it for some columns of the result only, and store it
    for each column: the stored words are loaded, and used for the columns of the result that were left

Rows are the side of the intermediate that the result has, columns the other one. Of a tile A and what is made of the
result stay, of a column B and D; so a corner of y rows and n columns of the result makes room for y*n of its elements.
It costs n more elements of D per column and, per row of it, a store and a load of the intermediate: 2*sqrt(2*y*n)
elements per column where one tile holds all rows, against a pass over all B and D for one row that does not fit.

Of every number of tiles the smallest tile, and of every n the least y; exact whole numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from optmap.mappings.nodes import Box, Compute, Node, Sequence
from optmap.search.chains.pair import ProductPair, Side
from optmap.search.chains.trees import Branch, keeps, leaves_of, loops
from optmap.workloads.workload import Workload

MOST_TILES = 16
"""Tiles of rows at most, as a tree names each of them."""
FAMILY = (
    f"fused over up to {MOST_TILES} tiles of rows with a corner of the result that is made at the end, from the "
    "intermediate that is stored for it"
)
"""The mappings among which the best is found, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cornered:
    """One such mapping."""

    rows: int
    """Number of the side of the rows."""
    tile: int
    """Rows of a tile; the last one may have fewer."""
    columns: int
    """Columns of the result, the last ones, that are left for later."""
    left: tuple[int, ...]
    """Rows, the last ones, for which they are, of each tile."""
    words: int


def best_cornered(pair: ProductPair, memory: int, *, stores: bool = True) -> Cornered | None:
    """The mapping with a corner that moves the fewest words.

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
    return min(_members(pair, rows, memory, stores=stores), key=lambda each: each.words, default=None)


def _members(pair: ProductPair, rows: int, memory: int, *, stores: bool) -> Iterator[Cornered]:
    out, inn = pair.sides[rows], pair.sides[1 - rows]
    row, column = _words_of(pair, out), _words_of(pair, inn)
    tiles = {-(-out.extent // number) for number in range(1, min(MOST_TILES, out.extent) + 1)}
    for tile in sorted(tiles):
        sizes = _sizes(out.extent, tile)
        short = [size * row + column + pair.shared.words - memory for size in sizes]
        for columns in range(1, pair.width + 1):
            left = tuple(max(0, -(-each // (columns * out.second.words))) for each in short)
            at_last = columns * (sum(left) * out.second.words + inn.second.words) + pair.shared.words
            if not left[0] or any(y >= size for y, size in zip(left, sizes, strict=True)) or at_last > memory:
                continue
            again = columns * (inn.second.moved(len(sizes) + 1) - inn.second.moved(len(sizes)))
            words = (
                out.extent * (pair.depth * out.first.moved(1) + pair.width * out.second.moved(1))
                + inn.extent * (pair.depth * inn.first.moved(len(sizes)) + pair.width * inn.second.moved(len(sizes)))
                + inn.extent * (again + sum(left) * (1 + stores) * pair.shared.words)
            )
            yield Cornered(rows=rows, tile=tile, columns=columns, left=left, words=words * pair.times)


def _words_of(pair: ProductPair, side: Side) -> int:
    """Words of an index of a side, of both of its operands."""
    return pair.depth * side.first.words + pair.width * side.second.words


def _sizes(extent: int, tile: int) -> list[int]:
    """Rows of each tile."""
    return [min(tile, extent - first) for first in range(0, extent, tile)]


def cornered_tree(workload: Workload, pair: ProductPair, member: Cornered, level: str, memory: str) -> Branch:
    """The tree of such a mapping.

    Args:
        workload: the chain.
        pair: its two products.
        member: the mapping.
        level: name of the memory that is filled.
        memory: name of the one outside it.
    """
    out, inn = pair.sides[member.rows], pair.sides[1 - member.rows]
    extents = {**workload.extents, **dict.fromkeys(pair.batch, 1)}
    (beyond,) = pair.beyond
    begin = pair.width - member.columns
    now: tuple[Node, ...] = (Box(ranges={beyond: range(begin)}),) if begin else ()
    later: tuple[Node, ...] = (Box(ranges={beyond: range(begin, pair.width)}),) if begin else ()
    use = Compute(statement=pair.uses)
    made = ((Compute(statement=pair.makes),), *leaves_of(pair.functions))
    whole = (*made, (*now, use), (*later, use)) if begin else (*made, (use,))
    in_part = (*made, (*now, use)) if begin else made
    held = tuple(keeps(level, [pair.shared.name]))

    def rows_of(part: range, branches: tuple[Branch, ...]) -> Branch:
        """What some rows of a tile do in a column."""
        nodes = (*loops({out.dim: len(part)}, {out.dim: 1}), *held)
        return (*boxed(part), *nodes, *(branches[0] if not branches[1:] else (Sequence(branches=branches),)))

    def boxed(part: range) -> tuple[Node, ...]:
        return (Box(ranges={out.dim: part}),) if len(part) < out.extent else ()

    tiles, corners = list[Branch](), list[Branch]()
    first = 0
    for size, left in zip(_sizes(out.extent, member.tile), member.left, strict=True):
        most, beyond_last = first + size - left, first + size
        parts = [rows_of(range(first, most), whole)]
        if left:
            parts.append(rows_of(range(most, beyond_last), in_part))
            corners.append(rows_of(range(most, beyond_last), ((use,),)))
        inside = (Sequence(branches=tuple(parts)),) if parts[1:] else parts[0]
        tiles.append(
            (
                *keeps(level, [out.first.name, out.second.name]),
                *loops(extents, {inn.dim: 1}),
                *keeps(level, [inn.first.name, inn.second.name]),
                *inside,
            )
        )
        first += size
    at_last = (
        *later,
        *keeps(level, [out.second.name]),
        *loops(extents, {inn.dim: 1}),
        *keeps(level, [inn.second.name]),
        *((Sequence(branches=tuple(corners)),) if corners[1:] else corners[0]),
    )
    return (
        *loops(workload.extents, dict.fromkeys(pair.batch, 1)),
        *keeps(memory, [pair.shared.name]),
        Sequence(branches=(*tiles, at_last)),
    )
