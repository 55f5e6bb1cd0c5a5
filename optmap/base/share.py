"""How much of some work is done, and what that says of the rest: what callbacks of progress are given."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import overload

Tell = Callable[[str, float], None]
"""Called with what is being done and how much of all is done; the share is a `Share` where more is known of it."""


def unheard(_text: str, _share: float) -> None:
    """Progress that nobody listens to."""


class Share(float):
    """How much of some work is done, 0 to 1, with what is known of the rest.

    A float is all that a callback needs. The share of a time limit that has passed is not how much of a search is
    done: that says only when it ends at the latest. Items that are done say how fast the others may be.
    """

    __slots__ = ("done", "items", "kept", "most_s")

    done: int
    """Items that are done, `kept` included; 0 where nothing is counted."""
    items: int
    """Of how many; 0 where nothing is counted."""
    kept: int
    """Of those done, the ones that were there before the work began: they say nothing of how fast it is."""
    most_s: float | None
    """Seconds after which it ends at the latest; None where nothing says so."""

    def __new__(cls, value: float = 0.0) -> Share:
        """A share of which nothing more is known."""
        made = super().__new__(cls, min(1.0, max(0.0, value)))
        made.done = made.items = made.kept = 0
        made.most_s = None
        return made

    @classmethod
    def counted(cls, done: int, items: int, *, kept: int = 0, most_s: float | None = None) -> Share:
        """Items of a known number, one after the other or side by side; the rest as the fields say."""
        made = cls.limited(done / max(1, items), inf if most_s is None else most_s)
        made.done, made.items, made.kept = done, items, kept
        return made

    @classmethod
    def limited(cls, value: float, most_s: float) -> Share:
        """A share of work that a clock ends.

        Args:
            value: the share of what is spent.
            most_s: until it ends at the latest, in seconds.
        """
        made = cls(value)
        made.most_s = most_s if most_s < inf else None
        return made


@overload
def part_of(tell: Tell, place: int, parts: int, where: str = "", *, even: bool = False) -> Tell: ...


@overload
def part_of(tell: Tell | None, place: int, parts: int, where: str = "", *, even: bool = False) -> Tell | None: ...


def part_of(tell: Tell | None, place: int, parts: int, where: str = "", *, even: bool = False) -> Tell | None:
    """Progress of one part of several: what is counted is the parts, or the items of all of them.

    Args:
        tell: told of the whole; None for nobody.
        place: of the part, from 0.
        parts: how many; of a single one everything is told as it is.
        where: put behind what is told.
        even: that every part counts the same number of items, not none.
    """
    if tell is None or parts == 1:
        return tell

    def told(text: str, share: float) -> None:
        whole = Share.counted(place, parts)
        if even and isinstance(share, Share):
            whole = Share.counted(place * share.items + share.done, parts * share.items, kept=share.kept)
        tell(f"{text}{where}", whole)

    return told
