"""Rooms that load their public names when they are first used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any

from optmap.base.errors import InputError

NONE: Mapping[str, str] = MappingProxyType({})
"""No names."""


def exports(
    room: str, homes: Mapping[str, str], gone: Mapping[str, str] = NONE
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a room that loads its public names when they are first used.

    Args:
        room: name of the package.
        homes: per file of the room (`relax.tree` for one further in), its public names with blanks between.
        gone: names that there were, and what stands for them now: whoever asks for one gets an `InputError` that says
            so.
    """
    place = {name: f"{room}.{file}" for file, names in homes.items() for name in names.split()}

    def load(name: str) -> Any:
        if name in place:
            return getattr(import_module(place[name]), name)
        if name in gone:
            raise InputError(f"there is no {room}.{name} any more: {gone[name]}")
        raise AttributeError(f"module {room!r} has no attribute {name!r}")

    return load, lambda: sorted({*vars(import_module(room)), *place})
