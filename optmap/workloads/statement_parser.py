"""Statements as text: recursive descent over the tokens of one text, which is never evaluated.

chain      = statement { ";" statement }
statement  = access ( "=" | "+=" | "max=" | "min=" ) expression [ "if" comparison { "and" comparison } ]
expression = term { ( "+" | "-" ) term }       term = factor { ( "*" | "/" ) factor }
factor     = number | access | "(" expression ")"
| NAME "(" expression { "," expression } [ "," dim [ "," ( "online" | "whole" ) ] ] ")"
comparison = affine ( "<=" | "<" | ">=" | ">" | "==" ) affine
access     = NAME "[" [ subscript { "," subscript } ] "]"       subscript = affine [ "in" number ".." number ]
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

from optmap.base.errors import ParseError
from optmap.base.names import suggestion
from optmap.base.values import LARGEST
from optmap.workloads.access import Range, Subscript, TensorAccess
from optmap.workloads.domain import Comparator, Condition
from optmap.workloads.expression import (
    FUNCTIONS,
    ROW_FUNCTIONS,
    Apply,
    Constant,
    Expression,
    OperandSeries,
    Read,
    Statistic,
)
from optmap.workloads.statement import Update
from optmap.workloads.tokens import Token, tokens, whole

SYMBOLS = ("+=", "=", "*", "+", ",", "[", "]", "..", "-", "/", "(", ")", "<", ">", ";", ".")
HINTS = {
    "-": "coefficients and offsets are not negative; shift the index so that it starts at 0",
    "/": "a subscript is a sum of dims with whole coefficients, such as 2*h+r",
    "%": "a subscript is a sum of dims with whole coefficients, such as 2*h+r",
    ".": "numbers are whole",
    "(": "subscripts stand in [ ]",
    ")": "subscripts stand in [ ]",
    ";": "another statement follows it, or it is left out",
    "\N{MIDDLE DOT}": "write * for a product",
    "\N{MULTIPLICATION SIGN}": "write * for a product",
}
OTHERWISE = "names, whole numbers and += = * + , [ ] are understood"
OUT_OF_PLACE = frozenset("-/.();<>")
"""Symbols that few texts have: where one cannot stand, that is explained rather than what is missing."""
COMPARISONS = {"<": (Comparator.LESS, Comparator.AT_MOST), ">": (Comparator.MORE, Comparator.AT_LEAST)}
"""Per first symbol the comparison without and with `=` after it."""
DEEPEST = 64
"""Brackets within brackets that are read."""

Place = tuple[str, int]
"""A text and the index of a character in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """One statement as it is written; elements have no size yet."""

    accesses: tuple[TensorAccess, ...]
    """Output first."""
    right: Expression
    update: Update
    sign: str
    """`=`, `+=`, or empty for a maximum or minimum."""
    domain: tuple[Condition, ...]
    places: tuple[Place, ...]
    """Where each access begins."""
    operator: Place


def read_statements(
    text: str, positions: dict[str, Place], ranks: dict[str, int], parts: dict[int, Place]
) -> list[Parsed]:
    """The statements of one text.

    Args:
        text: the notation, white space replaced by blanks.
        positions: filled with the first place of every dim.
        ranks: filled with the number of subscripts of every tensor.
        parts: filled with the place of every part of an expression and every condition, by identity.

    Raises:
        ParseError: at the first character that cannot be read.
    """
    return _Parser(text, positions, ranks, parts).read()


class _Parser:
    """Reads the statements of one text, see `read_statements`."""

    def __init__(self, text: str, positions: dict[str, Place], ranks: dict[str, int], parts: dict[int, Place]) -> None:
        self.text = text
        self.tokens = tokens(text, SYMBOLS, HINTS, OTHERWISE)
        self.index = 0
        self.depth = 0
        self.comparing = False
        self.positions = positions
        self.ranks = ranks
        self.parts = parts
        self.accesses: list[TensorAccess] = []
        self.starts: list[Token] = []

    def read(self) -> list[Parsed]:
        found = [self.statement()]
        while (token := self.next()).kind != "end":
            if token.kind != ";":
                self.missing("'*' and another input, or the end", token)
            if self.peek().kind == "end":
                self.missing("the end", token)
            found.append(self.statement())
        return found

    def statement(self) -> Parsed:
        self.accesses, self.starts = [], []
        self.access()
        update, sign, operator = self.operator()
        right = self.expression()
        return Parsed(
            accesses=tuple(self.accesses),
            right=right,
            update=update,
            sign=sign,
            domain=self.domain(),
            places=tuple((self.text, start.position) for start in self.starts),
            operator=(self.text, operator.position),
        )

    def operator(self) -> tuple[Update, str, Token]:
        token = self.next()
        if token.text in ("max", "min") and self.peek().kind == "=" and self.peek().position == token.stop:
            self.next()
            return (Update.MAX if token.text == "max" else Update.MIN), "", token
        if token.kind not in ("+=", "="):
            self.missing("'+=' or '=' after the output", token)
        return Update.SUM, token.kind, token

    def domain(self) -> tuple[Condition, ...]:
        if self.peek().text != "if":
            return ()
        found: list[Condition] = []
        while not found or self.peek().text == "and":
            self.next()
            found.append(self.condition())
        return tuple(found)

    def condition(self) -> Condition:
        start, self.comparing = self.peek(), True
        left, comparator = self.affine(), self.comparator()
        condition = Condition(left=left, relation=comparator, right=self.affine())
        self.comparing = False
        self.parts[id(condition)] = (self.text, start.position)
        return condition

    def comparator(self) -> Comparator:
        token = self.next()
        equal = self.peek().kind == "=" and self.peek().position == token.stop
        if token.kind in COMPARISONS or (token.kind == "=" and equal):
            if equal:
                self.next()
            return COMPARISONS[token.kind][equal] if token.kind in COMPARISONS else Comparator.EQUAL
        self.missing(f"one of {', '.join(Comparator)}", token)

    def expression(self) -> Expression:
        """Terms, added and subtracted."""
        return self.series(self.term, ("+", "-"))

    def term(self) -> Expression:
        """Factors, multiplied and divided."""
        return self.series(self.factor, ("*", "/"))

    def series(self, operand: Callable[[], Expression], signs: tuple[str, str]) -> Expression:
        start = self.peek()
        first = operand()
        rest: list[tuple[str, Expression]] = []
        while self.peek().kind in signs:
            sign = self.next().kind
            rest.append((sign, operand()))
        return self.placed(OperandSeries(first, tuple(rest)), start) if rest else first

    def factor(self) -> Expression:
        token = self.peek()
        if token.kind == "number":
            return self.constant()
        if token.kind == "(" or (token.kind == "name" and self.ahead().kind == "("):
            self.depth += 1
            if self.depth > DEEPEST:
                self.fail(f"more than {DEEPEST} brackets within brackets", token)
            found = self.brackets() if token.kind == "(" else self.function()
            self.depth -= 1
            return found
        if token.kind in ("+", "-"):
            self.fail(f"unexpected {token}: a sign stands between two terms, as in 2 - A[i]", token)
        self.access()
        return self.placed(Read(len(self.accesses) - 2), token)

    def brackets(self) -> Expression:
        self.next()
        found = self.expression()
        self.closing()
        return found

    def constant(self) -> Expression:
        start = self.next()
        text = start.text
        if self.peek().kind == "." and self.peek().position == start.stop:
            point = self.next()
            decimals = self.expect("number", f"digits after '{text}.'")
            if decimals.position != point.stop:
                self.fail(f"expected digits after '{text}.', found a blank", point)
            text = f"{text}.{decimals.text}"
        return self.placed(Constant(text), start)

    def function(self) -> Expression:
        name = self.next()
        if name.text not in FUNCTIONS and name.text not in ROW_FUNCTIONS:
            near = suggestion(name.text, (*FUNCTIONS, *ROW_FUNCTIONS))
            self.fail(f"unexpected '(': {HINTS['(']}, and no function is called {name.text}{near}", self.peek())
        self.next()
        arguments = [self.expression()]
        dim, statistic = "", Statistic.ONLINE
        while self.peek().kind == ",":
            self.next()
            if self.peek().kind == "name" and self.ahead().kind not in ("[", "("):
                dim = self.next().text
                if self.peek().kind == ",":
                    self.next()
                    statistic = self.statistic()
                break
            arguments.append(self.expression())
        self.closing()
        return self.placed(Apply(name.text, tuple(arguments), dim, statistic), name)

    def statistic(self) -> Statistic:
        token = self.next()
        if token.text not in list(Statistic):
            self.missing(f"{' or '.join(Statistic)} after the dim of a row", token)
        return Statistic(token.text)

    def closing(self) -> None:
        token = self.next()
        if token.kind != ")":
            self.fail(f"expected ')', found {token}", token)

    def access(self) -> None:
        """One more access of the statement, the output first."""
        name = self.expect("name", "a tensor, as in A[i,k]")
        self.expect("[", f"'[' after tensor {name.text}")
        axes: list[Subscript] = []
        if self.peek().kind == "]":
            self.next()
        else:
            while True:
                axes.append(self.subscript())
                closing = self.next()
                if closing.kind == "]":
                    break
                if closing.kind != ",":
                    self.missing(f"'+', ',' or ']' in the subscripts of {name.text}", closing)
        if self.accesses and name.text == self.accesses[0].name:
            self.fail(f"output {name.text} is read on the right; name the input differently", name)
        if self.ranks.setdefault(name.text, len(axes)) != len(axes):
            self.fail(f"{name.text} has {self.ranks[name.text]} subscripts before and {len(axes)} here", name)
        self.accesses.append(TensorAccess(name=name.text, axes=tuple(axes)))
        self.starts.append(name)

    def subscript(self) -> Subscript:
        axis = self.affine()
        return Subscript(terms=axis.terms, offset=axis.offset, real=self.real())

    def affine(self) -> Subscript:
        terms: dict[str, int] = {}
        offset = 0
        while True:
            start = self.peek()
            dim, factor = self.multiple()
            if dim is None:
                offset += factor
            else:
                terms[dim] = terms.get(dim, 0) + factor
            if max(offset, *terms.values(), 0) > LARGEST:
                self.fail("coefficients and offsets go up to 2^63-1", start)
            if self.peek().kind != "+":
                return Subscript(terms=tuple(terms.items()), offset=offset)
            self.next()

    def real(self) -> Range | None:
        """`in 1..7` after a subscript: its real values, the others being implicit padding."""
        if not self.at_range():
            return None
        self.next()
        ends: list[int] = []
        for what in ("the first real value, as in 1..7", "the last real value, as in 1..7"):
            if ends:
                self.expect("..", "'..' between the first and the last real value")
            ends.append(whole(self.text, self.expect("number", what), "a real value", least=0))
        return ends[0], ends[1]

    def at_range(self) -> bool:
        """Whether the next tokens are `in` and a number (`in` alone may be a dim)."""
        return self.peek().text == "in" and self.ahead().kind == "number"

    def multiple(self) -> tuple[str | None, int]:
        """A dim with its coefficient, or a number alone."""
        dim: str | None = None
        factor = 1
        start = self.peek()
        while True:
            token = self.next()
            if token.kind == "number":
                factor *= whole(self.text, token, "a coefficient or offset", least=0)
            elif token.kind == "name" and dim is None:
                dim = token.text
                self.positions.setdefault(dim, (self.text, token.position))
            elif token.kind == "name":
                self.fail(f"{dim}*{token.text} is a product of dims; subscripts are sums such as 2*{dim}+1", token)
            else:
                self.missing("a dim or a whole number", token)
            follows = self.peek()
            if follows.kind == "*":
                self.next()
            elif token.kind != "number" or follows.kind != "name" or self.at_word():  # 2h needs no *
                break
        if dim is not None and factor == 0:
            self.fail(f"coefficient 0 removes dim {dim}; leave the term out", start)
        return dim, factor

    def at_word(self) -> bool:
        """Whether a name after a number is no dim: the `in` of a range, or the `and` of a condition."""
        return self.at_range() or (self.comparing and self.peek().text == "and")

    def placed(self, part: Expression, token: Token) -> Expression:
        self.parts[id(part)] = (self.text, token.position)
        return part

    def peek(self) -> Token:
        return self.tokens[self.index]

    def ahead(self) -> Token:
        """The token after the next one."""
        return self.tokens[min(self.index + 1, len(self.tokens) - 1)]

    def next(self) -> Token:
        token = self.tokens[self.index]
        self.index = min(self.index + 1, len(self.tokens) - 1)
        return token

    def expect(self, kind: str, what: str) -> Token:
        token = self.next()
        if token.kind != kind:
            self.missing(what, token)
        return token

    def missing(self, what: str, token: Token) -> NoReturn:
        """Refuse a token: by itself where it is one that has its place elsewhere, else by what should be there."""
        if token.kind in OUT_OF_PLACE:
            self.fail(f"unexpected {token}: {HINTS.get(token.kind, OTHERWISE)}", token)
        self.fail(f"expected {what}, found {token}", token)

    def fail(self, message: str, token: Token) -> NoReturn:
        raise ParseError(message, self.text, token.position)
