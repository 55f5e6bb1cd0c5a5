"""What can be set of a strategy: the fields of a frozen dataclass, from text or values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, fields
from typing import Any

from optmap.errors import InputError
from optmap.names import choose

WORDS = {"on": True, "true": True, "yes": True, "off": False, "false": False, "no": False}


def settings_of(kind: type, given: Mapping[str, object], method: str) -> Any:
    """The settings of a strategy.

    Args:
        kind: a dataclass with a default for every field, of type bool, int, float or str.
        given: values, or texts as `--set NAME=VALUE` has them; `-` and `_` are the same in names.
        method: name for messages.

    Raises:
        InputError: for a name that is none, or a value of another kind.
    """
    known = {own.name.replace("_", "-"): own for own in fields(kind)}
    if given and not known:
        raise InputError(f"method {method} has nothing to set; leave out --set {next(iter(given))}")
    values = {}
    for name, value in given.items():
        own = known[str(choose(f"setting of {method}", name.replace("_", "-"), known))]
        values[own.name] = _value(own, value, f"--set {name}={value}")
    return kind(**values)


def setting_texts(kind: type) -> dict[str, str]:
    """Names of the settings, each with its default as text."""
    return {own.name.replace("_", "-"): _text(own.default) for own in fields(kind)}


def _text(value: object) -> str:
    return ("on" if value else "off") if isinstance(value, bool) else str(value)


def _value(own: Field[Any], value: object, where: str) -> object:
    kind = type(own.default)
    if isinstance(value, str) and kind is not str:
        return _parsed(kind, value, where)
    if isinstance(value, kind) and not (kind is int and isinstance(value, bool)):
        return value
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    raise InputError(f"{where}: give {_kind(kind)}")


def _parsed(kind: type, text: str, where: str) -> object:
    try:
        return WORDS[text.lower()] if kind is bool else kind(text)
    except (KeyError, ValueError) as error:
        raise InputError(f"{where}: give {_kind(kind)}") from error


def _kind(kind: type) -> str:
    return {bool: "on or off", int: "a whole number", float: "a number", str: "a text"}[kind]
