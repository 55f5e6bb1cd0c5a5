"""Mapping trees in files, as somebody made them: what `evaluate` and `show` read."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any, ClassVar

from optmap.answers.documents.rows import boundary_documents, room_documents
from optmap.base.shown import Shown, ShownMapping
from optmap.count.trees import TreeCount, count_tree, walk_tree
from optmap.files.fields import Fields
from optmap.files.inputs import machine_of
from optmap.files.machines import machine_from
from optmap.files.trees import read_tree
from optmap.files.workloads import read_workload, workload_from
from optmap.machines.machine import CapacityRule, Machine
from optmap.mappings.tree import MappingTree

KEYS = ("schema", "workload", "machine", "mapping", "capacity_rule", "notes")
CLAIMS = (
    *("method", "objective", "tiles", "status", "boundaries", "levels", "statements", "word_bits", "integer_bound"),
    *("certificates", "cost", "exact", "bound", "gap", "seed", "versions", "seconds", "digest"),
)
"""Keys of an answer of `solve`: what is counted is compared, and `check` proves the rest."""
SCHEMA = "optmap.tree/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedTree(ShownMapping):
    """A mapping tree with its workload and machine, as a file says it."""

    shown_as: ClassVar[str] = "saved-tree"

    source: str
    """File it was read from."""
    tree: MappingTree
    capacity: CapacityRule
    """What has to fit into caches."""
    claims: dict[str, Any] = field(default_factory=dict)
    """What the file says of words and room, by key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeEvaluation(Shown):
    """A mapping tree, counted."""

    shown_as: ClassVar[str] = "tree-evaluation"

    saved: SavedTree
    count: TreeCount
    walk: TreeCount | None = None
    """By a literal walk, where it was asked for."""

    @property
    def disagreements(self) -> list[str]:
        """One sentence per level that does not hold what the tree keeps there, and one if a walk counts otherwise."""
        walk = self.walk or self.count
        rows = zip((*self.count.moved, *self.count.rooms), (*walk.moved, *walk.rooms), strict=True)
        return [
            *self.count.violations,
            *(f"the closed form counts {one}, a literal walk {other}" for one, other in rows if one != other),
            *(
                f"{key}: the file says {said}, counted is {found}"
                for key, rows in self.saved.claims.items()
                for said, found in zip_longest(rows, self.counted[key])
                if said != found
            ),
        ]

    @property
    def counted(self) -> dict[str, list[dict[str, object]]]:
        """Words per boundary and tensor, and what every level holds, as documents say it."""
        return {"boundaries": boundary_documents(self.count.moved), "levels": room_documents(self.count.rooms)}


def is_tree(fields: Fields) -> bool:
    """Whether a document has a mapping tree."""
    mapping = fields.values.get("mapping")
    return isinstance(mapping, dict) and "tree" in mapping


def saved_tree_from(fields: Fields) -> SavedTree:
    """A mapping tree from a document with `workload`, `machine` and `mapping{tree}`.

    The workload is as in a workload file, the machine a name of the library or as in a machine file.

    Raises:
        InputError: naming file and field; a `TreeError` for a tree that means nothing.
    """
    fields.allow(*KEYS, *CLAIMS)
    said = fields.fields("workload")
    workload = read_workload(said) if fields.has("method") else workload_from(said, default_name="")
    rules = [rule.value for rule in CapacityRule]
    return SavedTree(
        source=fields.where,
        tree=read_tree(fields.fields("mapping"), workload, _machine(fields)),
        capacity=CapacityRule(fields.choice("capacity_rule", rules, CapacityRule.TILE.value)),
        claims={key: fields.values[key] for key in ("boundaries", "levels") if key in fields.values},
    )


def _machine(fields: Fields) -> Machine:
    if isinstance(fields.get("machine"), str):
        return machine_of(fields.text("machine"), None)
    return machine_from(fields.fields("machine"), default_name="machine")


def evaluate_tree(saved: SavedTree, limit: int, *, walked: bool = False) -> TreeEvaluation:
    """Count what a mapping tree moves and holds.

    Args:
        saved: the tree.
        limit: largest number of points and accesses that a walk looks at.
        walked: whether it is walked literally, too, if there is a closed form.

    Raises:
        TreeError: for a tree that means nothing.
        LimitError: if the limit is reached.
    """
    count = count_tree(saved.tree, rule=saved.capacity, limit=limit)
    walk = walk_tree(saved.tree, rule=saved.capacity, limit=limit) if walked and not count.walked else None
    return TreeEvaluation(saved=saved, count=count, walk=walk)
