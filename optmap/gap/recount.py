"""Recounting a solution from its mapping alone, and what its document got wrong."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isclose
from typing import TYPE_CHECKING, ClassVar

from optmap.errors import InputError
from optmap.evaluate import predict
from optmap.evaluate.count import count_mapping
from optmap.evaluate.level_policy import LevelPolicy
from optmap.evaluate.results import BoundaryTraffic, CostReport
from optmap.evaluate.simulate import Policy, simulate, walk_body, walk_nest
from optmap.evaluate.tally import Budget, Moved
from optmap.evaluate.timing import Prediction, keeping
from optmap.evaluate.walk_held import walk_held
from optmap.gap.claims import TOLERANCE, claim_disagreements
from optmap.gap.solution import Amount, SavedSolution
from optmap.problem.mapping import Mapping
from optmap.problem.objective import OBJECTIVES
from optmap.shown import Shown
from optmap.texts import number

if TYPE_CHECKING:
    from optmap.evaluate.timing.kept import Keeping
    from optmap.problem.workload import Workload

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
class Evaluation(Shown):
    """A mapping, counted again."""

    shown_as: ClassVar[str] = "evaluation"

    solution: SavedSolution
    report: CostReport
    """Per-level form."""
    boundaries: tuple[BoundaryTraffic, ...]
    """Exact traffic of the concatenated nest."""
    exact: Amount
    simulations: tuple[Simulated, ...] = ()
    prediction: Prediction | None = None
    """Of the time, if that is the objective."""
    counting: LevelPolicy | None = None
    """What `counted` is counted by; None where nothing was asked for beside both forms above."""
    counted: CostReport | None = None
    """In another counting: it is shown in place of both, and no claim of the file is about it."""

    @property
    def shown(self) -> tuple[CostReport, tuple[BoundaryTraffic, ...], Amount]:
        """Levels, boundaries and cost that are shown."""
        if self.counted is None:
            return self.report, self.boundaries, self.cost
        value = objective_value(self.solution, self.counted.boundaries)
        return self.counted, self.counted.boundaries, Amount(value=value, unit=self.exact.unit)

    @property
    def cost(self) -> Amount:
        """The per-level objective, recounted."""
        if OBJECTIVES[self.solution.objective].timed:
            return self.exact
        return Amount(value=objective_value(self.solution, self.report.boundaries), unit=self.exact.unit)

    @property
    def disagreements(self) -> list[str]:
        """Everything that makes the file untrue, one sentence each; empty if it holds."""
        return disagreements(self)


def evaluate_solution(solution: SavedSolution, counting: LevelPolicy | None = None) -> Evaluation:
    """Count cost and traffic of a solution's mapping again, in exact integers.

    Args:
        solution: whose mapping.
        counting: in which it is shown; None for the per-level form and the exact one.

    Raises:
        InputError: if the mapping cannot be counted.
    """
    workload, machine, mapping = solution.workload, solution.machine, solution.mapping
    objective = OBJECTIVES[solution.objective]
    prediction = predict(workload, machine, mapping, solution.options) if objective.timed else None
    report, boundaries = count_mapping(
        workload, machine, mapping, solution.held, solution.capacity, prediction=prediction
    )
    value = objective_value(solution, boundaries) if prediction is None else prediction.cycles
    exact = Amount(value=value, unit=objective.unit(machine))
    found = Evaluation(solution=solution, report=report, boundaries=boundaries, exact=exact, prediction=prediction)
    if counting is None:
        return found
    if prediction is not None:
        raise InputError("a predicted time counts what caches keep of the loops; leave out --counting")
    counted = counting.count(workload, machine, mapping, solution.held, solution.capacity)
    return replace(found, counting=counting, counted=counted)


def objective_value(solution: SavedSolution, boundaries: tuple[BoundaryTraffic, ...]) -> float:
    """The objective of a solution for given traffic, in its unit."""
    objective, machine = OBJECTIVES[solution.objective], solution.machine
    return float(objective.of(boundaries, machine, solution.workload.word_bits))


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
    if OBJECTIVES[solution.objective].timed:
        walked = _walk_kept(solution, limit)
    elif held is None:
        walked = walk_nest(workload, machine, mapping, limit=limit)
    else:
        walked = walk_held(workload, machine, mapping, held, solution.capacity, limit=limit).moved
    # One cache does not know which tensors share which part of a level.
    policies: tuple[Policy, ...] = () if any(level.partitions for level in machine.levels) else ("lru", "belady")
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


def disagreements(evaluation: Evaluation) -> list[str]:
    """Everything that makes the document untrue: working sets too large, claims that differ.

    Returns:
        One sentence each; empty if the document holds.
    """
    solution = evaluation.solution
    found = list(evaluation.report.broken)
    found += [
        f"the mapping does not meet the constraint {item.text}: {item.found(level)}"
        for item, level in solution.constraints.broken(solution.mapping)
    ]
    for name, claimed, counted in (
        ("cost", solution.cost, evaluation.cost),
        ("exact", solution.exact, evaluation.exact),
    ):
        if claimed and (claimed.unit != counted.unit or not isclose(claimed.value, counted.value, rel_tol=TOLERANCE)):
            found.append(
                f"{name} says {number(claimed.value)} {claimed.unit}, counted {number(counted.value)} {counted.unit}"
            )
    found += _boundary_disagreements(evaluation) + _walk_disagreements(evaluation)
    return found + claim_disagreements(solution, evaluation.report, evaluation.cost.value, evaluation.exact.value)


def _boundary_disagreements(evaluation: Evaluation) -> list[str]:
    claims = evaluation.solution.boundaries
    if claims is None:
        return []
    if len(claims) != len(evaluation.boundaries):
        return [f"boundaries has {len(claims)} rows, counted {len(evaluation.boundaries)}"]
    return [
        f"boundaries says {claim.loads_words:,} loads and {claim.stores_words:,} stores of {claim.tensor} between "
        f"{' and '.join(claim.between)}, counted {row.loads_words:,} loads and {row.stores_words:,} stores of "
        f"{row.tensor} between {' and '.join(row.between)}"
        for claim, row in zip(claims, evaluation.boundaries, strict=True)
        if (claim.between, claim.tensor, claim.loads_words, claim.stores_words)
        != (row.between, row.tensor, row.loads_words, row.stores_words)
    ]


def _walk_disagreements(evaluation: Evaluation) -> list[str]:
    counted = sum(row.loads_words + row.stores_words for row in evaluation.boundaries)
    return [
        f"the literal walk moves {simulated.words:,} words, the closed form counts {counted:,}"
        for simulated in evaluation.simulations
        if simulated.policy == WALK and simulated.words != counted
    ]
