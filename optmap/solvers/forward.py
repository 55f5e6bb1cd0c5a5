"""Second-order forward differentiation over a Pyomo expression: the generic, slower path.

Every node carries its value, gradient (n,) and Hessian (n, n); a unary function f of u has
gradient f' du and Hessian f' d2u + f'' du du'.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from pyomo.core.expr import numeric_expr as expr_types

from optmap.base.arrays import Floats
from optmap.base.errors import InputError

Jet: TypeAlias = tuple[float, Floats, Floats]
"""Value, gradient, Hessian."""

_UNARY: dict[str, Callable[[float], tuple[float, float, float]]] = {
    "exp": lambda u: (math.exp(u), math.exp(u), math.exp(u)),
    "log": lambda u: (math.log(u), 1 / u, -1 / u**2),
    "log10": lambda u: (math.log10(u), 1 / (u * math.log(10)), -1 / (u**2 * math.log(10))),
    "sqrt": lambda u: (math.sqrt(u), 0.5 / math.sqrt(u), -0.25 / u**1.5),
    "sin": lambda u: (math.sin(u), math.cos(u), -math.sin(u)),
    "cos": lambda u: (math.cos(u), -math.sin(u), -math.cos(u)),
    "tan": lambda u: (math.tan(u), 1 + math.tan(u) ** 2, 2 * math.tan(u) * (1 + math.tan(u) ** 2)),
    "atan": lambda u: (math.atan(u), 1 / (1 + u**2), -2 * u / (1 + u**2) ** 2),
    "sinh": lambda u: (math.sinh(u), math.cosh(u), math.sinh(u)),
    "cosh": lambda u: (math.cosh(u), math.sinh(u), math.cosh(u)),
    "tanh": lambda u: (math.tanh(u), 1 - math.tanh(u) ** 2, -2 * math.tanh(u) * (1 - math.tanh(u) ** 2)),
}


@dataclass(frozen=True, slots=True, eq=False)
class ForwardFunction:
    """A Pyomo expression as a function with exact derivatives.

    Raises:
        InputError: on evaluation, if a node has no derivative rule.
    """

    expression: Any
    positions: Mapping[int, int]
    """Index of each variable, by `id` of the Pyomo variable."""

    def jet(self, x: Floats) -> Jet:
        """Value, gradient and Hessian at x (n,)."""
        return _jet(self.expression, self.positions, x)


def check_differentiable(node: Any) -> None:
    """Refuse an expression with a node that `ForwardFunction` cannot differentiate.

    Raises:
        InputError: naming the node.
    """
    if isinstance(node, int | float) or not node.is_expression_type():
        return
    if isinstance(node, expr_types.UnaryFunctionExpression):
        if node.getname() not in _UNARY:
            raise InputError(f"function {node.getname()} is not smooth or not known; known are {', '.join(_UNARY)}")
    elif not node.is_named_expression_type() and not isinstance(node, _KNOWN):
        raise InputError(f"{type(node).__name__} is not smooth: write the program without it")
    for argument in node.args:
        check_differentiable(argument)


_KNOWN = (
    expr_types.SumExpression,
    expr_types.ProductExpression,
    expr_types.DivisionExpression,
    expr_types.PowExpression,
    expr_types.NegationExpression,
)


def _jet(node: Any, positions: Mapping[int, int], x: Floats) -> Jet:
    n = x.size
    if isinstance(node, int | float):
        return float(node), np.zeros(n), np.zeros((n, n))
    if node.is_variable_type() and not node.is_fixed():
        gradient = np.zeros(n)
        gradient[positions[id(node)]] = 1.0
        return float(x[positions[id(node)]]), gradient, np.zeros((n, n))
    if not node.is_potentially_variable() or node.is_variable_type():
        return float(node()), np.zeros(n), np.zeros((n, n))
    if node.is_named_expression_type():
        return _jet(node.expr, positions, x)
    parts = [_jet(argument, positions, x) for argument in node.args]
    if isinstance(node, expr_types.SumExpression):
        values, gradients, hessians = zip(*parts, strict=True)
        return sum(values), sum(gradients, np.zeros(n)), sum(hessians, np.zeros((n, n)))
    if isinstance(node, expr_types.NegationExpression):
        return -parts[0][0], -parts[0][1], -parts[0][2]
    if isinstance(node, expr_types.DivisionExpression):
        return _product(parts[0], _chain(parts[1], _reciprocal(parts[1][0])))
    if isinstance(node, expr_types.ProductExpression):
        return _product(parts[0], parts[1])
    if isinstance(node, expr_types.PowExpression):
        return _pow(parts[0], parts[1])
    if isinstance(node, expr_types.UnaryFunctionExpression) and node.getname() in _UNARY:
        return _chain(parts[0], _UNARY[node.getname()](parts[0][0]))
    raise InputError(f"{type(node).__name__} has no derivative rule")


def _reciprocal(u: float) -> tuple[float, float, float]:
    return 1 / u, -1 / u**2, 2 / u**3


def _chain(u: Jet, f: tuple[float, float, float]) -> Jet:
    value, first, second = f
    return value, first * u[1], first * u[2] + second * np.outer(u[1], u[1])


def _product(u: Jet, v: Jet) -> Jet:
    cross = np.outer(u[1], v[1])
    return u[0] * v[0], u[0] * v[1] + v[0] * u[1], u[0] * v[2] + v[0] * u[2] + cross + cross.T


def _pow(u: Jet, v: Jet) -> Jet:
    if v[1].any() or v[2].any():  # u^v = exp(v log u)
        exponent = _product(v, _chain(u, _UNARY["log"](u[0])))
        return _chain(exponent, _UNARY["exp"](exponent[0]))
    p = v[0]
    first = p * u[0] ** (p - 1) if p else 0.0
    second = p * (p - 1) * u[0] ** (p - 2) if p not in (0.0, 1.0) else 0.0
    return _chain(u, (u[0] ** p, first, second))
