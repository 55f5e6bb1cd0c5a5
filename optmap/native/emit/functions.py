"""Right sides of statements in C, with the functions that they call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

from optmap.base.errors import InputError
from optmap.workloads.expression import Apply, Constant, Expression, OperandSeries, Read
from optmap.workloads.statement import Statement

BODIES: Mapping[str, str] = {
    "relu": "x < 0 ? 0 : x",
    "exp": "exp{f}(x)",
    "log": "log{f}(x)",
    "sqrt": "sqrt{f}(x)",
    "tanh": "tanh{f}(x)",
    "sigmoid": "1 / (1 + exp{f}(-x))",
    "silu": "x / (1 + exp{f}(-x))",
    "gelu": "x / 2 * (1 + erf{f}(x * 0.70710678118654752{f}))",
    "abs": "fabs{f}(x)",
    "scale": "x * y",
    "max": "x < y ? y : x",
    "min": "y < x ? y : x",
}
"""What a function returns; `{f}` is the end of names and numbers of type float. More than two arguments are taken from
left to right."""


class FunctionTexts:
    """Writes expressions, and collects the functions in them."""

    def __init__(self, entry: str) -> None:
        self._entry = entry
        self._used: dict[str, str] = {}
        self.calls_math = False
        """Whether code that is written elsewhere calls functions of `math.h`."""

    @property
    def text(self) -> str:
        """C of all functions so far."""
        lines = ["#include <math.h>", ""] if self._used or self.calls_math else []
        lines += [*self._used.values(), ""] if self._used else []
        return "".join(f"{line}\n" for line in lines)

    def value(
        self,
        statement: Statement,
        elements: Sequence[str],
        kind: str,
        *,
        row: str = "",
        right: Expression | None = None,
    ) -> str:
        """The right side of a statement.

        Args:
            statement: whose.
            elements: C expression per input.
            kind: C type that functions work on.
            row: C expression of its function of rows.
            right: a part of it that is written instead.

        Raises:
            InputError: for a scale that does not say by how much.
        """

        def text(part: Expression) -> str:
            match part:
                case Read(number=number):
                    return elements[number]
                case Constant(text=digits):
                    return f"{digits}{'' if '.' in digits else '.'}{end_of(kind)}"
                case OperandSeries(first=start, rest=rest):
                    return " ".join((operand(start), *(f"{sign} {operand(each)}" for sign, each in rest)))
                case Apply(function="scale", arguments=(_,)):
                    raise InputError(f"{statement}: scale does not say by how much; write it, as in scale(S[m,l], 0.5)")
                case Apply(dim=dim) if dim:
                    return row
                case Apply(function=function, arguments=arguments):
                    name = self._function(function, len(arguments), kind)
                    first, *others = map(text, arguments)
                    return reduce(lambda x, y: f"{name}({x}, {y})", others, first) if others else f"{name}({first})"

        def operand(part: Expression) -> str:
            return f"({text(part)})" if isinstance(part, OperandSeries) else text(part)

        return text(statement.right if right is None else right)

    def _function(self, function: str, arguments: int, kind: str) -> str:
        """The name of a function in C."""
        name = f"{self._entry}_{function}_{kind}"
        taken = ", ".join(f"{kind} {each}" for each in ("x", "y")[:arguments])
        body = BODIES[function].format(f=end_of(kind))
        self._used[name] = f"static inline {kind} {name}({taken}) {{ return {body}; }}"
        return name


def end_of(kind: str) -> str:
    """What names and numbers of a type end with."""
    return "f" if kind == "float" else ""
