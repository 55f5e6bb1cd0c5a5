"""Sweep files: YAML with a published JSON Schema, read strictly."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from optmap.base.errors import InputError
from optmap.base.values import file_path, seconds
from optmap.files import library
from optmap.files.fields import Fields, located
from optmap.files.inputs import is_statement, products_of
from optmap.files.kinds import expected
from optmap.files.machines import machine_from
from optmap.files.reading import load_yaml
from optmap.files.workloads import read_workloads, workload_from
from optmap.machines.machine import Machine
from optmap.sweeps.machine_numbers import variants
from optmap.sweeps.spec import METRICS, MOST_POINTS, SCALES, SWEEP, Axis, Options, Refine, SweepSpec, default_methods
from optmap.workloads.amounts import Capacity
from optmap.workloads.parser import parse_workload
from optmap.workloads.sizes import parse_capacity
from optmap.workloads.workload import Semantics, Workload

KEYS = (
    "name",
    "description",
    "workloads",
    "extents",
    "semantics",
    "machines",
    "machine_numbers",
    "capacities",
    "methods",
    "options",
    "refine",
    "kill_after",
    "seed",
)
AXIS_KEYS = ("level", "from", "to", "points", "scale", "values")
REFINE_KEYS = ("metric", "tolerance", "most_points")


def spec_path(name: str | Path) -> Path:
    """The file of a sweep: a path, or the name of one in the library such as `yolo_caches`.

    Raises:
        InputError: if there is neither.
    """
    path = file_path(name, "sweep")
    if path.exists() or path.suffix in library.SUFFIXES or path.parent != Path():
        return path
    return library.models_path() / "sweeps" / f"{library.choose_entry('sweep', str(name), library.list_sweeps())}.yaml"


def read_spec(name: str | Path) -> SweepSpec:
    """Read a sweep file.

    Args:
        name: a YAML file, or the name of a sweep in the library.

    Raises:
        InputError: naming file and field of the first thing that is wrong.
    """
    path = spec_path(name)
    with expected(path, "a sweep", "sweep"):
        return spec_from(load_yaml(path), where=str(path), folder=path.parent, name=path.stem)


def spec_from(document: object, *, where: str = "sweep", folder: Path | None = None, name: str = "") -> SweepSpec:
    """A sweep from what a sweep file holds.

    Args:
        document: the mapping of the file, as plain dicts, lists, texts and numbers.
        where: name of the file in messages.
        folder: where relative workload and machine files are looked for first.
        name: name of the sweep unless it has its own.

    Raises:
        InputError: naming file and field of the first thing that is wrong.
    """
    top = Fields.of(document, where)
    top.allow(*KEYS)
    axis = _axis(top.fields("capacities")) if top.has("capacities") else None
    options = _options(top.fields("options")) if top.has("options") else Options()
    refine = _refine(top.fields("refine")) if top.has("refine") else None
    top.note()
    try:
        machines = _machines(top, folder)
        return SweepSpec(
            workloads=_workloads(top, folder),
            machines=machines,
            capacities=axis,
            methods=_texts(top, "methods") if top.has("methods") else default_methods(machines),
            options=options,
            seed=top.integer("seed", 0, least=0),
            refine=refine,
            kill_after=_time(top, "kill_after") if top.has("kill_after") else None,
            name=top.text("name", name),
        )
    except InputError as error:
        raise located(error, where) from error


def _axis(fields: Fields) -> Axis:
    fields.allow(*AXIS_KEYS)
    level = fields.text("level", "")
    if fields.has("values"):
        if fields.has("from") or fields.has("to") or fields.has("points"):
            raise InputError(f"{fields.where}: values and a range (from, to, points) exclude each other")
        values = tuple(_size(text, fields.at("values")) for text in _list(fields, "values"))
        least = min(values, key=lambda value: value.amount)
        most = max(values, key=lambda value: value.amount)
        return _made(fields, first=least, last=most, points=len(values), scale="log", level=level, values=values)
    points = fields.integer("points", 17)
    if points > MOST_POINTS:
        raise InputError(f"{fields.at('points')} is {points:,}; at most {MOST_POINTS:,} points fit in one sweep")
    return _made(
        fields,
        first=_size(fields.get("from"), fields.at("from")),
        last=_size(fields.get("to"), fields.at("to")),
        points=points,
        scale=fields.choice("scale", SCALES, "log"),
        level=level,
        values=(),
    )


def _made(
    fields: Fields,
    *,
    first: Capacity,
    last: Capacity,
    points: int,
    scale: str,
    level: str,
    values: tuple[Capacity, ...],
) -> Axis:
    try:
        return Axis(first=first, last=last, points=points, scale=scale, level=level, values=values)
    except InputError as error:
        raise located(error, fields.where.partition(": ")[0]) from error


def _size(value: object, where: str) -> Capacity:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise InputError(f"{where} is {value!r}; write an amount with its unit, such as 8192w or 32KiB")
    try:
        return parse_capacity(str(value))
    except InputError as error:
        raise InputError(f"{where}: {error}") from error


def _options(fields: Fields) -> Options:
    fields.allow(*SWEEP)
    try:
        given: dict[str, Any] = {name: fields.get(name) for name in fields.values}
        return Options(**given)
    except InputError as error:
        raise located(error, fields.where.partition(": ")[0]) from error


def _time(fields: Fields, key: str) -> float:
    """Seconds: a number of them, or a text such as `2min`."""
    value = fields.get(key)
    return seconds(value, fields.at(key)) if isinstance(value, str) else fields.positive(key)


def _refine(fields: Fields) -> Refine:
    fields.allow(*REFINE_KEYS)
    return Refine(
        metric=fields.choice("metric", METRICS, "gap"),
        tolerance=_share(fields, "tolerance") if fields.has("tolerance") else 0.01,
        most_points=fields.integer("most_points", 257, least=2),
    )


def _share(fields: Fields, key: str) -> float:
    """A number such as 0.01, or a percentage such as `1%`."""
    value = fields.get(key)
    if isinstance(value, str):
        found = re.fullmatch(r"\s*([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*%\s*", value)
        if found is None:
            raise InputError(f"{fields.at(key)} is {value!r}; write a number such as 0.01 or a percentage such as 1%")
        share = float(found[1]) / 100
    else:
        share = fields.number(key)
    if not 0 < share < math.inf:
        raise InputError(f"{fields.at(key)} is {value!r}; it must be more than 0")
    return share


def _list(fields: Fields, key: str) -> list[object]:
    value = fields.get(key)
    if isinstance(value, str):
        return [value]
    if not isinstance(value, list) or not value:
        raise InputError(f"{fields.at(key)} is {value!r}; a list with at least one entry is needed")
    return list(value)


def _texts(fields: Fields, key: str) -> tuple[str, ...]:
    items = _list(fields, key)
    wrong = [item for item in items if not isinstance(item, str)]
    if wrong:
        raise InputError(f"{fields.at(key)}: {wrong[0]!r} is not text; put it in quotes")
    return tuple(str(item) for item in items)


def _workloads(top: Fields, folder: Path | None) -> tuple[Workload, ...]:
    extents = _extents(top)
    semantics = None
    if top.has("semantics"):
        semantics = Semantics(top.choice("semantics", [kind.value for kind in Semantics], ""))
    made: list[Workload] = []
    used: set[str] = set()
    for number, item in enumerate(_list(top, "workloads")):
        where = f"{top.at('workloads')}[{number}]"
        if isinstance(item, Mapping):
            found = [workload_from(Fields.of(item, where), default_name="")]
        elif not isinstance(item, str):
            raise InputError(f"{where} is {item!r}; a name, a glob, a file or a statement is needed")
        elif is_statement(item):
            mine = {dim: size for dim, size in extents.items() if dim in _dims_of(item)}
            used |= set(mine)
            try:
                found = [parse_workload(item, mine)]
            except InputError as error:
                raise located(error, where) from error
        else:
            found = _named(item, folder)
        made += found
    unused = sorted(set(extents) - used)
    if unused:
        raise InputError(f"{top.at('extents')}: no statement among the workloads has a dim {', '.join(unused)}")
    made = [each if semantics is None else each.with_semantics(semantics) for each in made]
    return _distinct(list(products_of(made)), top.at("workloads"))


def _distinct(workloads: list[Workload], where: str) -> tuple[Workload, ...]:
    """Each workload once; two different ones of one name could not be told apart in the rows."""
    by_title: dict[str, Workload] = {}
    for workload in workloads:
        before = by_title.setdefault(workload.title, workload)
        if before != workload:
            raise InputError(f"{where}: two different workloads are called {workload.title!r}; give them names")
    return tuple(by_title.values())


def _extents(top: Fields) -> dict[str, int]:
    if not top.has("extents"):
        return {}
    inside = top.fields("extents")
    return {dim: inside.integer(dim) for dim in inside.values}


def _dims_of(statement: str) -> set[str]:
    """Names in the subscripts of a statement; the letters of an einsum text."""
    if "[" not in statement:
        return set(re.findall(r"[A-Za-z]", statement))
    return set(re.findall(r"[A-Za-z_]\w*", " ".join(re.findall(r"\[([^\]]*)\]", statement))))


def _named(text: str, folder: Path | None) -> list[Workload]:
    if text.endswith(library.SUFFIXES):
        return list(read_workloads(_beside(text, folder)).values())
    if any(mark in text for mark in "*?"):
        return [library.workload(name) for name in library.match_workloads(text)]
    return [library.workload(text)]


def _machines(top: Fields, folder: Path | None) -> tuple[Machine, ...]:
    if not top.has("machines"):
        if top.has("machine_numbers"):
            raise InputError(f"{top.at('machine_numbers')}: there are no machines whose numbers could be others")
        return ()
    made = []
    for number, item in enumerate(_list(top, "machines")):
        where = f"{top.at('machines')}[{number}]"
        if isinstance(item, Mapping):
            made.append(machine_from(Fields.of(item, where), default_name=f"machine{number}"))
        elif isinstance(item, str):
            made.append(library.machine(_beside(item, folder) if item.endswith(library.SUFFIXES) else item))
        else:
            raise InputError(f"{where} is {item!r}; a name, a file or a machine is needed")
    if top.has("machine_numbers"):
        made = [each for machine in made for each in variants(machine, _numbers(top.fields("machine_numbers")))]
    names = [machine.name for machine in made]
    if len(set(names)) != len(names):
        raise InputError(f"{top.at('machines')}: names repeat in {', '.join(names)}")
    return tuple(made)


def _numbers(fields: Fields) -> dict[str, list[object]]:
    """Values per number of the machines; one value is a list of one."""
    found = {}
    for name in fields.values:
        value = fields.get(name)
        values = value if isinstance(value, list) else [value]
        if not values or any(isinstance(each, bool | Mapping | list) for each in values):
            raise InputError(f"{fields.at(name)} is {value!r}; a list of numbers, or of sizes with a unit, is needed")
        found[name] = values
    return found


def _beside(text: str, folder: Path | None) -> Path:
    """A file beside the sweep file if it is there, else as written."""
    near = None if folder is None else folder / text
    return near if near is not None and near.exists() else Path(text)
