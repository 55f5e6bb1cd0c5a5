"""What `solve` returns: the mapping with everything that is claimed about it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

from optmap.base.shown import PRESENTATIONS, Presentation, ShownMapping
from optmap.base.texts import plain
from optmap.count.meshes.policy import NestPolicy
from optmap.count.meshes.results import SpatialCost
from optmap.count.results import BoundaryTraffic, CostReport
from optmap.machines.fabric import Fabric
from optmap.machines.machine import CapacityRule, Machine
from optmap.mappings.constraints import Constraints
from optmap.mappings.held import Held
from optmap.mappings.nest import Nest
from optmap.questions.objective import Objective
from optmap.questions.options import Merit, TileRule
from optmap.search.floors import BoundaryCertificate, Floor, MeshFloor, Number, ProvedBound, WordsFloor
from optmap.search.found import Found
from optmap.search.question import Question
from optmap.search.relaxation import Relaxation
from optmap.solvers.status import PointKind, Stop
from optmap.workloads.workload import Workload

if TYPE_CHECKING:
    from optmap.count.timing import Prediction
    from optmap.kernels.code_options import CodeOptions

PROVED = 2e-6
"""Relative distance between cost and integer bound at which the cost is proved optimal: relaxations
are solved to half of it."""


NO_RELAXATION = Relaxation(value=0.0, proved=False, formulation="", tolerance=0.0)


def reaches(cost: Number, bound: Number) -> bool:
    """Whether a cost is that of a proved lower bound, as near as relaxations are solved."""
    return cost <= bound * (1 + PROVED)


def conclusion(cost: Number, bound: Number, *, late: bool) -> Stop:
    """Why a search stopped: `optimal` only where that is proved.

    Args:
        cost: of the mapping found.
        bound: proved lower bound on the cost of every mapping of the space that was searched.
        late: whether the time ran out.
    """
    return ended(proved=reaches(cost, bound), late=late)


def ended(*, proved: bool, late: bool) -> Stop:
    """Why a search with a mapping stopped."""
    if proved:
        return Stop.OPTIMAL
    return Stop.late() if late else Stop.SEARCH_ENDED


class MappingCount(Protocol):
    """A mapping, counted: levels and boundaries, or memories with their energy and cycles."""

    kind: ClassVar[str]
    """`tiles` or `nest`: by which it is shown and written."""
    fractions: ClassVar[bool]
    """Whether objectives are told as fractions; else as whole numbers or the nearest floats."""

    @property
    def broken(self) -> tuple[str, ...]:
        """The rules of its machine that the mapping breaks, a sentence each."""
        ...

    @property
    def bottleneck(self) -> str:
        """What decides the time."""
        ...

    @property
    def levels(self) -> tuple[Any, ...]:
        """What every level holds, moves and costs, inner first."""
        ...

    @property
    def boundaries(self) -> tuple[BoundaryTraffic, ...]:
        """Words of every tensor across every boundary."""
        ...

    def value_of(self, objective: Objective, workload: Workload, machine: Machine) -> Number:
        """An objective of the mapping."""
        ...


def told(count: MappingCount, value: Number) -> Number:
    """An objective of a counted mapping, or a bound on it, as it is told."""
    return plain(value) if isinstance(value, Fraction) and not count.fractions else value


C = TypeVar("C", bound=MappingCount)
F = TypeVar("F", bound=Floor)


@dataclass(frozen=True, slots=True, kw_only=True)
class Solved(ShownMapping):
    """A mapping beside the question that it answers."""

    question: Question
    found: Found
    """The mapping as it was found or read, and what is known of it."""
    mapping: Any
    """As tiles, loop orders and splits, inner level first (`Mapping`); of a chain of statements as a `MappingTree`."""

    @property
    def workload(self) -> Workload:
        """What was mapped; on a machine whose outputs start empty they do."""
        return self.question.workload

    @property
    def machine(self) -> Machine:
        """Onto what."""
        return self.question.machine

    @property
    def method(self) -> str:
        """Who was asked."""
        return self.question.method

    @property
    def objective(self) -> str:
        """Name of what was minimised."""
        return self.question.objective.name

    @property
    def cost_unit(self) -> str:
        """Of the objective; `words` on a machine of one level with a bandwidth of one word per cycle."""
        return self.question.objective.unit(self.machine)

    @property
    def capacity(self) -> CapacityRule:
        """What must fit into a cache."""
        return self.question.capacity

    @property
    def counting(self) -> NestPolicy:
        """How words are counted where there are meshes and prices."""
        return self.question.counting

    @property
    def tiles(self) -> TileRule:
        """The rule that tiles keep to."""
        return self.question.tiles

    @property
    def constraints(self) -> Constraints:
        """What the user demanded of the mapping."""
        return self.question.constraints

    @property
    def fabric(self) -> Fabric:
        """A machine with meshes and prices as the workload sees it, without demands; an `InputError` of any other."""
        return self.question.bare

    @property
    def merit(self) -> Merit:
        """What was minimised, where there are meshes and prices; a `TypeError` elsewhere."""
        return self.question.merit

    @property
    def nest(self) -> Nest:
        """The mapping as loops of memories, where there are meshes; a `TypeError` elsewhere."""
        return self.found.nest

    @property
    def held(self) -> Held | None:
        """Of one level: how long every tensor is kept; None where the loop order alone decides."""
        return self.found.held

    @property
    def options(self) -> CodeOptions | None:
        """Of the code whose time is predicted."""
        return self.found.options


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(Solved, Generic[C, F]):
    """A solved workload: only `assemble` makes one, so that nothing unchecked gets out."""

    shown_as: ClassVar[str] = "answer"
    shown_first: ClassVar[tuple[str, ...]] = ("workload", "machine", "method", "cost", "cost_unit", "gap")

    count: C
    """As methods compare mappings: in per-level form; where there are meshes in the counting that was asked for."""
    exact_count: C
    """The exact words of the concatenated nest; where there are meshes as a walk counts."""
    stop: Stop
    """Why the search ended."""
    seconds: float
    """Of the whole answer."""
    versions: dict[str, str]
    notes: tuple[str, ...]
    """What a reader should know: which constraints were in force, what was padded or left out."""
    floor: F | None = None
    """What no schedule goes below; None until bounds and mapping are put side by side."""
    others: tuple[Answer[Any, Any], ...] = ()
    """The next best mappings, best first, where they were asked for: each an answer of its own."""
    proof: dict[str, Any] | None = None
    """Steps with which the checker re-proves relaxation and integer bound, where they were asked for."""

    @property
    def presentation(self) -> Presentation:
        """How answers with its kind of count are shown."""
        return PRESENTATIONS[f"{self.shown_as}/{self.count.kind}"]

    @property
    def cost(self) -> Number:
        """The objective, as methods compare it."""
        return told(self.count, self.count.value_of(self.question.objective, self.workload, self.machine))

    @property
    def exact(self) -> Number:
        """The same objective, counted exactly."""
        return told(self.count, self._exactly)

    @property
    def levels(self) -> tuple[Any, ...]:
        """What every level holds, moves and costs, inner first, in per-level form: `LevelCost`, or `MemoryCost`."""
        return self.count.levels

    @property
    def boundaries(self) -> tuple[BoundaryTraffic, ...]:
        """Exact words per boundary and tensor, of the concatenated nest; where there are meshes between keepers."""
        return self.exact_count.boundaries

    @property
    def bottleneck(self) -> str:
        """What decides the time: the level with the largest cost, or the slowest memory, or the arithmetic."""
        return self.count.bottleneck

    @property
    def broken(self) -> tuple[str, ...]:
        """The rules of its machine that the mapping breaks; capacities in truth, whatever the counting says of them."""
        return self.count.broken or self.exact_count.broken

    @property
    def fits(self) -> bool:
        """Whether the mapping keeps to all rules of its machine; `broken` says which it breaks."""
        return not self.broken

    @property
    def seed(self) -> int:
        """Of methods that draw random numbers."""
        return self.question.seed

    @property
    def point(self) -> PointKind:
        """What is known of the relaxed point behind the mapping."""
        return self.found.point

    @property
    def prediction(self) -> Prediction | None:
        """Of its time, where that is the objective."""
        return self.found.prediction

    @property
    def space(self) -> str:
        """Of what mappings `integer_bound` is a lower bound: what the answer is the best of, if proved."""
        return self.found.space

    @property
    def relaxation(self) -> Relaxation:
        """The continuous program behind the answer, or what a search proved without one."""
        return self.found.relaxation or NO_RELAXATION

    @property
    def integer_bound(self) -> Number:
        """Proved lower bound on the cost of every mapping in `space`; 0 for none."""
        return 0 if self.found.bound is None else self.found.bound

    @property
    def integer_gap(self) -> float | None:
        """How far the cost is above the relaxation, as a share of it; None if that is not proved.

        Of the bound of a search it is `within`.
        """
        return self.relaxation.gap(float(self.cost)) if self.relaxation.method else self.within

    @property
    def proved(self) -> bool:
        """Whether no mapping of the `space` costs less."""
        return self.found.proved

    @property
    def within(self) -> float | None:
        """How far the cost is above the proved bound of the `space`, as a share of it; None if that is 0."""
        return float(self.cost / self.integer_bound - 1) if self.integer_bound > 0 else None

    @property
    def bound(self) -> ProvedBound | None:
        """The floor of the objective."""
        if self.floor is None:
            return None
        value = told(self.count, self.floor.of(self.question.objective))
        return ProvedBound(value=value, unit=self.cost_unit, method=self.floor.method)

    @property
    def certificates(self) -> tuple[BoundaryCertificate, ...]:
        """Proofs behind `bound`, inner boundary first."""
        return () if self.floor is None else self.floor.certificates

    @property
    def gap(self) -> Number | None:
        """How far `exact` is above `bound`, as a share of it; None without a bound above 0."""
        least = 0 if self.floor is None else self.floor.of(self.question.objective)
        if not least:
            return None
        share = Fraction(self._exactly) / Fraction(least) - 1
        return share if self.count.fractions else float(share)

    @property
    def _exactly(self) -> Number:
        """The objective, counted exactly, without any rounding."""
        return self.exact_count.value_of(self.question.objective, self.workload, self.machine)

    def claiming(self, bound: Number, *, late: bool | None = None) -> Answer[C, F]:
        """The answer with another proved bound on the costs of its `space`, and what follows from it.

        Args:
            bound: proved.
            late: whether a search that went on might have found more; None for as it was said.
        """
        proved = reaches(self.cost, bound)
        stop = ended(proved=proved, late=self.stop.cut_short if late is None else late)
        return replace(self, found=replace(self.found, bound=bound, proved=proved), stop=stop)

    def noting(self, *notes: str) -> Answer[C, F]:
        """The answer with more for a reader to know."""
        return replace(self, notes=(*self.notes, *notes))


TileAnswer = Answer[CostReport, WordsFloor]
"""An answer that is counted level by level."""
NestAnswer = Answer[SpatialCost, MeshFloor]
"""An answer on a machine with meshes and prices."""
