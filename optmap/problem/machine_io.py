"""Machine files: YAML, read strictly."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

from optmap.errors import InputError
from optmap.problem.machine import ONE_WORD, Bandwidth, Capacity, Level, LevelKind, Machine, Microkernel, Partition
from optmap.problem.sizes import parse_bandwidth, parse_capacity, parse_clock
from optmap.problem.yaml_io import Fields, describe, load_yaml, located

MEMORY = "Memory"
"""Name of the unbounded memory unless a file says otherwise."""


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
    fields.allow("name", "cores", "levels", "memory", "clock", "description", "source")
    items = fields.items("levels")
    clock = _clock(fields) if fields.has("clock") else None
    try:
        levels = tuple(_level(item, clock) for item in items)
        if fields.has("cores"):
            explicit = any(item.has("fanout") for item in items)
            levels = _with_cores(levels, fields.integer("cores"), explicit=explicit, where=fields.at("cores"))
        name, memory = fields.text("name", default_name), fields.text("memory", MEMORY)
        return Machine(name=name, levels=levels, memory=memory, clock_hz=clock)
    except InputError as error:
        raise located(error, fields.where) from error


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


def _clock(fields: Fields) -> int:
    value = fields.get("clock")
    try:
        return parse_clock(value if isinstance(value, str) else str(value))
    except InputError as error:
        raise InputError(f"{fields.at('clock')}: {error}") from error


def _bandwidth(fields: Fields, clock_hz: int | None) -> Bandwidth:
    """`64B` per cycle, `16w`, or `40GB/s`; a plain number counts words per cycle."""
    value = fields.get("bandwidth")
    try:
        if isinstance(value, str):
            return parse_bandwidth(value, clock_hz)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return Bandwidth(amount=fields.positive("bandwidth"), unit="words")
    except InputError as error:
        raise located(error, fields.at("bandwidth")) from error
    raise InputError(
        f"{fields.at('bandwidth')} is {describe(value)}; "
        "write for example 64B (bytes per cycle) or 16w (words per cycle)"
    )


def _level(fields: Fields, clock_hz: int | None) -> Level:
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
        bandwidth=_bandwidth(fields, clock_hz) if fields.has("bandwidth") else ONE_WORD,
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
        raise InputError(f"{fields.at('tensors')} is {describe(tensors)}; write inputs, output or a list of tensors")
    return Partition(name=fields.text("name"), tensors=tuple(names), capacity=_capacity(fields))


def _together(partitions: tuple[Partition, ...]) -> Capacity:
    """The capacity of a level that is given by its partitions alone."""
    return Capacity(amount=sum(part.capacity.amount for part in partitions), unit=partitions[0].capacity.unit)


def _capacity(fields: Fields) -> Capacity:
    value = fields.get("capacity")
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = str(value)  # a bare number: the message about missing units is the right one
    if not isinstance(value, str):
        raise InputError(f"{fields.at('capacity')} is {describe(value)}; write for example 32KiB or 8192w")
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
