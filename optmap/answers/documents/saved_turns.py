"""Mapping trees of files on machines with meshes and prices, counted as statements in turn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from optmap.answers.documents.amounts import amount
from optmap.answers.documents.recount import differences
from optmap.answers.documents.saved_tree import SavedTree
from optmap.answers.documents.turn_parts import turn_counts
from optmap.base.errors import InputError
from optmap.base.shown import Shown
from optmap.count.meshes.in_turn import count_in_turn
from optmap.count.meshes.policy import NestPolicy
from optmap.count.meshes.turn_results import InTurnCount
from optmap.count.policies import nest_policy
from optmap.files.fields import located


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEvaluation(Shown):
    """A mapping tree of statements in turn, counted."""

    shown_as: ClassVar[str] = "turn-evaluation"

    saved: SavedTree
    counting: NestPolicy
    """In which it is shown."""
    count: InTurnCount
    """In that counting."""
    claimed: InTurnCount
    """In the counting that the document names."""
    exact_count: InTurnCount
    """As a walk counts each nest."""

    @property
    def disagreements(self) -> list[str]:
        """Everything that makes the file untrue, one sentence each: rules that are broken, claims that differ."""
        found = [f"not valid on the machine: {reason}" for reason in self.claimed.broken or self.exact_count.broken]
        known, objective = turn_counts(self.claimed), self.saved.objective
        if objective is not None:
            unit, of = objective.unit(self.saved.machine), (objective, self.saved.workload, self.saved.machine)
            known |= {"cost": amount(self.claimed.value_of(*of), unit)}
            known |= {"exact": amount(self.exact_count.value_of(*of), unit)}
        for key, said in self.saved.claims.items():
            if key in known:
                found += differences(said, known[key], key)
        return found


def evaluate_turns(saved: SavedTree, counting: str | None = None) -> TurnEvaluation:
    """Count statements in turn again, in exact numbers.

    Args:
        saved: the tree, which names a counting.
        counting: name of the policy in which it is shown; None for that of the document.

    Raises:
        TreeError: for a tree that means nothing.
        InputError: for what is not counted, by name, and a tree that is walked.
    """
    if saved.counting is None:
        raise InputError(f"{saved.source} is counted by a walk of its tree; write `counting` for statements in turn")
    policy = saved.counting if counting is None else nest_policy(counting)
    try:
        exact, claimed = count_in_turn(saved.tree), count_in_turn(saved.tree, saved.counting)
        shown = claimed if policy == saved.counting else count_in_turn(saved.tree, policy)
    except InputError as error:
        raise located(error, saved.source) from error
    return TurnEvaluation(saved=saved, counting=policy, count=shown, claimed=claimed, exact_count=exact)
