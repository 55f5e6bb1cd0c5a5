"""Ways of words over a mesh with too many children to be set down one by one: its rows and its columns by themselves.

Children are numbered row after row. Where a row holds whole turns of the inner loops over them, the number that says
which words a child needs is one of its row plus one of its column. If all pairs of a different row number and a
different column number give different sums, which is so if there are as many as children with different words, those
that need the same words are every column of a group of columns in every row of a group of rows.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import prod

from ..core.tools import need

Turns = list[tuple[int, int]]
"""Loops, slowest first: what the number of the words moves by from one trip to the next, and trips."""
Group = tuple[int, int, int]
"""Rows or columns with the same number: how many, the first and the last."""


MOST_IN_A_LINE = 1 << 22
"""Rows, or columns, of a mesh that are listed."""


def numbers(turns: Turns) -> list[int]:
    """The number of every trip through some loops."""
    found = [0]
    for far, n in turns:
        found = [number + far * k for number in found for k in range(n)]
    return found


def trunk(top: int, bottom: int, high: int) -> int:
    """Twice the hops along a column, from the middle row of so many to a child above and to one below."""
    return max(0, high - 1 - 2 * top) + max(0, 2 * bottom - high + 1)


def rectangles(turns: Turns, board: tuple[int, int], different: int, where: str) -> dict[int, tuple[int, Fraction]]:
    """Groups of children with the same words, and hops to all of them together, per number of children.

    Args:
        turns: the loops over the children.
        board: columns and rows of the mesh.
        different: children with different words.
        where: for messages.
    """
    outer, inner = _parted(turns, board[0], where)
    longest = max(prod(n for _, n in part) for part in (outer, inner))
    need(longest <= MOST_IN_A_LINE, f"{where}: {longest:,} children in a line of a mesh are too many to be set down")
    rows, columns = _groups(numbers(outer)), _groups(numbers(inner))
    need(len(rows) * len(columns) == different, f"{where}: too many children to be set down, and no rectangles of them")
    tall, broad = _sums(rows, lambda own: trunk(own[1], own[2], board[1])), _sums(columns, lambda own: 2 * own[2])
    found: dict[int, tuple[int, Fraction]] = {}
    for height, (down, upright) in tall.items():
        for width, (across, along) in broad.items():
            groups, hops = found.get(height * width, (0, Fraction(0)))
            halves = along * down + width * across * upright
            found[height * width] = groups + down * across, hops + Fraction(halves, 2)
    return found


def _parted(turns: Turns, wide: int, where: str) -> tuple[Turns, Turns]:
    """The loops over rows, and those over columns; one that is both is split."""
    if prod(n for _, n in turns) <= wide:
        return [], turns
    outer, inner, room = list(turns), list[tuple[int, int]](), wide
    while room > 1:
        far, n = outer.pop()
        if n > room and n % room == 0:
            outer.append((far * room, n // room))
            n = room
        need(room % n == 0, f"{where}: too many children to be set down, and their rows end inside a loop")
        inner.insert(0, (far, n))
        room //= n
    return outer, inner


def _groups(found: list[int]) -> list[Group]:
    """Rows or columns with the same number."""
    groups: dict[int, Group] = {}
    for place, number in enumerate(found):
        many, first, _ = groups.get(number, (0, place, place))
        groups[number] = many + 1, first, place
    return list(groups.values())


def _sums(groups: list[Group], hops: Callable[[Group], int]) -> dict[int, tuple[int, int]]:
    """Per number of rows or columns the groups that have so many, and their hops added up."""
    found: dict[int, tuple[int, int]] = {}
    for own in groups:
        many, halves = found.get(own[0], (0, 0))
        found[own[0]] = many + 1, halves + hops(own)
    return found
