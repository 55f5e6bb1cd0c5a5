"""What a mapping method hands in."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from optmap.base.errors import CheckError
from optmap.base.shown import Concise
from optmap.kernels.code_options import CodeOptions
from optmap.mappings.held import Held
from optmap.mappings.levels import Mapping
from optmap.mappings.nest import Nest
from optmap.mappings.tree import MappingTree
from optmap.search.curve import Improvement
from optmap.search.leasts import FamilyBound
from optmap.search.relaxation import Relaxation
from optmap.solvers.status import PointKind

if TYPE_CHECKING:
    from optmap.count.timing import Prediction
    from optmap.search.explore.driver import Trace

SAME = 1e-9
"""Relative distance within which a search's floating-point cost or bound is the exact one."""
PERFECT = "perfect factors of every dim, with every loop order, spatial split and bypass that the machine allows"
"""The mappings of a machine with whole tiles of a workload, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found(Concise):
    """What a method hands in: a mapping, and what it knows about it. Only the mapping is needed."""

    mapping: Mapping | Nest | MappingTree
    """As tiles, or, where there are meshes, as loops of memories; of a chain of statements as a tree."""
    others: tuple[Mapping, ...] = ()
    """The next best that the search priced, best first, where they are asked for."""
    held: Held | None = None
    """Of one level: how long every tensor is kept; None where the loop order alone decides."""
    claimed: Fraction | float | None = None
    """Its cost as the search counted it, to be compared with the recount."""
    relaxation: Relaxation | None = None
    """What is proved, or at least solved, below it; None for what every mapping moves."""
    bound: Fraction | float | None = None
    """Proved lower bound on the cost of every mapping in `space`; None for that of the relaxation, or none."""
    proved: bool = False
    """Whether no mapping of the space is better, though the bound may not say so to the last digit."""
    proof: str = ""
    """How the bound is proved, in words; empty for by the relaxation, or without one."""
    space: str = ""
    """The mappings among which the method looks for the best, in words."""
    point: PointKind = PointKind.FEASIBLE
    """What is known of the relaxed point behind it."""
    evaluations: int = 0
    """Mappings or partial ones that were priced."""
    late: bool = False
    """Whether the time ran out."""
    may_not_fit: bool = False
    """Whether the method is known to hand in mappings that break rules of their machine: then the answer says so."""
    seconds: float = 0.0
    """That the search took, as `assemble` is told."""
    notes: tuple[str, ...] = ()
    """What a reader should know."""
    prediction: Prediction | None = None
    """Of its time, where that is the objective."""
    options: CodeOptions | None = None
    """Of the code whose time it is."""
    family: FamilyBound | None = None
    """Of a family of mappings of statements in turn: what it is proved the best by."""
    trace: Trace | None = None
    """Of a method that explores: what it did."""
    curve: tuple[Improvement, ...] = ()
    """Of another method that knows when it found what: every time that the best became better."""

    @property
    def seconds_to_best(self) -> float | None:
        """None of a method that does not say."""
        return self.curve[-1].seconds if self.curve else None

    @property
    def nest(self) -> Nest:
        """The mapping as loops of memories.

        Raises:
            CheckError: if it was handed in as tiles.
        """
        if isinstance(self.mapping, Nest):
            return self.mapping
        raise CheckError("the mapping was handed in as tiles; on this machine it is a nest")

    @property
    def tiles(self) -> Mapping:
        """The mapping as tiles.

        Raises:
            CheckError: if it was handed in as loops of memories.
        """
        if isinstance(self.mapping, Mapping):
            return self.mapping
        raise CheckError("the mapping was handed in as a nest; on this machine it is tiles")

    @property
    def tree(self) -> MappingTree:
        """The mapping of a chain of statements.

        Raises:
            CheckError: if it was handed in for one statement.
        """
        if isinstance(self.mapping, MappingTree):
            return self.mapping
        raise CheckError("the mapping was handed in for one statement; of a chain it is a tree")
