"""Workload files, and what all files share: YAML, read strictly.

A typo never becomes a default: duplicate and unknown keys, missing keys and wrong types are
errors that name file and field.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import yaml

from optmap.errors import InputError
from optmap.names import choose
from optmap.problem.builders import BUILDERS
from optmap.problem.parser import parse_workload
from optmap.problem.sizes import element_bits
from optmap.problem.workload import Padding, Semantics, Workload, bytes_of


def load_yaml(path: Path) -> object:
    """The document in a YAML file, made of plain dicts, lists, texts and numbers.

    Raises:
        InputError: if the file cannot be read or is not one YAML document, or if a mapping has a
            key twice; names line and column.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from error
    try:
        loader = yaml.SafeLoader(text)
        try:
            node = loader.get_single_node()
            _refuse_duplicates(node, path, set())
            return None if node is None else loader.construct_document(node)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        raise InputError(f"{path}{where}: not valid YAML: {error.problem or error.context}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # ValueError: dates such as 2024-99-99
        raise InputError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from error


def _refuse_duplicates(node: yaml.Node | None, path: Path, seen: set[int]) -> None:
    """Raise if a mapping below `node` has two equal keys; PyYAML would keep the last."""
    if node is None or id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, yaml.MappingNode):
        keys: set[str] = set()
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in keys:
                    mark = key.start_mark
                    raise InputError(f"{path}:{mark.line + 1}:{mark.column + 1}: key {key.value!r} occurs twice")
                keys.add(key.value)
            _refuse_duplicates(value, path, seen)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            _refuse_duplicates(item, path, seen)


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
        try:
            return float(value)
        except OverflowError:
            return math.inf

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

    def items(self, key: str) -> list[Fields]:
        """A field that is a list of mappings, with at least one."""
        value = self.get(key)
        if not isinstance(value, list) or not value:
            raise InputError(f"{self.at(key)} is {describe(value)}; a list with at least one entry is needed")
        return [Fields.of(item, f"{self.at(key)}[{index}]") for index, item in enumerate(value)]

    def _value(self, key: str, default: Hashable) -> object:
        return self.get(key) if default is None else self.values.get(key, default)


def describe(value: object) -> str:
    """A value from a file, for messages."""
    names: tuple[tuple[type, str], ...] = ((Mapping, "a mapping"), (list, "a list"), (type(None), "empty"))
    return next((name for kind, name in names if isinstance(value, kind)), repr(value))


def read_workloads(path: Path) -> dict[str, Workload]:
    """Every workload of a file by its key; a file with a single workload has the key ``""``.

    Raises:
        InputError: naming file and field of the first thing that is wrong.
    """
    top = Fields.of(load_yaml(path), str(path))
    if not top.has("workloads"):
        return {"": workload_from(top, default_name=path.stem)}
    top.allow("workloads", "description", "source")
    table = top.fields("workloads")
    return {
        key: workload_from(Fields.of(value, table.at(key)), default_name=f"{path.stem}/{key}")
        for key, value in table.values.items()
    }


WORKLOAD_FIELDS = (
    "name",
    "expression",
    "extents",
    "bytes",
    "bits",
    "semantics",
    "padding",
    "count",
    "description",
    "source",
)


def workload_from(fields: Fields, default_name: str) -> Workload:
    """A workload from `expression` and `extents`, or from a builder's name and arguments.

    Raises:
        InputError: naming file and field of the first thing that is wrong.
    """
    fields.allow(*WORKLOAD_FIELDS, *BUILDERS)
    forms = [key for key in ("expression", *BUILDERS) if fields.has(key)]
    if len(forms) != 1:
        found = f"{' and '.join(forms)} exclude each other" if forms else "no workload here"
        raise InputError(f"{fields.where}: {found}; give expression and extents, or one of {', '.join(BUILDERS)}")
    name = fields.text("name", default_name)
    size = _element_size(fields)
    semantics = None
    if fields.has("semantics"):
        semantics = Semantics(fields.choice("semantics", [s.value for s in Semantics], ""))
    count = fields.integer("count", 1)
    try:
        if forms == ["expression"]:
            extents = _extents(fields.fields("extents"))
            workload = parse_workload(fields.text("expression"), extents, name=name, bytes=size, semantics=semantics)
        else:
            if fields.has("extents"):
                raise InputError(f"extents go with expression; sizes are arguments of {forms[0]}")
            arguments = _arguments(fields.fields(forms[0]), forms[0])
            workload = BUILDERS[forms[0]](
                **arguments, name=name, bytes=size, semantics=semantics or Semantics.ACCUMULATE
            )
        if fields.has("padding"):
            workload = workload.with_padding(fields.choice("padding", list(Padding), ""))
    except InputError as error:
        raise located(error, fields.where) from error
    return replace(workload, count=count)


def _extents(fields: Fields) -> dict[str, int]:
    return {dim: fields.integer(dim) for dim in fields.values}


def _element_size(fields: Fields) -> float | dict[str, float]:
    if fields.has("bits") and fields.has("bytes"):
        raise InputError(f"{fields.where}: bits and bytes exclude each other; keep one")
    return element_sizes(fields, "bits" if fields.has("bits") else "bytes")


def element_sizes(fields: Fields, key: str = "bytes") -> float | dict[str, float]:
    """Element sizes in bytes, of all tensors or per tensor; 4 if the field is not there.

    Args:
        fields: where the field may be.
        key: `bytes` (whole, or a multiple of 1/8) or `bits`.

    Raises:
        InputError: naming file and field.
    """
    if isinstance(fields.values.get(key), Mapping):
        inside = fields.fields(key)
        return {tensor: _element(inside, tensor, key) for tensor in inside.values}
    return _element(fields, key, key) if fields.has(key) else 4


def _element(fields: Fields, name: str, unit: str) -> float:
    return bytes_of(element_bits(fields.get(name), fields.at(name), unit=unit))


def _arguments(fields: Fields, builder: str) -> dict[str, object]:
    parameters = {
        key: parameter
        for key, parameter in inspect.signature(BUILDERS[builder]).parameters.items()
        if key not in ("name", "bytes", "semantics")
    }
    fields.allow(*parameters)
    for key, parameter in parameters.items():
        if parameter.default is inspect.Parameter.empty:
            fields.get(key)
    for key, value in fields.values.items():
        parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
        if any(isinstance(part, Mapping | list) for part in parts):
            raise InputError(f"{fields.at(key)} is nested; numbers, texts and lists of them are needed")
    return dict(fields.values)


def located(error: InputError, where: str) -> InputError:
    """The error with file and field in front, unless it has the file already."""
    text = str(error)
    file = where.partition(": ")[0]
    return error if text.startswith(file) else InputError(f"{where}: {text}")
