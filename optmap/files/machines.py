"""Machines in files: YAML that a person writes, and the documents that answers carry."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import fields, replace
from fractions import Fraction
from typing import Any

from optmap.base.errors import InputError
from optmap.files.fields import Fields, describe, located
from optmap.files.stores import (
    CACHE_FIELDS,
    STORE_FIELDS,
    TOP_FIELDS,
    has_stores,
    leaves_document,
    leaves_from,
    plain,
    refuse_store_fields,
    store_document,
    store_from,
)
from optmap.machines.accelerator import Arithmetic
from optmap.machines.core import Core, Microkernel
from optmap.machines.machine import Level, LevelKind, Machine, Partition
from optmap.workloads.amounts import ONE_WORD, Bandwidth, Capacity
from optmap.workloads.sizes import parse_bandwidth, parse_capacity, parse_clock

MEMORY = "Memory"
"""Name of the unbounded memory unless a file says otherwise."""
LEVEL_FIELDS = (
    *("name", "capacity", "bandwidth", "kind", "shared", "inclusive"),
    *("energy_pj", "fanout", "microkernel", "partitions", "buffering"),
    *("line_bytes", "ways", "core_bandwidth", "traits"),
    *(key for key in STORE_FIELDS if key not in ("fanout", "energy_pj")),
)
"""Keys of a level, of a processor's or an accelerator's."""


CORE_FIELDS = tuple(field.name for field in fields(Core))
"""Keys of a core, in files and in documents."""


def machine_document(machine: Machine) -> dict[str, object]:
    """A machine as JSON, complete: reading it back needs no library."""
    return {
        "name": machine.name,
        "memory": machine.memory,
        "cores": machine.cores,
        "clock_hz": machine.clock_hz,
        "levels": [level_document(level) for level in machine.levels],
        **({} if machine.core is None else {"core": core_document(machine.core)}),
        **({} if machine.outermost is None else leaves_document(machine.outermost, machine.arithmetic)),
    }


def core_document(core: Core) -> dict[str, int]:
    """What a core computes with, as JSON and as files write it."""
    return {key: getattr(core, key) for key in CORE_FIELDS}


def level_document(level: Level) -> dict[str, object]:
    """A level of a machine as JSON, complete."""
    kernel = level.microkernel
    size = {"name": level.name, "capacity": {"amount": level.capacity.amount, "unit": level.capacity.unit}}
    if level.store is not None:
        parts = {"partitions": _partitions_document(level), "buffering": level.buffering}
        return {**size, **parts, **store_document(level.store), **_cache_document(level), **_traits_document(level)}
    return {
        **size,
        "bandwidth": _rate_document(level.bandwidth),
        "kind": level.kind.value,
        "shared": level.shared,
        "fanout": level.fanout,
        "inclusive": level.inclusive,
        "energy_pj": level.energy_pj,
        "microkernel": None if kernel is None else {"vector": kernel.vector, "broadcast": kernel.broadcast},
        "partitions": _partitions_document(level),
        "buffering": level.buffering,
        **_link_document(level),
        **_traits_document(level),
    }


def _traits_document(level: Level) -> dict[str, object]:
    """Its traits of one's own; nothing where it has none."""
    return {"traits": dict(level.traits)} if level.traits else {}


def _cache_document(level: Level) -> dict[str, object]:
    """What a memory of an accelerator says as a cache; nothing of a scratchpad."""
    if level.kind is not LevelKind.CACHE:
        return {}
    return {"kind": level.kind.value, "line_bytes": level.line_bytes, "ways": level.ways}


def _link_document(level: Level) -> dict[str, object]:
    """What is known of the lines of a cache and of one core's share; nothing where nothing is."""
    if (level.line_bytes, level.ways, level.core_bandwidth) == (None, None, None):
        return {}
    alone = None if level.core_bandwidth is None else _rate_document(level.core_bandwidth)
    return {"line_bytes": level.line_bytes, "ways": level.ways, "core_bandwidth": alone}


def _rate_document(rate: Bandwidth) -> dict[str, object]:
    return {"amount": plain(rate.exact), "unit": rate.unit}


def _partitions_document(level: Level) -> list[dict[str, object]]:
    return [
        {
            "name": part.name,
            "tensors": list(part.tensors),
            "capacity": {"amount": part.capacity.amount, "unit": part.capacity.unit},
        }
        for part in level.partitions
    ]


def machine_from(fields: Fields, default_name: str | None = None) -> Machine:
    """A machine from `levels` (inner to outer), `cores` and the name of the `memory`.

    `cores` is the product of the fanouts: without explicit ones it becomes the fanout of the
    innermost shared level. Sizes and speeds are texts with a unit (`32KiB`, `64B`, `3.6GHz`) or, as
    documents have them, numbers beside the name of their unit. With `arithmetic` or `outermost` the machine
    is an accelerator and its levels are stores.

    Args:
        fields: of a file or a document.
        default_name: where the machine need not give one.

    Raises:
        InputError: naming file and field of the first thing that is wrong.
    """
    fields.allow("name", "cores", "core", "levels", "memory", "clock", "clock_hz", "description", "source", *TOP_FIELDS)
    fields.note()
    items = fields.items("levels")
    clock = _clock(fields)
    try:
        outermost, arithmetic = leaves_from(fields, clock) if has_stores(fields) else (None, Arithmetic())
        levels = tuple(_level(item, clock) if outermost is None else _memory(item, clock) for item in items)
        if fields.has("cores"):
            explicit = outermost is not None or any(item.has("fanout") for item in items)
            levels = _with_cores(levels, fields.integer("cores"), explicit=explicit, where=fields.at("cores"))
        name, memory = fields.text("name", default_name), fields.text("memory", MEMORY)
        return Machine(
            name=name,
            levels=levels,
            memory=memory,
            clock_hz=clock,
            outermost=outermost,
            arithmetic=arithmetic,
            core=_core(fields) if fields.given("core") else None,
        )
    except InputError as error:
        raise located(error, fields.where) from error


def _core(fields: Fields) -> Core:
    inside = fields.fields("core")
    inside.allow(*CORE_FIELDS)
    return Core(**{key: inside.integer(key) for key in CORE_FIELDS})


def _clock(fields: Fields) -> int | None:
    if not fields.has("clock"):
        return fields.integer("clock_hz") if fields.given("clock_hz") else None
    if fields.given("clock_hz"):
        raise InputError(f"{fields.where}: clock and clock_hz exclude each other; keep one")
    value = fields.get("clock")
    try:
        return parse_clock(value if isinstance(value, str) else str(value))
    except InputError as error:
        raise InputError(f"{fields.at('clock')}: {error}") from error


def _bandwidth(fields: Fields, clock_hz: int | None, key: str = "bandwidth") -> Bandwidth:
    """`64B` per cycle, `16w`, or `40GB/s`; a plain number counts words per cycle."""
    value = fields.get(key)
    if isinstance(value, Mapping):
        return _rate(fields.fields(key))
    try:
        if isinstance(value, str):
            return parse_bandwidth(value, clock_hz)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return Bandwidth(amount=fields.positive(key), unit="words")
    except InputError as error:
        raise located(error, fields.at(key)) from error
    raise InputError(
        f"{fields.at(key)} is {describe(value)}; write for example 64B (bytes per cycle) or 16w (words per cycle)"
    )


def _rate(link: Fields) -> Bandwidth:
    """`{amount: 7/3, unit: bytes}`; a fraction that no decimal number writes is a text."""
    link.allow("amount", "unit")
    value, unit = link.get("amount"), link.choice("unit", ("bytes", "words"), "bytes")
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,99}/[1-9][0-9]{0,98}", value):
        return Bandwidth(amount=Fraction(value), unit=unit)
    return Bandwidth(amount=link.integer("amount") if isinstance(value, int) else link.positive("amount"), unit=unit)


def _level(fields: Fields, clock_hz: int | None) -> Level:
    fields.allow(*LEVEL_FIELDS)
    refuse_store_fields(fields)
    partitions = tuple(_partition(item) for item in fields.items("partitions", least=0))
    microkernel = None
    if fields.given("microkernel"):
        shape = fields.fields("microkernel")
        shape.allow("vector", "broadcast")
        microkernel = Microkernel(vector=shape.integer("vector"), broadcast=shape.integer("broadcast"))
    energy = None
    if fields.given("energy_pj"):
        energy = fields.number("energy_pj")
        if not 0 <= energy < math.inf:
            raise InputError(f"{fields.at('energy_pj')} is {energy}; a finite number, 0 or more, is needed")
    return Level(
        name=fields.text("name"),
        capacity=_size(fields, partitions),
        **_replacement(fields),
        bandwidth=_bandwidth(fields, clock_hz) if fields.has("bandwidth") else ONE_WORD,
        shared=fields.flag("shared", False),
        fanout=fields.integer("fanout", 1),
        inclusive=fields.flag("inclusive", True),
        energy_pj=energy,
        microkernel=microkernel,
        partitions=partitions,
        buffering=fields.integer("buffering", 1),
        core_bandwidth=_bandwidth(fields, clock_hz, "core_bandwidth") if fields.given("core_bandwidth") else None,
    )


def _memory(fields: Fields, clock_hz: int | None) -> Level:
    """A level of an accelerator."""
    fields.allow(*LEVEL_FIELDS)
    foreign = next((key for key in CACHE_FIELDS if fields.has(key)), None)
    if foreign is not None:
        instead = "write words or bytes per cycle as `ports`" if foreign == "bandwidth" else "leave it out"
        raise InputError(f"{fields.at(foreign)}: a memory of an accelerator has no {foreign}; {instead}")
    lines = next((key for key in ("line_bytes", "ways") if fields.given(key)), None)
    if lines is not None and fields.values.get("kind") != LevelKind.CACHE:
        raise InputError(f"{fields.at(lines)} is for caches; add `kind: cache`, or leave it out")
    partitions = tuple(_partition(item) for item in fields.items("partitions", least=0))
    return Level(
        name=fields.text("name"),
        capacity=_size(fields, partitions),
        partitions=partitions,
        buffering=fields.integer("buffering", 1),
        store=store_from(fields, clock_hz),
        **_replacement(fields),
    )


def _replacement(fields: Fields) -> dict[str, Any]:
    """Who decides what a level holds, what is known of its lines where it is a cache, and its traits of one's own."""
    kind = LevelKind(fields.choice("kind", [k.value for k in LevelKind], LevelKind.SCRATCHPAD.value))
    known = {key: fields.integer(key) for key in ("line_bytes", "ways") if fields.given(key)}
    own = fields.fields("traits").values if fields.given("traits") else {}
    return {"kind": kind, **known, "traits": tuple(own.items())}


def _partition(fields: Fields) -> Partition:
    """A part of a level: `{name: scratchpad, tensors: inputs, capacity: 256KiB}`."""
    fields.allow("name", "tensors", "capacity")
    tensors = fields.get("tensors")
    names = [tensors] if isinstance(tensors, str) else tensors
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise InputError(f"{fields.at('tensors')} is {describe(tensors)}; write inputs, output or a list of tensors")
    return Partition(name=fields.text("name"), tensors=tuple(names), capacity=_capacity(fields))


def _size(fields: Fields, partitions: tuple[Partition, ...]) -> Capacity:
    """The capacity of a level, which partitions may give alone."""
    if fields.has("capacity") or not partitions:
        return _capacity(fields)
    return Capacity(amount=sum(part.capacity.amount for part in partitions), unit=partitions[0].capacity.unit)


def _capacity(fields: Fields) -> Capacity:
    value = fields.get("capacity")
    if isinstance(value, Mapping):
        inside = fields.fields("capacity")
        inside.allow("amount", "unit")
        return Capacity(amount=inside.integer("amount"), unit=inside.choice("unit", ("bytes", "words"), "bytes"))
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
