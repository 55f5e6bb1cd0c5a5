"""Trees move words, machines lines: loops in steps of 1 along lines of tensors become loops in steps of a line."""

from __future__ import annotations

from dataclasses import replace

from optmap.mappings.nodes import Loop, Node, Sequence
from optmap.mappings.tree import MappingTree
from optmap.native.code import ALIGNMENT

LINE_BITS = 8 * ALIGNMENT
"""Of a line of a cache."""


def in_lines(tree: MappingTree) -> MappingTree:
    """The tree with steps of a line where it has steps of 1 over a dim that is the last subscript of some tensor."""
    workload, accesses = tree.workload, tree.workload.accesses
    line = LINE_BITS // max(access.bits for access in accesses)
    tiles = {
        dim: min(line, workload.extents[dim]) for access in accesses for axis in access.axes[-1:] for dim in axis.dims
    }

    def widened(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        return tuple(map(wide, nodes))

    def wide(node: Node) -> Node:
        match node:
            case Loop(dim=dim, tile=1):
                return Loop(dim=dim, tile=tiles.get(dim, 1))
            case Sequence(branches=branches):
                return Sequence(branches=tuple(map(widened, branches)))
            case _:
                return node

    return replace(tree, nodes=widened(tree.nodes))
