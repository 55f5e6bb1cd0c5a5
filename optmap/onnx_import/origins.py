"""Whether two values of a graph are surely different data: views of one tensor are the same words."""

from __future__ import annotations

from collections.abc import Mapping

from optmap.onnx_import.graph import GraphTensor, OperatorNode
from optmap.onnx_import.skipped import MOVES, REASONS

PARTS = ("Gather", "Slice", "Split")
"""Operators that take a part of their first operand."""
JOINED = ("Concat", "OneHot")
"""Operators that write new data although they only move some."""
Makers = Mapping[str, OperatorNode]
"""Per value the node that makes it."""
Cut = tuple[OperatorNode, str]
"""The node that takes a part of a tensor, and the name of the part."""


def are_apart(makers: Makers, one: GraphTensor, other: GraphTensor) -> bool:
    """Whether no element is in both: they come from different tensors, or are different parts of one.

    Args:
        makers: of the graph.
        one: a value.
        other: another one.
    """
    (base, cuts), (other_base, other_cuts) = _origin(makers, one), _origin(makers, other)
    if base != other_base:
        return True
    for (node, name), (other_node, other_name) in zip(reversed(cuts), reversed(other_cuts), strict=False):
        if node.inputs[0] is None or other_node.inputs[0] is None or node.inputs[0].name != other_node.inputs[0].name:
            return False
        if name != other_name:
            return _differ(node, other_node)
    return False


def _origin(makers: Makers, value: GraphTensor) -> tuple[str, list[Cut]]:
    """The tensor whose elements a value has, and which parts of it were taken, the last one first."""
    cuts: list[Cut] = []
    name = value.name
    while name in makers:
        node = makers[name]
        source = node.inputs[0] if node.inputs else None
        if source is None or REASONS.get(node.operator) != MOVES or node.operator in JOINED:
            break
        if node.operator in PARTS:
            cuts.append((node, name))
        name = source.name
    return name, cuts


def _differ(one: OperatorNode, other: OperatorNode) -> bool:
    """Whether two parts of one tensor have no element in common."""
    if one.operator == other.operator == "Split":
        return one.outputs[0].name == other.outputs[0].name  # of one node: its outputs are side by side
    first, second = _taken(one), _taken(other)
    if first is None or second is None or first[0] != second[0]:
        return False
    return first[2] <= second[1] or second[2] <= first[1]


def _taken(node: OperatorNode) -> tuple[int, int, int] | None:
    """An axis, and the first place along it that a part has and the one beyond its last; None if it is not known."""
    if node.operator == "Gather":
        axis, places = node.attributes.get("axis", 0), _numbers(node, 1)
        if not isinstance(axis, int) or not places or min(places) < 0:
            return None
        return axis, min(places), max(places) + 1
    ends = [*_numbers(node, 1), *_numbers(node, 2)]
    axes = _numbers(node, 3)
    stepping = len(node.inputs) > 4 and _numbers(node, 4) != (1,)
    if len(axes) != 1 or len(ends) != 2 or min(ends) < 0 or stepping:
        return None
    return axes[0], ends[0], ends[1]


def _numbers(node: OperatorNode, place: int) -> tuple[int, ...]:
    """The whole numbers of a constant input; none if it is none."""
    value = node.inputs[place] if place < len(node.inputs) else None
    return value.numbers or () if value is not None else ()
