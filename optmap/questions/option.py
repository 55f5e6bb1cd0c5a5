"""Options of verbs, each declared once: Python, the shell, sweep files and their schema read the same entry.

A verb has a typed dictionary, whose entries say everything about one option; what verbs share has a name, and a verb
that means something else by part of it says that `Here`:

    CoresOption = Annotated[int, Opt(help="Cores to split the work over.", default=1, least=1)]

    class SolveOptions(TypedDict, total=False):
        cores: CoresOption

    class BoundOptions(TypedDict, total=False):
        cores: Annotated[CoresOption, Here(help="Of the time: cores that share the work.")]

`declared` reads the dictionary. `taking` gives a function of Python that takes `**options: Unpack[SolveOptions]` its
signature and the documentation of its arguments, `optmap.cli.options.taking` a command its options at the shell.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache
from inspect import Parameter, signature
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

from optmap.base.errors import InputError
from optmap.base.names import choose
from optmap.base.values import file_path, quoted, seconds, whole_number
from optmap.machines.machine import Machine
from optmap.questions.form import form_on

Verb = TypeVar("Verb", bound=Callable[..., Any])
Reader = Callable[[Any, str, str], Any]
"""Of a value that was given, the name of its option, and the file or place that it stands in (or nothing): the value
that is meant, or an `InputError`."""
ANY: Mapping[str, object] = MappingProxyType({})
PLACE_OF_OPTIONS = "**options:"
WIDTH = 120


def as_given(value: Any, _name: str, _where: str) -> Any:
    """The value itself; whoever uses it looks at it."""
    return value


def text(value: Any, name: str, where: str) -> str:
    """A text."""
    if not isinstance(value, str):
        raise InputError(f"{f'{where}: ' if where else ''}{name} is {quoted(value)}; a text is needed")
    return value


def whole(least: int = 1) -> Reader:
    """A whole number from `least` on."""
    return lambda value, name, where: whole_number(value, f"{where}: {name}" if where else name, least=least)


def path(value: Any, name: str, _where: str) -> Path:
    """The path of a file or a folder."""
    return file_path(value, name)


def word(known: Iterable[str]) -> Reader:
    """One of the known words, as a member of them if they are an enumeration."""

    def read(value: Any, name: str, where: str) -> Any:
        found = choose(name.replace("_", " "), value, known, where=where)
        return known(found) if isinstance(known, type) else found

    return read


def time(value: Any, name: str, where: str) -> float:
    """Seconds of a number or a text such as `2min`."""
    return seconds(value, f"{where}: {name}" if where else f"{name.replace('_', ' ')} (--{name.replace('_', '-')})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Opt:
    """What there is to say about one option."""

    help: str
    """What it does, in a sentence or two: the help of the shell, the documentation of Python, the schema."""
    default: Any = None
    """The value if it is left out."""
    detail: str = ""
    """What else Python's documentation and no help at the shell says."""
    typed: str = ""
    """What else the help of the shell says."""
    read: Reader | None = None
    """From what was given to what is meant; None for a whole number where `least` is said, for one of the `choices`
    where they are, and else for the value itself. Where it is left out as None, None stays what it is."""
    choices: type[StrEnum] | None = None
    """The words that it may be."""
    flag: str = ""
    """Its name at the shell, with the dashes, where that is not its own; several with blanks between."""
    metavar: str | None = None
    """What stands for its value in the help of the shell."""
    names: str = ""
    """What it names, as `list_names` calls it, or `levels` of the machine; a shell completes it."""
    shell: Any = str
    """Its type at the shell; None if the shell has no such option."""
    least: int | None = None
    """Of a whole number, the smallest."""
    most: int | None = None
    """Of a whole number, the largest that the shell takes."""
    meshes: bool | None = None
    """Whether it means something with meshes and prices only, or without; None if everywhere."""
    elsewhere: str = ""
    """What is said on the other machines; `{flag}`, `{value}` and `{machine}` stand for those."""
    hashed: bool = True
    """Whether digests of points always have it; one that came later is in them only where it asks for something."""
    write: Callable[[Any], object] = field(default=lambda value: value)
    """From its value to plain values of JSON."""
    schema: Mapping[str, object] = field(default_factory=lambda: ANY)
    """Its JSON Schema in sweep files, without description and default."""


class Here:
    """What one verb says otherwise of an option that others have, too.

    Args:
        **changes: fields of its `Opt`.
    """

    def __init__(self, **changes: Any) -> None:
        self.changes = changes


@dataclass(frozen=True, slots=True)
class Option:
    """One entry of a typed dictionary of options."""

    name: str
    kind: Any
    """Its type in Python."""
    opt: Opt

    @property
    def flag(self) -> str:
        """Its name at the shell."""
        return self.opt.flag or f"--{self.name.replace('_', '-')}"

    def asks(self, value: object) -> bool:
        """Whether a value asks for anything: the default, nothing and what is false do not."""
        return bool(value) and value != self.opt.default

    def read(self, given: Mapping[str, Any], where: str = "") -> Any:
        """Its value among those given, or its default.

        Raises:
            InputError: naming it, for a value that cannot be.
        """
        value = given.get(self.name, self.opt.default)
        if self.name not in given or (value is None and self.opt.default is None):
            return value
        return self._reader(value, self.name, where)

    @property
    def _reader(self) -> Reader:
        """What reads a value."""
        if self.opt.read is not None:
            return self.opt.read
        if self.opt.choices is not None:
            return word(self.opt.choices)
        return as_given if self.opt.least is None else whole(self.opt.least)

    def written(self, value: Any) -> object:
        """A value as plain values of JSON."""
        return value.value if isinstance(value, StrEnum) else self.opt.write(value)

    @property
    def schema(self) -> dict[str, object]:
        """Its JSON Schema."""
        known = {"enum": [each.value for each in self.opt.choices]} if self.opt.choices else {}
        number = {"type": "integer", "minimum": self.opt.least} if self.opt.least is not None else {}
        left_out = self.written(self.opt.default)
        default = {} if left_out in (None, (), []) else {"default": left_out}
        said = known or number or dict(self.opt.schema) or {"type": "string"}
        return {**said, **default, "description": self.opt.help}


@cache
def declared(options: type) -> Mapping[str, Option]:
    """The options that a typed dictionary declares, by name, in its order; those without an `Opt` are left out."""
    found = {}
    for name, hint in get_type_hints(options, include_extras=True).items():
        if get_origin(hint) is Annotated:
            kind, *said = get_args(hint)
            for each in said:
                if isinstance(each, Opt):
                    found[name] = Option(name, kind, each)
                elif isinstance(each, Here):
                    found[name] = replace(found[name], opt=replace(found[name].opt, **each.changes))
    return found


def values_of(options: Mapping[str, Option], given: Mapping[str, Any], where: str = "") -> dict[str, Any]:
    """The value of every option, read from those given.

    Raises:
        InputError: for a value that cannot be.
        TypeError: for a name that is none, as Python says it of an argument.
    """
    for name in given:
        if name not in options:
            raise TypeError(f"got an unexpected keyword argument {name!r}; known are {', '.join(options)}")
    return {name: option.read(given, where) for name, option in options.items()}


def refuse_elsewhere(options: Mapping[str, Option], machine: Machine, given: Mapping[str, Any]) -> None:
    """Refuse options that mean nothing on a machine.

    Args:
        options: those of the verb.
        machine: with or without meshes and prices.
        given: values by name.

    Raises:
        InputError: naming the option and why.
    """
    meshes = form_on(machine).meshes
    for name, option in options.items():
        means = option.opt.meshes
        if name in given and means not in (None, meshes) and option.asks(given[name]):
            raise InputError(option.opt.elsewhere.format(flag=option.flag, value=given[name], machine=machine.name))


def taking(options: type) -> Callable[[Verb], Verb]:
    """Give a function that takes `**options` the signature and the documentation of those of a typed dictionary.

    Its docstring has a line that begins with `**options:` where their documentation belongs.
    """

    def made(verb: Verb) -> Verb:
        known = declared(options)
        own = signature(verb)
        parameters = [each for each in own.parameters.values() if each.kind is not Parameter.VAR_KEYWORD]
        parameters += [
            Parameter(option.name, Parameter.KEYWORD_ONLY, default=option.opt.default, annotation=option.kind)
            for option in known.values()
        ]
        verb.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        if verb.__doc__:
            lines = verb.__doc__.split("\n")
            place = next(row for row, line in enumerate(lines) if line.strip().startswith(PLACE_OF_OPTIONS))
            lines[place : place + 1] = [line for option in known.values() for line in _documented(option)]
            verb.__doc__ = "\n".join(lines)
        return verb

    return made


def _documented(option: Option) -> list[str]:
    """An option as lines of a docstring."""
    text = f"{option.name}: {' '.join(filter(None, (option.opt.help, option.opt.detail)))}"
    return textwrap.wrap(text, WIDTH, initial_indent=" " * 8, subsequent_indent=" " * 12)
