"""Rooms know what stands below them: upper rooms register what they make, and no text names a module."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import pytest

import optmap
from optmap.answers.documents.solution import SCHEMAS
from optmap.base.errors import UnknownNameError
from optmap.base.registry import Registry
from optmap.base.shown import PRESENTATIONS, Presentation, Shown
from optmap.sweeps.engines.engine import ANSWER, ANSWERS, function_of

PACKAGE = Path(optmap.__file__).parent
ROOMS = {path.stem for path in PACKAGE.iterdir() if path.is_dir() or path.suffix == ".py"}
PLACE = re.compile(r"(optmap\.)?([a-z_]+)(\.[a-z_0-9]+)*:[A-Za-z_]\w*|optmap(\.[a-z_0-9]+)+")
"""`room.module:name`, or the whole name of a module."""


def _texts() -> Iterator[tuple[Path, int, str]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield path.relative_to(PACKAGE), node.lineno, node.value


def _is_place(text: str) -> bool:
    found = PLACE.fullmatch(text)
    if found is None:
        return False
    room = text.removeprefix("optmap.").partition(":")[0].partition(".")[0]
    return room in ROOMS


@pytest.mark.parametrize(
    "text", ["report.tables:solve_table", "optmap.api:solve", "optmap.search.methods", "api:bound"]
)
def test_what_looks_like_a_place_is_seen(text: str) -> None:
    assert _is_place(text)


def test_no_text_names_a_module() -> None:
    assert [f"{path}:{line} {text}" for path, line, text in _texts() if _is_place(text)] == []


def _kinds() -> set[type[Shown]]:
    for module in walk_packages([str(PACKAGE)], "optmap."):
        if not module.name.endswith("__main__"):
            import_module(module.name)

    def below(kind: type[Shown]) -> Iterator[type[Shown]]:
        for each in kind.__subclasses__():
            yield each
            yield from below(each)

    return {each for each in below(Shown) if each.__module__.startswith("optmap.") and "shown_as" in vars(each)}


def test_every_kind_of_answer_is_shown_and_nothing_else() -> None:
    assert {kind.shown_as for kind in _kinds()} == {key.partition("/")[0] for key in PRESENTATIONS}
    by_count = {kind.shown_as for kind in _kinds() if "presentation" in vars(kind)}
    pairs = {f"{key}/{of}" for key in by_count for of in SCHEMAS}
    of_chains = {"answer/tree", "answer/in-turn"}  # a file with a tree is a saved tree, and is counted as one
    of_one = {key for key in pairs if key.partition("/")[2] not in ("tree", "in-turn")}
    assert {key for key in PRESENTATIONS if "/" in key} == of_one | of_chains
    for key in PRESENTATIONS:
        presentation = PRESENTATIONS[key]
        assert isinstance(presentation, Presentation)
        made = (presentation.table, presentation.document, presentation.drawing())
        assert all(callable(each) for each in made if each is not None)


def test_a_value_is_made_once_and_when_it_is_asked_for() -> None:
    registry, calls = Registry[int]("number"), list[str]()

    @registry.add("one")
    def _one() -> int:
        calls.append("one")
        return 1

    assert "one" in registry
    assert list(registry) == ["one"]
    assert calls == []
    assert registry["one"] + registry["one"] == 2
    assert calls == ["one"]
    registry.add("one")(lambda: 11)
    assert registry["one"] == 11
    with pytest.raises(UnknownNameError, match=r"unknown number 'on'.*one"):
        registry["on"]


def test_answers_are_those_of_the_room_above() -> None:
    assert function_of(ANSWER) is ANSWERS[ANSWER]


def test_a_new_process_has_everything_and_has_imported_nothing() -> None:
    program = (
        "import sys, optmap.base.shown\n"
        "loaded = [name for name in sys.modules if name.startswith('optmap.') and '.wiring' not in name]\n"
        "heavy = {'numpy', 'sympy', 'pyomo', 'scipy', 'highspy', 'matplotlib', 'yaml'} & set(sys.modules)\n"
        "print(len(optmap.base.shown.PRESENTATIONS._makers) > 30, len(loaded) < 19, sorted(heavy))\n"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert said == "True True []\n"
