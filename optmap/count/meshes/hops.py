"""Ways of words over a mesh: how many children are served together, and over how many hops.

Words enter a mesh of `wide` columns and `high` rows in column 0, at the middle of its left edge: row (high - 1) / 2,
which lies between two rows of an even number. Children are numbered one by one, row after row: child i is in column
i mod wide of row i div wide, whatever is unrolled along which axis. A word for several children goes right to the
farthest of their columns, and in each of their columns up to the highest and down to the lowest of them.

Hops are counted twice, so that halves stay whole numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import gcd, prod

import numpy as np
from numpy.typing import NDArray

from optmap.base.errors import LimitError

MOST = 1 << 24
"""Children that are looked at one by one."""
TABLE = 8
"""Places of a table per child, at most."""
LARGEST = 1 << 62
"""Whole numbers below it are safe in int64."""
Digit = tuple[tuple[int, ...], int]
"""A spatial loop: how far each subscript of a tensor moves from one index to the next, and the ways."""
Whole = NDArray[np.int64]
"""Whole numbers, one per child, column, row or group."""


@dataclass(frozen=True, slots=True)
class Served:
    """The groups of one size: children that are served together."""

    children: int
    """Of each group."""
    groups: int
    """How many there are."""
    doubled: int
    """Twice the hops of one word to each of these groups, added up."""


@dataclass(frozen=True, slots=True)
class Board:
    """A mesh."""

    wide: int
    """Columns."""
    high: int
    """Rows."""

    def upright(self, lowest: Whole, highest: Whole) -> Whole:
        """Twice the hops in a column whose lowest and highest row with a child these are."""
        middle = self.high - 1
        return np.maximum(0, middle - 2 * lowest) + np.maximum(0, 2 * highest - middle)


@lru_cache(maxsize=4096)
def served(digits: tuple[Digit, ...], board: Board, distinct: int | None) -> tuple[Served, ...]:
    """The groups of children of a mesh that are served together, by their size.

    Where rows hold whole turns of some inner loops, a column depends on these alone and a row on the others alone. If
    the words do as well, groups are rectangles: every group of columns with every group of rows. Else children are
    looked at one by one.

    Args:
        digits: loops over the children, the slowest first; two children with the same subscripts need the same words.
        board: the mesh, with room for all children.
        distinct: children that differ, of which those that do not are served together; None if each is served alone.

    Raises:
        LimitError: if more children would have to be looked at than `MOST`.
    """
    children = prod(ways for _, ways in digits)
    if distinct in (None, children):
        return (_apart(children, board),)
    parts = _parted(digits, board.wide)
    if parts is not None:
        rows, columns = (_classes(_codes(part)[0]) for part in parts)
        if len(rows.size) * len(columns.size) == distinct:
            return _rectangles(rows, columns, board)
    return _one_by_one(*_codes(digits), board)


def _parted(digits: tuple[Digit, ...], wide: int) -> tuple[tuple[Digit, ...], tuple[Digit, ...]] | None:
    """The loops over rows, and those over columns; a loop that is both is split. None where rows end inside a loop."""
    if prod(ways for _, ways in digits) <= wide:
        return (), digits
    outer, inner, room = list(digits), list[Digit](), wide
    while room > 1:
        moves, ways = outer.pop()
        if ways > room and ways % room == 0:
            outer.append((tuple(room * move for move in moves), ways // room))
            ways = room
        if room % ways:
            return None
        inner.insert(0, (moves, ways))
        room //= ways
    return tuple(outer), tuple(inner)


def _codes(digits: tuple[Digit, ...]) -> tuple[Whole, int]:
    """Per child in the order of their numbers a number from 0 that says which words it needs; more than the largest."""
    subscripts, children = len(digits[0][0]) if digits else 0, prod(ways for _, ways in digits)
    if children > MOST:
        raise LimitError(
            f"the wires of a mesh with {children:,} children in use are too many to be followed one by one, the limit "
            f"is {MOST:,}; use a mapping that fills whole rows of the mesh"
        )
    found, reach = np.zeros(1, np.int64), 1
    for place in range(subscripts):
        own, span = _values([(moves[place], ways) for moves, ways in digits])
        if span * reach >= LARGEST:
            found, reach = _ranked(found)
            own, span = _ranked(own)
        found, reach = found * span + own, reach * span
    return (np.broadcast_to(found, children) if len(found) < children else found), reach


def _values(digits: list[tuple[int, int]]) -> tuple[NDArray[np.int64], int]:
    """A subscript of every child, from 0 in steps of what all moves are multiples of, and more than the largest one."""
    step = gcd(*(move for move, _ in digits)) or 1
    digits = [(move // step, ways) for move, ways in digits]
    span = 1 + sum(move * (ways - 1) for move, ways in digits)
    found = np.zeros(1, np.int64 if span < LARGEST else object)
    for move, ways in digits:
        found = (found[:, None] + move * np.arange(ways, dtype=found.dtype)).ravel()
    return found, span


def _ranked(values: NDArray[np.int64]) -> tuple[Whole, int]:
    """The place of each among the different values, and how many of them there are."""
    different, places = np.unique(values, return_inverse=True)
    return places.astype(np.int64), len(different)


@dataclass(frozen=True, slots=True)
class _Classes:
    """Columns or rows with the same words."""

    size: Whole
    """How many each class has."""
    first: Whole
    """The first of each."""
    last: Whole
    """The last of each."""


def _classes(codes: Whole) -> _Classes:
    different, first, size = np.unique(codes, return_index=True, return_counts=True)
    last = len(codes) - 1 - np.unique(codes[::-1], return_index=True)[1]
    return _Classes(size.astype(np.int64), first[: len(different)].astype(np.int64), last.astype(np.int64))


def _apart(children: int, board: Board) -> Served:
    """Every child by itself: full rows, and what is left in the next one."""
    full, rest = divmod(children, board.wide)
    middle, above = board.high - 1, min(full, (board.high + 1) // 2)
    upright = above * (middle - above + 1)
    upright += full * (full - 1) - above * (above - 1) - middle * (full - above)
    right = full * board.wide * (board.wide - 1) + rest * (rest - 1)
    return Served(1, children, right + board.wide * upright + rest * abs(middle - 2 * full))


def _rectangles(rows: _Classes, columns: _Classes, board: Board) -> tuple[Served, ...]:
    """Groups that are a group of columns in every row of a group of rows."""
    upright = board.upright(rows.first, rows.last)
    found: dict[int, tuple[int, int]] = {}
    for width in np.unique(columns.size):
        mine = columns.size == width
        across, right = int(mine.sum()), 2 * int(columns.last[mine].sum())
        for height in np.unique(rows.size):
            others = rows.size == height
            down = int(others.sum())
            hops = right * down + int(width) * across * int(upright[others].sum())
            groups, doubled = found.get(int(width * height), (0, 0))
            found[int(width * height)] = groups + across * down, doubled + hops
    return tuple(Served(size, groups, doubled) for size, (groups, doubled) in sorted(found.items()))


def _one_by_one(codes: Whole, reach: int, board: Board) -> tuple[Served, ...]:
    """Groups of any shape."""
    rows = -(-len(codes) // board.wide)
    if reach * board.wide * rows >= LARGEST:
        codes, reach = _ranked(codes)
    if reach * board.wide <= len(codes) * TABLE:
        spots, top, bottom, children = _tabled(codes, reach, board.wide)
    else:
        spots, top, bottom, children = _sorted(codes, board.wide)
    firsts = np.flatnonzero(np.diff(spots // board.wide, prepend=-1))
    farthest = spots[np.append(firsts[1:], len(spots)) - 1] % board.wide
    hops = np.add.reduceat(board.upright(top, bottom), firsts) + 2 * farthest
    kinds, kind, counts = np.unique(np.add.reduceat(children, firsts), return_inverse=True, return_counts=True)
    doubled = np.zeros(len(kinds), np.int64)
    np.add.at(doubled, kind, hops)
    found = zip(kinds.tolist(), counts.tolist(), doubled.tolist(), strict=True)
    return tuple(Served(*each) for each in found)


def _tabled(codes: Whole, reach: int, wide: int) -> tuple[Whole, Whole, Whole, Whole]:
    """Every column of every group: its number (group first), lowest and highest row, children; by a table of all."""
    place = np.arange(len(codes))
    row, spots = place // wide, codes * wide + place % wide
    top, bottom = (np.full(reach * wide, -1) for _ in range(2))
    bottom[spots] = row  # of several children the last one stays
    top[spots[::-1]] = row[::-1]
    used = np.flatnonzero(top >= 0)
    return used, top[used], bottom[used], np.bincount(spots, minlength=reach * wide)[used]


def _sorted(codes: Whole, wide: int) -> tuple[Whole, Whole, Whole, Whole]:
    """The same by sorting the children, where groups are too many for a table."""
    place, rows = np.arange(len(codes)), -(-len(codes) // wide)
    keys = np.sort((codes * wide + place % wide) * rows + place // wide)
    spots = keys // rows
    starts = np.flatnonzero(np.diff(spots, prepend=-1))
    ends = np.append(starts[1:], len(keys))
    return spots[starts], keys[starts] % rows, keys[ends - 1] % rows, ends - starts
