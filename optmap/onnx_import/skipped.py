"""Operators that are no workload, each with the reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from optmap.base.texts import several
from optmap.onnx_import.graph import OperatorNode, present

ELEMENTWISE = "elementwise: every word is used once, so no tile can save traffic"
MOVES = "moves or renames data: no arithmetic whose operands could be used again"
COPIES = "copies data, or moves copies: products that read them read what was copied, every word once"
SHAPES = "makes constants or shapes, not data"
POOLING = "pooling: a window without weights, not a multiply-accumulate"
REDUCTION = "reduction or normalisation: a pass over the data, not a multiply-accumulate nest"
RECURRENT = "recurrent: its steps depend on each other, so they are not one permutable nest; its traffic is missing"
QUANTISED = "quantised multiply-accumulate: not read here, so its traffic is missing; import the float model"
COMPOSITE = "made of several nests: its traffic is missing; export it as single operators"
CONTROL = "control flow: how often its body runs is not in the file"
EMPTY = "a dim has extent 0: nothing is computed"
UNKNOWN = "not an operator that optmap knows; its traffic is missing"

GROUPS: dict[str, str] = {
    ELEMENTWISE: (
        "Abs Acos Acosh Add And Asin Asinh Atan Atanh BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor "
        "Cast CastLike Ceil Celu Clip Cos Cosh DequantizeLinear Div Dropout DynamicQuantizeLinear Elu Equal "
        "Erf Exp Floor Gelu Greater GreaterOrEqual HardSigmoid HardSwish IsInf IsNaN LeakyRelu Less "
        "LessOrEqual Log Max Mean Min Mish Mod Mul Neg Not Or PRelu Pow QuantizeLinear Reciprocal Relu Round "
        "Selu Shrink Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Sub Sum Swish Tan Tanh ThresholdedRelu "
        "Where Xor"
    ),
    MOVES: (
        "CenterCropPad Compress Concat DepthToSpace Expand Flatten Gather GatherElements GatherND Identity "
        "OneHot Pad Reshape Resize ReverseSequence ScatterElements ScatterND Scatter Slice SpaceToDepth Split "
        "Squeeze TensorScatter Tile Transpose Trilu Unsqueeze Upsample"
    ),
    SHAPES: (
        "Bernoulli Constant ConstantOfShape EyeLike Multinomial NonZero RandomNormal RandomNormalLike "
        "RandomUniform RandomUniformLike Range Shape Size"
    ),
    POOLING: ("AveragePool GlobalAveragePool GlobalLpPool GlobalMaxPool LpPool MaxPool MaxRoiPool MaxUnpool RoiAlign"),
    REDUCTION: (
        "ArgMax ArgMin BatchNormalization CumSum CumProd GroupNormalization Hardmax InstanceNormalization "
        "LayerNormalization LogSoftmax LpNormalization LRN MeanVarianceNormalization ReduceL1 ReduceL2 "
        "ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare "
        "RMSNormalization Softmax SoftmaxCrossEntropyLoss NegativeLogLikelihoodLoss TopK Unique"
    ),
    RECURRENT: "GRU LSTM RNN",
    QUANTISED: "ConvInteger MatMulInteger QLinearConv QLinearMatMul",
    COMPOSITE: "AffineGrid Attention DeformConv Det DFT GridSample RotaryEmbedding STFT",
    CONTROL: "If Loop Scan SequenceMap",
}
"""Standard operators by the reason why they are skipped."""
REASONS = {operator: reason for reason, names in GROUPS.items() for operator in names.split()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """Operators of one type that became no workload."""

    operator: str
    """Operator type, with its domain unless it is a standard one."""
    count: int
    """How many of them are in the graph."""
    reason: str
    elements: int | None
    """Elements that they read and write if each tensor is moved once; None if a shape is unknown."""

    @property
    def text(self) -> str:
        """One line for people."""
        moved = "unknown size" if self.elements is None else f"{several(self.elements, 'element')} in and out"
        return f"{self.count} x {self.operator} ({moved}): {self.reason}"


def reason_of(node: OperatorNode) -> str:
    """Why a node is no workload."""
    reason = REASONS.get(node.operator, UNKNOWN)
    if not node.inner:
        return reason
    held = Counter(inner.operator for inner in _all(node.inner))
    listed = ", ".join(f"{count} {operator}" for operator, count in sorted(held.items()))
    return f"{reason}; not counted in it: {listed}"


def _all(nodes: Iterable[OperatorNode]) -> list[OperatorNode]:
    return [found for node in nodes for found in (node, *_all(node.inner))]


def merged(found: Iterable[tuple[str, str, int | None]]) -> tuple[Skipped, ...]:
    """Entries of (operator, reason, elements) with equal ones added up, in the order of first occurrence."""
    table: dict[tuple[str, str], list[int | None]] = {}
    for operator, reason, elements in found:
        table.setdefault((operator, reason), []).append(elements)
    return tuple(
        Skipped(operator=operator, count=len(sizes), reason=reason, elements=_total(sizes))
        for (operator, reason), sizes in table.items()
    )


def _total(sizes: Iterable[int | None]) -> int | None:
    total = 0
    for size in sizes:
        if size is None:
            return None
        total += size
    return total


def moved_elements(node: OperatorNode) -> int | None:
    """Elements of all inputs and outputs of a node."""
    return _total(value.elements for value in present((*node.inputs, *node.outputs)))
