"""What mappings are compared by: which words count, and how boundaries are combined.

Of one memory `bottleneck`, `sum` and `traffic` are the same number: loads and stores over bandwidth.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from optmap.problem.machine import Machine

if TYPE_CHECKING:  # listing what can be minimised counts nothing
    from optmap.evaluate.results import BoundaryTraffic


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """A quantity to minimise, in cycles (words where one word takes one cycle)."""

    description: str
    """One line for lists."""
    stores: bool = True
    """Whether words that leave a memory count beside those that enter."""
    largest: bool = False
    """Whether the slowest boundary decides; otherwise boundaries are added up."""
    one_memory: bool = False
    """Whether it is defined for machines of one level only."""

    def words(self, row: BoundaryTraffic) -> int:
        """The words of one tensor at one boundary that count."""
        return row.words if self.stores else row.loads_words

    def combine(self, cycles: Mapping[int, Fraction]) -> Fraction:
        """The objective of the cycles per boundary."""
        return max(cycles.values()) if self.largest else sum(cycles.values(), Fraction(0))


TABLE: dict[str, Objective] = {
    "bottleneck": Objective(description="largest traffic/bandwidth over the levels", largest=True),
    "sum": Objective(description="traffic/bandwidth added up over the levels"),
    "loads": Objective(
        description="words loaded into one memory, stores not counted (IOOpt)", stores=False, one_memory=True
    ),
    "traffic": Objective(description="words loaded and stored by one memory with partitions", one_memory=True),
}
"""The objectives by name."""


def alike(name: str, machine: Machine) -> tuple[str, ...]:
    """An objective and those that are the same number on a machine; none if it is not defined on it.

    Args:
        name: a key of `TABLE`.
        machine: its number of levels decides.
    """
    if len(machine.levels) > 1:
        return () if TABLE[name].one_memory else (name,)
    same = (other for other, objective in TABLE.items() if objective.stores == TABLE[name].stores and other != name)
    return (name, *same)
