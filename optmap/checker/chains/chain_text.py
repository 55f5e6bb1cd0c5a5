"""Statements of a chain, read by the grammar in which optmap writes them.

    statement  = access (" = " | " += " | " max= " | " min= ") expression [" if " comparison {" and " comparison}]
    expression = term {(" + " | " - ") term}
    term       = factor {(" * " | " / ") factor}
    factor     = number | access | "(" expression ")" | name "(" expression {", " expression} [", " dim [", whole"]] ")"
    comparison = subscript (" <= " | " < " | " >= " | " > " | " == ") subscript

What is read of a statement is all that data movement depends on: its accesses, whether it adds up their plain product,
whether conditions leave points out, which function of rows stands in it and of what, and whether it only multiplies
that, or all that it reads, by something. Names of functions are not looked at, other than those of rows and those of
which a positive factor can be taken out.
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
SCALED = ("relu(", "abs(", "scale(")
"""Functions of which a positive factor can be taken out."""
FREE, FACTOR, OTHER = 0, 1, 2
"""How a part is in an expression: not at all, as a factor, or otherwise."""
Parts = tuple[int, int]
"""How the function of rows, and how all that is read, is in an expression."""
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
    rows: str
    """The row function, with its bracket; empty if there is none."""
    along: str
    """Its dim."""
    of: tuple[int, int]
    """Which of the inputs it is of: the first one, and the one beyond the last."""
    scales_rows: bool
    """Whether its value is a factor of that of the statement."""
    lets_through: bool
    """Whether a positive factor of the one input is one of the value of the statement."""

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
    row, one = reader.expression(0)
    need(reader.at == len(tokens), f"{right!r} is no expression")
    need(bool(reader.read), f"{text!r} reads no tensor")
    plain = sign in ("=", "+=") and not conditions and right == " * ".join(reader.read)
    accesses = tuple((name, tuple(axes)) for name, axes in map(read_access, (left, *reader.read)))
    factors = all(token == " * " if n % 2 else token[-1] in "]0123456789." for n, token in enumerate(tokens))
    return Said(
        text=text,
        sign=sign,
        accesses=accesses,
        plain=plain,
        multiplies=sign in ("=", "+=") and factors,
        conditions=conditions,
        whole=reader.whole,
        rows=reader.rows,
        along=reader.along,
        of=reader.of,
        scales_rows=row == FACTOR,
        lets_through=one == FACTOR,
    )


class _ExpressionReader:
    """Goes over the tokens of an expression once."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens, self.at = tokens, 0
        self.read: list[str] = []
        self.whole, self.rows, self.along, self.of = "", "", "", (0, 0)

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

    def expression(self, depth: int) -> Parts:
        """Operands with operators between them; how parts are in it."""
        need(depth < DEEPEST, "an expression is nested too deeply")
        found, sums = self.factor(depth), False
        while self.follows(" + ", " - ", " * ", " / "):
            operator = self.tokens[self.at - 1]
            sums = sums or operator in (" + ", " - ")
            found = _beside(found, self.factor(depth), divided=operator == " / ")
        return _beside(found, found, divided=False) if sums else found

    def factor(self, depth: int) -> Parts:
        """A number, an access, brackets or a function; how parts are in it."""
        token = self.next()
        if token.endswith("]"):
            self.read.append(token)
            return FREE, FACTOR
        if token == "(":
            found = self.expression(depth + 1)
            need(self.next() == ")", "a bracket is not closed")
            return found
        if token.endswith("("):
            return self.arguments(token, depth)
        need(token[0] in "0123456789", f"{token!r} is no operand")
        return FREE, FREE

    def arguments(self, function: str, depth: int) -> Parts:
        """What a function is of, up to its closing bracket; how parts are in it."""
        rows, before = function in ROWS, len(self.read)
        found = self.expression(depth + 1)
        if function not in SCALED:
            found = _beside(found, found, divided=False)
        while not rows and self.follows(", "):
            found = _beside(found, self.expression(depth + 1), divided=True)
        if rows:
            need(self.next() == ", ", "a function of rows needs their dim")
            dim = self.next()
            need(dim.isidentifier(), f"{dim!r} is no dim")
            need(not self.rows, "two functions of rows in one statement")
            self.rows, self.along, self.of = function, dim, (before, len(self.read))
            if self.follows(", "):
                need(self.next() == "whole", "rows are online or whole")
                self.whole = dim
            found = FACTOR, found[1]
        need(self.next() == ")", "a function is not closed")
        return found


def _beside(one: Parts, other: Parts, *, divided: bool) -> Parts:
    """How parts are in a product of two expressions, or in a quotient: as a factor, if one of them alone has it so."""
    first, second = (OTHER if b and (a or divided) else max(a, b) for a, b in zip(one, other, strict=True))
    return first, second
