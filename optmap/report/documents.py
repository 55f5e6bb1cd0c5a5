"""Problem types as JSON documents, and back: workloads, machines and mappings."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction

from optmap.errors import InputError
from optmap.problem import (
    Bandwidth,
    Capacity,
    Level,
    LevelKind,
    LevelMapping,
    Machine,
    Mapping,
    Microkernel,
    Padding,
    Partition,
    Semantics,
    Workload,
)
from optmap.problem.parser import parse_workload
from optmap.problem.yaml_io import Fields, element_sizes


def workload_document(workload: Workload) -> dict[str, object]:
    """A workload as JSON: its statement, extents (canonical order) and element sizes in bytes.

    The ranges of implicit padding are part of the statement.
    """
    sizes = {tensor.name: tensor.bytes for tensor in workload.tensors}
    same = len(set(sizes.values())) == 1
    return {
        "name": workload.name,
        "expression": workload.expression,
        "extents": workload.extents,
        "bytes": workload.output.bytes if same else sizes,
        "semantics": workload.semantics.value,
        "padding": workload.padding.value,
        "count": workload.count,
    }


def machine_document(machine: Machine) -> dict[str, object]:
    """A machine as JSON, complete: reading it back needs no library."""
    return {
        "name": machine.name,
        "memory": machine.memory,
        "cores": machine.cores,
        "clock_hz": machine.clock_hz,
        "levels": [level_document(level) for level in machine.levels],
    }


def level_document(level: Level) -> dict[str, object]:
    """A level of a machine as JSON, complete."""
    kernel = level.microkernel
    return {
        "name": level.name,
        "capacity": {"amount": level.capacity.amount, "unit": level.capacity.unit},
        "bandwidth": {"amount": _plain(level.bandwidth.exact), "unit": level.bandwidth.unit},
        "kind": level.kind.value,
        "shared": level.shared,
        "fanout": level.fanout,
        "inclusive": level.inclusive,
        "energy_pj": level.energy_pj,
        "microkernel": None if kernel is None else {"vector": kernel.vector, "broadcast": kernel.broadcast},
        "partitions": [
            {
                "name": part.name,
                "tensors": list(part.tensors),
                "capacity": {"amount": part.capacity.amount, "unit": part.capacity.unit},
            }
            for part in level.partitions
        ],
        "buffering": level.buffering,
    }


def _plain(amount: Fraction) -> int | float | str:
    """A fraction as JSON without loss: a whole number, a decimal number, or the text p/q."""
    if amount.denominator == 1:
        return int(amount)
    return float(amount) if Fraction(str(float(amount))) == amount else str(amount)


def mapping_document(mapping: Mapping) -> dict[str, object]:
    """A mapping as JSON, inner level first, permutations outermost first."""
    return {
        "levels": [
            {
                "level": level.level,
                "tile": dict(level.tile),
                "permutation": list(level.permutation),
                "spatial": {dim: ways for dim, ways in level.spatial.items() if ways > 1},
            }
            for level in mapping.levels
        ]
    }


def read_workload(fields: Fields) -> Workload:
    """The workload of a document.

    Raises:
        InputError: naming file and field.
    """
    fields.allow("name", "expression", "extents", "bytes", "semantics", "padding", "count")
    fields.get("bytes")
    semantics = fields.choice("semantics", [kind.value for kind in Semantics], Semantics.ACCUMULATE.value)
    try:
        workload = parse_workload(
            fields.text("expression"),
            integers(fields, "extents"),
            name=fields.text("name"),
            bytes=element_sizes(fields),
            semantics=Semantics(semantics),
        )
    except InputError as error:
        raise located(error, fields) from error
    if fields.choice("padding", list(Padding), workload.padding.value) != workload.padding:
        raise InputError(f"{fields.at('padding')} is {fields.get('padding')}, but by its expression {workload.padding}")
    return replace(workload, count=fields.integer("count", 1))


def read_machine(fields: Fields) -> Machine:
    """The machine of a document.

    Raises:
        InputError: naming file and field.
    """
    fields.allow("name", "memory", "cores", "clock_hz", "levels")
    clock = None if fields.values.get("clock_hz") is None else fields.integer("clock_hz")
    try:
        levels = tuple(_read_level(level) for level in fields.items("levels"))
        machine = Machine(name=fields.text("name"), memory=fields.text("memory"), levels=levels, clock_hz=clock)
    except InputError as error:
        raise located(error, fields) from error
    if fields.integer("cores", machine.cores) != machine.cores:
        raise InputError(f"{fields.at('cores')} is {fields.get('cores')}, but the fanouts multiply to {machine.cores}")
    return machine


def _read_level(fields: Fields) -> Level:
    fields.allow(
        "name",
        "capacity",
        "bandwidth",
        "kind",
        "shared",
        "fanout",
        "inclusive",
        "energy_pj",
        "microkernel",
        "partitions",
        "buffering",
    )
    partitions = fields.items("partitions") if fields.values.get("partitions") else []
    return Level(
        name=fields.text("name"),
        capacity=_read_capacity(fields),
        bandwidth=_read_bandwidth(fields),
        kind=LevelKind(fields.choice("kind", [kind.value for kind in LevelKind], LevelKind.SCRATCHPAD.value)),
        shared=fields.flag("shared", False),
        fanout=fields.integer("fanout", 1),
        inclusive=fields.flag("inclusive", True),
        energy_pj=None if fields.values.get("energy_pj") is None else fields.number("energy_pj"),
        microkernel=_read_microkernel(fields),
        partitions=tuple(_read_partition(part) for part in partitions),
        buffering=fields.integer("buffering", 1),
    )


def _read_capacity(fields: Fields) -> Capacity:
    capacity = fields.fields("capacity")
    capacity.allow("amount", "unit")
    return Capacity(amount=capacity.integer("amount"), unit=capacity.choice("unit", ("bytes", "words"), "bytes"))


def _read_bandwidth(fields: Fields) -> Bandwidth:
    link = fields.fields("bandwidth")
    link.allow("amount", "unit")
    value, unit = link.get("amount"), link.choice("unit", ("bytes", "words"), "bytes")
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,99}/[1-9][0-9]{0,98}", value):
        return Bandwidth(amount=Fraction(value), unit=unit)
    exact = link.integer("amount") if isinstance(value, int) else link.positive("amount")
    return Bandwidth(amount=exact, unit=unit)


def _read_partition(fields: Fields) -> Partition:
    fields.allow("name", "tensors", "capacity")
    return Partition(name=fields.text("name"), tensors=texts(fields, "tensors"), capacity=_read_capacity(fields))


def _read_microkernel(fields: Fields) -> Microkernel | None:
    if fields.values.get("microkernel") is None:
        return None
    kernel = fields.fields("microkernel")
    kernel.allow("vector", "broadcast")
    return Microkernel(vector=kernel.integer("vector"), broadcast=kernel.integer("broadcast"))


def read_mapping(fields: Fields, workload: Workload, machine: Machine) -> Mapping:
    """The mapping of a document, checked against its workload and machine.

    Raises:
        InputError: naming file and field.
    """
    fields.allow("levels")
    levels = []
    for level in fields.items("levels"):
        level.allow("level", "tile", "permutation", "spatial")
        levels.append(
            LevelMapping(
                level=level.text("level"),
                tile=integers(level, "tile"),
                permutation=texts(level, "permutation"),
                spatial=integers(level, "spatial") if level.has("spatial") else {},
            )
        )
    mapping = Mapping(levels=tuple(levels))
    try:
        mapping.check(workload, machine)
    except InputError as error:
        raise located(error, fields) from error
    return mapping


def integers(fields: Fields, key: str) -> dict[str, int]:
    """A field that is an object of whole numbers, 1 or more."""
    inside = fields.fields(key)
    return {name: inside.integer(name) for name in inside.values}


def texts(fields: Fields, key: str) -> tuple[str, ...]:
    """A field that is a list of texts.

    Raises:
        InputError: if it is something else.
    """
    value = fields.get(key)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise InputError(f"{fields.at(key)} is {value!r}; a list of texts is needed")
    return tuple(str(item) for item in value)


def located(error: InputError, fields: Fields) -> InputError:
    """The error with file and field in front, unless it has them already."""
    source = fields.where.partition(": ")[0]
    text = str(error)
    return error if text.startswith(source) else InputError(f"{fields.where}: {text}")
