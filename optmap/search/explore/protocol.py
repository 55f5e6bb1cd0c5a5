"""What a search that proposes mappings is, and what it sees.

def by_chance(brief: Brief[NoSettings]) -> Proposals:
    while True:
        yield random_nests(brief.fabric, 256, brief.rng)

register_method(Method(name="mine", description="...", routes=(explorer(by_chance),)))
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np

from optmap.base.arrays import Flags, Floats
from optmap.base.rows import Rows
from optmap.count.meshes.policy import NestPolicy
from optmap.machines.fabric import Fabric
from optmap.mappings.nest_batch import NestBatch
from optmap.questions.options import Merit
from optmap.search.found import PERFECT


@dataclass(frozen=True, slots=True, kw_only=True)
class NoSettings:
    """The settings of a strategy without any."""


S = TypeVar("S")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scores(Rows):
    """What the nests of a batch cost, in their order."""

    valid: Flags
    """Whether it fits, covers the extents, and keeps to the rules of the machine."""
    value: Floats
    """What is minimised; infinite for a nest that is not valid."""
    energy_pj: Floats
    """Of valid and other nests, as the model counts it, also where a function of the user's judges."""
    cycles: Floats
    """Likewise."""


@dataclass(frozen=True, slots=True)
class Pruned:
    """How much a rule of a strategy took out of the space."""

    rule: str
    seen: int
    """Candidates that it was asked about."""
    cut: int
    """Those that it left out."""


@dataclass(slots=True)
class PruneTally:
    """What rules cut, summed over a search."""

    counts: dict[str, tuple[int, int]] = field(default_factory=dict)
    total: int | None = None
    """Mappings that it will propose, if the strategy knows; for the progress that is shown."""

    def add(self, rule: str, *, seen: int, cut: int) -> None:
        """A rule was asked about `seen` candidates and left out `cut` of them."""
        before = self.counts.get(rule, (0, 0))
        self.counts[rule] = (before[0] + seen, before[1] + cut)

    @property
    def cuts(self) -> tuple[Pruned, ...]:
        """Per rule, in the order in which they were first asked."""
        return tuple(Pruned(rule, seen, cut) for rule, (seen, cut) in self.counts.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief(Generic[S]):
    """What a strategy is asked; a new one for every search."""

    fabric: Fabric
    """Workload and machine, wires without prices."""
    merit: Merit
    """What is minimised."""
    counting: NestPolicy
    settings: S
    rng: np.random.Generator
    """The only chance that a strategy may use: the same seed proposes the same nests."""
    tally: PruneTally = field(default_factory=PruneTally)
    """Where its rules are counted."""
    evaluations: int | None = None
    """Nests that will be judged at most, for strategies that plan their budget; None for any number."""


@dataclass(frozen=True, slots=True)
class Exhausted:
    """What a strategy returns that has looked at all it need look at: nothing in its space beats the best proposed."""

    text: str
    """How, in words."""


Proposals = Generator[NestBatch, Scores, Exhausted | None]
"""Yields nests, is sent their scores; every batch that is yielded is judged whole, unless the budget ends in it."""


Propose = Callable[[Brief[Any]], Proposals]
"""A generator function."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """A search that proposes mappings."""

    propose: Propose
    """What it yields is judged, what it is sent are the scores; the clock is looked at between batches only."""
    settings: type = NoSettings
    """A frozen dataclass of what can be set, fields of bool, int, float or str with their defaults (`setting`)."""
    space: str = PERFECT
    """The mappings among which it looks, in words."""
