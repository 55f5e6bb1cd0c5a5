"""What a walk of a mapping tree hands back."""

from __future__ import annotations

from dataclasses import dataclass

from optmap.base.texts import several
from optmap.count.tally import Moved


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelRoom:
    """What one bounded level holds at most, or one of its partitions."""

    level: str
    """Name of the level."""
    part: str
    """Name of the partition; the level's where it has none."""
    occupancy_words: int
    """The most that one instance holds at any time."""
    capacity_words: int
    """What one instance may hold: divided by the buffering."""
    statement: str
    """At whose visit it holds that much, the first time."""

    @property
    def short_words(self) -> int:
        """Words that are missing; 0 if it fits."""
        return max(0, self.occupancy_words - self.capacity_words)


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeCount:
    """Words that a mapping tree moves and the room that it takes."""

    moved: tuple[Moved, ...]
    """Per pair of levels (the level of a Keep, inner first, and the one that it is fetched from) and tensor, over all
    instances. Pairs of the tree that move nothing are there with zeros."""
    rooms: tuple[LevelRoom, ...]
    """Per bounded level, inner first, and partition."""
    walked: bool
    """Whether a literal walk counted it; else a closed form."""

    @property
    def violations(self) -> tuple[str, ...]:
        """One sentence per level that does not hold what the tree keeps there; empty if all fit."""
        return tuple(
            f"{room.part} would hold {several(room.occupancy_words, 'word')} at a visit of {room.statement}; it has "
            f"{room.capacity_words:,}: it is short by {several(room.short_words, 'word')}"
            for room in self.rooms
            if room.short_words
        )
