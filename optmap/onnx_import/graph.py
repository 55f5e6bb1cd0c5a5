"""An ONNX file as plain data: nodes, attributes, and the shape and element size of every value."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any

from optmap.base.errors import InputError
from optmap.base.extras import install
from optmap.onnx_import.order import bodies, put_in_order
from optmap.onnx_import.shapes import STANDARD, with_computed_shapes
from optmap.workloads.workload import LARGEST_EXTENT

FOLLOWS_SHAPES = 14
"""Operator set from which on shape inference follows shapes that are computed in the graph."""
MOST_NUMBERS = 4096
"""Elements of a constant whose values are read."""
Attribute = int | float | str | tuple[int, ...] | None
"""What the operators read; attributes of other kinds are None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexDigit:
    """One digit of the index along an axis, which is a mixed-radix number."""

    extent: int
    """Values that it takes, 2 or more."""
    repeated: bool
    """Whether the element is the same for all of them."""
    stride: int = 0
    """Elements of the tensor that it is followed from between two values; 0 where it is followed from none."""

    def precedes(self, faster: IndexDigit) -> bool:
        """Whether both are one digit, with another behind it."""
        return self.repeated == faster.repeated and self.stride == faster.stride * faster.extent


Digits = tuple[IndexDigit, ...]
"""Slowest digit first; none for an axis of extent 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphTensor:
    """A tensor of the graph."""

    name: str
    shape: tuple[int | str, ...] | None
    """Extent per axis; the name of a dynamic one (empty if it has none); None if even the rank is unknown."""
    bits: int
    """Size of one element, in bits."""
    numbers: tuple[int, ...] | None = None
    """Elements of a short constant of whole numbers, or of one that is a single one; None for anything else."""
    axes: tuple[Digits, ...] | None = None
    """Per axis the digits of its index, with those that repeat elements; None where every element is its own."""
    constant: bool = False
    """Whether the file has its elements."""
    result: bool = False
    """Whether it is an output of the graph."""

    @property
    def elements(self) -> int | None:
        """Number of elements; None if an extent is unknown."""
        sizes = [size for size in self.shape or () if isinstance(size, int)]
        return None if self.shape is None or len(sizes) < len(self.shape) else prod(sizes)


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorNode:
    """One operator of the graph."""

    operator: str
    """Operator type, with its domain in front unless it is a standard one."""
    name: str
    """Name of the node, or of its first output if it has none."""
    inputs: tuple[GraphTensor | None, ...]
    """In the order of the operator; None where an optional one is left out."""
    outputs: tuple[GraphTensor, ...]
    attributes: Mapping[str, Attribute]
    inner: tuple[OperatorNode, ...] = ()
    """Nodes of the bodies of a control-flow operator."""
    version: int = 0
    """Of the operator set that it is from."""

    @property
    def label(self) -> str:
        """Operator and name, for messages."""
        return f"{self.operator} {self.name!r}"


def read_graph(path: Path, dims: Mapping[str, int]) -> tuple[OperatorNode, ...]:
    """The nodes of a model, each after those that it reads; functions of the model inlined, shapes inferred.

    Args:
        path: an ONNX file. External weights need not be there.
        dims: extents of dynamic dims of the graph's inputs, by the name of the dim or as
            `input[axis]`.

    Raises:
        InputError: if the onnx package is missing, the file is no ONNX model, its nodes read each
            other in a cycle, shapes contradict each other, an input has a dynamic dim without
            extent, or `dims` names none.
    """
    onnx = _onnx()
    model = _load(onnx, path)
    put_in_order(model, path)
    _bind(model, dims, path)
    try:
        if model.functions:
            model = onnx.inliner.inline_local_functions(model)
        model = _with_shapes(onnx, model)
        if _has_open_shapes(model.graph):
            model = with_computed_shapes(onnx, model)
        _check_consistency(onnx, model)
    except (onnx.shape_inference.InferenceError, onnx.checker.ValidationError, RuntimeError, ValueError) as error:
        raise InputError(f"{path}: shapes cannot be inferred: {' '.join(str(error).split())}") from error
    versions = {"" if opset.domain in STANDARD else opset.domain: opset.version for opset in model.opset_import}
    return _nodes(onnx, model.graph, {}, versions)


def _onnx() -> Any:
    try:
        import onnx
        import onnx.checker
        import onnx.defs
        import onnx.helper
        import onnx.inliner
        import onnx.numpy_helper
        import onnx.reference
        import onnx.shape_inference
        import onnx.version_converter
    except ImportError as error:
        raise InputError(f"reading ONNX files needs onnx, which is not installed; run: {install('onnx')}") from error
    return onnx


def _load(onnx: Any, path: Path) -> Any:
    from google.protobuf.message import DecodeError

    try:
        model = onnx.load(str(path), format="protobuf", load_external_data=False)
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (DecodeError, ValueError) as error:
        raise InputError(f"{path}: not an ONNX model: {error}") from error
    if not model.graph.node or not model.opset_import:
        raise InputError(f"{path}: not an ONNX model with a graph: no nodes or no operator set")
    return model


def _bind(model: Any, dims: Mapping[str, int], path: Path) -> None:
    """Write the extents of `dims` into the graph's inputs and refuse what stays dynamic."""
    weights = {tensor.name for tensor in model.graph.initializer}
    used: set[str] = set()
    open_dims: list[str] = []
    for value in model.graph.input:
        if value.name in weights or not value.type.HasField("tensor_type"):
            continue
        for axis, dim in enumerate(value.type.tensor_type.shape.dim):
            if dim.HasField("dim_value") and dim.dim_value > 0:
                continue
            place = f"{value.name}[{axis}]"
            key = dim.dim_param if dim.dim_param in dims else place
            if key not in dims:
                open_dims.append(f"{dim.dim_param} ({place})" if dim.dim_param else place)
                continue
            used.add(key)
            dim.dim_value = _extent(key, dims[key])
    if open_dims:
        first = open_dims[0].partition(" ")[0]
        raise InputError(
            f"{path}: dynamic dims {', '.join(dict.fromkeys(open_dims))}: a workload needs whole numbers; "
            f"give their sizes, as in --dim {first}=1"
        )
    unused = sorted(set(dims) - used)
    if unused:
        raise InputError(f"{path}: no input has a dynamic dim {', '.join(unused)}; drop it or check its name")


def _extent(key: str, size: int) -> int:
    if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= LARGEST_EXTENT:
        raise InputError(f"dim {key} is {size!r}; it must be a whole number, 1 or more")
    return size


def _with_shapes(onnx: Any, model: Any) -> Any:
    """The model with the shapes of its values.

    Shapes that the graph computes itself are followed from operator set 14 on only, so an older
    model is brought there if shapes stay open (its constant operands then become nodes).
    """
    inferred = onnx.shape_inference.infer_shapes(model, check_type=True, data_prop=True)
    versions = [opset.version for opset in model.opset_import if opset.domain in STANDARD]
    if not _has_open_shapes(inferred.graph) or not versions or versions[0] >= FOLLOWS_SHAPES:
        return inferred
    try:
        newer = onnx.version_converter.convert_version(model, FOLLOWS_SHAPES)
        return onnx.shape_inference.infer_shapes(newer, check_type=True, data_prop=True)
    except (RuntimeError, ValueError):  # an operator that cannot be converted: the open shape is reported later
        return inferred


def _has_open_shapes(graph: Any) -> bool:
    known = {
        info.name
        for info in (*graph.value_info, *graph.output)
        if info.type.tensor_type.HasField("shape")
        and all(dim.HasField("dim_value") for dim in info.type.tensor_type.shape.dim)
    }
    return any(name and name not in known for node in graph.node for name in node.output)


def _check_consistency(onnx: Any, model: Any) -> None:
    """Infer once more and strictly, where every operator is a standard one, to hear of contradictions."""
    if all(node.domain in STANDARD for node in model.graph.node):
        onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)


def _nodes(
    onnx: Any, graph: Any, outer: Mapping[str, GraphTensor], versions: Mapping[str, int]
) -> tuple[OperatorNode, ...]:
    values = {**outer, **_values(onnx, graph)}
    return tuple(_node(onnx, node, values, versions) for node in graph.node)


def _values(onnx: Any, graph: Any) -> dict[str, GraphTensor]:
    found: dict[str, GraphTensor] = {}
    for info in (*graph.input, *graph.value_info, *graph.output):
        if info.type.HasField("tensor_type"):
            tensor = info.type.tensor_type
            shape = tuple(_size(dim) for dim in tensor.shape.dim) if tensor.HasField("shape") else None
            found[info.name] = GraphTensor(name=info.name, shape=shape, bits=_element_bits(onnx, tensor.elem_type))
    for weight in graph.initializer:
        found[weight.name] = GraphTensor(
            name=weight.name,
            shape=tuple(weight.dims),
            bits=_element_bits(onnx, weight.data_type),
            numbers=_numbers(onnx, weight),
            constant=True,
        )
    for node in graph.node:
        if node.op_type == "Constant" and node.domain in STANDARD and node.output[0] in found:
            read = {attribute.name: attribute for attribute in node.attribute}
            numbers = _numbers(onnx, read["value"].t) if "value" in read else None
            numbers = tuple(read["value_ints"].ints) if "value_ints" in read else numbers
            found[node.output[0]] = replace(found[node.output[0]], numbers=numbers)
    for info in graph.output:
        if info.name in found:
            found[info.name] = replace(found[info.name], result=True)
    return found


def _numbers(onnx: Any, constant: Any) -> tuple[int, ...] | None:
    """The elements of a constant that may be a list of places, or a fill value; weights are not read."""
    places, fills = (constant.INT32, constant.INT64), (constant.FLOAT, constant.FLOAT16, constant.DOUBLE)
    most = MOST_NUMBERS if constant.data_type in places else 1 if constant.data_type in fills else 0
    if constant.data_location == constant.EXTERNAL or prod(constant.dims) > most:
        return None
    numbers = onnx.numpy_helper.to_array(constant).reshape(-1).tolist()
    return tuple(map(int, numbers)) if all(float(number).is_integer() for number in numbers) else None


def _size(dim: Any) -> int | str:
    return int(dim.dim_value) if dim.HasField("dim_value") else str(dim.dim_param)


def _element_bits(onnx: Any, kind: int) -> int:
    name = onnx.TensorProto.DataType.Name(kind)
    wide = {"BOOL": 8, "STRING": 64, "UNDEFINED": 32, "COMPLEX64": 64, "COMPLEX128": 128, "DOUBLE": 64, "FLOAT": 32}
    digits = re.search(r"[0-9]+", name)  # FLOAT16, BFLOAT16, FLOAT8E4M3FN, INT64, UINT4 …
    return wide.get(name) or (int(digits[0]) if digits else 32)


def _node(onnx: Any, node: Any, values: Mapping[str, GraphTensor], versions: Mapping[str, int]) -> OperatorNode:
    standard = node.domain in STANDARD
    outputs = tuple(_value(values, name) for name in node.output if name)
    return OperatorNode(
        operator=node.op_type if standard else f"{node.domain}.{node.op_type}",
        name=node.name or (outputs[0].name if outputs else node.op_type),
        inputs=tuple(_value(values, name) if name else None for name in node.input),
        outputs=outputs,
        attributes=dict(_attribute(onnx, attribute) for attribute in node.attribute),
        inner=tuple(inner for body in bodies(node) for inner in _nodes(onnx, body, values, versions)),
        version=versions.get("" if standard else node.domain, 0),
    )


def _value(values: Mapping[str, GraphTensor], name: str) -> GraphTensor:
    return values.get(name) or GraphTensor(name=name, shape=None, bits=32)


def _attribute(onnx: Any, attribute: Any) -> tuple[str, Attribute]:
    kind = onnx.AttributeProto
    read: Attribute = None
    if attribute.type == kind.INT:
        read = int(attribute.i)
    elif attribute.type == kind.FLOAT:
        read = float(attribute.f)
    elif attribute.type == kind.STRING:
        read = attribute.s.decode("utf-8", errors="replace")
    elif attribute.type == kind.INTS:
        read = tuple(int(item) for item in attribute.ints)
    return attribute.name, read


def sizes(node: OperatorNode, value: GraphTensor | None, what: str) -> tuple[int, ...]:
    """The extents of an input or output of a node.

    Raises:
        InputError: if it is left out, or an extent is not known; names node, tensor and axis.
    """
    if value is None:
        raise InputError(f"{node.label}: {what} is missing")
    if value.shape is None:
        raise InputError(
            f"{node.label}: the shape of {what} {value.name!r} is not known after shape inference; "
            "export the model with fixed shapes, or simplify it so that shapes are constants"
        )
    return tuple(_known(node, value, what, axis, size) for axis, size in enumerate(value.shape))


def _known(node: OperatorNode, value: GraphTensor, what: str, axis: int, size: int | str) -> int:
    if isinstance(size, str):
        dim = f" ({size})" if size else ""
        raise InputError(
            f"{node.label}: dim {axis}{dim} of {what} {value.name!r} is not known after shape inference; "
            "export the model with fixed shapes, or simplify it so that shapes are constants"
        )
    return size


def integers(node: OperatorNode, name: str, count: int, default: int) -> tuple[int, ...]:
    """A list attribute such as `strides`, or `count` times its default.

    Raises:
        InputError: if it has another length.
    """
    found = node.attributes.get(name)
    if found is None:
        return (default,) * count
    if not isinstance(found, tuple) or len(found) != count:
        raise InputError(f"{node.label}: {name} is {found}; {count} whole numbers are needed")
    return found


def integer(node: OperatorNode, name: str, default: int) -> int:
    """A whole-number attribute such as `group`.

    Raises:
        InputError: if it is something else.
    """
    found = node.attributes.get(name, default)
    if not isinstance(found, int):
        raise InputError(f"{node.label}: {name} is {found!r}; a whole number is needed")
    return found


def present(values: Iterable[GraphTensor | None]) -> list[GraphTensor]:
    """The values that are there."""
    return [value for value in values if value is not None]
