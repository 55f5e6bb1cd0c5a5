"""What mapping trees mean: counted in closed form where contents are boxes, else by a literal walk."""

from __future__ import annotations

from optmap.base.remembered import remembering
from optmap.count.trees.boxes import check_boxes as check_boxes
from optmap.count.trees.boxes import count_boxes as count_boxes
from optmap.count.trees.parts import count_parts as count_parts
from optmap.count.trees.parts import without_boxes as without_boxes
from optmap.count.trees.results import LevelRoom as LevelRoom
from optmap.count.trees.results import TreeCount as TreeCount
from optmap.count.trees.walk import refuse_safe
from optmap.count.trees.walk import walk_tree as walk_tree
from optmap.machines.machine import CapacityRule
from optmap.mappings.tree import MappingTree


def count_tree(tree: MappingTree, *, rule: CapacityRule = CapacityRule.TILE, limit: int = 5_000_000) -> TreeCount:
    """Words that a mapping tree moves between levels, and the room that it takes: in closed form if there is one.

    Args:
        tree: the mapping, valid by itself.
        rule: of caches; `safe` is not known for trees.
        limit: largest number of points and accesses that a walk looks at.

    Raises:
        TreeError, InputError, LimitError: as `walk_tree`.
    """
    refuse_safe(tree, rule)
    return count_boxes(tree) or count_parts(tree) or _walked((tree, rule, limit))


@remembering  # what a method has looked at is counted again when it hands it in
def _walked(asked: tuple[MappingTree, CapacityRule, int]) -> TreeCount:
    tree, rule, limit = asked
    return walk_tree(tree, rule=rule, limit=limit)
