"""`port-cycles` and its older name on accelerators, `traffic`: one number, two names."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from accelerator_machines import MESHED
from typer.testing import CliRunner

import optmap
from optmap.base.errors import InputError
from optmap.checker import check_document
from optmap.cli.app import app
from optmap.search import Method

NAMES = ("port-cycles", "traffic")
PRODUCT: dict[str, Any] = {"workload": "C[i,j] = A[i,k]*B[k,j]", "extents": {"i": 8, "j": 6, "k": 8}}
ON: dict[str, Any] = {**PRODUCT, "machine": "gemmini"}


def without_times(value: Any) -> Any:
    """A document without what no two runs have alike, and without digests of it."""
    if isinstance(value, dict):
        left_out = {key for key in value if "seconds" in key or key in ("curve", "digest")}
        return {key: without_times(own) for key, own in value.items() if key not in left_out}
    return [without_times(own) for own in value] if isinstance(value, list) else value


def network(objective: str, folder: Path) -> dict[str, Any]:
    file = folder / "net.yaml"
    file.write_text("workloads:\n  a: {matmul: {i: 8, j: 6, k: 8}, count: 2}\n", encoding="utf-8")
    return optmap.network(file, machine="gemmini", objective=objective, jobs=1).to_dict()


def race(objective: str, _: Path) -> dict[str, Any]:
    asked = {**ON, "methods": "random", "evaluations": 100, "budget": "1h", "engine": "inline"}
    return optmap.race(asked.pop("workload"), objective=objective, **asked).to_dict()


def score(objective: str, folder: Path) -> dict[str, Any]:
    optmap.export_timeloop(optmap.solve(**ON, method="random"), folder)
    files = [folder / f"{name}.yaml" for name in ("problem", "arch", "map")]
    return optmap.score(files, objective=objective).to_dict()


SAYING: dict[str, Callable[[str, Path], dict[str, Any]]] = {
    "solve": lambda objective, _: optmap.solve(**ON, objective=objective).to_dict(),
    "evaluate": lambda objective, _: optmap.evaluate(optmap.solve(**ON, objective=objective)).to_dict(),
    "compare": lambda objective, _: optmap.compare(**ON, objective=objective, methods="random").to_dict(),
    "network": network,
    "race": race,
    "score": score,
    "sensitivity": lambda objective, _: optmap.sensitivity(**ON, objective=objective, samples=8).to_dict(),
}


@pytest.mark.parametrize("verb", SAYING)
def test_both_names_have_one_answer_that_says_the_name(verb: str, tmp_path: Path) -> None:
    now, older = (without_times(SAYING[verb](name, tmp_path)) for name in NAMES)
    assert (now.pop("objective"), older.pop("objective")) == NAMES
    assert now == older


@pytest.mark.parametrize("name", NAMES)
def test_an_answer_is_shown_checked_and_read_back(name: str, tmp_path: Path) -> None:
    found = optmap.solve(**ON, objective=name)
    assert f"objective {name}, " in str(found)
    assert found.cost == max(memory.cycles for memory in found.levels)
    assert found.cost_unit == "cycles"
    check_document(json.loads(json.dumps(found.to_dict())))
    read = optmap.load(found.save(tmp_path / "solved.json"))
    assert read.objective == name
    assert not optmap.evaluate(read).disagreements


def test_rows_of_a_sweep_say_the_name(tmp_path: Path) -> None:
    for name in NAMES:
        spec = {"workloads": ["resnet18/R11"], "machines": ["gemmini"], "methods": ["random"]}
        options = {"objective": name, "evaluations": 50}
        optmap.sweep({**spec, "options": options}, tmp_path / "rows", engine="inline")
    rows = optmap.read_sweep(tmp_path / "rows")
    assert sorted(rows["objective"]) == sorted(NAMES)
    assert rows["cost"].nunique() == 1
    optmap.check(tmp_path / "rows")


def test_a_journal_of_one_name_goes_on_under_the_other(tmp_path: Path) -> None:
    asked = {**ON, "method": "random", "evaluations": 300}
    for name in NAMES:
        whole = optmap.solve(**asked, objective=name)
        file = tmp_path / f"{name}.journal"
        for each, budget in ((name, 50), *((other, 300) for other in NAMES if other != name)):
            found = optmap.solve(**{**asked, "evaluations": budget}, objective=each, journal=file)
        assert (found.cost, found.found.evaluations) == (whole.cost, whole.found.evaluations)


@pytest.fixture
def older_method(registry: dict[str, Method]) -> str:
    """A method that says it minimises `traffic`, from before the number had another name."""
    registry["sampled"] = Method(name="sampled", description="random mappings", routes=(MESHED,))
    return "sampled"


def test_a_method_that_knows_the_older_name_is_asked_by_either(older_method: str) -> None:
    assert "traffic" in MESHED.objectives
    assert "port-cycles" not in MESHED.objectives
    now, older = (optmap.solve(**ON, objective=name, method=older_method) for name in NAMES)
    assert now.cost == older.cost


@pytest.mark.parametrize(
    ("verb", "options"),
    [
        ("solve", ("--method", "random", "--set", "victory=20")),
        ("compare", ("--methods", "random", "--evaluations", "50")),
        ("export", ("--format", "mps")),
        ("sensitivity", ("--samples", "8")),
    ],
)
@pytest.mark.parametrize("name", NAMES)
def test_commands_take_both_names(verb: str, options: tuple[str, ...], name: str) -> None:
    extents = ",".join(f"{dim}={size}" for dim, size in PRODUCT["extents"].items())
    asked = [verb, PRODUCT["workload"], "--extents", extents, "--machine", "gemmini", "--objective", name, *options]
    run = CliRunner().invoke(app, asked)
    assert run.exit_code == 0, run.output


def test_names_are_explained_where_they_are_listed() -> None:
    listed = optmap.list("objectives").to_dict()["objectives"]
    texts = {each["name"]: each["description"] for each in listed}
    assert "words" in texts["traffic"]
    assert "its older name there is traffic" in texts["port-cycles"]
    assert len(listed) == len(texts)
    shown = optmap.show("exact")
    assert "traffic: on accelerators: the older name of port-cycles" in str(shown)
    assert {*NAMES} < set(shown.to_dict()["accelerator_objectives"])
    assert "port-cycles" not in str(optmap.show("mopt"))


def test_on_caches_there_are_no_ports() -> None:
    with pytest.raises(
        InputError, match=r"unknown objective 'port-cycles'.*'port-cycles' is an objective of accelerators"
    ):
        optmap.solve(**PRODUCT, memory="64w", objective="port-cycles")
    words = optmap.solve(**PRODUCT, memory="64w", objective="traffic", method="iooub")
    assert words.cost_unit == "words"
