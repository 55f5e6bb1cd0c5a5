"""What `solve` returns: the mapping with everything that is claimed about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from optmap.evaluate.results import BoundaryTraffic, LevelCost
from optmap.evaluate.timing import Prediction
from optmap.problem.code_options import CodeOptions
from optmap.problem.constraints import NO_CONSTRAINTS, Constraints
from optmap.problem.held import Held
from optmap.problem.machine import CapacityRule, Machine
from optmap.problem.mapping import Mapping
from optmap.problem.options import TileRule
from optmap.problem.workload import Workload
from optmap.shown import Concise, ShownMapping
from optmap.solvers.status import Point, Stop

PROVED = 2e-6
"""Relative distance between cost and integer bound at which the cost is proved optimal: relaxations
are solved to half of it."""


def _reaches(cost: float, bound: float) -> bool:
    """Whether a cost is that of a proved lower bound."""
    return cost <= bound * (1 + PROVED)


def conclusion(cost: float, bound: float, *, late: bool) -> Stop:
    """Why a search stopped: `optimal` only where that is proved.

    Args:
        cost: of the mapping found.
        bound: proved lower bound on the cost of every mapping of the space that was searched.
        late: whether the time ran out.
    """
    if _reaches(cost, bound):
        return Stop.OPTIMAL
    return Stop.late() if late else Stop.SEARCH_ENDED


@dataclass(frozen=True, slots=True, kw_only=True)
class Relaxation(Concise):
    """The continuous program behind the answer."""

    value: float
    """Lower bound on `cost` (proved) or value of a local optimum (not proved)."""
    proved: bool
    """Whether `value` is a proved lower bound; a point attains it within `tolerance`."""
    formulation: str
    """Which program was solved."""
    tolerance: float
    """Relative distance between bound and attained value: that of a solver, or of what was found in time."""
    method: str
    """How it was solved."""
    classes: tuple[tuple[str, ...], ...]
    """Per level, inner first: loop order of the point, outermost first."""
    tiles: tuple[dict[str, float], ...]
    """Per level, inner first: real tile of the point."""
    cross_check: float | None
    """Value that another solver finds for the same loop orders; None if it was not asked."""
    checked_by: str = "Ipopt"
    """That solver."""

    def gap(self, cost: float) -> float | None:
        """How far a cost is above the proved value, cost / value - 1; None if nothing above 0 is proved.

        Never below 0: a cost that attains the value may come out below it in the last digits.
        """
        return max(0.0, cost / self.value - 1) if self.proved and self.value else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvedBound:
    """A lower bound on `exact` that holds for every schedule."""

    value: float
    """Of the same objective as `exact`."""
    unit: str
    method: str
    """Name in the registry of bounds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundaryCertificate(Concise):
    """The proof of a lower bound at one boundary."""

    between: tuple[str, str]
    """Names of the inner and the outer memory."""
    instances: int
    """Memories of the inner level that share the work."""
    words: int
    """Words that the busiest of them moves, at least."""
    certificate: dict[str, Any]
    """Document for the independent checker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SolveResult(ShownMapping):
    """A solved workload."""

    shown_as: ClassVar[str] = "solution"

    workload: Workload
    machine: Machine
    method: str
    objective: str
    capacity: CapacityRule
    tiles: TileRule
    stop: Stop
    """Why the search ended."""
    point: Point
    """What is known of the relaxed point behind the mapping."""
    mapping: Mapping
    levels: tuple[LevelCost, ...]
    """Inner level first, in per-level form."""
    boundaries: tuple[BoundaryTraffic, ...]
    """Exact words of the concatenated nest, per boundary and tensor."""
    cost: float
    """The objective in per-level form."""
    cost_unit: str
    """`words` on a machine of one level with a bandwidth of one word per cycle, else `cycles`."""
    exact: float
    """The same objective of the concatenated nest, which sees reuse across levels."""
    exact_unit: str
    bottleneck: str
    """Level with the largest cost."""
    relaxation: Relaxation
    integer_bound: float
    """Proved lower bound on the cost of integer mappings; at least the relaxation if that is proved."""
    integer_gap: float | None
    """cost / relaxation - 1; None if the relaxation is not proved."""
    seconds: float
    seed: int
    versions: dict[str, str]
    notes: tuple[str, ...]
    """What a reader should know: which constraints were in force, what was left out."""
    held: Held | None = None
    """Of one level: reuse position per access, streamed dims and the loops inside a tile that they
    need; None where the loop order alone decides."""
    bound: ProvedBound | None = None
    """None until `bounds` and mapping are put side by side."""
    gap: float | None = None
    """exact / bound - 1."""
    certificates: tuple[BoundaryCertificate, ...] = ()
    """Proofs behind `bound`, inner boundary first."""
    constraints: Constraints = NO_CONSTRAINTS
    """What the user demanded of the mapping; it meets them all."""
    proof: dict[str, Any] | None = None
    """Steps with which the checker re-proves relaxation and integer bound, where they were asked for."""
    prediction: Prediction | None = None
    """Of its time, where that is the objective: `cost` and `exact` are its cycles."""
    options: CodeOptions | None = None
    """Of the code whose time that is."""
    space: str = ""
    """Of what mappings `integer_bound` is a lower bound: what the answer is the best of, if proved."""

    @property
    def proved(self) -> bool:
        """Whether no mapping of the `space` costs less."""
        return _reaches(self.cost, self.integer_bound)

    @property
    def within(self) -> float | None:
        """How far the cost is above the proved integer bound, as a share of it; None if the bound is 0."""
        return self.cost / self.integer_bound - 1 if self.integer_bound > 0 else None
