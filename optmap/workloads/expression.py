"""The right side of a statement: a small tree over the tensors that it reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from optmap.workloads.access import TensorAccess


class Statistic(StrEnum):
    """When the statistic of a row (its maximum and sum, its mean) is known to those who use the row."""

    ONLINE = "online"
    """It is updated as the row goes by: elements are used at once and rescaled."""
    WHOLE = "whole"
    """A row is complete before any element of it is used."""


FUNCTIONS: Mapping[str, tuple[int, int | None]] = {
    "relu": (1, 1),
    "exp": (1, 1),
    "log": (1, 1),
    "sqrt": (1, 1),
    "tanh": (1, 1),
    "sigmoid": (1, 1),
    "silu": (1, 1),
    "gelu": (1, 1),
    "abs": (1, 1),
    "scale": (1, 2),
    "max": (2, None),
    "min": (2, None),
}
"""Elementwise functions: the least and the largest number of arguments (None: any)."""
ROW_FUNCTIONS = ("softmax", "rmsnorm", "layernorm")
"""Functions of a whole row: of one argument along a named dim."""


@dataclass(frozen=True, slots=True)
class Read:
    """The value of one of the statement's inputs."""

    number: int
    """Position in `Statement.inputs`."""


@dataclass(frozen=True, slots=True)
class Constant:
    """A number, which costs nothing."""

    text: str
    """As written: digits, with a decimal point or without."""


@dataclass(frozen=True, slots=True)
class OperandSeries:
    """Operands from left to right: a sum (`+`, `-`) or a product (`*`, `/`)."""

    first: Expression
    rest: tuple[tuple[str, Expression], ...]
    """(operator, operand) pairs, at least one; their operators are of one of the two kinds."""

    @property
    def is_sum(self) -> bool:
        """Whether operands are added and subtracted, rather than multiplied and divided."""
        return self.rest[0][0] in "+-"

    @property
    def operands(self) -> tuple[Expression, ...]:
        """The operands without their operators."""
        return (self.first, *(operand for _, operand in self.rest))


@dataclass(frozen=True, slots=True)
class Apply:
    """A function of expressions; with a dim, a function of a whole row along it."""

    function: str
    """Of `FUNCTIONS`, or of `ROW_FUNCTIONS` if it has a dim."""
    arguments: tuple[Expression, ...]
    dim: str = ""
    statistic: Statistic = Statistic.ONLINE
    """Of a function of a row."""


Expression = Read | Constant | OperandSeries | Apply


@lru_cache(maxsize=64)
def product(count: int) -> Expression:
    """The product of so many inputs, in order: the right side of a multiply-accumulate."""
    reads = [Read(number) for number in range(count)]
    if count < 2:
        return reads[0] if reads else Constant("1")
    return OperandSeries(reads[0], tuple(("*", read) for read in reads[1:]))


def is_scaled_product(expression: Expression, count: int) -> bool:
    """Whether an expression multiplies so many inputs, each once, and numbers."""
    operands = expression.operands if isinstance(expression, OperandSeries) else (expression,)
    times = not isinstance(expression, OperandSeries) or all(sign == "*" for sign, _ in expression.rest)
    reads = [each.number for each in operands if isinstance(each, Read)]
    numbers = sum(isinstance(each, Constant) for each in operands)
    return times and sorted(reads) == list(range(count)) and len(reads) + numbers == len(operands)


def parts_of(expression: Expression) -> tuple[Expression, ...]:
    """What an expression is made of, in the order written."""
    if isinstance(expression, OperandSeries):
        return expression.operands
    return expression.arguments if isinstance(expression, Apply) else ()


def nodes(expression: Expression) -> Iterator[Expression]:
    """An expression and everything inside it, in the order written."""
    yield expression
    for part in parts_of(expression):
        yield from nodes(part)


def reads(expression: Expression) -> tuple[int, ...]:
    """Positions of the inputs that an expression reads, in the order written."""
    return tuple(node.number for node in nodes(expression) if isinstance(node, Read))


def dims_of(expression: Expression, inputs: Sequence[TensorAccess]) -> frozenset[str]:
    """The dims in the subscripts of what an expression reads."""
    return frozenset().union(*(inputs[number].dims for number in reads(expression)))


def written(expression: Expression, inputs: Sequence[TensorAccess]) -> str:
    """An expression in optmap notation: read again, it is the same tree.

    Args:
        expression: the tree.
        inputs: the accesses that it reads.
    """
    if isinstance(expression, Read):
        return str(inputs[expression.number])
    if isinstance(expression, Constant):
        return expression.text
    if isinstance(expression, OperandSeries):
        first, *others = (_operand(part, expression, inputs) for part in expression.operands)
        signs = (sign for sign, _ in expression.rest)
        return " ".join((first, *(f"{sign} {other}" for sign, other in zip(signs, others, strict=True))))
    arguments = [written(part, inputs) for part in expression.arguments]
    if expression.dim:
        arguments.append(expression.dim)
        if expression.statistic is not Statistic.ONLINE:
            arguments.append(expression.statistic.value)
    return f"{expression.function}({', '.join(arguments)})"


def _operand(part: Expression, whole: OperandSeries, inputs: Sequence[TensorAccess]) -> str:
    text = written(part, inputs)
    return f"({text})" if isinstance(part, OperandSeries) and (part.is_sum or not whole.is_sum) else text
