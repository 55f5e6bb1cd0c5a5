"""What `optmap` offers: names, types that can be looked up, answers that show themselves in a few lines."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
import typing
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from cases import some

import optmap
from optmap.base import errors, hints
from optmap.base.shown import Concise, Shown
from optmap.sweeps import EngineError, StoreError, StoreFullError
from optmap.workloads.builders import matmul

PACKAGE = Path(optmap.__file__).parent
PUBLIC = [name for name in optmap.__all__ if name != "__version__"]
HOST = str(Path(__file__).parents[1] / "data" / "hosts" / "detected.yaml")
PRODUCT = matmul(i=12, j=10, k=8)
MOST_LINES, MOST_COLUMNS = 10, 110


@pytest.mark.parametrize("name", [name for name in PUBLIC if name != "METHODS"])
def test_hints_of_every_public_name_can_be_looked_up(name: str) -> None:
    found = getattr(optmap, name)
    typing.get_type_hints(found)
    if inspect.isclass(found):
        for _, each in inspect.getmembers(found, inspect.isfunction):
            typing.get_type_hints(each)
        for _, each in inspect.getmembers(found, lambda own: isinstance(own, property)):
            typing.get_type_hints(each.fget)


def test_hints_are_the_types_themselves() -> None:
    said = typing.get_type_hints(optmap.solve)
    assert said["return"] == optmap.Answer[Any, Any]
    evaluated = optmap.Evaluation[Any] | optmap.TreeEvaluation | optmap.TurnEvaluation
    assert typing.get_type_hints(optmap.evaluate)["return"] == evaluated
    assert "counting" in inspect.signature(optmap.evaluate).parameters
    assert typing.get_type_hints(optmap.Answer.workload.fget)["return"] is optmap.Workload


@pytest.mark.parametrize("name", some(1, ["solve", "bound", "network"]))
def test_hints_can_be_looked_up_first_of_all(name: str) -> None:
    """In a process that has done nothing else; only what the verb needs is imported."""
    code = f"import optmap, typing, sys; typing.get_type_hints(optmap.{name}); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=PACKAGE.parent, check=True)
    assert not {"matplotlib", "pandas", "onnx", "sympy", "pyomo"} & set(done.stdout.split())


def test_every_type_in_a_verbs_answer_is_public() -> None:
    for name in PUBLIC:
        found = getattr(optmap, name)
        if inspect.isfunction(found):
            answer = typing.get_type_hints(found).get("return")
            for kind in typing.get_args(answer) or (answer,):
                if inspect.isclass(kind) and kind.__module__.startswith("optmap"):
                    assert getattr(optmap, kind.__name__) is kind, name


def test_every_error_is_public() -> None:
    own = [each for each in vars(errors).values() if inspect.isclass(each) and issubclass(each, Exception)]
    for each in (*own, EngineError, StoreError, StoreFullError):
        assert getattr(optmap, each.__name__) is each
        assert issubclass(each, optmap.OptmapError)


def test_methods_are_the_registry_itself() -> None:
    from optmap.search import METHODS

    assert optmap.METHODS is METHODS


def test_dir_has_the_public_names_and_nothing_else() -> None:
    import optmap.api  # a file that is imported is no public name

    listed = {name for name in dir(optmap) if not (name.startswith("__") and name.endswith("__"))}
    assert listed == set(PUBLIC)
    assert "__version__" in dir(optmap)
    assert len(optmap.__all__) == len(set(optmap.__all__))


def test_type_checkers_are_told_the_same_names() -> None:
    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    blocks = [node for node in tree.body if isinstance(node, ast.If)]
    told = {alias.asname: line.module for line in blocks[0].body for alias in line.names}  # type: ignore[attr-defined]
    assert set(told) == set(PUBLIC)
    assert all(optmap._PLACES[name] == home for name, home in told.items())


@pytest.mark.parametrize(("name", "now"), optmap._GONE.items())
def test_a_name_that_is_gone_says_what_stands_for_it(name: str, now: str) -> None:
    assert now in PUBLIC
    with pytest.raises(optmap.InputError, match=rf"no optmap\.{name} any more: it is optmap\.{now}"):
        getattr(optmap, name)


def test_a_name_that_is_none_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'sovle'"):
        _ = optmap.sovle  # type: ignore[attr-defined]


def test_hints_without_sources_are_left_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import optmap.verbs.deriving as module

    hints._for_checkers.cache_clear()
    monkeypatch.setattr(module, "__file__", str(tmp_path / "absent.py"))
    assert hints._for_checkers(module.__name__) == {}
    hints._for_checkers.cache_clear()


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    solved = optmap.solve(PRODUCT, memory="40w")
    nest = optmap.solve(PRODUCT, machine="eyeriss_like", method="random", evaluations=50)
    file = solved.save(tmp_path_factory.mktemp("answers") / "solved.json")
    return {
        "solve": solved,
        "solve in time": optmap.solve(PRODUCT, machine=HOST, objective="time"),
        "solve on an accelerator": nest,
        "bound": optmap.bound(PRODUCT, memory="40w"),
        "compare": optmap.compare(PRODUCT, memory="40w:80w", points=2, methods="mopt"),
        "compare on an accelerator": optmap.compare(PRODUCT, machine="eyeriss_like", methods="random", evaluations=50),
        "evaluate": optmap.evaluate(solved),
        "evaluate on an accelerator": optmap.evaluate(nest),
        "check": optmap.check(file),
        "load": optmap.load(file),
        "derive": optmap.derive(PRODUCT),
        "classes": optmap.classes(PRODUCT),
        "algorithms": optmap.algorithms("resnet50/conv2", memory="4KiB"),
        "closed_form": optmap.closed_form("tccg/ab-ac-cb", memory="4KiB"),
        "regimes": optmap.regimes("tccg/ab-ac-cb", memory="4KiB"),
        "inferred_reuse": optmap.inferred_reuse(PRODUCT),
        "randomized": optmap.randomized("d=9,m=8,n=7", memory="64w", cost="1/4"),
        "list": optmap.list(),
        "show": optmap.show("resnet18/R9"),
        "workload": optmap.workload("resnet18/R9"),
        "machine": optmap.machine("eyeriss"),
        "network": optmap.network("resnet50"),
        "plan": optmap.plan("yolo_caches"),
        "program": optmap.program(PRODUCT, memory="40w"),
        "emit": optmap.emit(PRODUCT, mapping=solved),
        "race": optmap.race(PRODUCT, machine="eyeriss_like", methods="random", evaluations=20, budget="20s"),
        "explore": optmap.explore(PRODUCT, machine="eyeriss_like", evaluations=5),
    }


def test_a_repr_fits_in_ten_lines(answers: dict[str, Any]) -> None:
    for verb, answer in answers.items():
        lines = repr(answer).split("\n")
        assert len(lines) <= MOST_LINES, verb
        assert max(map(len, lines)) <= MOST_COLUMNS, verb
        assert type(answer).__name__ in lines[0]


def _inside(value: object, seen: dict[int, object]) -> None:
    """All objects of the package that can be reached from a value by fields and items."""
    if isinstance(value, str | int | float | Fraction | type | None) or inspect.isroutine(value) or id(value) in seen:
        return
    seen[id(value)] = value
    parts: Iterable[object] = ()
    if isinstance(value, Mapping):
        parts = value.values()
    elif isinstance(value, Sequence | Set):
        parts = value
    elif is_dataclass(value):
        parts = [getattr(value, each.name) for each in fields(value)]
    for part in parts:
        _inside(part, seen)


def test_a_repr_of_all_that_answers_are_made_of_fits_in_ten_lines(answers: dict[str, Any]) -> None:
    seen: dict[int, object] = {}
    _inside([answers, *(getattr(optmap, name) for name in PUBLIC)], seen)
    own = [each for each in seen.values() if type(each).__module__.startswith("optmap.")]
    named = {"Level", "LevelMapping", "BoundaryBounds", "BoundaryCertificate", "Method", "Names", "Prediction"}
    assert {type(each).__name__ for each in own} > named
    long = {
        type(each).__name__: repr(each)[:300]
        for each in own
        if len(lines := repr(each).split("\n")) > MOST_LINES or max(map(len, lines)) > MOST_COLUMNS
    }
    assert not long


def test_a_repr_has_the_main_numbers(answers: dict[str, Any]) -> None:
    solved = answers["solve"]
    for text in ("'matmul'", "'two-level'", "'mopt'", f"cost={solved.cost:g}", f"gap={solved.gap:.8g}"):
        assert text in repr(solved)
    bound = answers["bound"]
    assert f"total_words={bound.outermost.best.total_words}" in repr(bound)
    assert "cost_unit='pJ*cycles'" in repr(answers["solve on an accelerator"])


def test_every_kind_of_answer_has_the_short_repr() -> None:
    for name in PUBLIC:
        found = getattr(optmap, name)
        if inspect.isclass(found) and issubclass(found, Shown):
            assert found.__repr__ is Concise.__repr__, name
