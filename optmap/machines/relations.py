"""How a number or a loop order may be demanded: relations, and patterns of loops with gaps."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Any

GAP = "..."
"""In a loop order: any loops that the order does not name, in any order; none at all, too."""


class Relation(StrEnum):
    """How a number is held against another: a tile by a user, trips of loops by a machine."""

    EQUAL = "="
    AT_MOST = "<="
    AT_LEAST = ">="
    MULTIPLE = "%"

    def holds(self, found: Any, value: int) -> Any:
        """Whether a number, or each of an array of them, stands in the relation to a value."""
        match self:
            case Relation.EQUAL:
                return found == value
            case Relation.AT_MOST:
                return found <= value
            case Relation.AT_LEAST:
                return found >= value
            case Relation.MULTIPLE:
                return found % value == 0

    def open(self, found: Any, value: int) -> Any:
        """Whether a product, or each of an array of them, may still come to stand in it as more is multiplied in."""
        match self:
            case Relation.EQUAL:
                return value % found == 0
            case Relation.AT_MOST:
                return found <= value
            case _:
                return found > 0


def step_along(pattern: tuple[str, ...], place: int, dim: str) -> int | None:
    """Where a pattern stands after one more loop, None if that may not come next.

    Args:
        pattern: dims and gaps in the order in which loops come.
        place: position in it, from 0; a gap that was entered is left with the next named dim.
        dim: the loop that comes.
    """
    if dim not in pattern:
        return place if place < len(pattern) and pattern[place] == GAP else None
    if place < len(pattern) and pattern[place] == GAP:
        place += 1
    return place + 1 if place < len(pattern) and pattern[place] == dim else None


def ends_at(pattern: tuple[str, ...], place: int) -> bool:
    """Whether a pattern may end where it stands."""
    return pattern[place:] in ((), (GAP,))


def follows(permutation: Iterable[str], pattern: tuple[str, ...]) -> bool:
    """Whether loops, outermost first, come as a pattern says."""
    place = 0
    for dim in permutation:
        following = step_along(pattern, place, dim)
        if following is None:
            return False
        place = following
    return ends_at(pattern, place)
