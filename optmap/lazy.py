"""Functions named by their place, imported when they are used."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def named(place: str) -> Any:
    """The object at `module:name` under `optmap`, such as `report.tables:solve_table`."""
    module, _, name = place.partition(":")
    return getattr(import_module(f"optmap.{module}"), name)
