"""Mappings as trees, checked once against the workload and the machine that they are of."""

from __future__ import annotations

from dataclasses import dataclass

from optmap.machines.machine import Machine
from optmap.mappings.kept_tensors import KeptTensors, kept_tensors
from optmap.mappings.nodes import Node, PathLeaf, leaves
from optmap.mappings.validity import check_tree
from optmap.workloads.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class MappingTree:
    """A mapping of one statement or several.

    Whether elements are complete when they are read, find a place when they leave, and all fit, is for a walk to say
    (`optmap.count.trees.walk_tree`).

    Raises:
        TreeError: for a tree that means nothing: of kind `malformed`, `not kept` (an access of a leaf without a Keep
            at the innermost level that may keep it) or `not done` (a statement without a leaf).
    """

    workload: Workload
    machine: Machine
    nodes: tuple[Node, ...]
    """Outermost first; the last is a leaf or a sequence."""

    def __post_init__(self) -> None:
        check_tree(self.workload, self.machine, self.nodes)

    @property
    def kept(self) -> KeptTensors:
        """What its Keeps may name."""
        return kept_tensors(self.workload)

    @property
    def leaves(self) -> tuple[PathLeaf, ...]:
        """The leaves in the order of their run."""
        return leaves(self.nodes)
