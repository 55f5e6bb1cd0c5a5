"""A machine of the kind of a graphics processor: a mesh of cores with shared memories behind a cache with lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from signing import signed

import optmap as api
from optmap.files import library
from optmap.machines.machine import LevelKind

PRODUCT = ("C[i,j] = A[i,k]*B[k,j]", "--extents", "i=32,j=32,k=32", "--machine", "gpu_like")


@pytest.fixture(scope="module")
def solved(optmap, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("gpu") / "product.json"
    optmap("solve", *PRODUCT, "--objective", "cycles", "-o", str(file))
    return file


def test_it_has_a_mesh_with_prices_and_a_cache_with_lines() -> None:
    machine = library.machine("gpu_like")
    cache = machine.levels[-1]
    assert (cache.kind, cache.line_bytes, cache.ways) == (LevelKind.CACHE, 128, 16)
    assert machine.units == 108 * 4 * 256
    assert "L2          cache, lines of 128 bytes, 16 ways" in str(machine)


def test_it_is_written_as_it_was_read(tmp_path: Path) -> None:
    file = tmp_path / "gpu_like.yaml"
    api.show("gpu_like").value.save(file)
    assert "kind: cache" in file.read_text()
    assert api.machine(file) == library.machine("gpu_like")


def test_its_mapping_is_proved_evaluated_and_checked(optmap, solved: Path) -> None:
    document = json.loads(solved.read_text())
    assert document["status"]["proved"]
    assert document["machine"]["levels"][-1]["kind"] == "cache"
    assert any("L2 is a cache" in note for note in document["notes"])
    assert document["cost"]["value"] >= document["bound"]["value"]
    assert optmap("evaluate", str(solved), "--json").document()["disagreements"] == []
    assert "no schedule on this machine uses less than" in optmap("check", str(solved)).out


@pytest.mark.parametrize("key", ["line_bytes", "ways"])
def test_a_file_whose_lines_are_nonsense_is_refused(optmap, solved: Path, tmp_path: Path, key: str) -> None:
    document = json.loads(solved.read_text())
    document["machine"]["levels"][-1][key] = 0
    forged = tmp_path / "forged.json"
    forged.write_text(json.dumps(signed(document)))
    assert key in optmap("check", str(forged), code=5).err


def test_every_boundary_has_a_bound(optmap) -> None:
    bounds = optmap("bound", *PRODUCT, "--json").document()
    assert [entry["between"] for entry in bounds["boundaries"]] == [
        ["Registers", "Shared"],
        ["Shared", "L2"],
        ["L2", "DRAM"],
    ]


def test_methods_are_compared_and_raced_on_it(optmap) -> None:
    few = ("--evaluations", "40", "--json")
    compared = optmap("compare", *PRODUCT, "--methods", "random,quickflow,sunstone,exact", *few).document()
    assert compared["left_out"] == {}
    raced = optmap("race", *PRODUCT, "--methods", "random,sunstone", "--budget", "1s").out
    assert "left out" not in raced


def test_it_is_swept(optmap, tmp_path: Path) -> None:
    spec = tmp_path / "sweep.yaml"
    spec.write_text(
        "workloads: ['C[i,j] = A[i,k]*B[k,j]']\nextents: {i: 16, j: 16, k: 16}\nmachines: [gpu_like]\n"
        "capacities: {level: Shared, values: [2KiB, 8KiB]}\nmethods: [random]\noptions: {evaluations: 30}\n"
    )
    swept = optmap("sweep", str(spec), "-o", str(tmp_path / "out"), "--json").document()
    assert (swept["answered"], swept["failures"]) == (2, {})
    assert swept["best_gap"] >= 0


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("solve", *PRODUCT, "--method", "mopt"), "method mopt has no objective for the accelerator gpu_like"),
        (("solve", *PRODUCT, "--objective", "time"), "unknown objective 'time'; known are energy, cycles, edp"),
        (("solve", *PRODUCT, "--capacity", "safe"), "one tile has to fit"),
        (("bound", *PRODUCT, "--objective", "time"), "unknown objective 'time'; known are energy, cycles, edp"),
        (("run", *PRODUCT), "units in meshes and no cores that run C"),
    ],
)
def test_what_needs_another_trait_says_which(optmap, asked: tuple[str, ...], said: str) -> None:
    assert said in optmap(*asked, code=2).err
