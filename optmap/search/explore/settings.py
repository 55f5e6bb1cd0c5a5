"""What can be set of a strategy: the fields of a frozen dataclass, from text or values."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from itertools import pairwise
from typing import Any, TypeVar

from optmap.base.errors import InputError
from optmap.base.names import choose

HELP = "help"
"""Where the metadata of a field say what it is for."""
T = TypeVar("T")
WORDS = {"on": True, "true": True, "yes": True, "off": False, "false": False, "no": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settable:
    """What can be set of a strategy."""

    name: str
    """As `--set NAME=VALUE` has it."""
    default: str
    """As text."""
    help: str
    """What it is for; empty if its field does not say."""


def setting(default: T, text: str) -> T:
    """A field of a dataclass of settings.

    Args:
        default: bool, int, float or str.
        text: what it is for, one line without a full stop, which lists of methods show.
    """
    made: T = field(default=default, metadata={HELP: text})
    return made


def settings_of(kind: type, given: Mapping[str, object], method: str) -> Any:
    """The settings of a strategy.

    Args:
        kind: a dataclass with a default for every field, of type bool, int, float or str.
        given: values, or texts as `--set NAME=VALUE` has them; `-` and `_` are the same in names.
        method: name for messages.

    Raises:
        InputError: for a name that is none, or a value of another kind.
    """
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise InputError(f"settings is {given!r}; give a mapping of names to values, such as {{'victory': 1000}}")
    known = {own.name.replace("_", "-"): own for own in fields(kind)}
    if given and not known:
        raise InputError(f"method {method} has nothing to set; leave out --set {next(iter(given))}")
    values = {}
    for name, value in given.items():
        own = known[str(choose(f"setting of {method}", name.replace("_", "-"), known))]
        values[own.name] = _value(own, value, f"--set {name}={value}")
    return kind(**values)


def described(kind: type) -> tuple[Settable, ...]:
    """What can be set, of a dataclass of settings; what it is for says `setting`, or the text below the field."""
    below = _texts_below(kind) if any(HELP not in own.metadata for own in fields(kind)) else {}
    return tuple(
        Settable(
            name=own.name.replace("_", "-"),
            default=setting_text(own.default),
            help=str(own.metadata.get(HELP, below.get(own.name, ""))),
        )
        for own in fields(kind)
    )


def _texts_below(kind: type) -> dict[str, str]:
    """The strings that stand below the fields of a class, in one line each; none of a class without its source."""
    try:
        body = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    except (OSError, TypeError, SyntaxError):
        return {}
    lines = body.body if isinstance(body, ast.ClassDef) else []
    return {
        own.target.id: " ".join(text.value.value.split())
        for own, text in pairwise(lines)
        if isinstance(own, ast.AnnAssign)
        and isinstance(own.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }


def values_of(settings: Any) -> dict[str, Any]:
    """Names of settings with their values, bool, int, float or str."""
    return {own.name.replace("_", "-"): getattr(settings, own.name) for own in fields(settings)}


def setting_text(value: object) -> str:
    """A value as `--set NAME=VALUE` has it."""
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
        if kind in (int, float) and not re.fullmatch(r"[-+.0-9a-zA-Z]+", text):
            raise ValueError(text)  # Python reads 1_000, too
        return WORDS[text.lower()] if kind is bool else kind(text)
    except (KeyError, ValueError) as error:
        raise InputError(f"{where}: give {_kind(kind)}") from error


def _kind(kind: type) -> str:
    return {bool: "on or off", int: "a whole number", float: "a number", str: "a text"}[kind]
