"""Pyomo expressions to exponential terms, each expression walked once.

The structure of every tile program is a sum of monomials, in the sizes or in their logarithms;
whatever is not raises `NotTermsError` and is left to the generic differentiation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from pyomo.core.expr import numeric_expr as expr_types

from optmap.solvers.terms import TermFunction, Terms

LARGEST_EXPANSION = 4096
"""Terms that a product or power may expand into."""

_Key: TypeAlias = tuple[tuple[tuple[int, float], ...], tuple[tuple[int, float], ...]]
"""(powers, rates) of a term, each as sorted (variable, number) pairs."""
_ONE: _Key = ((), ())


class NotTermsError(Exception):
    """The expression is not made of exponential terms; never leaves the solvers package."""


@dataclass(frozen=True, slots=True)
class _Sum:
    """A sum of terms, plus weighted logarithms of sums of terms."""

    terms: dict[_Key, float]
    logs: tuple[tuple[float, dict[_Key, float]], ...] = ()


def term_function(expression: Any, positions: Mapping[int, int], positive: frozenset[int]) -> TermFunction:
    """Walk a Pyomo expression.

    Args:
        expression: the expression.
        positions: index of each variable, by `id` of the Pyomo variable.
        positive: indices of variables whose lower bound is above 0: only these may have powers
            other than 1.

    Raises:
        NotTermsError: if the expression has another structure.
    """
    found = _walk(expression, positions)
    n = len(positions)
    linear = np.zeros(n)
    constant = 0.0
    plain: dict[_Key, float] = {}
    for key, coefficient in found.terms.items():
        powers, rates = key
        if key == _ONE:
            constant = coefficient
        elif not rates and len(powers) == 1 and powers[0][1] == 1.0:
            linear[powers[0][0]] += coefficient
        else:
            plain[key] = coefficient
    groups = [(weight, _arrays(terms, n)) for weight, terms in found.logs]
    function = TermFunction(constant=constant, linear=linear, plain=_arrays(plain, n), logs=tuple(groups))
    for part in (function.plain, *(terms for _, terms in groups)):
        if any(int(j) not in positive for j in np.flatnonzero(part.powers.any(axis=0))):
            raise NotTermsError("a power of a variable that may be 0 or negative")
    if any((terms.coefficients <= 0).any() for _, terms in groups):
        raise NotTermsError("a logarithm of a difference")
    return function


def _arrays(terms: Mapping[_Key, float], n: int) -> Terms:
    rates, powers = np.zeros((len(terms), n)), np.zeros((len(terms), n))
    for row, (power, rate) in enumerate(terms):
        for j, value in power:
            powers[row, j] = value
        for j, value in rate:
            rates[row, j] = value
    return Terms(coefficients=np.array(list(terms.values()), dtype=float), rates=rates, powers=powers)


def _walk(node: Any, positions: Mapping[int, int]) -> _Sum:
    if isinstance(node, int | float):
        return _Sum({_ONE: float(node)} if node else {})
    if node.is_variable_type():
        if node.is_fixed():
            return _walk(float(node.value), positions)
        return _Sum({(((positions[id(node)], 1.0),), ()): 1.0})
    if not node.is_potentially_variable():
        return _walk(float(node()), positions)
    if node.is_named_expression_type():
        return _walk(node.expr, positions)
    parts = [_walk(argument, positions) for argument in node.args]
    if isinstance(node, expr_types.SumExpression):
        return _add(parts)
    if isinstance(node, expr_types.NegationExpression):
        return _scale(parts[0], -1.0)
    if isinstance(node, expr_types.DivisionExpression):
        return _multiply(parts[0], _power(parts[1], -1.0))
    if isinstance(node, expr_types.ProductExpression):
        return _multiply(parts[0], parts[1])
    if isinstance(node, expr_types.PowExpression):
        return _power(parts[0], _number(parts[1]))
    if isinstance(node, expr_types.UnaryFunctionExpression):
        if node.getname() == "exp":
            return _exp(parts[0])
        if node.getname() == "log":
            return _log(parts[0])
        if node.getname() == "sqrt":
            return _power(parts[0], 0.5)
    raise NotTermsError(f"{type(node).__name__} in an expression")


def _number(part: _Sum) -> float:
    if part.logs or any(key != _ONE for key in part.terms):
        raise NotTermsError("a variable where a number is needed")
    return part.terms.get(_ONE, 0.0)


def _add(parts: list[_Sum]) -> _Sum:
    total: dict[_Key, float] = {}
    for part in parts:
        for key, coefficient in part.terms.items():
            total[key] = total.get(key, 0.0) + coefficient
    logs = tuple(log for part in parts for log in part.logs)
    return _Sum({key: c for key, c in total.items() if c}, logs)


def _scale(part: _Sum, factor: float) -> _Sum:
    if not factor:
        return _Sum({})
    logs = tuple((w * factor, terms) for w, terms in part.logs)
    return _Sum({key: c * factor for key, c in part.terms.items()}, logs)


def _multiply(left: _Sum, right: _Sum) -> _Sum:
    if left.logs or right.logs:
        if right.logs:
            left, right = right, left
        return _scale(left, _number(right))
    if len(left.terms) * len(right.terms) > LARGEST_EXPANSION:
        raise NotTermsError("a product with too many terms")
    total: dict[_Key, float] = {}
    for (p, a), c in left.terms.items():
        for (q, b), d in right.terms.items():
            key = (_merge(p, q), _merge(a, b))
            total[key] = total.get(key, 0.0) + c * d
    return _Sum({key: c for key, c in total.items() if c})


def _merge(left: tuple[tuple[int, float], ...], right: tuple[tuple[int, float], ...]) -> tuple[tuple[int, float], ...]:
    total = dict(left)
    for j, value in right:
        total[j] = total.get(j, 0.0) + value
    return tuple(sorted((j, value) for j, value in total.items() if value))


def _power(base: _Sum, exponent: float) -> _Sum:
    if base.logs:
        raise NotTermsError("a power of a logarithm")
    if len(base.terms) == 1:
        ((powers, rates), coefficient) = next(iter(base.terms.items()))
        if coefficient <= 0 and not exponent.is_integer():
            raise NotTermsError("a fractional power of a negative term")
        key = (tuple((j, p * exponent) for j, p in powers), tuple((j, a * exponent) for j, a in rates))
        return _Sum({key: coefficient**exponent} if exponent else {_ONE: 1.0})
    if not (exponent.is_integer() and 0 <= exponent <= 8):
        raise NotTermsError("a negative, large or fractional power of a sum")
    result = _Sum({_ONE: 1.0})
    for _ in range(int(exponent)):
        result = _multiply(result, base)
    return result


def _exp(part: _Sum) -> _Sum:
    if part.logs:
        raise NotTermsError("an exponential of a logarithm")
    constant, rates = 0.0, {}
    for (powers, inner), coefficient in part.terms.items():
        if not powers and not inner:
            constant = coefficient
        elif not inner and len(powers) == 1 and powers[0][1] == 1.0:
            rates[powers[0][0]] = coefficient
        else:
            raise NotTermsError("an exponential of a nonlinear expression")
    return _Sum({((), tuple(sorted(rates.items()))): math.exp(constant)})


def _log(part: _Sum) -> _Sum:
    if part.logs:
        raise NotTermsError("a logarithm of a logarithm")
    if len(part.terms) == 1:
        ((powers, rates), coefficient) = next(iter(part.terms.items()))
        if not powers and coefficient > 0:  # log(k exp(A x)) is linear
            linear: dict[_Key, float] = {(((j, 1.0),), ()): a for j, a in rates}
            return _add([_Sum({_ONE: math.log(coefficient)}), _Sum(linear)])
    return _Sum({}, ((1.0, part.terms),))
