"""Recounting a solution from its mapping alone, and what its document got wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import isclose
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from optmap.answers.documents.amounts import amount
from optmap.answers.documents.claims import TOLERANCE, claim_disagreements
from optmap.answers.documents.nest_parts import nest_counts
from optmap.answers.documents.solution import Amount, BoundaryClaim, SavedSolution
from optmap.base.errors import InputError
from optmap.base.shown import PRESENTATIONS, Presentation, Shown
from optmap.base.texts import number, several
from optmap.base.values import nearest_float
from optmap.count.meshes.count import count_nest
from optmap.count.meshes.results import SpatialCost
from optmap.count.policies import level_policy, nest_policy
from optmap.count.reference.simulate import Policy as Replacement
from optmap.count.reference.simulate import simulate, walk_body, walk_nest
from optmap.count.reference.walk_held import walk_held
from optmap.count.results import BoundaryTraffic, CostReport
from optmap.count.tally import Budget, Moved
from optmap.count.timing import Prediction, keeping
from optmap.count.timing.predict import predict
from optmap.machines.fabric import Fabric
from optmap.mappings.constraints import NO_CONSTRAINTS
from optmap.mappings.levels import Mapping, nest_entries
from optmap.mappings.nest import Nest, mapping_of
from optmap.questions.policy import Policy
from optmap.search.answer import counted
from optmap.search.found import Found
from optmap.search.question import Question
from optmap.search.result import MappingCount, told

if TYPE_CHECKING:
    from optmap.count.timing.kept import Keeping
    from optmap.workloads.workload import Workload

C = TypeVar("C", bound=MappingCount)
WALK = "tile"
"""Name of the policy that keeps one tile of every tensor, or what is held: the literal walk of the nest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulated:
    """What one replacement policy moved, per boundary and tensor."""

    policy: str
    """`tile`, `lru` or `belady`."""
    moved: tuple[Moved, ...]

    @property
    def words(self) -> int:
        """Loads and stores over all boundaries and tensors."""
        return sum(entry.loads_words + entry.stores_words for entry in self.moved)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation(Shown, Generic[C]):
    """A mapping, counted again."""

    shown_as: ClassVar[str] = "evaluation"

    solution: SavedSolution
    counting: Policy | None
    """In which it is shown; None for both forms of machines without meshes, level by level and exact."""
    count: C
    """In that counting, or level by level: no claim of the file is about another counting than its own."""
    claimed: C
    """In the counting that the document names, or level by level."""
    exact_count: C
    """As a walk counts."""
    simulations: tuple[Simulated, ...] = ()

    @property
    def presentation(self) -> Presentation:
        """How recounts of its kind are shown."""
        return PRESENTATIONS[f"{self.shown_as}/{self.count.kind}"]

    @property
    def fabric(self) -> Fabric:
        """Workload and machine, where there are meshes."""
        return self.solution.fabric

    @property
    def nest(self) -> Nest:
        """The mapping as loops, where there are meshes."""
        return self.solution.nest

    @property
    def boundaries(self) -> tuple[BoundaryTraffic, ...]:
        """Words per boundary and tensor that are shown: exact ones, or those of the counting."""
        return (self.exact_count if self.counting is None else self.count).boundaries

    @property
    def prediction(self) -> Prediction | None:
        """Of the time, if that is the objective."""
        return getattr(self.count, "prediction", None)

    @property
    def predicted(self) -> Prediction | None:
        """Of the time, whatever the objective; None of nests, and where the machine does not say what it takes."""
        question, solution = self.solution.question, self.solution
        if self.prediction is not None or solution.kind != CostReport.kind:
            return self.prediction
        try:
            return predict(question.workload, question.machine, solution.mapping, solution.found.options)
        except InputError:
            return None

    @property
    def cost(self) -> Amount:
        """The objective in the counting that is shown."""
        return self.amount(self.count)

    @property
    def exact(self) -> Amount:
        """The objective, counted exactly."""
        return self.amount(self.exact_count)

    def amount(self, count: MappingCount) -> Amount:
        """The objective of a count, with its unit."""
        question = self.solution.question
        value = count.value_of(question.objective, question.workload, question.machine)
        return Amount(value=told(count, value), unit=self.solution.cost_unit)

    @property
    def disagreements(self) -> list[str]:
        """Everything that makes the file untrue, one sentence each; empty if it holds."""
        return disagreements(self)


def evaluate_solution(solution: SavedSolution, counting: str | None = None) -> Evaluation[Any]:
    """Count cost and traffic of a solution's mapping again, in exact integers.

    Args:
        solution: whose mapping.
        counting: name of the policy in which it is shown; None for that of the document, or for both forms of machines
            without meshes.

    Raises:
        InputError: if the mapping cannot be counted, or not so.
    """
    question, found = replace(solution.question, constraints=NO_CONSTRAINTS), solution.found
    if question.objective.timed:
        prediction = predict(question.workload, question.machine, solution.mapping, found.options)
        found = replace(found, prediction=prediction)
    claimed, exact = counted(question, found)
    policy, shown = SHOWN[solution.kind](question, found, counting)
    return Evaluation(solution=solution, counting=policy, count=shown or claimed, claimed=claimed, exact_count=exact)


def _tiles_in(question: Question, found: Found, counting: str | None) -> tuple[Policy | None, CostReport | None]:
    """A mapping of tiles in another counting, and which that is."""
    if counting is None:
        return None, None
    policy = level_policy(counting)
    if found.prediction is not None:
        raise InputError("a predicted time counts what caches keep of the loops; leave out --counting")
    return policy, policy.count(question.workload, question.machine, found.tiles, found.held, question.capacity)


def _nest_in(question: Question, found: Found, counting: str | None) -> tuple[Policy | None, SpatialCost | None]:
    """A nest in another counting than that of its document."""
    policy = question.counting if counting is None else nest_policy(counting)
    if policy == question.counting:
        return policy, None
    return policy, count_nest(found.nest, question.fabric, policy)


SHOWN: dict[str, Callable[[Question, Found, str | None], tuple[Policy | None, Any]]] = {
    CostReport.kind: _tiles_in,
    SpatialCost.kind: _nest_in,
}
"""Per kind of count what counts in the policy of a name; the count is None for that of the document."""


def run_simulations(solution: SavedSolution, limit: int) -> tuple[Simulated, ...]:
    """Walk the nest literally, and run its accesses through LRU and optimal replacement.

    Args:
        solution: whose mapping is run.
        limit: largest number of accesses.

    Raises:
        LimitError: if the nest is larger than the limit.
    """
    workload, machine, mapping = solution.workload, solution.machine, solution.mapping
    held = solution.held
    if solution.question.objective.timed:
        walked = _walk_kept(solution, limit)
    elif held is None:
        walked = walk_nest(workload, machine, mapping, limit=limit)
    else:
        walked = walk_held(workload, machine, mapping, held, solution.capacity, limit=limit).moved
    # One cache does not know which tensors share which part of a level.
    policies: tuple[Replacement, ...] = () if any(level.partitions for level in machine.levels) else ("lru", "belady")
    moved = {policy: simulate(workload, machine, mapping, policy=policy, held=held, limit=limit) for policy in policies}
    return (Simulated(policy=WALK, moved=walked), *(Simulated(policy=each, moved=rows) for each, rows in moved.items()))


def _walk_kept(solution: SavedSolution, limit: int) -> tuple[Moved, ...]:
    """The nest walked for every level that keeps a part of it."""
    workload, machine = solution.workload, solution.machine
    moved: list[Moved] = []
    budget = Budget(limit)
    for level, between in enumerate(machine.boundaries):
        moved += walk_keeping(workload, between, keeping(workload, machine, solution.mapping, level), budget)
    return tuple(moved)


def walk_keeping(workload: Workload, between: tuple[str, str], found: Keeping, budget: Budget) -> list[Moved]:
    """The words of a memory that keeps a part of a nest, by a literal walk: every child moves what the first one does.

    Args:
        workload: what is computed.
        between: the memories on both sides.
        found: what the inner one keeps.
        budget: steps that are left.

    Raises:
        LimitError: if more would be needed.
    """
    body = found.body
    walked = walk_body(workload, between, body.around, budget, passing=found.passing)
    rows = [
        replace(row, loads_words=many * row.loads_words, stores_words=many * row.stores_words)
        for many, row in zip(map(body.copies, workload.tensors), walked, strict=True)
    ]
    if body.ways:  # what several children begin is begun once: as much as by one child that has it all
        alone = next(walk_body(workload, between, Mapping(levels=body.around.levels[body.inside :]), budget))
        loads = rows[0].stores_words - (alone.stores_words - alone.loads_words)
        rows[0] = replace(rows[0], loads_words=max(rows[0].loads_words, loads))
    return rows


def disagreements(evaluation: Evaluation[Any]) -> list[str]:
    """Everything that makes the document untrue: working sets too large, claims that differ.

    Returns:
        One sentence each; empty if the document holds.
    """
    return CLAIMS[evaluation.count.kind](evaluation)


def _of_tiles(evaluation: Evaluation[CostReport]) -> list[str]:
    """Of a mapping that is counted level by level."""
    solution = evaluation.solution
    found = list(evaluation.claimed.broken)
    found += _unmet(solution, solution.mapping)
    cost, exact = evaluation.amount(evaluation.claimed), evaluation.exact
    for name, claimed, own in (("cost", solution.cost, cost), ("exact", solution.exact, exact)):
        if claimed and (claimed.unit != own.unit or not isclose(claimed.value, own.value, rel_tol=TOLERANCE)):
            found.append(f"{name} says {number(claimed.value)} {claimed.unit}, counted {number(own.value)} {own.unit}")
    found += _boundary_disagreements(evaluation) + _walk_disagreements(evaluation)
    return found + claim_disagreements(solution, evaluation.claimed, float(cost.value), float(exact.value))


def _of_a_nest(evaluation: Evaluation[SpatialCost]) -> list[str]:
    """Of a mapping where there are meshes: rules of the machine that are broken, claims that differ."""
    solution, claimed, exact = evaluation.solution, evaluation.claimed, evaluation.exact_count
    found = [f"not valid on the machine: {reason}" for reason in claimed.broken or exact.broken]
    entries = nest_entries(solution.mapping, solution.fabric)
    held = [level.keeps for level in mapping_of(solution.nest, solution.fabric).levels]  # where the file leaves it out
    placed = Mapping(levels=tuple(replace(entry, keeps=own) for entry, own in zip(entries, held, strict=True)))
    found += _unmet(solution, placed)
    for key, own in nest_claims(evaluation).items():
        found += differences(solution.document[key], own, key)
    return found


def nest_claims(evaluation: Evaluation[SpatialCost]) -> dict[str, object]:
    """What was counted where there are meshes, by key, of all that the file says a count of."""
    solution, claimed = evaluation.solution, evaluation.claimed
    unit, merit = solution.cost_unit, solution.merit
    known = {
        **nest_counts(claimed),
        "cost": amount(claimed.merit(merit), unit),
        "exact": amount(evaluation.exact_count.merit(merit), unit),
    }
    return {key: own for key, own in known.items() if key in solution.document}


def _unmet(solution: SavedSolution, mapping: Mapping) -> list[str]:
    """What was demanded of a mapping that it does not meet."""
    return [
        f"the mapping does not meet the constraint {item.text}: {item.found(level)}"
        for item, level in solution.constraints.broken(mapping)
    ]


CLAIMS: dict[str, Callable[[Any], list[str]]] = {CostReport.kind: _of_tiles, SpatialCost.kind: _of_a_nest}
"""Per kind of count what its document got wrong."""


def _boundary_disagreements(evaluation: Evaluation[CostReport]) -> list[str]:
    claims = evaluation.solution.boundaries
    if claims is None:
        return []
    if len(claims) != len(evaluation.exact_count.boundaries):
        return [f"boundaries has {several(len(claims), 'row')}, counted {len(evaluation.exact_count.boundaries)}"]
    return [
        f"boundaries says {_moved_text(claim)}, counted {_moved_text(row)}"
        for claim, row in zip(claims, evaluation.exact_count.boundaries, strict=True)
        if (claim.between, claim.tensor, claim.loads_words, claim.stores_words)
        != (row.between, row.tensor, row.loads_words, row.stores_words)
    ]


def _moved_text(row: BoundaryTraffic | BoundaryClaim) -> str:
    return (
        f"{several(row.loads_words, 'load')} and {several(row.stores_words, 'store')} of {row.tensor} between "
        f"{' and '.join(row.between)}"
    )


def _walk_disagreements(evaluation: Evaluation[CostReport]) -> list[str]:
    counted = sum(row.loads_words + row.stores_words for row in evaluation.exact_count.boundaries)
    return [
        f"the literal walk moves {several(simulated.words, 'word')}, the closed form counts {counted:,}"
        for simulated in evaluation.simulations
        if simulated.policy == WALK and simulated.words != counted
    ]


def differences(claimed: Any, counted: Any, where: str) -> Iterator[str]:
    """Where a claim differs from what was counted, one sentence each."""
    if isinstance(counted, dict) and isinstance(claimed, dict):
        for key in {**counted, **claimed}:
            if key in claimed and key in counted:
                yield from differences(claimed[key], counted[key], f"{where}.{key}")
            else:
                yield f"{where}.{key} is {'not counted' if key in claimed else 'missing'}"
    elif isinstance(counted, list) and isinstance(claimed, list) and len(counted) == len(claimed):
        for number, (mine, own) in enumerate(zip(claimed, counted, strict=True)):
            yield from differences(mine, own, f"{where}[{number}]")
    elif not _same(claimed, counted):
        yield f"{where} says {claimed}, counted {counted}"


def _same(claimed: Any, counted: Any) -> bool:
    if isinstance(counted, float) and isinstance(claimed, int | float) and not isinstance(claimed, bool):
        return isclose(nearest_float(claimed), counted, rel_tol=TOLERANCE)
    return bool(type(claimed) is type(counted) and claimed == counted)
