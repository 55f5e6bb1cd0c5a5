"""What `solve` returns on an accelerator: the mapping with everything that is claimed about it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from optmap.evaluate.spatial.policy import NestPolicy
from optmap.evaluate.spatial.results import SpatialCost
from optmap.problem.constraints import NO_CONSTRAINTS, Constraints
from optmap.problem.fabric import Fabric
from optmap.problem.machine import Machine
from optmap.problem.mapping import Mapping
from optmap.problem.nest import Nest
from optmap.problem.options import Merit, TileRule
from optmap.problem.workload import Workload
from optmap.search.curve import Improvement
from optmap.shown import Concise, ShownMapping
from optmap.solvers.status import Stop

if TYPE_CHECKING:
    from optmap.search.explore.driver import Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class MapspaceSearch(Concise):
    """What a search of the mappings of a machine proved."""

    bound: Fraction
    """Lower bound on the objective of every mapping in `space`; 0 for none."""
    proved: bool
    """Whether no mapping of the space is better than the one found."""
    proof: str
    """How, in words; empty without a bound."""
    space: str
    """The mappings among which was looked for the best."""
    evaluations: int
    """Mappings or partial ones that were priced."""
    seconds: float
    trace: Trace | None = None
    """Of a method that explores: valid share, curve of the best, what its rules cut."""
    curve: tuple[Improvement, ...] = ()
    """Every time that the best became better; empty of a method that does not say."""

    @property
    def seconds_to_best(self) -> float | None:
        """None of a method that does not say."""
        return self.curve[-1].seconds if self.curve else None


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossingFloor(Concise):
    """Words that every schedule moves across a boundary of an accelerator, with the proof."""

    between: tuple[str, str]
    """The memories next to it, inner and outer."""
    memory_words: int
    """What all instances of all memories inside hold together, and what is under way past them."""
    words: int
    """Of inputs moved inwards and results moved outwards, at least."""
    certificate: dict[str, Any]
    """Document for the independent checker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Floor(Concise):
    """What no schedule on an accelerator goes below, whatever its loops, tiles and bypass."""

    energy_pj: Fraction
    cycles: int
    port_cycles: int
    """Of the slowest port, computation left out."""
    crossings: tuple[CrossingFloor, ...]
    """Boundaries with a proved bound, inner first."""

    def merit(self, merit: Merit) -> Fraction:
        """The floor of what is minimised."""
        match merit:
            case Merit.ENERGY:
                return self.energy_pj
            case Merit.CYCLES:
                return Fraction(self.cycles)
            case Merit.EDP:
                return self.energy_pj * self.cycles
            case Merit.TRAFFIC:
                return Fraction(self.port_cycles)


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceleratorResult(ShownMapping):
    """A workload mapped onto an accelerator."""

    shown_as: ClassVar[str] = "nest-solution"
    shown_first: ClassVar[tuple[str, ...]] = ("workload", "machine", "cost", "cost_unit", "gap")

    fabric: Fabric
    """Workload (its outputs start empty) and machine."""
    method: str
    merit: Merit
    """What was minimised."""
    counting: NestPolicy
    tiles: TileRule
    stop: Stop
    """Why the search ended."""
    nest: Nest
    mapping: Mapping
    """The nest as tiles."""
    count: SpatialCost
    """In the counting that was asked for."""
    exact: SpatialCost
    """As a walk counts: the same unless a model's counting was asked for."""
    search: MapspaceSearch
    seconds: float
    seed: int
    versions: dict[str, str]
    notes: tuple[str, ...]
    """What a reader should know: what was padded, what was left out."""
    constraints: Constraints = NO_CONSTRAINTS
    """What the user demanded of the mapping beside the machine's rules; it meets them all."""
    floor: Floor | None = None
    """None until bounds and mapping are put side by side."""

    @property
    def workload(self) -> Workload:
        """What was mapped."""
        return self.fabric.workload

    @property
    def machine(self) -> Machine:
        """Onto what."""
        return self.fabric.machine

    @property
    def objective(self) -> str:
        """Name of what was minimised."""
        return self.merit.value

    @property
    def cost(self) -> Fraction:
        """The objective."""
        return self.count.merit(self.merit)

    @property
    def cost_unit(self) -> str:
        """Its unit."""
        return self.merit.unit

    @property
    def broken(self) -> tuple[str, ...]:
        """The rules of its machine that the mapping breaks; capacities in truth, whatever the counting says of them."""
        return self.count.broken or self.exact.broken

    @property
    def fits(self) -> bool:
        """Whether the mapping keeps to all rules of its machine; `broken` says which it breaks."""
        return not self.broken

    @property
    def gap(self) -> Fraction | None:
        """How far the exactly counted objective is above its floor, as a share of it; None without a floor."""
        least = None if self.floor is None else self.floor.merit(self.merit)
        return self.exact.merit(self.merit) / least - 1 if least else None
