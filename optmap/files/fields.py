"""Files are read field by field, strictly: a typo never becomes a default.

Unknown keys, missing keys and wrong types are errors that name file and field. Only what other tools write, and the
documents of `run` and `bench`, of which a few fields are read, may have keys that nobody here knows.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass

from optmap.base.errors import InputError, OneStatementError, TreeError, UnknownNameError
from optmap.base.names import choose
from optmap.base.values import nearest_float


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """A mapping from a file, read field by field; every error names file and field."""

    values: Mapping[str, object]
    where: str
    """File and path of fields to the mapping, as in `x.yaml: levels[0]`."""

    @classmethod
    def of(cls, value: object, where: str) -> Fields:
        """Wrap a value that has to be a mapping with text keys.

        Raises:
            InputError: if it is something else.
        """
        if not isinstance(value, Mapping):
            raise InputError(f"{where}: a mapping (key: value) is needed, not {describe(value)}")
        for key in value:
            if not isinstance(key, str):
                raise InputError(f"{where}: key {key!r} is {describe(key)}, not text; put it in quotes")
        return cls(values=value, where=where)

    def allow(self, *known: str) -> None:
        """Refuse every key that is not among `known`, suggesting the nearest one.

        Raises:
            InputError: naming the first unknown key.
        """
        for key in self.values:
            choose("key", key, known, where=self.where)

    def at(self, key: str) -> str:
        """File and path of a field, for messages."""
        return f"{self.where}{'.' if ': ' in self.where else ': '}{key}"

    def has(self, key: str) -> bool:
        """Whether the field is there."""
        return key in self.values

    def get(self, key: str) -> object:
        """The raw value of a field that has to be there.

        Raises:
            InputError: if it is missing.
        """
        if key not in self.values:
            raise InputError(f"{self.where}: {key} is missing")
        return self.values[key]

    def text(self, key: str, default: str | None = None) -> str:
        """A text field; without a default it has to be there."""
        value = self._value(key, default)
        if not isinstance(value, str):
            raise InputError(f"{self.at(key)} is {describe(value)}; text is needed (put it in quotes)")
        return value

    def integer(self, key: str, default: int | None = None, *, least: int = 1) -> int:
        """A field with a whole number, at least `least`."""
        value = self._value(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise InputError(f"{self.at(key)} is {describe(value)}; a whole number, {least} or more, is needed")
        return value

    def number(self, key: str, default: float | None = None) -> float:
        """A field with a number; NaN, infinity and zero are for the caller to refuse."""
        value = self._value(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InputError(f"{self.at(key)} is {describe(value)}; a number is needed")
        return nearest_float(value)

    def positive(self, key: str, default: float | None = None) -> float:
        """A field with a positive finite number."""
        value = self.number(key, default)
        if not 0 < value < math.inf:
            raise InputError(f"{self.at(key)} is {value}; a positive finite number is needed")
        return value

    def flag(self, key: str, default: bool | None = None) -> bool:
        """A field that is true or false."""
        value = self._value(key, default)
        if not isinstance(value, bool):
            raise InputError(f"{self.at(key)} is {describe(value)}; true or false is needed")
        return value

    def choice(self, key: str, known: Iterable[str], default: str) -> str:
        """A text field with one of a few values."""
        value = self._value(key, default)
        options = list(known)
        if not isinstance(value, str):
            raise InputError(f"{self.at(key)} is {describe(value)}; use {' or '.join(options)}")
        return choose(key, value, options, where=self.where)

    def fields(self, key: str) -> Fields:
        """A field that is a mapping itself."""
        return Fields.of(self.get(key), self.at(key))

    def items(self, key: str, *, least: int = 1) -> list[Fields]:
        """A field that is a list of mappings, with at least one unless `least` is 0."""
        value = self.get(key) if least or self.given(key) else []
        if not isinstance(value, list) or len(value) < least:
            needed = "a list with at least one entry" if least else "a list"
            raise InputError(f"{self.at(key)} is {describe(value)}; {needed} is needed")
        return [Fields.of(item, f"{self.at(key)}[{index}]") for index, item in enumerate(value)]

    def integers(self, key: str) -> dict[str, int]:
        """A field that is a mapping of whole numbers, 1 or more."""
        inside = self.fields(key)
        return {name: inside.integer(name) for name in inside.values}

    def note(self) -> str:
        """What a file says of itself in words, `description` and `source`; empty if it says nothing."""
        return " ".join(self.text(key, "").strip() for key in ("description", "source")).strip()

    def texts(self, key: str) -> tuple[str, ...]:
        """A field that is a list of texts.

        Raises:
            InputError: if it is something else.
        """
        value = self.get(key)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise InputError(f"{self.at(key)} is {value!r}; a list of texts is needed")
        return tuple(str(item) for item in value)

    def given(self, key: str) -> bool:
        """Whether the field is there and not empty; documents write null for what is left out."""
        return self.values.get(key) is not None

    def _value(self, key: str, default: Hashable) -> object:
        return self.get(key) if default is None else self.values.get(key, default)


def describe(value: object) -> str:
    """A value from a file, for messages."""
    if value == []:
        return "an empty list"
    names: tuple[tuple[type, str], ...] = ((Mapping, "a mapping"), (list, "a list"), (type(None), "empty"))
    return next((name for kind, name in names if isinstance(value, kind)), repr(value))


def entries(value: object, where: str) -> list[object]:
    """The entries of a value that has to be a list, whatever they are.

    Args:
        value: from a file.
        where: file and path of fields to it.

    Raises:
        InputError: if it is something else.
    """
    if not isinstance(value, list):
        raise InputError(f"{where} is {describe(value)}; a list is needed")
    return value


def located(error: InputError, where: str) -> InputError:
    """The error with file and field in front, unless it has the file already; kinds that others ask for stay."""
    if str(error).startswith(where.partition(": ")[0]):
        return error
    if isinstance(error, TreeError):
        return TreeError(error.kind, error.reason, where)
    kind = next((kind for kind in (UnknownNameError, OneStatementError) if isinstance(error, kind)), InputError)
    return kind(f"{where}: {error}")
