"""One node of an ONNX graph as a workload: Conv and ConvTranspose; products of matrices are in `products`.

Only the pattern of accesses matters. Padding is implicit: the input subscript of a convolution says
which of its values are elements of the image, and the output subscript of a transposed one which of
them are kept. A subscript without a range has no padding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from optmap.base.errors import InputError
from optmap.onnx_import.graph import GraphTensor, OperatorNode, integer, integers, sizes
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Workload, bytes_of

SPATIAL = {1: ("w",), 2: ("h", "w"), 3: ("d", "h", "w")}
"""Names of the output positions by number of spatial axes."""
TAPS = {1: ("s",), 2: ("r", "s"), 3: ("q", "r", "s")}
"""Names of the filter taps by number of spatial axes."""
PADS_FROM_INPUT = ("SAME_UPPER", "SAME_LOWER")


@dataclass(frozen=True, slots=True, kw_only=True)
class Extra:
    """Work of a node beside its workload, such as a bias."""

    operator: str
    """What it is, such as `bias of Conv`."""
    reason: str
    elements: int | None
    """Elements read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductTerm:
    """One operand of a sum of products."""

    value: GraphTensor
    indices: tuple[str, ...]
    """Of each axis; one that is there twice is the diagonal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """What became of a node."""

    workload: Workload
    extras: tuple[Extra, ...] = ()
    terms: tuple[ProductTerm, ...] = ()
    """Of a sum of products of whole tensors, in the order of the node's inputs; none of what has windows."""
    result: tuple[str, ...] = ()
    """Indices of the output of such a sum, in the order of its elements."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementOperand:
    """A tensor of a statement that is being written."""

    name: str
    subscripts: tuple[str, ...]
    """One per axis; empty ones are left out (an axis of extent 1 that is broadcast)."""
    bits: int

    def __str__(self) -> str:
        return f"{self.name}[{','.join(filter(None, self.subscripts))}]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Channels:
    """The dims of a convolution that are not spatial."""

    output: tuple[str, ...]
    """Batch and channel subscripts of the output."""
    image: tuple[str, ...]
    """The same of the input."""
    extents: dict[str, int]

    def filters(self, *order: str) -> tuple[str, ...]:
        """Subscripts of the weights: the group, then the channels in the order of the operator."""
        if "k" not in self.extents:
            return ("c",)
        return (*(dim for dim in ("g",) if dim in self.extents), *order)


def statement(
    node: OperatorNode, output: StatementOperand, inputs: Sequence[StatementOperand], extents: Mapping[str, int]
) -> Workload:
    """The workload of a statement; its outputs begin empty, as those of a node do.

    Raises:
        InputError: naming the node, if it makes no workload.
    """
    text = f"{output} = {' * '.join(str(operand) for operand in inputs)}"
    elements = {operand.name: bytes_of(operand.bits) for operand in (*inputs, output)}
    try:
        return parse_workload(text, dict(extents), name=node.name, bytes=elements)
    except InputError as error:
        raise InputError(f"{node.label}: {error}") from error


def convolution(node: OperatorNode) -> Made:
    """A Conv of one to three spatial axes, with stride, dilation and groups.

    Depthwise convolutions (as many groups as channels) lose the reduction over channels.

    Raises:
        InputError: if shapes or attributes do not fit together; names the node.
    """
    image, kernel, out = _convolution_shapes(node)
    groups, count = _groups(node), len(image) - 2
    check(node, image[1] == kernel[1] * groups, f"{image[1]} input channels, the weights have {kernel[1]} x {groups}")
    check(node, kernel[0] % groups == 0 and out[1] == kernel[0], f"{kernel[0]} output channels in {groups} groups")
    _check_outputs(node, image[2:], kernel[2:], out[2:])
    channels = _channels(image[0], groups, kernel[0] // groups, kernel[1])
    x, w = operands_of(node)
    windows = _windows(node, kernel[2:], out[2:], _padded(node, image[2:], kernel[2:], out[2:]), image[2:])
    terms: tuple[ProductTerm, ...] = ()
    strides = integers(node, "strides", count, 1)
    if groups == prod(kernel[2:]) == prod(strides) == 1 and image[2:] == out[2:]:  # every element of the image once
        read = ProductTerm(value=x, indices=("n", "c", *SPATIAL[count]))
        terms = (read, ProductTerm(value=w, indices=("k", "c", *TAPS[count])))
    workload = statement(
        node,
        StatementOperand(name="Out", subscripts=(*channels.output, *SPATIAL[count]), bits=node.outputs[0].bits),
        [
            StatementOperand(name="In", subscripts=(*channels.image, *windows), bits=x.bits),
            StatementOperand(name="Ker", subscripts=(*channels.filters("k", "c"), *TAPS[count]), bits=w.bits),
        ],
        {**channels.extents, **_positions(kernel[2:], out[2:])},
    )
    return Made(workload=workload, extras=bias_of(node, 2), terms=terms, result=(*channels.output, *SPATIAL[count]))


def transposed_convolution(node: OperatorNode) -> Made:
    """A ConvTranspose: every input point adds a filter to a window of the output.

    The windows belong to the output here, `Out[n,k,2*h+r,2*w+s] = In[n,c,h,w] * Ker[c,k,r,s]`;
    what `pads` cuts off its rim is outside the range of its subscripts.

    Raises:
        InputError: if shapes or attributes do not fit together; names the node.
    """
    image, kernel, out = _convolution_shapes(node)
    groups, count = _groups(node), len(image) - 2
    check(node, image[1] == kernel[0], f"{image[1]} input channels, the weights have {kernel[0]}")
    check(node, kernel[0] % groups == 0, f"{kernel[0]} input channels in {groups} groups")
    check(node, out[1] == kernel[1] * groups, f"{out[1]} output channels, the weights have {kernel[1]} x {groups}")
    channels = _channels(image[0], groups, kernel[1], kernel[0] // groups)
    x, w = operands_of(node)
    windows = _windows(node, kernel[2:], image[2:], _cropped(node, image[2:], kernel[2:], out[2:]), out[2:])
    workload = statement(
        node,
        StatementOperand(name="Out", subscripts=(*channels.output, *windows), bits=node.outputs[0].bits),
        [
            StatementOperand(name="In", subscripts=(*channels.image, *SPATIAL[count]), bits=x.bits),
            StatementOperand(name="Ker", subscripts=(*channels.filters("c", "k"), *TAPS[count]), bits=w.bits),
        ],
        {**channels.extents, **_positions(kernel[2:], image[2:])},
    )
    return Made(workload=workload, extras=bias_of(node, 2))


def is_empty(node: OperatorNode) -> bool:
    """Whether an input or output has extent 0, so that nothing is computed."""
    values = [value for value in (*node.inputs, *node.outputs) if value is not None]
    return any(0 in (value.shape or ()) for value in values)


def check(node: OperatorNode, holds: bool, problem: str) -> None:
    """Refuse a node that contradicts itself.

    Raises:
        InputError: with the problem, naming the node, unless it holds.
    """
    if not holds:
        raise InputError(f"{node.label}: {problem}; the model contradicts itself, export it again")


def operands_of(node: OperatorNode) -> tuple[GraphTensor, GraphTensor]:
    """The two inputs that are multiplied.

    Raises:
        InputError: if one is left out.
    """
    first, second = (*node.inputs, None, None)[:2]
    if first is None or second is None:
        raise InputError(f"{node.label}: two inputs are needed; the model is incomplete, export it again")
    return first, second


def _convolution_shapes(node: OperatorNode) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    x, w = operands_of(node)
    image, kernel = sizes(node, x, "input X"), sizes(node, w, "weights W")
    out = sizes(node, node.outputs[0], "output Y")
    if len(image) - 2 not in SPATIAL or len(kernel) != len(image) or len(out) != len(image):
        raise InputError(f"{node.label}: image {image} and weights {kernel}; one to three spatial axes are understood")
    return image, kernel, out


def _check_outputs(node: OperatorNode, image: Sequence[int], taps: Sequence[int], out: Sequence[int]) -> None:
    """The extents that shape inference found against the formula of the ONNX operator."""
    count = len(image)
    strides, dilations = integers(node, "strides", count, 1), integers(node, "dilations", count, 1)
    pads = integers(node, "pads", 2 * count, 0)
    mode = node.attributes.get("auto_pad") or "NOTSET"
    for axis in range(count):
        if mode in PADS_FROM_INPUT:
            wanted = -(-image[axis] // strides[axis])
        else:
            padded = image[axis] + (pads[axis] + pads[axis + count] if mode == "NOTSET" else 0)
            wanted = (padded - dilations[axis] * (taps[axis] - 1) - 1) // strides[axis] + 1
        check(node, out[axis] == wanted, f"output extent {out[axis]} of spatial axis {axis}, {wanted} expected")


def _groups(node: OperatorNode) -> int:
    groups = integer(node, "group", 1)
    check(node, groups >= 1, f"group is {groups}")
    return groups


def _channels(batch: int, groups: int, outputs: int, inputs: int) -> Channels:
    """Dims of batch, groups and channels; `outputs` and `inputs` are per group."""
    if groups == 1:
        return Channels(output=("n", "k"), image=("n", "c"), extents={"n": batch, "k": outputs, "c": inputs})
    if outputs == 1 and inputs == 1:
        return Channels(output=("n", "c"), image=("n", "c"), extents={"n": batch, "c": groups})
    extents = {"n": batch, "g": groups, "k": outputs, "c": inputs}
    return Channels(output=("n", "g", "k"), image=("n", "g", "c"), extents=extents)


def _positions(taps: Sequence[int], points: Sequence[int]) -> dict[str, int]:
    count = len(taps)
    return {**dict(zip(TAPS[count], taps, strict=True)), **dict(zip(SPATIAL[count], points, strict=True))}


def _windows(
    node: OperatorNode, taps: Sequence[int], points: Sequence[int], starts: Sequence[int], lengths: Sequence[int]
) -> tuple[str, ...]:
    """The subscripts of padded tensors: their elements are `starts` to `starts + lengths - 1`."""
    count = len(taps)
    strides, dilations = integers(node, "strides", count, 1), integers(node, "dilations", count, 1)
    windows = []
    for axis in range(count):
        text = f"{_term(strides[axis], SPATIAL[count][axis])}+{_term(dilations[axis], TAPS[count][axis])}"
        top = strides[axis] * (points[axis] - 1) + dilations[axis] * (taps[axis] - 1)
        first, last = max(0, starts[axis]), min(top, starts[axis] + lengths[axis] - 1)
        windows.append(f"{text} in {first}..{last}" if first > 0 or last < top else text)
    return tuple(windows)


def _padded(node: OperatorNode, image: Sequence[int], taps: Sequence[int], out: Sequence[int]) -> tuple[int, ...]:
    """Padding before the image, per spatial axis; an automatic one is split evenly, the odd element last or first."""
    count = len(image)
    strides, dilations = integers(node, "strides", count, 1), integers(node, "dilations", count, 1)
    mode = node.attributes.get("auto_pad") or "NOTSET"
    if mode == "NOTSET":
        return integers(node, "pads", 2 * count, 0)[:count]
    if mode not in PADS_FROM_INPUT:
        return (0,) * count
    wide = [s * (p - 1) + d * (r - 1) + 1 for s, p, d, r in zip(strides, out, dilations, taps, strict=True)]
    missing = [max(0, full - size) for full, size in zip(wide, image, strict=True)]
    return tuple(total // 2 if mode == "SAME_UPPER" else -(-total // 2) for total in missing)


def _cropped(node: OperatorNode, image: Sequence[int], taps: Sequence[int], out: Sequence[int]) -> tuple[int, ...]:
    """What a transposed convolution leaves out before its output, per spatial axis."""
    count = len(image)
    mode = node.attributes.get("auto_pad") or "NOTSET"
    if mode == "NOTSET" and "output_shape" not in node.attributes:
        return integers(node, "pads", 2 * count, 0)[:count]
    if mode == "VALID":
        return (0,) * count
    strides, dilations = integers(node, "strides", count, 1), integers(node, "dilations", count, 1)
    more = integers(node, "output_padding", count, 0)
    wide = [
        s * (p - 1) + extra + d * (r - 1) + 1
        for s, p, extra, d, r in zip(strides, image, more, dilations, taps, strict=True)
    ]
    surplus = [full - size for full, size in zip(wide, out, strict=True)]
    return tuple(total // 2 if mode == "SAME_UPPER" else -(-total // 2) for total in surplus)


def _term(coefficient: int, dim: str) -> str:
    return dim if coefficient == 1 else f"{coefficient}*{dim}"


def bias_of(node: OperatorNode, place: int) -> tuple[Extra, ...]:
    """The input that is added to the outputs, if there is one, as something beside the workload."""
    value = node.inputs[place] if len(node.inputs) > place else None
    if value is None:
        return ()
    reason = "added to the outputs once: not part of the nest, which begins with empty outputs"
    return (Extra(operator=f"bias of {node.operator}", reason=reason, elements=value.elements),)
