"""Functions named by their place, imported when they are used."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any


def named(place: str) -> Any:
    """The object at `module:name` under `optmap`, such as `report.tables:solve_table`."""
    module, _, name = place.partition(":")
    return getattr(import_module(f"optmap.{module}"), name)


@dataclass(frozen=True, slots=True)
class Deferred:
    """The function at `module:name` under `optmap`, imported when it is first called."""

    place: str

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Call it."""
        return named(self.place)(*args, **options)
