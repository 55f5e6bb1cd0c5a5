"""Mapping trees in files, as somebody made them: what `evaluate` and `show` read."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any, ClassVar

from optmap.answers.documents.rows import boundary_documents, room_documents
from optmap.base.errors import InputError
from optmap.base.shown import Shown, ShownMapping
from optmap.count.meshes.count import NEST_EXACT
from optmap.count.meshes.policy import NestPolicy
from optmap.count.policies import nest_policies, nest_policy
from optmap.count.trees import TreeCount, count_tree, walk_tree
from optmap.files.fields import Fields, located
from optmap.files.inputs import machine_of
from optmap.files.machines import machine_from
from optmap.files.trees import read_tree
from optmap.files.workloads import read_workload, workload_from
from optmap.machines.machine import CapacityRule, Machine
from optmap.mappings.tree import MappingTree
from optmap.questions.form import form_on, objectives_on
from optmap.questions.objective import Objective
from optmap.workloads.workload import Workload

KEYS = ("schema", "workload", "machine", "mapping", "capacity_rule", "notes")
CLAIMS = (
    *("method", "objective", "tiles", "status", "boundaries", "levels", "statements", "word_bits", "integer_bound"),
    *("certificates", "cost", "exact", "bound", "gap", "seed", "versions", "seconds", "digest"),
)
"""Keys of an answer of `solve`: what is counted is compared, and `check` proves the rest."""
TURN_CLAIMS = (
    *("counting", "relaxation", "integer_gap", "moving", "operations", "arithmetic", "bottleneck", "energy", "cycles"),
    *("port_cycles", "edp", "search", "floor", "family"),
)
"""Those beside them where statements are counted in turn."""
SCHEMA = "optmap.tree/1"
TURN_SCHEMA = "optmap.accelerator-solution/1"
"""Of answers of `solve` where statements are counted in turn."""
COUNTED = (
    *("boundaries", "levels", "statements", "moving", "operations", "arithmetic", "bottleneck", "energy", "cycles"),
    *("port_cycles", "edp", "cost", "exact"),
)
"""What is compared with the count there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedTree(ShownMapping):
    """A mapping tree with its workload and machine, as a file says it."""

    shown_as: ClassVar[str] = "saved-tree"

    source: str
    """File it was read from."""
    tree: MappingTree
    capacity: CapacityRule
    """What has to fit into caches."""
    objective: Objective | None = None
    """What the costs that it claims are of; None in a file without any."""
    claims: dict[str, Any] = field(default_factory=dict)
    """What the file says of words, room and cost, by key."""
    counting: NestPolicy | None = None
    """By which nests are counted, of statements in turn on a machine with meshes and prices; None where a tree is
    walked."""

    @property
    def workload(self) -> Workload:
        """What is mapped."""
        return self.tree.workload

    @property
    def machine(self) -> Machine:
        """Onto what."""
        return self.tree.machine


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
        """Sentences: levels that are too small for what the tree keeps, a walk that counts otherwise, wrong claims."""
        return [
            *self.count.broken,
            *(
                f"{key}: the closed form counts {one}, a literal walk {other}"
                for key, rows in _rows(self.walk or self.count).items()
                for one, other in zip(self.counted[key], rows, strict=True)
                if one != other
            ),
            *(
                f"{key}: the file says {said}, counted is {found}"
                for key, rows in self.saved.claims.items()
                for said, found in zip_longest(rows, self.counted[key])
                if said != found
            ),
        ]

    @property
    def counted(self) -> dict[str, list[Any]]:
        """Words per boundary and tensor, what every level holds, and the costs that the file claims."""
        objective, tree = self.saved.objective, self.saved.tree
        if objective is None:
            return _rows(self.count)
        cost = [float(self.count.value_of(objective, tree.workload, tree.machine))]
        return {**_rows(self.count), "cost": cost, "exact": cost}


def _rows(count: TreeCount) -> dict[str, list[Any]]:
    """What was counted, as documents say it."""
    return {"boundaries": boundary_documents(count.moved), "levels": room_documents(count.rooms)}


def is_tree(fields: Fields) -> bool:
    """Whether a document has a mapping tree."""
    mapping = fields.values.get("mapping")
    return isinstance(mapping, dict) and "tree" in mapping


def saved_tree_from(fields: Fields) -> SavedTree:
    """A mapping tree from a document with `workload`, `machine` and `mapping{tree}`.

    The workload is as in a workload file, the machine a name of the library or as in a machine file. A file with
    `counting`, or with the schema of answers on machines with meshes, is counted as statements in turn.

    Raises:
        InputError: naming file and field; a `TreeError` for a tree that means nothing.
    """
    in_turn = fields.has("counting") or fields.values.get("schema") == TURN_SCHEMA
    fields.allow(*KEYS, *CLAIMS, *(TURN_CLAIMS if in_turn else ()))
    said = fields.fields("workload")
    written = fields.has("method") or (said.has("expression") and said.has("statements"))  # by optmap
    workload = read_workload(said) if written else workload_from(said, default_name="")
    rules = [rule.value for rule in CapacityRule]
    machine = _machine(fields)
    known = objectives_on(machine)
    if in_turn and not form_on(machine).meshes:
        raise InputError(f"{fields.at('counting')} is for machines with meshes and prices; leave it out")
    counting = nest_policy(fields.choice("counting", nest_policies(), NEST_EXACT.name)) if in_turn else None
    claims = {key: fields.values[key] for key in COUNTED if fields.has(key)} if in_turn else _claims(fields)
    named = fields.choice("objective", known, "") if "cost" in claims or "exact" in claims else ""
    return SavedTree(
        source=fields.where,
        tree=read_tree(fields.fields("mapping"), workload, machine),
        capacity=CapacityRule(fields.choice("capacity_rule", rules, CapacityRule.TILE.value)),
        objective=known.get(named),
        claims=claims,
        counting=counting,
    )


def _claims(fields: Fields) -> dict[str, list[Any]]:
    """What a file says of words, room and cost, in the form in which it is counted."""
    rows = {key: [row.values for row in fields.items(key)] for key in ("boundaries", "levels") if fields.has(key)}
    costs = {key: [fields.fields(key).number("value")] for key in ("cost", "exact") if fields.has(key)}
    return {**rows, **costs}


def _machine(fields: Fields) -> Machine:
    if isinstance(fields.get("machine"), str):
        try:
            return machine_of(fields.text("machine"), None)
        except InputError as error:
            raise located(error, fields.at("machine")) from error
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
    try:
        count = count_tree(saved.tree, rule=saved.capacity, limit=limit)
        walk = walk_tree(saved.tree, rule=saved.capacity, limit=limit) if walked and not count.walked else None
    except InputError as error:
        raise located(error, saved.source) from error
    return TreeEvaluation(saved=saved, count=count, walk=walk)
