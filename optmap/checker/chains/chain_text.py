"""Statements of a chain, read by the grammar in which optmap writes them.

    statement  = access (" = " | " += " | " max= " | " min= ") expression [" if " comparison {" and " comparison}]
    expression = term {(" + " | " - ") term}
    term       = factor {(" * " | " / ") factor}
    factor     = number | access | "(" expression ")" | name "(" expression {", " expression} [", " dim [", whole"]] ")"
    comparison = subscript (" <= " | " < " | " >= " | " > " | " == ") subscript

What is read of a statement is all that data movement depends on: its accesses, whether it adds up their plain product,
whether conditions leave points out, and whether a function of whole rows stands in it. Names of functions are not
looked at, other than those of rows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from ..core.statement import Axis, Range, read_access, read_subscript
from ..core.tools import need

SIGN = re.compile(r" (=|\+=|max=|min=) ")
RELATION = re.compile(r" (<=|<|>=|>|==) ")
TOKEN = re.compile(r"[^\W\d]\w*\[[^\]]*\]|[^\W\d]\w*\(|[^\W\d]\w*|\d+(?:\.\d+)?|, | [-+*/] |[()]")
ROWS = ("softmax(", "rmsnorm(", "layernorm(")
DEEPEST = 50
"""Brackets inside each other that are read."""


@dataclass(frozen=True)
class Said:
    """One statement."""

    text: str
    sign: str
    accesses: tuple[tuple[str, tuple[tuple[Axis, Range], ...]], ...]
    """Name and subscripts, the output first, then the inputs as often as they are read."""
    plain: bool
    """Whether it adds up the product of its inputs, and nothing else."""
    multiplies: bool
    """Whether it adds up the product of its inputs and numbers, under conditions perhaps."""
    conditions: tuple[str, ...]
    whole: str
    """Dim of a row function that needs whole rows; empty if there is none."""
    rows: bool
    """Whether there is a row function at all."""

    @property
    def name(self) -> str:
        """The tensor that it writes."""
        return self.accesses[0][0]


@lru_cache(maxsize=256)
def read_chain_statement(text: str) -> Said:
    """One statement of a chain.

    Raises:
        RefusedError: for a text that the grammar does not have.
    """
    parts = SIGN.split(text, maxsplit=1)
    need(len(parts) == 3, f"{text!r} is no statement")
    left, sign, rest = parts
    right, _, condition = rest.partition(" if ")
    conditions = tuple(condition.split(" and ")) if condition else ()
    need(bool(condition) or " if " not in rest, f"{text!r} ends in if")
    for each in conditions:
        sides = RELATION.split(each)
        need(len(sides) == 3, f"{each!r} is no comparison")
        _ = read_subscript(sides[0]), read_subscript(sides[2])
    tokens = TOKEN.findall(right)
    need("".join(tokens) == right and bool(tokens), f"{right!r} is no expression")
    reader = _ExpressionReader(tokens)
    reader.expression(0)
    need(reader.at == len(tokens), f"{right!r} is no expression")
    need(bool(reader.read), f"{text!r} reads no tensor")
    plain = sign in ("=", "+=") and not conditions and right == " * ".join(reader.read)
    accesses = tuple((name, tuple(axes)) for name, axes in map(read_access, (left, *reader.read)))
    rows = any(token in ROWS for token in tokens)
    factors = all(token == " * " if n % 2 else token[-1] in "]0123456789." for n, token in enumerate(tokens))
    return Said(text, sign, accesses, plain, sign in ("=", "+=") and factors, conditions, reader.whole, rows)


class _ExpressionReader:
    """Goes over the tokens of an expression once."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens, self.at = tokens, 0
        self.read: list[str] = []
        self.whole = ""

    def next(self) -> str:
        """The next token, which is passed."""
        need(self.at < len(self.tokens), "an expression ends too early")
        self.at += 1
        return self.tokens[self.at - 1]

    def follows(self, *wanted: str) -> bool:
        """Whether the next token is one of some; it is passed if so."""
        found = self.at < len(self.tokens) and self.tokens[self.at] in wanted
        self.at += found
        return found

    def expression(self, depth: int) -> None:
        """Operands with operators between them."""
        need(depth < DEEPEST, "an expression is nested too deeply")
        self.factor(depth)
        while self.follows(" + ", " - ", " * ", " / "):
            self.factor(depth)

    def factor(self, depth: int) -> None:
        """A number, an access, brackets or a function."""
        token = self.next()
        if token.endswith("]"):
            self.read.append(token)
        elif token == "(":
            self.expression(depth + 1)
            need(self.next() == ")", "a bracket is not closed")
        elif token.endswith("("):
            self.arguments(token in ROWS, depth)
        else:
            need(token[0] in "0123456789", f"{token!r} is no operand")

    def arguments(self, rows: bool, depth: int) -> None:
        """What a function is of, up to its closing bracket."""
        self.expression(depth + 1)
        while not rows and self.follows(", "):
            self.expression(depth + 1)
        if rows:
            need(self.next() == ", ", "a function of rows needs their dim")
            dim = self.next()
            need(dim.isidentifier(), f"{dim!r} is no dim")
            if self.follows(", "):
                need(self.next() == "whole", "rows are online or whole")
                need(not self.whole, "two functions of whole rows in one statement")
                self.whole = dim
        need(self.next() == ")", "a function is not closed")
