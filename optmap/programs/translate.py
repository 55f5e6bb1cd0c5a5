"""SymPy to Pyomo: the only module outside `symbolic` that reads SymPy expressions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from operator import mul
from typing import Any

import pyomo.environ as pyo
import sympy

from optmap.errors import InputError

_UNARY: dict[Any, Callable[[Any], Any]] = {sympy.log: pyo.log, sympy.exp: pyo.exp}


def to_pyomo(expression: Any, values: Mapping[str, Any]) -> Any:
    """Translate a SymPy expression.

    Args:
        expression: sums, products, powers, Min, Max, log, exp, numbers and symbols.
        values: a number, Pyomo variable or expression per symbol name. `Min` and `Max` need
            numbers: Pyomo has no smooth counterpart.

    Returns:
        A number or a Pyomo expression.

    Raises:
        InputError: for a symbol without value, a function without Pyomo counterpart, or a Min or
            Max of variables.
    """
    if isinstance(expression, sympy.Integer):
        return int(expression)
    if isinstance(expression, sympy.Rational):
        return int(expression.p) / int(expression.q)
    if expression.is_Number or isinstance(expression, sympy.NumberSymbol):
        return float(expression)
    if expression.is_Symbol:
        if expression.name not in values:
            raise InputError(f"no value for symbol {expression.name}; values are given for {sorted(values)}")
        return values[expression.name]
    arguments = [to_pyomo(argument, values) for argument in expression.args]
    if expression.is_Add:
        return sum(arguments[1:], start=arguments[0])
    if expression.is_Mul:
        return reduce(mul, arguments)
    if expression.is_Pow:
        return arguments[0] ** arguments[1]
    if expression.func in _UNARY:
        return _UNARY[expression.func](arguments[0])
    if expression.func in (sympy.Min, sympy.Max):
        if not all(isinstance(a, int | float) for a in arguments):
            raise InputError(f"{expression} depends on variables: fix them, or choose one of its branches")
        return (min if expression.func is sympy.Min else max)(arguments)
    raise InputError(
        f"{expression.func.__name__} has no Pyomo counterpart in {expression}; "
        "known are sums, products, powers, Min, Max, log and exp"
    )
