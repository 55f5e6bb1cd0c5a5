"""Workload and machine files: YAML, read strictly.

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
from optmap.problem.machine import Capacity, Level, LevelKind, Machine, Microkernel, Partition
from optmap.problem.parser import parse_workload
from optmap.problem.sizes import parse_capacity
from optmap.problem.workload import Padding, Semantics, Workload

MEMORY = "Memory"
"""Name of the unbounded memory unless a file says otherwise."""


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
            raise InputError(f"{where}: a mapping (key: value) is needed, not {_describe(value)}")
        for key in value:
            if not isinstance(key, str):
                raise InputError(f"{where}: key {key!r} is {_describe(key)}, not text; put it in quotes")
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
            raise InputError(f"{self.at(key)} is {_describe(value)}; text is needed (put it in quotes)")
        return value

    def integer(self, key: str, default: int | None = None, *, least: int = 1) -> int:
        """A field with a whole number, at least `least`."""
        value = self._value(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise InputError(f"{self.at(key)} is {_describe(value)}; a whole number, {least} or more, is needed")
        return value

    def number(self, key: str, default: float | None = None) -> float:
        """A field with a number; NaN, infinity and zero are for the caller to refuse."""
        value = self._value(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InputError(f"{self.at(key)} is {_describe(value)}; a number is needed")
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
            raise InputError(f"{self.at(key)} is {_describe(value)}; true or false is needed")
        return value

    def choice(self, key: str, known: Iterable[str], default: str) -> str:
        """A text field with one of a few values."""
        value = self._value(key, default)
        options = list(known)
        if value not in options:
            raise InputError(f"{self.at(key)} is {_describe(value)}; use {' or '.join(options)}")
        return str(value)

    def fields(self, key: str) -> Fields:
        """A field that is a mapping itself."""
        return Fields.of(self.get(key), self.at(key))

    def items(self, key: str) -> list[Fields]:
        """A field that is a list of mappings, with at least one."""
        value = self.get(key)
        if not isinstance(value, list) or not value:
            raise InputError(f"{self.at(key)} is {_describe(value)}; a list with at least one entry is needed")
        return [Fields.of(item, f"{self.at(key)}[{index}]") for index, item in enumerate(value)]

    def _value(self, key: str, default: Hashable) -> object:
        return self.get(key) if default is None else self.values.get(key, default)


def _describe(value: object) -> str:
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
        raise _located(error, fields.where) from error
    return replace(workload, count=count)


def _extents(fields: Fields) -> dict[str, int]:
    return {dim: fields.integer(dim) for dim in fields.values}


def _element_size(fields: Fields) -> int | dict[str, int]:
    if isinstance(fields.values.get("bytes"), Mapping):
        return _extents(fields.fields("bytes"))
    return fields.integer("bytes", 4)


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


def _located(error: InputError, where: str) -> InputError:
    text = str(error)
    file = where.partition(": ")[0]
    return error if text.startswith(file) else InputError(f"{where}: {text}")


def read_machine(path: Path) -> Machine:
    """The machine of a file.

    Raises:
        InputError: naming file and field of the first thing that is wrong.
    """
    return machine_from(Fields.of(load_yaml(path), str(path)), default_name=path.stem)


def machine_from(fields: Fields, default_name: str) -> Machine:
    """A machine from `levels` (inner to outer), `cores` and the name of the `memory`.

    `cores` is the product of the fanouts: without explicit ones it becomes the fanout of the
    innermost shared level.

    Raises:
        InputError: naming file and field of the first thing that is wrong.
    """
    fields.allow("name", "cores", "levels", "memory", "description", "source")
    items = fields.items("levels")
    levels = tuple(_level(item) for item in items)
    if fields.has("cores"):
        explicit = any(item.has("fanout") for item in items)
        levels = _with_cores(levels, fields.integer("cores"), explicit=explicit, where=fields.at("cores"))
    try:
        return Machine(name=fields.text("name", default_name), levels=levels, memory=fields.text("memory", MEMORY))
    except InputError as error:
        raise _located(error, fields.where) from error


LEVEL_FIELDS = (
    "name",
    "capacity",
    "bandwidth",
    "kind",
    "shared",
    "inclusive",
    "energy_pj",
    "fanout",
    "microkernel",
    "partitions",
    "buffering",
)


def _level(fields: Fields) -> Level:
    fields.allow(*LEVEL_FIELDS)
    partitions = tuple(_partition(item) for item in fields.items("partitions")) if fields.has("partitions") else ()
    microkernel = None
    if fields.has("microkernel"):
        shape = fields.fields("microkernel")
        shape.allow("vector", "broadcast")
        microkernel = Microkernel(vector=shape.integer("vector"), broadcast=shape.integer("broadcast"))
    energy = None
    if fields.has("energy_pj"):
        energy = fields.number("energy_pj")
        if not 0 <= energy < math.inf:
            raise InputError(f"{fields.at('energy_pj')} is {energy}; a finite number, 0 or more, is needed")
    return Level(
        name=fields.text("name"),
        capacity=_capacity(fields) if fields.has("capacity") or not partitions else _together(partitions),
        bandwidth=fields.positive("bandwidth", 1.0),
        kind=LevelKind(fields.choice("kind", [k.value for k in LevelKind], LevelKind.SCRATCHPAD.value)),
        shared=fields.flag("shared", False),
        fanout=fields.integer("fanout", 1),
        inclusive=fields.flag("inclusive", True),
        energy_pj=energy,
        microkernel=microkernel,
        partitions=partitions,
        buffering=fields.integer("buffering", 1),
    )


def _partition(fields: Fields) -> Partition:
    """A part of a level: `{name: scratchpad, tensors: inputs, capacity: 256KiB}`."""
    fields.allow("name", "tensors", "capacity")
    tensors = fields.get("tensors")
    names = [tensors] if isinstance(tensors, str) else tensors
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise InputError(f"{fields.at('tensors')} is {_describe(tensors)}; write inputs, output or a list of tensors")
    return Partition(name=fields.text("name"), tensors=tuple(names), capacity=_capacity(fields))


def _together(partitions: tuple[Partition, ...]) -> Capacity:
    """The capacity of a level that is given by its partitions alone."""
    return Capacity(amount=sum(part.capacity.amount for part in partitions), unit=partitions[0].capacity.unit)


def _capacity(fields: Fields) -> Capacity:
    value = fields.get("capacity")
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = str(value)  # a bare number: the message about missing units is the right one
    if not isinstance(value, str):
        raise InputError(f"{fields.at('capacity')} is {_describe(value)}; write for example 32KiB or 8192w")
    try:
        return parse_capacity(value)
    except InputError as error:
        raise InputError(f"{fields.at('capacity')}: {error}") from error


def _with_cores(levels: tuple[Level, ...], cores: int, *, explicit: bool, where: str) -> tuple[Level, ...]:
    if explicit or cores == 1:
        product = math.prod(level.fanout for level in levels)
        if product != cores:
            raise InputError(f"{where} is {cores}, but the fanouts multiply to {product}; make them agree")
        return levels
    shared = next((index for index, level in enumerate(levels) if level.shared), None)
    if shared is None:
        raise InputError(f"{where} is {cores}, but no level is shared; write `shared: true` at the level they share")
    split = replace(levels[shared], fanout=cores)
    return (*levels[:shared], split, *levels[shared + 1 :])
