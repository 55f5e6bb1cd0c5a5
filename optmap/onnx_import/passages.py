"""What becomes of a product's result until another product reads it.

What is done with its elements one by one is done in place, and looked through: functions, masks, scales, casts; so is
what renames, transposes or copies all of them. Which element stands where is followed as digits with strides (see
`repeats`). A softmax is looked through as well: sums can be rescaled while a row is not complete (online softmax).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from heapq import heapify, heappop, heappush
from math import prod

from optmap.onnx_import.graph import GraphTensor, IndexDigit, OperatorNode, present
from optmap.onnx_import.repeats import Axes, digits_of, extent_of, followed, known_sizes
from optmap.onnx_import.skipped import ELEMENTWISE, REASONS

RENAMES = ("Expand", "Flatten", "Identity", "Reshape", "Squeeze", "Tile", "Transpose", "Unsqueeze")
"""Operators that rename or copy all elements of their first operand."""
WHOLE = "DynamicQuantizeLinear"
"""An elementwise operator that looks at all elements first."""
SHAPES_ONLY = ("Shape", "Size")
"""Operators that read no element."""
FLATTENED = 13
"""Operator set before which a softmax is over an axis and all behind it, and not over that axis alone."""
SCALES = ("Cast", "Div", "Dropout", "IsNaN", "Mul", "Neg")
"""Elementwise operators that may follow a softmax: they leave a factor of a whole row a factor."""
OUTPUT = "its result is an output of the model, which is stored in any case"


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorPassage:
    """The way of a tensor to the one product that reads it."""

    reader: int
    """Number of that product's node."""
    place: int
    """Which of its inputs the tensor is."""
    value: GraphTensor
    """As it is read there; the strides of its digits are in elements of the tensor."""
    passed: tuple[str, ...]
    """Operators on the way, in the order of the graph."""
    normalised: tuple[IndexDigit, ...]
    """Digits over which a softmax goes."""


class ValueFlow:
    """The nodes of a graph, with who reads what."""

    def __init__(self, nodes: Sequence[OperatorNode]) -> None:
        self.nodes = nodes
        self.makers = {value.name: node for node in nodes for value in node.outputs}
        self.constants = {value.name for node in nodes for value in present(node.inputs) if value.constant}
        self._readers: dict[str, list[int]] = {}
        for number, node in enumerate(nodes):
            names = [] if node.operator in SHAPES_ONLY else [value.name for value in _read(node)]
            if self.constants.issuperset(names):
                self.constants |= {value.name for value in node.outputs}
            for name in dict.fromkeys(names):
                self._readers.setdefault(name, []).append(number)

    def readers(self, name: str) -> Sequence[int]:
        """Numbers of the nodes that read elements of a value, in their bodies, too."""
        return self._readers.get(name, ())


def passage(flow: ValueFlow, start: GraphTensor, products: Collection[int]) -> TensorPassage | str:
    """The way of a tensor to the one product that reads it, or in words why there is none.

    Args:
        flow: the graph.
        start: what a product makes.
        products: numbers of the nodes that are products.
    """
    if start.result:
        return OUTPUT
    known, found = {start.name: _strided(start)}, list[TensorPassage]()
    passed, normalised, done = list[str](), list[IndexDigit](), -1
    waiting = list(flow.readers(start.name))
    heapify(waiting)
    while waiting:
        number = heappop(waiting)
        if number == done:
            continue
        done, node = number, _with_axes(flow.nodes[number], known)
        if number in products:
            way = partial(TensorPassage, reader=number, passed=tuple(passed), normalised=tuple(normalised))
            read = ((place, value) for place, value in enumerate(node.inputs) if value and value.name in known)
            found += [way(place=place, value=value) for place, value in read]
            continue
        axes = _through(flow, node, known, passed)
        if isinstance(axes, str):
            return axes
        if node.operator == "Softmax":
            normalised += _normalised(node, known)
        known[node.outputs[0].name] = axes
        passed.append(node.operator)
        for reader in flow.readers(node.outputs[0].name):
            heappush(waiting, reader)
    if len(found) == 1:
        return found[0]
    return f"its result is read by {len(found)} products; a chain has one reader" if found else "no product reads it"


def _read(node: OperatorNode) -> Iterator[GraphTensor]:
    """What a node reads, its bodies included."""
    yield from present(node.inputs)
    for inner in node.inner:
        yield from _read(inner)


def _strided(value: GraphTensor) -> Axes:
    """The digits of a tensor followed from itself."""
    sizes = known_sizes(value) or ()
    return tuple(
        (IndexDigit(extent=size, repeated=False, stride=prod(sizes[axis + 1 :])),) if size > 1 else ()
        for axis, size in enumerate(sizes)
    )


def _with_axes(node: OperatorNode, known: Mapping[str, Axes]) -> OperatorNode:
    inputs = (value and replace(value, axes=known.get(value.name, value.axes)) for value in node.inputs)
    return replace(node, inputs=tuple(inputs))


def _through(flow: ValueFlow, node: OperatorNode, known: Mapping[str, Axes], passed: Sequence[str]) -> Axes | str:
    """The digits of what a node makes of followed tensors, or why it is not looked through."""
    operator = node.operator
    if "Softmax" in passed and operator not in (*RENAMES, *SCALES) and not _fills_with_zero(node, known):
        return f"{operator} follows a softmax, whose rows have to be complete before it"
    elementwise = REASONS.get(operator) == ELEMENTWISE and operator != WHOLE
    inference = operator == "BatchNormalization" and not node.attributes.get("training_mode", 0)
    found: Axes | str = f"its result goes through {operator}, which is not looked through"
    if operator in RENAMES and present(node.inputs)[0].name in known:
        found = followed(node) or f"{operator} cuts its digits in a way that is not followed"
    elif not node.inner and (elementwise or inference or operator == "Softmax"):
        found = _combined(flow, node, known)
    if not isinstance(found, str) and any(flow.readers(value.name) for value in node.outputs[1:]):
        return f"{operator} makes two tensors of it that are read"
    return OUTPUT if not isinstance(found, str) and any(value.result for value in node.outputs) else found


def _fills_with_zero(node: OperatorNode, known: Mapping[str, Axes]) -> bool:
    """Whether a node replaces some elements of a followed tensor by 0, as after a softmax over nothing but masks."""
    values = present(node.inputs)[1:]
    return node.operator == "Where" and all(value.name in known or value.numbers == (0,) for value in values)


def _combined(flow: ValueFlow, node: OperatorNode, known: Mapping[str, Axes]) -> Axes | str:
    """The digits of functions of a tensor's elements, each of which is used for one."""
    out = known_sizes(node.outputs[0])
    if out is None:
        return f"the shape of what {node.operator} makes of it is not known"
    found = None
    for value in present(node.inputs):
        if value.name in known:
            axes = digits_of(value, len(out))
            if axes is None or tuple(map(extent_of, axes)) != out:
                return f"{node.operator} broadcasts it"
            if found not in (None, axes):
                return f"{node.operator} combines its elements with others of its own"
            found = axes
        elif value.name not in flow.constants and (value.elements is None or value.elements >= prod(out)):
            return f"{node.operator} combines it with a tensor as large, which is no constant"
    return found or ()


def _normalised(node: OperatorNode, known: Mapping[str, Axes]) -> list[IndexDigit]:
    """The digits over which a softmax goes."""
    axes = known[present(node.inputs)[0].name]
    single = node.version >= FLATTENED
    axis = node.attributes.get("axis", -1 if single else 1)
    first = axis % len(axes) if isinstance(axis, int) else 0
    return [digit for digits in (axes[first : first + 1] if single else axes[first:]) for digit in digits]
