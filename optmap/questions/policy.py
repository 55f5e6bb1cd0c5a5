"""Counting policies: how a mapping moves and holds words, as traits that programs and searches ask for.

What counts by a policy is in `count.policies`; below that room a policy is what it says of itself here.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from optmap.base.errors import InputError
from optmap.base.shown import Concise
from optmap.workloads.halo import distinct_values, span


class Target(StrEnum):
    """What a policy counts mappings of."""

    ACCELERATORS = "accelerators"
    """Machines with fanouts and prices."""
    CACHES = "caches"
    """Machines without: caches and scratchpads."""


class Footprint(StrEnum):
    """What one subscript has of a tile."""

    TOUCHED = "touched"
    """The values that occur, gaps left out."""
    HULL = "hull"
    """All from the first to the last."""
    UNIT_STRIDES = "unit-strides"
    """As many as there would be with every coefficient 1: of capacities alone."""

    @property
    def text(self) -> str:
        """How a tile is taken, as the end of a sentence."""
        return {"touched": "exactly", "hull": "gaps included", "unit-strides": "with strides of 1"}[self.value]

    def words(self, coefficients: tuple[int, ...], extents: tuple[int, ...]) -> int:
        """Values of a subscript over a tile.

        Args:
            coefficients: of its dims, positive.
            extents: of the tile along them.

        Raises:
            LimitError: for three dims or more whose values are too many to be enumerated.
        """
        match self:
            case Footprint.TOUCHED:
                return distinct_values(coefficients, extents)
            case Footprint.HULL:
                return span(coefficients, extents)
            case Footprint.UNIT_STRIDES:
                return span((1,) * len(extents), extents)


class Retention(StrEnum):
    """What stays of a tile when the next one comes."""

    UNION = "union"
    """All that both have, in the order of all loops (`count.levels.whole_nest`)."""
    POSITION = "position"
    """What the loop at the reuse position of a tensor leaves, level by level (`count.levels.per_level`)."""
    HELD = "held"
    """What the mapping says, tensor by tensor (`mappings.held`)."""
    SLIDING = "sliding"
    """What both have while one subscript slides in one direction, through all loops (`count.meshes.entering`)."""
    EXTRAPOLATED = "extrapolated"
    """Likewise for the first two trips of each loop, the others taken to be like the second."""
    HANDED = "handed"
    """What the loops of one memory leave; the tile is handed down anew when a loop outside moves on."""
    OTHER = "other"
    """By a rule of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy(Concise):
    """How words are counted.

    Raises:
        InputError: if what moves is said to have strides of one, which only capacities may; if searches with bounds are
            said to know what they do not.
    """

    name: str
    """As it is typed and printed; one of each on caches and on accelerators."""
    description: str
    """One line: how it differs."""
    target: Target
    """What it counts mappings of."""
    retention: Retention = Retention.OTHER
    footprint: Footprint = Footprint.TOUCHED
    """Of a tile that is moved."""
    room: Footprint = Footprint.TOUCHED
    """Of a tile in a capacity."""
    drains: bool = False
    """Whether outputs that leave a memory are read there at a price."""
    wires: bool = True
    """Whether hops and routers of meshes are counted."""
    walked: bool = False
    """Whether it follows tiles through all loops as `retention` and `footprint` say, and in nothing else on its own:
    searches with bounds know such policies."""
    bounded: bool = False
    """Whether it counts what a run moves, so that a floor under every schedule is one under its counts."""

    def __post_init__(self) -> None:
        if self.footprint is Footprint.UNIT_STRIDES:
            raise InputError(f"counting {self.name}: {self.footprint} is for capacities (room), not for what is moved")
        plain = self.room is self.footprint and self.wires and not self.drains
        if self.walked and not (plain and self.retention in (Retention.SLIDING, Retention.EXTRAPOLATED)):
            raise InputError(
                f"counting {self.name}: searches with bounds know no drains, retention {self.retention} without "
                "slides, or capacities and wires of another kind; leave out walked"
            )

    def __str__(self) -> str:
        return self.name

    @property
    def key(self) -> str:
        """Its name among those of all targets."""
        return f"{self.target}-{self.name}"

    @property
    def extrapolates(self) -> bool:
        """Whether loops are taken to go on as their second trip begins."""
        return self.retention is Retention.EXTRAPOLATED
