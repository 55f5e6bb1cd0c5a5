"""Blocks of networks as exporters write them, of any size; weights have no elements in the file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import onnx
from onnx import TensorProto, helper
from onnx_models import FLOAT, integers, model, tensor


@dataclass
class Graph:
    """A graph that is being written: every method adds nodes and returns the name of what they make."""

    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: dict[str, onnx.TensorProto] = field(default_factory=dict)

    def add(self, operator: str, *inputs: str, name: str = "", outputs: int = 1, **attributes: object) -> str:
        label = name or f"{operator}_{len(self.nodes)}"
        made = [f"{label}:{number}" for number in range(outputs)]
        self.nodes.append(helper.make_node(operator, list(inputs), made, name=label, **attributes))
        return made[0]

    def weights(self, name: str, *shape: int) -> str:
        """Weights in a file of their own that is not there."""
        made = TensorProto(name=name, data_type=FLOAT, dims=shape, data_location=TensorProto.EXTERNAL)
        made.external_data.add(key="location", value="weights.bin")
        self.constants[name] = made
        return name

    def numbers(self, *values: int) -> str:
        name = f"numbers_{'_'.join(map(str, values))}"
        self.constants[name] = integers(name, values)
        return name

    def scalar(self, value: float) -> str:
        name = f"scalar_{value}"
        self.constants[name] = helper.make_tensor(name, FLOAT, (), [value])
        return name

    def linear(self, x: str, name: str, inner: int, outer: int, *, bias: bool = True) -> str:
        made = self.add("MatMul", x, self.weights(f"{name}.w", inner, outer), name=name)
        return self.add("Add", made, self.weights(f"{name}.b", outer)) if bias else made

    def normalised(self, x: str, width: int) -> str:
        scale, bias = self.weights(f"scale_{width}", width), self.weights(f"shift_{width}", width)
        return self.add("LayerNormalization", x, scale, bias, axis=-1)

    def by_head(self, x: str, tokens: int, heads: int, depth: int) -> str:
        return self.add("Transpose", self.add("Reshape", x, self.numbers(1, tokens, heads, depth)), perm=[0, 2, 1, 3])

    def attention(self, qkv: Sequence[str], name: str, shape: tuple[int, int, int], mask: str = "") -> str:
        """Of queries, keys and values by head, with as many heads each; tokens, heads and depth are the shape."""
        (q, k, v), (tokens, heads, depth) = qkv, shape
        s = self.add("MatMul", q, self.add("Transpose", k, perm=[0, 1, 3, 2]), name=f"{name}.scores")
        s = self.add("Div", s, self.scalar(8.0))
        s = self.add("Add", s, mask) if mask else s
        p = self.add("Softmax", s, axis=-1)
        o = self.add("MatMul", p, v, name=f"{name}.values")
        return self.add("Reshape", self.add("Transpose", o, perm=[0, 2, 1, 3]), self.numbers(1, tokens, heads * depth))

    def erf_gelu(self, x: str) -> str:
        half = self.add("Mul", x, self.scalar(0.5))
        grown = self.add("Add", self.add("Erf", self.add("Div", x, self.scalar(1.4142))), self.scalar(1.0))
        return self.add("Mul", half, grown)

    def tanh_gelu(self, x: str) -> str:
        cubed = self.add("Mul", self.add("Pow", x, self.scalar(3.0)), self.scalar(0.044715))
        inner = self.add("Tanh", self.add("Mul", self.add("Add", x, cubed), self.scalar(0.797885)))
        return self.add("Mul", self.add("Mul", x, self.scalar(0.5)), self.add("Add", inner, self.scalar(1.0)))

    def finished(self, *inputs: onnx.ValueInfoProto, outputs: Sequence[str] = ()) -> onnx.ModelProto:
        last = [tensor(name, None) for name in outputs or [self.nodes[-1].output[0]]]
        return model(self.nodes, inputs, list(self.constants.values()), outputs=last)


def bert(layers: int, tokens: int, heads: int, depth: int, *, vit: bool = False) -> onnx.ModelProto:
    """Encoder layers with three projections and erf-gelu; a vision transformer normalises first and has no mask."""
    graph, width, x = Graph(), heads * depth, "x"
    for layer in range(layers):
        name = f"layer.{layer}"
        inner = graph.normalised(x, width) if vit else x
        qkv = [
            graph.by_head(graph.linear(inner, f"{name}.{part}", width, width), tokens, heads, depth) for part in "qkv"
        ]
        o = graph.attention(qkv, name, (tokens, heads, depth), "" if vit else "mask")
        x = graph.add("Add", graph.linear(o, f"{name}.out", width, width), x)
        x = x if vit else graph.normalised(x, width)
        grown = graph.erf_gelu(graph.linear(graph.normalised(x, width) if vit else x, f"{name}.up", width, 4 * width))
        x = graph.add("Add", graph.linear(grown, f"{name}.down", 4 * width, width), x)
        x = x if vit else graph.normalised(x, width)
    mask = [] if vit else [tensor("mask", (1, 1, 1, tokens))]
    return graph.finished(tensor("x", (1, tokens, width)), *mask)


def gpt(layers: int, tokens: int, heads: int, depth: int) -> onnx.ModelProto:
    """Decoder layers with one projection that is split, a causal mask, and products as Gemm of flattened tokens."""
    graph, width, x = Graph(), heads * depth, "x"
    graph.weights("causal", 1, 1, tokens, tokens)

    def gemm(value: str, name: str, inner: int, outer: int) -> str:
        flat = graph.add("Reshape", value, graph.numbers(-1, inner))
        made = graph.add(
            "Gemm", flat, graph.weights(f"{name}.w", inner, outer), graph.weights(f"{name}.b", outer), name=name
        )
        return graph.add("Reshape", made, graph.numbers(1, tokens, outer))

    for layer in range(layers):
        name = f"h.{layer}"
        qkv = gemm(graph.normalised(x, width), f"{name}.qkv", width, 3 * width)
        split = graph.add("Split", qkv, graph.numbers(width, width, width), outputs=3, axis=2)
        parts = [graph.by_head(f"{split[:-1]}{part}", tokens, heads, depth) for part in range(3)]
        o = graph.attention(parts, name, (tokens, heads, depth), "causal")
        x = graph.add("Add", gemm(o, f"{name}.out", width, width), x)
        grown = graph.tanh_gelu(gemm(graph.normalised(x, width), f"{name}.up", width, 4 * width))
        x = graph.add("Add", gemm(grown, f"{name}.down", 4 * width, width), x)
    return graph.finished(tensor("x", (1, tokens, width)))


def llama(tokens: int, heads: int, groups: int, depth: int) -> onnx.ModelProto:
    """A decoder layer with rotary queries and keys, grouped queries, RMS normalisation and a gated MLP.

    Args:
        tokens: of the text.
        heads: of keys and values.
        groups: queries of a head.
        depth: of a head.
    """
    graph, x = Graph(), "x"
    width = heads * groups * depth
    cos, sin = graph.weights("cos", 1, 1, tokens, depth), graph.weights("sin", 1, 1, tokens, depth)

    def rms(value: str) -> str:
        mean = graph.add("ReduceMean", graph.add("Pow", value, graph.scalar(2.0)), axes=[-1], keepdims=1)
        scaled = graph.add("Div", value, graph.add("Sqrt", graph.add("Add", mean, graph.scalar(1e-5))))
        return graph.add("Mul", graph.weights(f"rms_{width}", width), scaled)

    def rotated(value: str) -> str:
        low = graph.add("Slice", value, graph.numbers(0), graph.numbers(depth // 2), graph.numbers(3))
        high = graph.add("Slice", value, graph.numbers(depth // 2), graph.numbers(depth), graph.numbers(3))
        turned = graph.add("Concat", graph.add("Neg", high), low, axis=-1)
        return graph.add("Add", graph.add("Mul", value, cos), graph.add("Mul", turned, sin))

    def repeated(value: str) -> str:
        wide = graph.add("Unsqueeze", value, graph.numbers(2))
        wide = graph.add("Expand", wide, graph.numbers(1, heads, groups, tokens, depth))
        return graph.add("Reshape", wide, graph.numbers(1, heads * groups, tokens, depth))

    inner = rms(x)
    q, k, v = (
        graph.by_head(graph.linear(inner, part, width, size * depth, bias=False), tokens, size, depth)
        for part, size in (("q", heads * groups), ("k", heads), ("v", heads))
    )
    o = graph.attention(
        (rotated(q), repeated(rotated(k)), repeated(v)), "attention", (tokens, heads * groups, depth), "mask"
    )
    x = graph.add("Add", x, graph.linear(o, "out", width, width, bias=False))
    inner = rms(x)
    gate = graph.linear(inner, "gate", width, 2 * width, bias=False)
    gated = graph.add(
        "Mul",
        graph.add("Mul", gate, graph.add("Sigmoid", gate)),
        graph.linear(inner, "up", width, 2 * width, bias=False),
    )
    graph.add("Add", x, graph.linear(gated, "down", 2 * width, width, bias=False))
    return graph.finished(tensor("x", (1, tokens, width)), tensor("mask", (1, 1, tokens, tokens)))


def mobilenet(size: int, channels: int) -> onnx.ModelProto:
    """Two inverted residuals: to more channels, by channel, and back; the second one is added to its input."""
    graph, x, wide = Graph(), "x", 6 * channels
    for block in range(2):
        name = f"block.{block}"
        before = x
        for part, inner, outer, taps, group in (
            ("expand", channels, wide, 1, 1),
            ("depthwise", wide, wide, 3, wide),
            ("project", wide, channels, 1, 1),
        ):
            kernel = graph.weights(f"{name}.{part}.w", outer, inner // group, taps, taps)
            pads = [taps // 2] * 4
            x = graph.add("Conv", x, kernel, name=f"{name}.{part}", group=group, pads=pads)
            scales = [graph.weights(f"{kind}_{outer}", outer) for kind in ("scale", "shift", "mean", "variance")]
            x = graph.add("BatchNormalization", x, *scales)
            x = x if part == "project" else graph.add("Clip", x, graph.scalar(0.0), graph.scalar(6.0))
        x = graph.add("Add", before, x) if block else x
    return graph.finished(tensor("x", (1, channels, size, size)))
