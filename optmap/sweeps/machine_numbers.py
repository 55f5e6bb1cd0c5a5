"""Variants of a machine in which some of its numbers are others: the design space of a sweep.

A number is named by its level and its place in a machine's file: `GlobalBuffer.capacity`, `GlobalBuffer.fanout.x`,
`DRAM.ports.read`, `RegisterFile.energy_pj.read`, `arithmetic.energy_pj`. Values are written as they are there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from optmap.base.errors import InputError
from optmap.files.fields import Fields, located
from optmap.files.machines import machine_document, machine_from
from optmap.machines.machine import Machine

MOST_VARIANTS = 10_000
"""Largest number of variants of one machine."""
Numbers = Mapping[str, Sequence[object]]
"""Values per name of a number."""


def variants(machine: Machine, numbers: Numbers) -> tuple[Machine, ...]:
    """The machine with every combination of the values; the names say which.

    Args:
        machine: what is varied.
        numbers: values per number; without any the machine itself.

    Raises:
        InputError: for a number that the machine has not, or a value that it cannot have.
    """
    count = 1
    for values in numbers.values():
        count *= len(values)
    if count > MOST_VARIANTS:
        raise InputError(
            f"machine_numbers: {count:,} variants of {machine.name} are too many, at most {MOST_VARIANTS:,}"
        )
    return tuple(_variant(machine, dict(zip(numbers, values, strict=True))) for values in product(*numbers.values()))


def _variant(machine: Machine, values: Mapping[str, object]) -> Machine:
    if not values:
        return machine
    document: dict[str, Any] = machine_document(machine)
    document.pop("cores")  # the product of the fanouts, which may change
    document["name"] = f"{machine.name}, {', '.join(f'{name}={value}' for name, value in values.items())}"
    for name, value in values.items():
        _put(document, name, value, machine)
    try:
        return machine_from(Fields.of(document, "machine_numbers"))
    except InputError as error:
        raise located(error, f"{machine.name} with {', '.join(f'{n}={v}' for n, v in values.items())}") from error


def _put(document: dict[str, Any], name: str, value: object, machine: Machine) -> None:
    """Write a value to its place in a machine's document."""
    inside, keys = _level(document, name, machine)
    *path, last = keys
    for key in path:
        found = inside.get(key)
        if not isinstance(found, dict):
            raise _unknown(name, inside, machine)
        inside = found
    if last not in inside:
        raise _unknown(name, inside, machine)
    if isinstance(inside[last], dict) and "size" in inside[last]:  # an axis of a mesh, as `fanout: {x: 14}`
        inside[last] = {**inside[last], "size": value}
    else:
        inside[last] = value


def _level(document: dict[str, Any], name: str, machine: Machine) -> tuple[dict[str, Any], list[str]]:
    """The part of a document that a name begins with, and the keys that follow; names of levels may hold dots."""
    parts: dict[str, dict[str, Any]] = {level["name"]: level for level in document["levels"]}
    if "outermost" in document:
        parts |= {document["memory"]: document["outermost"], "arithmetic": document["arithmetic"]}
    fitting = [part for part in parts if name.startswith(f"{part}.")]
    if not fitting:
        raise InputError(f"machine_numbers: {name!r}: machine {machine.name} has {', '.join(parts)}; write LEVEL.KEY")
    chosen = max(fitting, key=len)
    return parts[chosen], name[len(chosen) + 1 :].split(".")


def _unknown(name: str, inside: Mapping[str, object], machine: Machine) -> InputError:
    known = ", ".join(key for key in inside if key != "name")
    return InputError(f"machine_numbers: {name!r} is no number of machine {machine.name}; there are {known}")
