"""Small ONNX models for tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
from onnx import TensorProto, helper

Shape = Sequence[int | str | None]
FLOAT = TensorProto.FLOAT
OPSET = 17


def tensor(name: str, shape: Shape | None, kind: int = FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def weights(name: str, shape: Sequence[int]) -> onnx.TensorProto:
    return helper.make_tensor(name, FLOAT, shape, [0.0] * int(np.prod(shape)))


def integers(name: str, values: Sequence[int] | int) -> onnx.TensorProto:
    return onnx.numpy_helper.from_array(np.array(values, np.int64), name)


def model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[onnx.ValueInfoProto],
    constants: Sequence[onnx.TensorProto] = (),
    *,
    outputs: Sequence[onnx.ValueInfoProto] | None = None,
    opsets: dict[str, int] | None = None,
    functions: Sequence[onnx.FunctionProto] = (),
) -> onnx.ModelProto:
    last = [tensor(nodes[-1].output[0], None)] if outputs is None else list(outputs)
    graph = helper.make_graph(list(nodes), "g", list(inputs), last, list(constants))
    versions = [helper.make_opsetid(domain, version) for domain, version in (opsets or {"": OPSET}).items()]
    return helper.make_model(graph, opset_imports=versions, functions=list(functions))
