"""Statements: one tensor, updated at every point of an iteration space from the tensors that are read there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from optmap.base.errors import StatementError
from optmap.base.names import suggestion
from optmap.base.shown import Concise
from optmap.workloads.access import Image, TensorAccess
from optmap.workloads.domain import Condition, points
from optmap.workloads.expression import (
    FUNCTIONS,
    ROW_FUNCTIONS,
    Apply,
    Expression,
    OperandSeries,
    Read,
    dims_of,
    is_scaled_product,
    nodes,
    product,
    reads,
    written,
)


class Update(StrEnum):
    """How the values at different points of one output element are combined."""

    SUM = "+="
    MAX = "max="
    MIN = "min="


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement(Concise):
    """What is done at every point: `output (=, +=, max=, min=) right if domain`.

    The points are those of the dims in its subscripts that meet every condition of its domain. Dims that the output
    lacks are reduced. An elementwise function, a sum or a row function has its operands' values at one point (a row
    function: along its row); a statement that reduces is a sum of products, or a maximum or minimum.

    Raises:
        StatementError: for an unknown function, a wrong number of arguments, a row function in a statement that
            reduces or beside another, a function of several tensors in a statement that reduces, a sum one of whose
            terms lacks a reduced dim (it would be added once per iteration), a condition on a dim that no tensor has,
            or inputs that the right side does not read once each, in order.
    """

    output: TensorAccess
    inputs: tuple[TensorAccess, ...]
    """In the order written; a tensor that is read twice is there twice."""
    right: Expression
    """Reads the inputs by position, each once, in order."""
    update: Update = Update.SUM
    domain: tuple[Condition, ...] = ()
    """Conditions that every point meets."""
    image: Image = field(default=(), compare=False, repr=False)
    """Ranges of the real values where the builder knows them but padding is stored; no part of equality."""

    is_product: bool = field(init=False, compare=False, repr=False)
    """Whether it adds up the product of its inputs at every point, and nothing else."""

    def __post_init__(self) -> None:
        plain = self.update is Update.SUM and not self.domain and self.right == product(len(self.inputs))
        object.__setattr__(self, "is_product", plain)  # kept, as every access to the tensors of a workload asks for it
        if not plain:
            _validate(self)

    @property
    def multiplies(self) -> bool:
        """Whether it adds up the product of its inputs, times numbers perhaps, at the points that meet its domain."""
        return self.update is Update.SUM and is_scaled_product(self.right, len(self.inputs))

    @property
    def name(self) -> str:
        """The tensor that it writes: no other statement of the workload does."""
        return self.output.name

    @property
    def accesses(self) -> tuple[TensorAccess, ...]:
        """The output, then the inputs in the order written."""
        return (self.output, *self.inputs)

    @property
    def dims(self) -> tuple[str, ...]:
        """Dims in the order in which subscripts name them, output first."""
        return tuple(dict.fromkeys(d for access in self.accesses for axis in access.axes for d in axis.dims))

    @property
    def reduction_dims(self) -> tuple[str, ...]:
        """Dims absent from the output, in the order of `dims`."""
        return tuple(d for d in self.dims if d not in self.output.dims)

    def points(self, extents: Mapping[str, int]) -> int:
        """Points that meet its conditions (operations, one each), those on implicit padding included.

        Args:
            extents: iterations per dim.

        Raises:
            LimitError: if conditions tie too many dims together to be counted.
        """
        return points(self.dims, self.domain, extents)

    @property
    def row(self) -> Apply | None:
        """The row function on the right side, if there is one."""
        return next((node for node in nodes(self.right) if isinstance(node, Apply) and node.dim), None)

    @property
    def keeps_places(self) -> bool:
        """Whether it makes elements of one tensor into as many elements of the same size at the same subscripts.

        Such a statement can be done in place: both tensors can be one.
        """
        return (
            len(self.inputs) == 1
            and self.update is Update.SUM
            and (self.inputs[0].axes, self.inputs[0].bits) == (self.output.axes, self.output.bits)
        )

    @property
    def has_ranges(self) -> bool:
        """Whether some subscript has implicit padding."""
        return any(axis.real is not None for access in self.accesses for axis in access.axes)

    @property
    def real_ranges(self) -> Image:
        """Range of the real values per access and axis, whether padding is stored or implicit; () if unknown."""
        if self.has_ranges:
            return tuple(tuple(axis.real for axis in access.axes) for access in self.accesses)
        return self.image

    def with_padding(self, extents: Mapping[str, int], *, implicit: bool) -> Statement:
        """The same with its padding stored or implicit, as far as it is known where that is.

        Args:
            extents: iterations per dim.
            implicit: whether padding is left out.
        """
        known = self.real_ranges
        if not known:
            return self
        output, *inputs = (
            replace(
                access,
                axes=tuple(
                    replace(axis, real=real if implicit and axis.is_padded(real, extents) else None)
                    for axis, real in zip(access.axes, ranges, strict=True)
                ),
            )
            for access, ranges in zip(self.accesses, known, strict=True)
        )
        return replace(self, output=output, inputs=tuple(inputs), image=known)

    def text(self, sign: str = "=") -> str:
        """The statement in optmap notation.

        Args:
            sign: of a sum: `=` or `+=`.
        """
        operator = sign if self.update is Update.SUM else self.update.value
        condition = f" if {' and '.join(map(str, self.domain))}" if self.domain else ""
        return f"{self.output} {operator} {written(self.right, self.inputs)}{condition}"

    def __str__(self) -> str:
        return self.text()


def multiply(output: TensorAccess, inputs: tuple[TensorAccess, ...], *, image: Image = ()) -> Statement:
    """The statement that adds up the product of its inputs: a multiply-accumulate.

    Args:
        output: what is written.
        inputs: what is read, in the order written.
        image: ranges of real values, see `Statement`.
    """
    return Statement(output=output, inputs=inputs, right=product(len(inputs)), image=image)


def _validate(statement: Statement) -> None:
    right, inputs = statement.right, statement.inputs
    if reads(right) != tuple(range(len(inputs))):
        raise StatementError(f"{statement.name}: the right side reads inputs {reads(right)} of {len(inputs)}", right)
    for node in nodes(right):
        if isinstance(node, Apply):
            _check_function(node)
    _check_rows(statement)
    if statement.reduction_dims:
        _check_reduction(statement)
    for condition in statement.domain:
        unknown = sorted(condition.dims.difference(statement.dims))
        if unknown or not condition.dims:
            what = f"dim {unknown[0]} is in no tensor of the statement" if unknown else "it compares no dims"
            raise StatementError(f"condition {condition}: {what}; compare {', '.join(statement.dims)}", condition)


def _check_function(node: Apply) -> None:
    """Refuse a function that is not known, or has another number of arguments."""
    rows = node.function in ROW_FUNCTIONS
    if not rows and node.function not in FUNCTIONS:
        known = (*FUNCTIONS, *ROW_FUNCTIONS)
        raise StatementError(f"no function {node.function}{suggestion(node.function, known)}", node)
    if rows and not node.dim:
        raise StatementError(f"{node.function} needs the dim of its rows, as in {node.function}(S[m,l], l)", node)
    if node.dim and not rows:
        raise StatementError(f"{node.function} is elementwise: it has no dim {node.dim}", node)
    least, most = (1, 1) if rows else FUNCTIONS[node.function]
    count = len(node.arguments)
    if count < least or (most is not None and count > most):
        wanted = f"{least}" if most == least else f"{least} or more" if most is None else f"{least} to {most}"
        raise StatementError(f"{node.function} has {count} arguments; it takes {wanted}", node)
    if not reads(node):
        raise StatementError(f"{node.function} of numbers alone is a number; write that", node)


def _check_rows(statement: Statement) -> None:
    """Refuse a row function whose rows are not those of a statement that is done point by point."""
    found = [node for node in nodes(statement.right) if isinstance(node, Apply) and node.dim]
    if len(found) > 1:
        raise StatementError(f"{found[1].function} beside {found[0].function}: write two statements", found[1])
    for node in found:
        if statement.reduction_dims or statement.update is not Update.SUM:
            raise StatementError(
                f"{node.function} in a statement that reduces; give it a statement of its own, with all its dims "
                "on the left, and read its result",
                node,
            )
        if node.dim not in dims_of(node, statement.inputs):
            raise StatementError(f"{node.function} goes along {node.dim}, which is no dim of what it reads", node)


def _check_reduction(statement: Statement) -> None:
    """Refuse what reads like a sum over some of its parts only."""
    for node in nodes(statement.right):
        if isinstance(node, Apply) and len(reads(node)) > 1:
            raise StatementError(
                f"{node.function} of several tensors in a statement that reduces "
                f"{', '.join(statement.reduction_dims)}; such a statement is a sum of products: write what the "
                "function is of as a statement of its own",
                node,
            )
    if statement.update is Update.SUM:
        _check_terms(statement.right, frozenset(statement.reduction_dims), statement.inputs)


def _check_terms(part: Expression, needed: frozenset[str], inputs: tuple[TensorAccess, ...]) -> None:
    """Refuse a term of a sum that lacks a reduced dim which nothing that multiplies the sum has either."""
    if not isinstance(part, OperandSeries):
        return
    for number, operand in enumerate(part.operands):
        others = (*part.operands[:number], *part.operands[number + 1 :])
        left = needed if part.is_sum else needed.difference(*(dims_of(other, inputs) for other in others))
        missing = sorted(left - dims_of(operand, inputs)) if part.is_sum else []
        if missing:
            first = next((node for node in nodes(operand) if isinstance(node, Read)), operand)
            raise StatementError(
                f"{written(operand, inputs)} has no dim {missing[0]}, which is summed over: it would be added once "
                f"per {missing[0]}; write it as a statement of its own",
                first,
            )
        _check_terms(operand, left, inputs)
