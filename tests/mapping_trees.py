"""Mapping trees for tests: cases of another implementation, machines of scratchpads, and what a walk says in short."""

from __future__ import annotations

import json
from pathlib import Path

from optmap.count.trees.results import TreeCount
from optmap.count.trees.walk import walk_tree
from optmap.files.fields import Fields
from optmap.files.trees import read_tree
from optmap.machines.machine import Level, Machine
from optmap.mappings.tree import MappingTree
from optmap.workloads.amounts import Capacity
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Semantics, Workload

REFERENCE = json.loads((Path(__file__).parent / "data" / "trees.json").read_text())
ROOMY = 1_000_000


def scratchpads(**capacities: int) -> Machine:
    """A machine of scratchpads by name, inner first, with so many words."""
    levels = tuple(
        Level(name=name, capacity=Capacity(amount=words, unit="words")) for name, words in capacities.items()
    )
    return Machine(name="scratchpads", levels=levels)


def reference_workload(case: dict) -> Workload:
    """The workload of a case of the reference."""
    return parse_workload(
        case["workload"]["statements"], case["workload"]["extents"], name="", semantics=Semantics(case["semantics"])
    )


def reference_tree(case: dict) -> MappingTree:
    """The tree of a case of the reference, checked."""
    *bounded, memory = case["levels"]
    machine = scratchpads(**{level["name"]: level["capacity_words"] for level in bounded})
    assert machine.memory == memory["name"]
    return read_tree(Fields.of({"tree": case["tree"]}, case["name"]), reference_workload(case), machine)


def tree_of(nodes: list, workload: Workload, machine: Machine | None = None) -> MappingTree:
    """A tree written as in documents; on one roomy buffer if no machine is said."""
    return read_tree(Fields.of({"tree": nodes}, "tree"), workload, machine or scratchpads(buffer=ROOMY))


def moved(count: TreeCount) -> dict:
    """(loads, stores) in words per (inner level, outer level, tensor)."""
    return {(*row.between, row.tensor): (row.loads_words, row.stores_words) for row in count.moved}


def occupied(count: TreeCount) -> dict:
    """The largest occupancy in words per level or partition."""
    return {room.part: room.occupancy_words for room in count.rooms}


def walked(nodes: list, workload: Workload, machine: Machine | None = None) -> tuple[dict, dict]:
    """What a walk of a tree moves and holds, as `moved` and `occupied` say it."""
    count = walk_tree(tree_of(nodes, workload, machine))
    return moved(count), occupied(count)
