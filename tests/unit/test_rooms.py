"""Every name that a room says it has is there."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

import optmap

ROOMS = [
    found.name
    for found in pkgutil.walk_packages(optmap.__path__, "optmap.")
    if found.ispkg and "__getattr__" in vars(importlib.import_module(found.name))
]


def test_there_are_rooms() -> None:
    assert {"optmap.search", "optmap.report", "optmap.gap"} <= set(ROOMS)


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_has_what_it_lists(room: str) -> None:
    module = importlib.import_module(room)
    missing = [name for name in dir(module) if not hasattr(module, name)]
    assert missing == []
