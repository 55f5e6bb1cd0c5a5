"""The pieces of short notation: names, whole numbers and symbols, each with its place in the text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from optmap.base.errors import ParseError
from optmap.base.values import LARGEST

DIGITS = frozenset("0123456789")


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A piece of the notation."""

    kind: str
    """`name`, `number`, `end`, or the symbol itself."""
    text: str
    position: int
    """Index of its first character in the input."""

    @property
    def stop(self) -> int:
        """Index of the first character after it."""
        return self.position + len(self.text)

    def __str__(self) -> str:
        return "the end" if self.kind == "end" else f"'{self.text}'"


def plain_blanks(text: str) -> str:
    """A text with a blank for every character of white space: carets below it stay in place."""
    return "".join(" " if c.isspace() else c for c in text)


def tokens(text: str, symbols: Iterable[str], hints: Mapping[str, str], otherwise: str) -> list[Token]:
    """The tokens of a text, closed by one of kind `end`.

    Args:
        text: the notation.
        symbols: what may stand beside names and whole numbers; of two that begin alike, the longer one first.
        hints: explain a character that is not understood.
        otherwise: explains every other one.

    Raises:
        ParseError: at a character that begins none of them.
    """
    found: list[Token] = []
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
            kind = next((s for s in symbols if text.startswith(s, position)), "")
            if not kind:
                raise ParseError(f"unexpected '{char}': {hints.get(char, otherwise)}", text, position)
            stop = position + len(kind)
        found.append(Token(kind=kind, text=text[position:stop], position=position))
        position = stop
    found.append(Token(kind="end", text="", position=len(text.rstrip())))
    return found


def expect(text: str, token: Token, kind: str, what: str) -> Token:
    """A token of a kind, or the error that says what should be there."""
    if token.kind != kind:
        raise ParseError(f"expected {what}, found {token}", text, token.position)
    return token


def whole(text: str, token: Token, what: str, least: int) -> int:
    """The whole number that a token is.

    Raises:
        ParseError: for one below `least` or above 2^63-1.
    """
    digits = token.text.lstrip("0") or "0"
    value = int(digits) if len(digits) <= 19 else LARGEST + 1  # int() of long text is slow or refused
    if not least <= value <= LARGEST:
        raise ParseError(f"{what} must be a whole number from {least} to 2^63-1", text, token.position)
    return value
