"""Shapes: what kind of value something in a document must be.

A *shape* is a function (value, where) that refuses a value which is not of its kind. `true` is no
number, an empty object is no list, and a key too many is refused like one too few; hence everything
after this may rely on the kinds of values and decide about their truth alone.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

from .tools import LARGEST, RefusedError, digest, need, whole

Shape = Callable[[Any, str], object]


def text(value: Any, where: str) -> None:
    """Any text."""
    if type(value) is not str:
        raise RefusedError(f"{where} is {value!r}; a text is needed")


def name(value: Any, where: str) -> None:
    """A text that is not empty."""
    if type(value) is not str or not value:
        raise RefusedError(f"{where} is {value!r}; a name is needed")


def flag(value: Any, where: str) -> None:
    """True or false."""
    if type(value) is not bool:
        raise RefusedError(f"{where} is {value!r}; true or false is needed")


def integer(value: Any, where: str) -> None:
    """A whole number of either sign."""
    if type(value) is not int or abs(value) >= LARGEST:
        raise RefusedError(f"{where} is {value!r}; a whole number is needed")


def count(value: Any, where: str) -> None:
    """A whole number from 0 on."""
    whole(value, where)


def positive(value: Any, where: str) -> None:
    """A whole number from 1 on."""
    whole(value, where, 1)


def number(value: Any, where: str) -> None:
    """A finite number from 0 on, whole or not."""
    if type(value) not in (int, float) or not 0 <= value < inf:
        raise RefusedError(f"{where} is {value!r}; a finite number >= 0 is needed")


def rate(value: Any, where: str) -> None:
    """A finite number above 0."""
    number(value, where)
    if value == 0:
        raise RefusedError(f"{where} is {value!r}; it must be positive")


def plain(value: Any, where: str) -> None:
    """A text, true or false, or a finite number of either sign."""
    if type(value) not in (str, bool, int, float) or (type(value) is float and not abs(value) < inf):
        raise RefusedError(f"{where} is {value!r}; a text, true or false, or a finite number is needed")


def anything(value: Any, where: str) -> None:
    """What has a form of its own, checked elsewhere."""


def word(*known: str) -> Shape:
    """One of a few texts."""

    def shape(value: Any, where: str) -> None:
        if type(value) is not str or value not in known:
            raise RefusedError(f"{where} is {value!r}; it must be {' or '.join(known)}")

    return shape


def maybe(inner: Shape) -> Shape:
    """Null, or what the inner shape says."""

    def shape(value: Any, where: str) -> None:
        if value is not None:
            inner(value, where)

    return shape


def many(inner: Shape, least: int = 0) -> Shape:
    """A list with at least `least` entries."""

    def shape(value: Any, where: str) -> None:
        if type(value) is not list or len(value) < least:
            raise RefusedError(f"{where} must be a list of {least} entries or more")
        for index, item in enumerate(value):
            inner(item, f"{where}[{index}]")

    return shape


def row(*inner: Shape) -> Shape:
    """A list with one entry per shape."""

    def shape(value: Any, where: str) -> None:
        if type(value) is not list or len(value) != len(inner):
            raise RefusedError(f"{where} must be a list of {len(inner)} entries")
        for index, (each, item) in enumerate(zip(inner, value, strict=True)):
            each(item, f"{where}[{index}]")

    return shape


def table(inner: Shape, least: int = 0) -> Shape:
    """An object with names of its own and at least `least` of them."""

    def shape(value: Any, where: str) -> None:
        if type(value) is not dict or len(value) < least:
            raise RefusedError(f"{where} must be an object of {least} entries or more")
        for key, item in value.items():
            name(key, f"a key of {where}")
            inner(item, f"{where}.{key}")

    return shape


def record(**fields: Shape) -> Shape:
    """An object with exactly these keys."""
    return records(fields)


def records(*forms: dict[str, Shape]) -> Shape:
    """An object with exactly the keys of one of the forms."""

    def shape(value: Any, where: str) -> None:
        if type(value) is not dict:
            raise RefusedError(f"{where} must be an object")
        fields = next((form for form in forms if form.keys() == value.keys()), None)
        if fields is None:
            lacks, more = sorted(set(forms[0]) - set(value)), sorted(set(value) - set(forms[0]))
            wrong = [f"{', '.join(lacks)} missing"] * bool(lacks) + [f"{', '.join(more)} unknown"] * bool(more)
            raise RefusedError(f"{where or 'the document'}: the keys are wrong: {'; '.join(wrong)}")
        for key, inner in fields.items():
            inner(value[key], f"{where}.{key}" if where else key)

    return shape


def either(kind: type, first: Shape, second: Shape) -> Shape:
    """The first shape for values of a type, else the second."""

    def shape(value: Any, where: str) -> None:
        (first if type(value) is kind else second)(value, where)

    return shape


def check_form(document: Any, shape: Shape, unsigned: str = "") -> None:
    """The digest, if there is one, is that of the document without `unsigned`; then everything has its form."""
    need(type(document) is dict, "an object is needed")
    if type(document.get("digest")) is str:
        signed = {key: value for key, value in document.items() if key != unsigned}
        need(document["digest"] == digest(signed), "the digest is not that of the document: it was changed")
    shape(document, "")
