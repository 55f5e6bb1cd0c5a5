"""The short notation: `Out[n,k,h,w] += In[n,c,2*h+r,2*w+s] * Ker[k,c,r,s]` and einsum strings.

Text is tokenised and parsed here by hand; it is never evaluated. Every error points at the
character it is about.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import NoReturn

from optmap.errors import InputError, ParseError
from optmap.problem.sizes import element_bits
from optmap.problem.workload import LARGEST_EXTENT, Axis, Range, Semantics, TensorAccess, Workload, extents_in_order

Bytes = float | Fraction | Mapping[str, float | Fraction]
"""Element sizes in bytes: of all tensors, or per tensor."""
DIGITS = frozenset("0123456789")
SYMBOLS = ("+=", "=", "*", "+", ",", "[", "]", "..")
EXTENT = "a whole number from 1 to 2^63-1"
HINTS = {
    "-": "coefficients and offsets are not negative; shift the index so that it starts at 0",
    "/": "a subscript is a sum of dims with whole coefficients, such as 2*h+r",
    "%": "a subscript is a sum of dims with whole coefficients, such as 2*h+r",
    ".": "numbers are whole",
    "(": "subscripts stand in [ ]",
    ")": "subscripts stand in [ ]",
    "\N{MIDDLE DOT}": "write * for a product",
    "\N{MULTIPLICATION SIGN}": "write * for a product",
}

EXTENT_HINTS = dict.fromkeys("-.", f"an extent is {EXTENT}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A piece of the notation."""

    kind: str
    """`name`, `number`, `end`, or the symbol itself."""
    text: str
    position: int
    """Index of its first character in the input."""

    def __str__(self) -> str:
        return "the end" if self.kind == "end" else f"'{self.text}'"


def parse_workload(
    text: str,
    extents: Mapping[str, int],
    *,
    name: str = "",
    bytes: Bytes = 4,
    semantics: Semantics | None = None,
) -> Workload:
    """Read a workload in optmap notation or as an einsum string.

    A statement is `Out[...] += In[...] * ...` (`+=` accumulates, `=` assigns) with affine
    subscripts: sums of dims with coefficients (`2*h`, `2h`, `h*2`) and whole constants. `h+r in 1..7`
    says which values of a subscript are elements; the others are implicit padding. An einsum
    string such as `ik,kj->ij` names its inputs A, B, C … and its output Out.

    Args:
        text: the notation.
        extents: iterations per dim, of exactly the dims used; its order is the order of dims.
        name: what the workload is called in reports.
        bytes: element size in bytes, of all tensors or per tensor name (others have 4); whole, or
            a multiple of 1/8 such as 0.5 for four bits.
        semantics: overrules what `+=` or `=` say; an einsum string accumulates without it.

    Raises:
        ParseError: at the first character that cannot be read, or a dim without extent.
        InputError: for an extent that is no whole positive number, an element size that is no
            whole number of bits, an extent or element size of a dim or tensor that does not occur.
    """
    text = "".join(" " if c.isspace() else c for c in text)  # same length: carets stay in place
    positions: dict[str, int] = {}
    if "[" in text or "=" in text:
        tokens = _tokens(text, HINTS, "names, whole numbers and += = * + , [ ] are understood")
        accesses, written = _Statement(text, tokens, positions).read()
    else:
        accesses, written = _einsum(text, positions), Semantics.ACCUMULATE
    for dim, position in positions.items():
        if dim not in extents:
            raise ParseError(f"no extent for dim {dim}; add {dim}=<size>", text, position)
    if not positions:
        raise ParseError("no dim in any subscript; a workload needs at least one loop", text, 0)
    extents_in_order(positions, extents)  # refuses an extent of a dim that does not occur
    sized = _with_bytes(accesses, bytes)
    return Workload.product(
        name=name,
        output=sized[0],
        inputs=tuple(sized[1:]),
        sizes=tuple(extents.items()),
        semantics=semantics or written,
    )


def parse_extents(text: str) -> dict[str, int]:
    """Read `i=2000,j=1500` as extents per dim, in the order written.

    Raises:
        ParseError: for anything but `dim=size` pairs separated by commas, a dim given twice, or a
            size that is not a whole number from 1 to 2^63-1.
    """
    text = "".join(" " if c.isspace() else c for c in text)
    tokens = iter(_tokens(text, EXTENT_HINTS, "write dim=size pairs separated by commas"))
    extents: dict[str, int] = {}
    while True:
        dim = _expect(text, next(tokens), "name", "a dim, as in i=2000")
        if dim.text in extents:
            raise ParseError(f"dim {dim.text} has two extents; keep one", text, dim.position)
        _expect(text, next(tokens), "=", f"'=' after dim {dim.text}")
        number = _expect(text, next(tokens), "number", f"the extent of {dim.text}, {EXTENT}")
        extents[dim.text] = _whole(text, number, f"the extent of {dim.text}", least=1)
        separator = next(tokens)
        if separator.kind == "end":
            return extents
        _expect(text, separator, ",", "',' or the end")


def _tokens(text: str, hints: Mapping[str, str], otherwise: str) -> list[Token]:
    """The tokens of a text, closed by one of kind `end`; hints explain a character not understood."""
    tokens: list[Token] = []
    position = 0
    while position < len(text):
        char = text[position]
        stop = position + 1
        if char == " ":
            position = stop
            continue
        if char in DIGITS:
            while stop < len(text) and text[stop] in DIGITS:
                stop += 1
            kind = "number"
        elif char.isidentifier():
            while stop < len(text) and f"_{text[stop]}".isidentifier():
                stop += 1
            kind = "name"
        else:
            kind = next((s for s in SYMBOLS if text.startswith(s, position)), "")
            if not kind:
                raise ParseError(f"unexpected '{char}': {hints.get(char, otherwise)}", text, position)
            stop = position + len(kind)
        tokens.append(Token(kind=kind, text=text[position:stop], position=position))
        position = stop
    tokens.append(Token(kind="end", text="", position=len(text.rstrip())))
    return tokens


def _expect(text: str, token: Token, kind: str, what: str) -> Token:
    if token.kind != kind:
        raise ParseError(f"expected {what}, found {token}", text, token.position)
    return token


def _whole(text: str, token: Token, what: str, least: int) -> int:
    digits = token.text.lstrip("0") or "0"
    value = int(digits) if len(digits) <= 19 else LARGEST_EXTENT + 1  # int() of long text is slow or refused
    if not least <= value <= LARGEST_EXTENT:
        raise ParseError(f"{what} must be a whole number from {least} to 2^63-1", text, token.position)
    return value


class _Statement:
    """Recursive descent over the tokens of one statement."""

    def __init__(self, text: str, tokens: list[Token], positions: dict[str, int]) -> None:
        self.text = text
        self.tokens = tokens
        self.index = 0
        self.positions = positions
        """Filled with the first position of every dim."""

    def read(self) -> tuple[list[TensorAccess], Semantics]:
        accesses = [self.access({})]
        operator = self.next()
        if operator.kind not in ("+=", "="):
            self.fail(f"expected '+=' or '=' after the output, found {operator}", operator)
        ranks: dict[str, int] = {}
        while True:
            token = self.peek()
            accesses.append(self.access(ranks))
            if accesses[-1].name == accesses[0].name:
                self.fail(f"output {token.text} is read on the right; name the input differently", token)
            separator = self.next()
            if separator.kind == "end":
                break
            if separator.kind != "*":
                self.fail(f"expected '*' and another input, or the end, found {separator}", separator)
        return accesses, Semantics.ACCUMULATE if operator.kind == "+=" else Semantics.ASSIGN

    def access(self, ranks: dict[str, int]) -> TensorAccess:
        name = self.expect("name", "a tensor, as in A[i,k]")
        self.expect("[", f"'[' after tensor {name.text}")
        axes: list[Axis] = []
        if self.peek().kind == "]":
            self.next()
        else:
            while True:
                axes.append(self.subscript())
                closing = self.next()
                if closing.kind == "]":
                    break
                if closing.kind != ",":
                    self.fail(f"expected '+', ',' or ']' in the subscripts of {name.text}, found {closing}", closing)
        if ranks.setdefault(name.text, len(axes)) != len(axes):
            self.fail(f"{name.text} has {ranks[name.text]} subscripts before and {len(axes)} here", name)
        return TensorAccess(name=name.text, axes=tuple(axes))

    def subscript(self) -> Axis:
        terms: dict[str, int] = {}
        offset = 0
        while True:
            start = self.peek()
            dim, factor = self.term()
            if dim is None:
                offset += factor
            else:
                terms[dim] = terms.get(dim, 0) + factor
            if max(offset, *terms.values(), 0) > LARGEST_EXTENT:
                self.fail("coefficients and offsets go up to 2^63-1", start)
            if self.peek().kind != "+":
                return Axis(terms=tuple(terms.items()), offset=offset, real=self.real())
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
            ends.append(_whole(self.text, self.expect("number", what), "a real value", least=0))
        return ends[0], ends[1]

    def at_range(self) -> bool:
        """Whether the next tokens are `in` and a number (`in` alone may be a dim)."""
        following = self.tokens[min(self.index + 1, len(self.tokens) - 1)]
        return self.peek().text == "in" and following.kind == "number"

    def term(self) -> tuple[str | None, int]:
        dim: str | None = None
        factor = 1
        start = self.peek()
        while True:
            token = self.next()
            if token.kind == "number":
                factor *= _whole(self.text, token, "a coefficient or offset", least=0)
            elif token.kind == "name" and dim is None:
                dim = token.text
                self.positions.setdefault(dim, token.position)
            elif token.kind == "name":
                self.fail(f"{dim}*{token.text} is a product of dims; subscripts are sums such as 2*{dim}+1", token)
            else:
                self.fail(f"expected a dim or a whole number, found {token}", token)
            ahead = self.peek()
            if ahead.kind == "*":
                self.next()
            elif token.kind != "number" or ahead.kind != "name" or self.at_range():  # 2h needs no *
                break
        if dim is not None and factor == 0:
            self.fail(f"coefficient 0 removes dim {dim}; leave the term out", start)
        return dim, factor

    def peek(self) -> Token:
        return self.tokens[self.index]

    def next(self) -> Token:
        token = self.tokens[self.index]
        self.index = min(self.index + 1, len(self.tokens) - 1)
        return token

    def expect(self, kind: str, what: str) -> Token:
        return _expect(self.text, self.next(), kind, what)

    def fail(self, message: str, token: Token) -> NoReturn:
        raise ParseError(message, self.text, token.position)


def _einsum(text: str, positions: dict[str, int]) -> list[TensorAccess]:
    """The accesses of an einsum string, output first; fills in the first position of every dim."""
    if "..." in text:
        raise ParseError("an ellipsis has no names for its dims; write every letter", text, text.index("..."))
    inputs, arrow, output = text.partition("->")
    if not arrow:
        raise ParseError(
            "expected a statement such as C[i,j] += A[i,k]*B[k,j], or an einsum string with its output "
            "written out, such as ik,kj->ij",
            text,
            len(text.rstrip()),
        )
    accesses: list[TensorAccess] = []
    position = 0
    for number, operand in enumerate(inputs.split(",")):
        name = chr(ord("A") + number) if number < 26 else f"T{number}"
        accesses.append(_operand(text, operand, position, name, positions))
        position += len(operand) + 1
    known = set(positions)
    start = len(inputs) + len(arrow)
    result = _operand(text, output, start, "Out", positions)
    letters = [c for c in output if c != " "]
    for letter in letters:
        if letter not in known:
            raise ParseError(f"dim {letter} of the output is in no input", text, start + output.index(letter))
        if letters.count(letter) > 1:
            raise ParseError(f"dim {letter} occurs twice in the output", text, start + output.rindex(letter))
    return [result, *accesses]


def _operand(text: str, operand: str, start: int, name: str, positions: dict[str, int]) -> TensorAccess:
    axes: list[Axis] = []
    for position, char in enumerate(operand, start):
        if char == " ":
            continue
        if not char.isidentifier() or char == "_":
            raise ParseError(f"unexpected '{char}': an einsum dim is one letter, as in ik,kj->ij", text, position)
        positions.setdefault(char, position)
        axes.append(Axis(terms=((char, 1),)))
    return TensorAccess(name=name, axes=tuple(axes))


def _with_bytes(accesses: list[TensorAccess], sizes: Bytes) -> list[TensorAccess]:
    names = list(dict.fromkeys(a.name for a in accesses))
    if isinstance(sizes, Mapping):
        unknown = [t for t in sizes if t not in names]
        if unknown:
            raise InputError(f"bytes given for {unknown[0]!r}, which is no tensor; tensors are {', '.join(names)}")
        per_tensor = {t: sizes.get(t, 4) for t in names}
    else:
        per_tensor = dict.fromkeys(names, sizes)
    bits = {tensor: element_bits(size, f"element size of {tensor}") for tensor, size in per_tensor.items()}
    return [TensorAccess(name=a.name, axes=a.axes, bits=bits[a.name]) for a in accesses]
