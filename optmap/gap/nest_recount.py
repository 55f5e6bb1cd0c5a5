"""Recounting a solution of an accelerator from its mapping alone, and what its document got wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import isclose
from typing import Any, ClassVar

from optmap.evaluate.spatial.count import NEST_EXACT, count_nest
from optmap.evaluate.spatial.policy import NestPolicy
from optmap.evaluate.spatial.results import SpatialCost
from optmap.gap.claims import TOLERANCE
from optmap.gap.nest_solution import SavedNest, amount, counts_document
from optmap.problem.fabric import Fabric
from optmap.problem.mapping import Mapping, nest_entries
from optmap.problem.nest import Nest, mapping_of
from optmap.shown import Shown

COUNTED = ("boundaries", "levels", "operations", "arithmetic", "compute_cycles", "utilisation", "bottleneck")
AMOUNTS = ("energy", "cycles", "edp", "cost", "exact")


@dataclass(frozen=True, slots=True, kw_only=True)
class NestEvaluation(Shown):
    """A mapping on an accelerator, counted again."""

    shown_as: ClassVar[str] = "nest-evaluation"

    solution: SavedNest
    counting: NestPolicy
    """In which it is shown."""
    count: SpatialCost
    """In that counting."""
    claimed: SpatialCost
    """In the counting that the document names."""
    exact: SpatialCost

    @property
    def fabric(self) -> Fabric:
        """Workload and machine."""
        return self.solution.fabric

    @property
    def nest(self) -> Nest:
        """The mapping as loops."""
        return self.solution.nest

    @property
    def disagreements(self) -> list[str]:
        """Everything that makes the file untrue, one sentence each; empty if it holds."""
        return disagreements(self)


def evaluate_nest(solution: SavedNest, counting: NestPolicy | None = None) -> NestEvaluation:
    """Count a solution's mapping again.

    Args:
        solution: whose mapping.
        counting: None for that of the document.
    """
    shown = solution.counting if counting is None else counting
    counts = {
        mode: count_nest(solution.nest, solution.fabric, mode)
        for mode in dict.fromkeys((shown, solution.counting, NEST_EXACT))
    }
    return NestEvaluation(
        solution=solution,
        counting=shown,
        count=counts[shown],
        claimed=counts[solution.counting],
        exact=counts[NEST_EXACT],
    )


def disagreements(evaluation: NestEvaluation) -> list[str]:
    """Everything that makes the document untrue: rules of the machine that are broken, claims that differ."""
    solution = evaluation.solution
    broken = evaluation.claimed.broken or evaluation.exact.broken
    found = [f"not valid on the machine: {reason}" for reason in broken]
    entries = nest_entries(solution.mapping, solution.fabric)
    held = [level.keeps for level in mapping_of(solution.nest, solution.fabric).levels]  # where the file leaves it out
    placed = Mapping(levels=tuple(replace(entry, keeps=own) for entry, own in zip(entries, held, strict=True)))
    found += [
        f"the mapping does not meet the constraint {item.text}: {item.found(level)}"
        for item, level in solution.constraints.broken(placed)
    ]
    unit = solution.merit.unit
    counted: dict[str, Any] = {
        **counts_document(solution.fabric, evaluation.claimed),
        "cost": amount(evaluation.claimed.merit(solution.merit), unit),
        "exact": amount(evaluation.exact.merit(solution.merit), unit),
    }
    for key in (*COUNTED, *AMOUNTS):
        if key in solution.document:
            found += list(differences(solution.document[key], counted[key], key))
    return found


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
        return isclose(claimed, counted, rel_tol=TOLERANCE)
    return bool(type(claimed) is type(counted) and claimed == counted)
