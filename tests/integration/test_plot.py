"""`optmap plot` and `optmap network` as a user runs them, on a sweep made here."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from optmap.cli.app import app

SPEC = """
workloads: [net.yaml]
capacities: {from: 64w, to: 1024w, points: 4, scale: log}
methods: [bound, mopt]
"""
NETWORK = """
workloads:
  wide: {matmul: {i: 8, j: 24, k: 12}, count: 2}
  tall: {matmul: {i: 30, j: 6, k: 9}}
"""


def run(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture(name="store", scope="module")
def sweep_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sweep")
    (folder / "net.yaml").write_text(NETWORK, encoding="utf-8")
    (folder / "spec.yaml").write_text(SPEC, encoding="utf-8")
    code, _, message = run("sweep", folder / "spec.yaml", "-o", folder / "results", "--engine", "inline")
    assert code == 0, message
    return folder / "results"


def test_pictures_and_table(store: Path) -> None:
    code, text, _ = run("plot", store, "--target", "1.2")
    assert code == 0
    assert "net/wide" in text
    assert "reached at" in text
    names = {path.name for path in (store / "plots").iterdir()}
    assert {"curve-net_wide-two_level-Fast.png", "gaps-two_level-Fast.png", "pareto.png"} <= names
    assert f"{len(names)} pictures" in text


def test_network_of_a_sweep(store: Path, tmp_path: Path) -> None:
    arguments = ("plot", store, "-o", tmp_path, "--network", store.parent / "net.yaml")
    code, table, _ = run(*arguments)
    assert code == 0
    assert "sums hold all 3 layers of net" in table
    code, text, _ = run(*arguments, "--format", "html", "--json")
    document = json.loads(text)
    assert document["files"] == [str(tmp_path / "sweep.html")]
    (total,) = document["networks"]
    assert total["missing"] == []
    assert total["traffic_words"] == sum(layer["traffic_words"] for layer in total["layers"])
    assert total["bound_words"] <= total["traffic_words"]
    # Every word of the tensors once; outputs are loaded and stored.
    assert total["compulsory_words"] == 2 * (8 * 12 + 12 * 24 + 2 * 8 * 24) + 30 * 9 + 9 * 6 + 2 * 30 * 6
    wanted = [entry for entry in document["sizing"] if entry["workload"] == "net"]
    reached = next(entry["reached_bytes"] is not None for entry in wanted if entry["target"] == 1.1)
    assert ("net reaches 1.1x" in table, "net does not reach 1.1x" in table) == (reached, not reached)
    assert [entry["target"] for entry in wanted] == [2.0, 1.1, 1.01]
    assert all((entry["reached_bytes"] or 1e18) > (entry["refuted_bytes"] or 0) for entry in document["sizing"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--target", "0.9"], "1 or more"),
        (["--pareto", "gap"], "two metrics"),
        (["--pareto", "gap,beauty"], "metric 'beauty'"),
        (["--network", "resnet18"], "no rows of resnet18"),
        (["--network", "resnet19"], "did you mean resnet18?"),
    ],
)
def test_bad_options(store: Path, arguments: list[str], message: str) -> None:
    code, _, text = run("plot", store, *arguments)
    assert code == 2
    assert message in text


def test_no_sweep(tmp_path: Path) -> None:
    code, _, text = run("plot", tmp_path)
    assert code == 2
    assert "no sweep here" in text


def test_networks_are_listed_and_shown() -> None:
    code, text, _ = run("network")
    assert code == 0
    assert "resnet18" in text
    assert json.loads(run("network", "--json")[1])["networks"] == ["mobilenet", "resnet18", "resnet50", "yolo9000"]
    code, text, _ = run("network", "yolo9000")
    assert code == 0
    assert "19 layers, 24,531,022,848 multiply-accumulates" in text
    assert json.loads(run("network", "yolo9000", "--json")[1])["layers"][2]["count"] == 2


@pytest.mark.longer
def test_network_on_one_machine(store: Path, tmp_path: Path) -> None:
    name = store.parent / "net.yaml"
    code, text, _ = run("network", name, "--memory", "4096w", "--jobs", 1, "--json", "-o", tmp_path / "kept")
    assert code == 0
    document = json.loads(text)
    assert document["traffic_words"] == document["bound_words"] == document["compulsory_words"]
    assert document["traffic_gap"] == 0
    assert {layer["workload"]: layer["count"] for layer in document["layers"]} == {"net/wide": 2, "net/tall": 1}
    assert (tmp_path / "kept" / "rows").is_dir()
    code, text, _ = run("network", name, "--memory", "4096w", "--jobs", 1, "--json", "--semantics", "assign")
    assert code == 0
    assert json.loads(text)["traffic_words"] < document["traffic_words"]
    code, _, text = run("network", name, "--memory", "1w", "--jobs", 1)
    assert code == 3
    assert "net: no mapping of all its layers" in text
