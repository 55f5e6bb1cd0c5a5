"""What a mapping tree moves and holds, walked or counted in closed form."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from optmap.base.texts import several
from optmap.count.results import BoundaryTraffic
from optmap.count.tally import Moved
from optmap.count.timing.roofline import roofline
from optmap.machines.machine import Machine
from optmap.questions.objective import Objective
from optmap.workloads.workload import Workload


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

    kind: ClassVar[str] = "tree"
    fractions: ClassVar[bool] = False

    moved: tuple[Moved, ...]
    """Per pair of levels (the level of a Keep, inner first, and the one that it is fetched from) and tensor, over all
    instances. Pairs of the tree that move nothing are there with zeros."""
    rooms: tuple[LevelRoom, ...]
    """Per bounded level, inner first, and partition."""
    walked: bool
    """Whether a literal walk counted it; else a closed form."""

    @property
    def boundaries(self) -> tuple[BoundaryTraffic, ...]:
        """Words per pair of levels and tensor."""
        return tuple(
            BoundaryTraffic(
                between=row.between, tensor=row.tensor, loads_words=row.loads_words, stores_words=row.stores_words
            )
            for row in self.moved
        )

    @property
    def levels(self) -> tuple[LevelRoom, ...]:
        """What every level holds."""
        return self.rooms

    @property
    def bottleneck(self) -> str:
        """The level behind the boundary that most words cross."""
        words = Counter[str]()
        for row in self.moved:
            words[row.between[0]] += row.loads_words + row.stores_words
        return max(words, key=lambda level: words[level])

    def value_of(self, objective: Objective, workload: Workload, machine: Machine) -> Fraction:
        """An objective of the words that cross the boundaries; of a time, the roofline of one core."""
        return roofline(objective, objective.words(self.moved, machine), workload, machine)

    @property
    def broken(self) -> tuple[str, ...]:
        """The rules of its machine that the mapping breaks: one sentence per level that cannot hold what it keeps."""
        return tuple(
            f"{room.part} would hold {several(room.occupancy_words, 'word')} at a visit of {room.statement}; it has "
            f"{room.capacity_words:,}: it is short by {several(room.short_words, 'word')}"
            for room in self.rooms
            if room.short_words
        )
