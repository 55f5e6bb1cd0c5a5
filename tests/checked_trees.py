"""Mapping trees held against the checker's count of them."""

from __future__ import annotations

from typing import Any

import pytest
from mapping_trees import moved

from optmap.base.errors import InputError, TreeError
from optmap.checker import RefusedError
from optmap.checker.chains.chain import StatedChain
from optmap.checker.trees.stated_parts import count_stated
from optmap.checker.trees.stated_tree import nodes_shape
from optmap.checker.trees.tree_counts import CountedTree
from optmap.count.trees import walk_tree
from optmap.mappings.tree import MappingTree
from optmap.workloads.workload import Workload

UNCOUNTED = "not counted: "


def stated(workload: Workload) -> StatedChain:
    """A workload as the checker reads it."""
    return StatedChain(
        {
            "statements": list(workload.texts),
            "extents": workload.extents,
            "bytes": {access.name: access.bytes for access in workload.accesses},
            "semantics": workload.semantics.value,
            "outputs": list(workload.outputs),
        }
    )


def tried(workload: Workload, levels: list[str], nodes: list[Any]) -> CountedTree | str:
    """What the checker counts of a tree as documents say it, or why it does not."""
    try:
        nodes_shape(nodes, "tree")
        return count_stated(stated(workload), levels, [], nodes)
    except RefusedError as error:
        return str(error)


def judged(tree: MappingTree) -> str:
    """Hold the checker's count against the walk; what came of it."""
    levels = [*(level.name for level in tree.machine.levels), tree.machine.memory]
    mine = tried(tree.workload, levels, [node.document() for node in tree.nodes])
    if isinstance(mine, CountedTree):
        walk = walk_tree(tree)
        assert mine.moved == moved(walk)
        assert mine.occupied == {room.level: room.occupancy_words for room in walk.rooms}
        return "counted"
    if mine.startswith(UNCOUNTED):
        return "not counted"
    with pytest.raises((TreeError, InputError)):
        _ = walk_tree(tree)
    return "refused"
