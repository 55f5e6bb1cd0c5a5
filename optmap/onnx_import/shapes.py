"""Shapes that a graph computes from shapes: whole numbers are computed node by node where inference does not follow.

Exporters write the shape that an Expand or a Reshape makes as a handful of nodes on short lists, `Where` and `Equal`
among them, of which the inference of onnx follows only some.
"""

from __future__ import annotations

from math import prod
from typing import Any

STANDARD = ("", "ai.onnx")
"""Names of the domain of the standard operators."""
MOST_ELEMENTS = 64
"""Elements of a list that is computed; shapes are shorter."""
_NAMES = (
    "Add Cast Concat ConstantOfShape Div Equal Expand Gather Greater Identity Less Max Min Mod Mul Neg Not Range "
    "ReduceProd Reshape Shape Size Slice Squeeze Sub Tile Transpose Unsqueeze Where"
)
COMPUTED = frozenset(_NAMES.split())
"""Operators that shapes are made with."""


def with_computed_shapes(onnx: Any, model: Any) -> Any:
    """A model with the shapes that were open and can be computed.

    Args:
        onnx: the module, with `checker`, `reference` and `shape_inference`.
        model: after inference; nodes come after those that they read.
    """
    graph = model.graph
    types = {info.name: info.type for info in (*graph.input, *graph.value_info, *graph.output)}
    for weight in graph.initializer:
        types[weight.name] = onnx.helper.make_tensor_type_proto(weight.data_type, list(weight.dims))
    numbers = {weight.name: weight for weight in graph.initializer if _is_short(weight)}
    found: dict[str, Any] = {}
    for node in graph.node:
        if node.domain not in STANDARD:
            continue
        if any(name and not _is_known(types.get(name)) for name in node.output):
            new = _inferred(onnx, model, node, types, numbers)
            types |= new
            found |= new
        result = _computed(onnx, model, node, types, numbers)
        if result is not None:
            numbers[node.output[0]] = result
    made = type(model)()
    made.CopyFrom(model)
    for info in made.graph.output:
        if info.name in found:
            info.type.CopyFrom(found.pop(info.name))
    kept = [info for info in made.graph.value_info if info.name not in found]
    del made.graph.value_info[:]
    made.graph.value_info.extend(kept)
    made.graph.value_info.extend(onnx.helper.make_value_info(name, kind) for name, kind in found.items())
    return made


def _is_short(tensor: Any) -> bool:
    """Whether a constant may be part of a shape: whole numbers or flags, few, in the file."""
    kinds = (tensor.INT32, tensor.INT64, tensor.BOOL)
    return tensor.data_type in kinds and tensor.data_location != tensor.EXTERNAL and prod(tensor.dims) <= MOST_ELEMENTS


def _is_known(kind: Any) -> bool:
    """Whether a type is that of a tensor, all of whose extents are known."""
    if kind is None or not kind.HasField("tensor_type") or not kind.tensor_type.HasField("shape"):
        return False
    return all(dim.HasField("dim_value") for dim in kind.tensor_type.shape.dim)


def _inferred(onnx: Any, model: Any, node: Any, types: dict[str, Any], numbers: dict[str, Any]) -> dict[str, Any]:
    """Types of a node's outputs, of those that are known completely."""
    versions = {opset.domain: opset.version for opset in model.opset_import}
    version = next((versions[domain] for domain in STANDARD if domain in versions), 1)
    try:
        schema = onnx.defs.get_schema(node.op_type, version, "")
        made = onnx.shape_inference.infer_node_outputs(
            schema,
            node,
            {name: types[name] for name in node.input if name in types},
            {name: numbers[name] for name in node.input if name in numbers},
            opset_imports=list(model.opset_import),
            ir_version=model.ir_version,
        )
    except (onnx.defs.SchemaError, onnx.shape_inference.InferenceError, RuntimeError, ValueError, KeyError):
        return {}  # the open shape is reported where it is needed
    return {name: kind for name, kind in made.items() if name and _is_known(kind)}


def _computed(onnx: Any, model: Any, node: Any, types: dict[str, Any], numbers: dict[str, Any]) -> Any | None:
    """The constant that a node makes; None if it makes none, or a long one."""
    if node.op_type == "Constant":
        value = next((each.t for each in node.attribute if each.name == "value"), None)
        return value if value is not None and _is_short(value) else None
    operands = [name for name in node.input if name]
    out: Any = types.get(node.output[0])
    if node.op_type not in COMPUTED or not operands or not _is_known(out):
        return None
    if prod(dim.dim_value for dim in out.tensor_type.shape.dim) > MOST_ELEMENTS:
        return None
    if node.op_type in ("Shape", "Size"):  # these read no elements: any will do, and none need be there
        if not _is_known(types.get(operands[0])):
            return None
        return _of_shape(onnx, node, [dim.dim_value for dim in types[operands[0]].tensor_type.shape.dim])
    if not all(name in numbers for name in operands):
        return None
    inputs = [onnx.helper.make_value_info(name, types[name]) for name in dict.fromkeys(operands) if name in types]
    graph = onnx.helper.make_graph([node], "one", inputs, [onnx.helper.make_value_info(node.output[0], out)])
    small = onnx.helper.make_model(graph, opset_imports=list(model.opset_import), ir_version=model.ir_version)
    given = {name: onnx.numpy_helper.to_array(numbers[name]) for name in operands}
    try:
        (result,) = onnx.reference.ReferenceEvaluator(small).run(None, given)
        made = onnx.numpy_helper.from_array(result, node.output[0])
    except Exception:  # noqa: BLE001 - whatever the evaluator stumbles on leaves the shape open
        return None
    return made if _is_short(made) else None


def _of_shape(onnx: Any, node: Any, extents: list[int]) -> Any:
    """What Shape or Size says of a tensor."""
    given = {each.name: int(each.i) for each in node.attribute}
    if node.op_type == "Size":
        return onnx.helper.make_tensor(node.output[0], onnx.TensorProto.INT64, [], [prod(extents)])
    part = extents[given.get("start", 0) : given.get("end", len(extents))]
    return onnx.helper.make_tensor(node.output[0], onnx.TensorProto.INT64, [len(part)], part)
