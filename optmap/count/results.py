"""What evaluation hands back: words per boundary and tensor, and cost per level."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from optmap.base.shown import Concise
from optmap.base.texts import several
from optmap.machines.machine import CapacityRule, Machine
from optmap.questions.objective import Objective
from optmap.workloads.workload import Workload

if TYPE_CHECKING:
    from optmap.count.timing.results import Prediction


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundaryTraffic:
    """Words of one tensor that cross one boundary."""

    between: tuple[str, str]
    """Names of the inner and the outer memory."""
    tensor: str
    """Name of the tensor."""
    loads_words: int
    """Words moved inwards."""
    stores_words: int
    """Words moved outwards."""

    @property
    def words(self) -> int:
        """Loads and stores together."""
        return self.loads_words + self.stores_words


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptPart:
    """What a memory keeps of a loop nest whose tiles it may be too small for; see `timing.kept`."""

    tile: dict[str, int]
    """Iterations per dim of the loops whose elements stay: of one child, where a split inside the memory cuts them."""
    passing: str | None
    """The input of which one element at a time is there; None if all of every tensor stays."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelCost(Concise):
    """What one bounded level holds and moves."""

    level: str
    """Name of the level."""
    occupancy_words: int
    """Words of the working set that must fit (under the capacity rule in force)."""
    capacity_words: int
    """Words that the level holds."""
    traffic_words: int
    """Loads and stores across the boundary to the next outer memory (first instance of a split)."""
    rate: Fraction
    """Words per cycle across that boundary."""
    overfull: tuple[str, ...] = ()
    """Partitions of the level that are too small for their tensors."""
    kept: KeptPart | None = None
    """Where time is predicted: what the level keeps, which is its occupancy; None where it holds the mapping's tile."""
    predicted: float | None = None
    """Where time is predicted: the cycles of the link, in whole lines; of registers, those of the kernel."""

    @property
    def fits(self) -> bool:
        """Whether the working set fits, in every partition."""
        return self.occupancy_words <= self.capacity_words and not self.overfull

    @property
    def shortage(self) -> str:
        """What it lacks, in a sentence, where the working set does not fit."""
        missing = self.occupancy_words - self.capacity_words
        if missing <= 0:
            return f"{self.level} has partitions that are too small for their tensors: {', '.join(self.overfull)}"
        needs = f"its tile needs {self.occupancy_words:,} of {self.capacity_words:,}"
        return f"{self.level} is short by {several(missing, 'word')}: {needs}"

    @property
    def bandwidth(self) -> float:
        """Words per cycle, as a float."""
        return float(self.rate)

    @property
    def cycles_exact(self) -> Fraction:
        """As predicted, where time is; else traffic over bandwidth, in cycles."""
        return self.traffic_words / self.rate if self.predicted is None else Fraction(self.predicted)

    @property
    def cycles(self) -> float:
        """The same as a float."""
        return float(self.cycles_exact)


@dataclass(frozen=True, slots=True, kw_only=True)
class CostReport(Concise):
    """The words that a mapping of tiles holds and moves, in exact integers."""

    kind: ClassVar[str] = "tiles"
    fractions: ClassVar[bool] = False

    levels: tuple[LevelCost, ...]
    """One entry per bounded level, inner first."""
    boundaries: tuple[BoundaryTraffic, ...]
    """One entry per boundary (inner first) and tensor (output first)."""
    rule: CapacityRule
    """Which working set `occupancy_words` is."""
    prediction: Prediction | None = None
    """Of the time of the mapping, where that is the objective."""

    def value_of(self, objective: Objective, workload: Workload, machine: Machine) -> Fraction | float:
        """An objective of the words that cross the boundaries, or the predicted cycles."""
        if objective.timed and self.prediction is not None:
            return self.prediction.cycles
        return objective.of(self.boundaries, machine, workload.word_bits)

    @property
    def value_exact(self) -> Fraction:
        """Largest number of cycles over the levels (words, for one level of bandwidth 1)."""
        return max(level.cycles_exact for level in self.levels)

    @property
    def value(self) -> float:
        """Largest number of cycles over the levels, as a float."""
        return float(self.value_exact)

    @property
    def bottleneck(self) -> str:
        """Name of the level with the most cycles; the innermost one on a tie."""
        return max(self.levels, key=lambda level: level.cycles_exact).level

    @property
    def broken(self) -> tuple[str, ...]:
        """Which levels do not hold their working sets, a sentence each; empty if all fit."""
        return tuple(level.shortage for level in self.levels if not level.fits)

    @property
    def fits(self) -> bool:
        """Whether every level's working set fits."""
        return not self.broken
