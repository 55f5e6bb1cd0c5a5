"""Which elements of a tensor are copies: what Expand, Tile and their like repeat is one element in memory.

Keys and values of grouped queries are stored for eight heads, say, and repeated to as many heads as the queries have
before they are multiplied. The axes of such a tensor are mixed-radix numbers, some of whose digits do not matter;
they are followed through whatever moves, renames, slices or combines elements one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from math import prod

from optmap.onnx_import.graph import Digits, GraphTensor, IndexDigit, OperatorNode, present
from optmap.onnx_import.skipped import ELEMENTWISE, REASONS

Axes = tuple[Digits, ...]
OTHERWISE = ("CastLike", "Dropout", "DequantizeLinear", "DynamicQuantizeLinear", "QuantizeLinear")
"""Elementwise operators that may give equal elements different values, or whose operands are not broadcast."""


def with_repeats(nodes: Iterable[OperatorNode]) -> tuple[OperatorNode, ...]:
    """The nodes with the repeated digits of every value that has some; nodes come after those that they read."""
    known: dict[str, Axes] = {}
    found = []
    for given in nodes:
        inputs = tuple(None if value is None else _seen(value, known) for value in given.inputs)
        node = replace(given, inputs=inputs)
        for value in node.outputs if len(node.outputs) == 1 or node.operator == "Split" else ():
            axes = followed(replace(node, outputs=(value,)))
            if axes is not None and is_repeated(axes):
                known[value.name] = axes
        found.append(replace(node, outputs=tuple(_seen(value, known) for value in node.outputs)))
    return tuple(found)


def is_repeated(axes: Axes | None) -> bool:
    """Whether some digit is."""
    return axes is not None and any(digit.repeated for digits in axes for digit in digits)


def digits_of(value: GraphTensor, rank: int | None = None) -> Axes | None:
    """The digits of every axis, with leading axes of extent 1 up to a rank; None if an extent is unknown or 0."""
    sizes = known_sizes(value)
    if sizes is None:
        return None
    own = value.axes if value.axes is not None else tuple(single(size) for size in sizes)
    return ((),) * ((rank or 0) - len(own)) + own


def known_sizes(value: GraphTensor) -> tuple[int, ...] | None:
    """The extents of a value, None if one is unknown or 0."""
    sizes = tuple(size for size in value.shape or () if isinstance(size, int) and size > 0)
    return None if value.shape is None or len(sizes) < len(value.shape) else sizes


def single(extent: int, *, repeated: bool = False) -> Digits:
    """An axis whose index is one digit."""
    return (IndexDigit(extent=extent, repeated=repeated),) if extent > 1 else ()


def extent_of(digits: Digits) -> int:
    """Values of an index."""
    return prod(digit.extent for digit in digits)


def refined(parts: Sequence[Digits]) -> list[Digits] | None:
    """Indices of one extent with the same, finer digits; None if there are none.

    The digits of an index are cut at products of extents; two indices have common digits if the products of both,
    sorted, divide each other in turn.
    """
    cuts = sorted({1, *(cut for digits in parts for cut in _cuts(digits))})
    if any(high % low for low, high in pairwise(cuts)):
        return None
    return [_cut(digits, cuts) for digits in parts]


def _seen(value: GraphTensor, known: dict[str, Axes]) -> GraphTensor:
    return replace(value, axes=known[value.name]) if value.name in known else value


def _cuts(digits: Digits) -> list[int]:
    return [extent_of(digits[place:]) for place in range(len(digits))]


def _cut(digits: Digits, cuts: Sequence[int]) -> Digits:
    found: list[IndexDigit] = []
    place, begin, end = len(digits), 1, 1  # from the fastest digit on, and the products where it begins and ends
    for low, high in pairwise(cuts):
        if high > end:
            place, begin, end = place - 1, end, end * digits[place - 1].extent
        stride = digits[place].stride * (low // begin)
        found.append(replace(digits[place], extent=high // low, stride=stride))
    return tuple(reversed(found))


def _merged(digits: Iterable[IndexDigit]) -> Digits:
    """Neighbours of one kind as one digit."""
    found: list[IndexDigit] = []
    for digit in digits:
        if found and found[-1].precedes(digit):
            found[-1] = replace(digit, extent=found[-1].extent * digit.extent)
        else:
            found.append(digit)
    return tuple(found)


def followed(node: OperatorNode) -> Axes | None:
    """The digits of a node's only output from those of its inputs; None where they are not followed."""
    operands = present(node.inputs)
    if not operands or known_sizes(node.outputs[0]) is None or digits_of(operands[0]) is None:
        return None
    if REASONS.get(node.operator) == ELEMENTWISE and node.operator not in OTHERWISE:
        return _elementwise(node)
    follow = FOLLOWED.get(node.operator)
    return None if follow is None else follow(node)


def _parts(node: OperatorNode) -> tuple[Axes, tuple[int, ...]]:
    """The digits of the first input and the extents of the output, which `followed` knows to be there."""
    return digits_of(present(node.inputs)[0]) or (), known_sizes(node.outputs[0]) or ()


def _elementwise(node: OperatorNode) -> Axes | None:
    """An element is repeated where those of all operands are, which broadcast axes are."""
    if "axis" in node.attributes:  # before operator set 7 the place of an operand with fewer axes, not at the right
        return None
    return _joined([digits_of(value, len(node.outputs[0].shape or ())) for value in present(node.inputs)], node)


def _joined(operands: Sequence[Axes | None], node: OperatorNode, alone: int | None = None) -> Axes | None:
    """The digits of tensors that are combined element by element; one axis may be left alone, as each is its own."""
    _, out = _parts(node)
    if any(axes is None or len(axes) != len(out) for axes in operands):
        return None
    found: list[Digits] = []
    for axis, extent in enumerate(out):
        if axis == alone:
            found.append(single(extent))
            continue
        parts = [axes[axis] or single(extent, repeated=True) for axes in operands if axes is not None]
        same = _alike(parts)
        if same is None or extent_of(same) != extent:
            return None
        found.append(same)
    return tuple(found)


def _alike(parts: Sequence[Digits]) -> Digits | None:
    """The digits of indices of one extent, repeated where all of them are; None if they have none in common."""
    same = refined(parts) if len({extent_of(digits) for digits in parts}) == 1 else None
    if same is None:
        return None
    pairs = zip(*same, strict=True)
    return _merged(IndexDigit(extent=d[0].extent, repeated=all(each.repeated for each in d)) for d in pairs)


def _expand(node: OperatorNode) -> Axes | None:
    """New axes and those of extent 1 repeat what is there."""
    axes, out = _parts(node)
    inner = ((),) * (len(out) - len(axes)) + axes
    if len(inner) != len(out):
        return None
    found = tuple(digits or single(extent, repeated=True) for digits, extent in zip(inner, out, strict=True))
    return found if [extent_of(digits) for digits in found] == list(out) else None


def _tile(node: OperatorNode) -> Axes | None:
    axes, out = _parts(node)
    if len(axes) != len(out) or any(size % extent_of(digits) for digits, size in zip(axes, out, strict=True)):
        return None
    copies = [size // extent_of(digits) for digits, size in zip(axes, out, strict=True)]
    return tuple(_merged((*single(n, repeated=True), *digits)) for n, digits in zip(copies, axes, strict=True))


def _reshape(node: OperatorNode) -> Axes | None:
    """The same elements in the same order, their digits cut anew where the new axes end."""
    axes, out = _parts(node)
    rest = list(_merged(digit for digits in axes for digit in digits))
    if extent_of(tuple(rest)) != prod(out):
        return None
    found: list[Digits] = []
    for extent in out:
        held: list[IndexDigit] = []
        missing = extent
        while missing > 1:
            digit = rest.pop(0)
            part = min(missing, digit.extent)
            if missing % part or digit.extent % part:
                return None
            inner = digit.extent // part
            held.append(replace(digit, extent=part, stride=digit.stride * inner))
            missing //= part
            if inner > 1:
                rest.insert(0, replace(digit, extent=inner))
        found.append(tuple(held))
    return tuple(found)


def _transpose(node: OperatorNode) -> Axes | None:
    axes, out = _parts(node)
    order = node.attributes.get("perm")
    order = order if isinstance(order, tuple) else tuple(reversed(range(len(axes))))
    if sorted(order) != list(range(len(axes))) or len(out) != len(axes):
        return None
    return tuple(axes[place] for place in order)


def _sliced(node: OperatorNode) -> Axes | None:
    """Axes that are cut have elements of their own; the others are as they were, or turned around."""
    axes, out = _parts(node)
    if len(axes) != len(out):
        return None
    pairs = zip(axes, out, strict=True)
    return tuple(digits if extent_of(digits) == extent else single(extent) for digits, extent in pairs)


def _concat(node: OperatorNode) -> Axes | None:
    """Side by side: of pieces that are there several times, or hold copies alike, the axis has copies, too."""
    operands = present(node.inputs)
    _, out = _parts(node)
    axis = node.attributes.get("axis")
    if not isinstance(axis, int) or not -len(out) <= axis < len(out):
        return None
    axis %= len(out)
    joined = _joined([digits_of(value) for value in operands], node, alone=axis)
    pieces = list(dict.fromkeys(value.name for value in operands))
    outer = _taken([pieces.index(value.name) for value in operands], single(len(pieces)))
    if joined is None or outer is None:
        return joined
    inner = _alike([axes[axis] for axes in map(digits_of, operands) if axes is not None])
    return joined if inner is None else (*joined[:axis], _merged((*outer, *inner)), *joined[axis + 1 :])


def _gather(node: OperatorNode) -> Axes | None:
    """Elements at constant places."""
    axes, out = _parts(node)
    places = node.inputs[1] if len(node.inputs) > 1 else None
    axis = node.attributes.get("axis", 0)
    if places is None or places.numbers is None or not isinstance(axis, int) or len(axes) != len(out):
        return None
    if not -len(axes) <= axis < len(axes):
        return None
    axis %= len(axes)
    size = extent_of(axes[axis])
    own = _taken([place % size for place in places.numbers], axes[axis])
    return None if own is None else (*axes[:axis], own, *axes[axis + 1 :])


def _taken(places: Sequence[int], digits: Digits) -> Digits | None:
    """The digits of a list of all that an index has, each several times in turn (0 0 1 1), or all in turn (0 1 0 1)."""
    size, count = extent_of(digits), len(places)
    inner = next((number for number, place in enumerate(places) if place), count)
    outer, rest = divmod(count, size * inner) if inner else (0, 1)
    if rest or any(place != number // inner % size for number, place in enumerate(places)):
        return None
    return _merged((*single(outer, repeated=True), *digits, *single(inner, repeated=True)))


FOLLOWED: dict[str, Callable[[OperatorNode], Axes | None]] = {
    "Concat": _concat,
    "Expand": _expand,
    "Flatten": _reshape,
    "Gather": _gather,
    "Identity": _reshape,
    "Reshape": _reshape,
    "Slice": _sliced,
    "Split": _sliced,
    "Squeeze": _reshape,
    "Tile": _tile,
    "Transpose": _transpose,
    "Unsqueeze": _reshape,
}
"""Operators through which repeated elements are followed, beside those that work element by element."""
