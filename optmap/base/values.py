"""Single values from outside: whole numbers and names, refused with what they belong to."""

from __future__ import annotations

import operator
import os
import re
from fractions import Fraction
from math import inf
from numbers import Real
from pathlib import Path

from optmap.base.errors import InputError

LARGEST = 2**63 - 1
"""Largest whole number that is taken from outside."""
SECONDS = {"": 1.0, "s": 1.0, "ms": 0.001, "min": 60.0, "h": 3600.0}
"""Seconds of what a time is said in."""
TimeInput = float | str
"""Seconds, or a text such as `60s`, `2min` or `1h`."""
LONGEST = 80
"""Characters of a value that a message quotes."""


def nearest_float(value: float | Fraction) -> float:
    """The float nearest to a number; infinite where it is too large for any."""
    try:
        return float(value)
    except OverflowError:
        return inf if value > 0 else -inf


def whole_number(value: object, what: str, *, least: int = 1) -> int:
    """The whole number that a value is: an `int`, or an integer of NumPy.

    Args:
        value: anything; `True` and `2.0` are no whole numbers.
        what: what it is, for the message.
        least: smallest number allowed; 2^63-1 is the largest.

    Raises:
        InputError: for anything else.
    """
    try:
        number = None if isinstance(value, bool) else operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = None
    if number is None or not least <= number <= LARGEST:
        raise InputError(f"{what} is {quoted(value)}; a whole number from {least} to 2^63-1 is needed")
    return number


def seconds(value: object, what: str) -> float:
    """A limit of time, in seconds: a positive number of them, infinity for none, or a text such as `3s` or `2min`.

    Args:
        value: anything; `True` is no number.
        what: what it is, for the message.

    Raises:
        InputError: for anything else.
    """
    if isinstance(value, str):
        if value.strip() == "inf":
            return inf
        found = re.fullmatch(r"\s*([0-9]{1,30}(?:\.[0-9]{0,30})?(?:e[0-9]{1,2})?)\s*([A-Za-z]*)\s*", value, re.ASCII)
        if found is None or found[2] not in SECONDS or not float(found[1]) > 0:
            raise InputError(f"{what} is {quoted(value)}; write a time above 0 such as 60s, 2min, 1h or 500ms")
        return float(found[1]) * SECONDS[found[2]]
    number = isinstance(value, Real) and not isinstance(value, bool)
    try:
        limit = float(value) if number else 0.0  # type: ignore[arg-type]
    except OverflowError:
        limit = inf if value > 0 else 0.0  # type: ignore[operator]
    if not limit > 0:
        raise InputError(f"{what} is {quoted(value)}; give a positive number of seconds")
    return limit


def positive_fraction(value: object, what: str) -> Fraction:
    """The exact number above 0 that a value is: `1/10`, `0.1`, a whole number, a `Fraction` or a float as it prints.

    Args:
        value: anything; `True` is no number.
        what: what it is, for the message.

    Raises:
        InputError: for anything else, or a numerator or denominator above 2^63-1.
    """
    text = str(value).strip() if isinstance(value, str | Real) and not isinstance(value, bool) else ""
    found = Fraction(0)
    if len(text) <= LONGEST and re.fullmatch(r"[0-9]+(/0*[1-9][0-9]*|\.[0-9]+)?([eE][+-]?[0-9]{1,2})?", text, re.ASCII):
        number, _, power = text.lower().partition("e")
        found = Fraction(number) * Fraction(10) ** int(power or 0)
    if not 0 < found.numerator <= LARGEST or found.denominator > LARGEST:
        raise InputError(f"{what} is {quoted(value)}; give a number above 0, such as 1/10 or 0.1")
    return found


def file_path(value: object, what: str = "path") -> Path:
    """The path that a value names.

    Args:
        value: a text or a `pathlib.Path`.
        what: what it is, for the message.

    Raises:
        InputError: for anything else, or what no file can be called.
    """
    text = os.fspath(value) if isinstance(value, str | os.PathLike) else None
    if not isinstance(text, str) or not text or "\0" in text:
        raise InputError(f"{what} is {quoted(value)}; the name of a file is needed")
    return Path(text)


def one_line(text: object, what: str, *, empty: bool = False) -> None:
    """Refuse a name that is no text, is empty, or does not print in one line as it is.

    Args:
        text: the name.
        what: what it names, for the message.
        empty: whether it may be empty.

    Raises:
        InputError: for such a name.
    """
    if not isinstance(text, str) or not (text or empty) or not text.isprintable():
        raise InputError(f"the name of {what} is {quoted(text)}; printable text in one line is needed")


def quoted(value: object) -> str:
    """A value as a message quotes it: ASCII, escaped, and not longer than a line."""
    text = f"a number of {value.bit_length()} bits" if isinstance(value, int) and abs(value) > 2**128 else ascii(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."
