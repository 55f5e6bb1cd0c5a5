"""Pyomo expressions as readable text or LaTeX, deterministic and with few parentheses."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pyomo.core.expr import numeric_expr as expr_types

from optmap.base.errors import InputError

SUM, PRODUCT, POWER, ATOM = 0, 1, 2, 3
"""How tightly a printed expression binds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How one output format writes the parts of an expression."""

    times: str
    name: Callable[[str], str]
    """A variable or named expression such as `T[L1,k]`."""
    ratio: Callable[[str, str], str]
    power: Callable[[str, str], str]
    call: Callable[[str, str], str]
    """A function of an argument."""
    group: Callable[[str], str]
    """Parentheses."""
    less: str


def number(value: float) -> str:
    """A number: whole numbers without point, others in the shortest form that reads back exactly."""
    value = float(value)
    return str(int(value)) if value.is_integer() and abs(value) < 1e16 else repr(value)


def latex_name(name: str) -> str:
    r"""`T[L1,k]` as `T^{\mathrm{L1}}_{k}`, `traffic[Out]` as `\mathrm{traffic}_{\mathrm{Out}}`."""
    match = re.fullmatch(r"([^\[\]]+)(?:\[([^\[\]]*)\])?", name)
    if match is None:
        return r"\mathrm{" + name.replace("_", r"\_") + "}"
    stem, index = match.group(1), match.group(2)
    text = _word(stem)
    parts = index.split(",") if index else []
    if len(parts) > 1:
        text += "^{" + ",".join(_word(p) for p in parts[:-1]) + "}"
    if parts:
        text += "_{" + _word(parts[-1]) + "}"
    return text


def _word(word: str) -> str:
    return word if len(word) == 1 else r"\mathrm{" + word.replace("_", r"\_") + "}"


TEXT = Dialect(
    times=" * ",
    name=lambda name: name,
    ratio=lambda a, b: f"{a}/{b}",
    power=lambda a, b: f"{a}**{b}",
    call=lambda f, a: f"{f}({a})",
    group=lambda a: f"({a})",
    less="<=",
)
LATEX = Dialect(
    times=r" \cdot ",
    name=latex_name,
    ratio=lambda a, b: rf"\frac{{{a}}}{{{b}}}",
    power=lambda a, b: f"{{{a}}}^{{{b}}}",
    call=lambda f, a: f"e^{{{a}}}" if f == "exp" else rf"\{f}\left({a}\right)",
    group=lambda a: rf"\left({a}\right)",
    less=r"\le",
)


def render(expression: Any, dialect: Dialect = TEXT) -> str:
    """Print an expression; named expressions stay names.

    Raises:
        InputError: for a node that has no notation here.
    """
    return _print(expression, dialect)[0]


def _print(node: Any, dialect: Dialect) -> tuple[str, int]:
    if isinstance(node, int | float):
        return number(node), ATOM if node >= 0 else SUM
    if node.is_variable_type() or node.is_named_expression_type():
        return dialect.name(node.name), ATOM
    if not node.is_expression_type():
        return _print(float(node()), dialect)
    if isinstance(node, expr_types.SumExpression):
        return _sum(node, dialect), SUM
    if isinstance(node, expr_types.NegationExpression):
        return "-" + _tight(node.args[0], PRODUCT, dialect), SUM
    if isinstance(node, expr_types.ProductExpression):
        return _product(node, dialect)
    if isinstance(node, expr_types.DivisionExpression):
        if dialect is LATEX:
            return dialect.ratio(render(node.args[0], dialect), render(node.args[1], dialect)), ATOM
        return dialect.ratio(_tight(node.args[0], PRODUCT, dialect), _tight(node.args[1], POWER, dialect)), PRODUCT
    if isinstance(node, expr_types.PowExpression):
        return dialect.power(_tight(node.args[0], ATOM, dialect), _tight(node.args[1], ATOM, dialect)), POWER
    if isinstance(node, expr_types.UnaryFunctionExpression):
        return dialect.call(node.getname(), render(node.args[0], dialect)), ATOM
    raise InputError(f"cannot print {type(node).__name__}; use the nl format")


def _tight(node: Any, binding: int, dialect: Dialect) -> str:
    text, own = _print(node, dialect)
    return text if own >= binding else dialect.group(text)


def _product(node: Any, dialect: Dialect) -> tuple[str, int]:
    negative = isinstance(node.args[0], int | float) and node.args[0] < 0
    factors = [-node.args[0] if negative else node.args[0], *node.args[1:]]
    if negative and factors[0] == 1:
        factors = factors[1:]
    text = dialect.times.join(_tight(factor, PRODUCT, dialect) for factor in factors)
    return ("-" + text, SUM) if negative else (text, PRODUCT)


def _sum(node: Any, dialect: Dialect) -> str:
    text = ""
    for argument in node.args:
        term, _ = _print(argument, dialect)
        if not text:
            text = term
        elif term.startswith("-"):
            text += " - " + term[1:]
        else:
            text += " + " + term
    return text
