"""Rooms export their public names, and tests ask the rooms, so that a file can move."""

from __future__ import annotations

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

import optmap

PACKAGE = Path(optmap.__file__).parent
TESTS = Path(__file__).parents[1]
ROOMS = sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))

FROM_A_FILE = re.compile(r"^ *from optmap\.\w+\.[\w.]+ import (\([^)]*\)|.*)", re.MULTILINE)
"""An import from a file of a room: all of a test's code is not parsed for them."""


@pytest.mark.parametrize("room", ROOMS)
def test_every_public_name_of_a_room_can_be_had(room: str) -> None:
    module = import_module(f"optmap.{room}")
    for name in dir(module):
        assert getattr(module, name, None) is not None or name.startswith("_"), name


def test_a_name_that_a_room_does_not_have_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute"):
        _ = import_module("optmap.bounds").nothing


def test_tests_ask_rooms_not_files() -> None:
    """Where a room exports a name, tests import it from there; a name that is also a file's is asked of the file."""
    found = []
    for path in TESTS.rglob("*.py"):
        for line in FROM_A_FILE.finditer(path.read_text(encoding="utf-8")):
            (node,) = ast.parse(line[0].strip()).body
            if isinstance(node, ast.ImportFrom) and node.module:
                room = node.module.split(".")[1]
                if room in ("checker", "cli"):
                    continue
                exported = dir(import_module(f"optmap.{room}"))
                files = {item.stem for item in (PACKAGE / room).iterdir()}
                found += [f"{path.name}: {a.name}" for a in node.names if a.name in exported and a.name not in files]
    assert not found


def test_a_name_of_a_room_is_that_of_one_thing() -> None:
    for room in ROOMS:
        tree = ast.parse((PACKAGE / room / "__init__.py").read_text(encoding="utf-8"))
        calls = [
            node for node in ast.walk(tree) if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "exports"
        ]
        for call in calls:
            names = [name for names in ast.literal_eval(call.args[1]).values() for name in names.split()]
            assert len(names) == len(set(names)), sorted(name for name in names if names.count(name) > 1)
