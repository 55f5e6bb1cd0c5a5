"""Workloads that are run: what is said of them, what is found wrong, what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from broken_code import broken
from host_machines import AVX512

import optmap as toolkit
from optmap.base.errors import InputError
from optmap.base.writing import to_json
from optmap.files.machines import machine_document
from optmap.native import Code, emit_code, run_layer

MATMUL = ("C[i,j] += A[i,k]*B[k,j]", "--extents", "i=40,j=30,k=20")
QUICK = ("--seconds", "0.01", "--candidates", "2", "--time-limit", "1")
NETWORK = """
workloads:
  small: {conv2d: {k: 20, c: 4, h: 6, w: 7, r: 3, s: 3}, count: 3}
  product: {matmul: {i: 16, j: 24, k: 8}}
"""


@pytest.fixture(autouse=True, scope="module")
def folder_of_builds(tmp_path_factory: pytest.TempPathFactory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPTMAP_BUILD_DIR", str(tmp_path_factory.mktemp("builds")))
        yield


@pytest.fixture
def host(tmp_path: Path) -> str:
    (tmp_path / "host.yaml").write_text(to_json({**machine_document(AVX512)}))
    return "host.yaml"


def test_a_run_has_speed_prediction_floor_and_check(optmap, host: str, tmp_path: Path) -> None:
    run = optmap("run", *MATMUL, "--machine", host, *QUICK, "-o", "run.json", "--json", cwd=tmp_path)
    document = run.document()
    assert document == json.loads((tmp_path / "run.json").read_text())
    assert (document["schema"], document["right"], document["machine"]["name"]) == ("optmap.run/1", True, "avx512")
    (layer,) = document["layers"]
    assert layer["kernel"] == "outer-product"
    assert layer["peak_gflops"] == pytest.approx(2 * 2 * 16 * 2)
    assert layer["share_of_peak"] == pytest.approx(layer["gflops"] / 128)
    assert layer["gflops"] == pytest.approx(2e-9 * 24_000 / layer["measured"]["seconds"])
    assert 0 < layer["floor_seconds"] <= layer["predicted_seconds"]
    bound = ("bound", *MATMUL, "--semantics", "assign", "--machine", host, "--objective", "time", "--json")
    assert layer["floor_seconds"] == optmap(*bound, cwd=tmp_path).document()["time"]["seconds"]
    check = layer["check"]
    assert (check["checked"], check["outputs"], check["wrong"], check["terms"]) == (1200, 1200, 0, 20)
    assert check["exact_on_whole_numbers"]
    assert 0 < check["share_of_tolerance"] < 1
    assert 1 <= layer["best"] <= len(layer["candidates"]) <= 2
    assert layer["mapping"] == layer["candidates"][layer["best"] - 1]["mapping"]
    assert document["total"]["seconds"] == layer["measured"]["seconds"]


def test_networks_count_their_layers(optmap, host: str, tmp_path: Path) -> None:
    (tmp_path / "net.yaml").write_text(NETWORK)
    arguments = ("run", "net.yaml", "--machine", host, "--seconds", "0.01", "--candidates", "1")
    document = optmap(*arguments, "--json", cwd=tmp_path).document()
    layers = document["layers"]
    assert [layer["count"] for layer in layers] == [3, 1]
    for key in ("predicted_seconds", "floor_seconds"):
        assert document["total"][key] == pytest.approx(sum(layer[key] * layer["count"] for layer in layers))
    text = optmap(*arguments, cwd=tmp_path).out
    assert "small x3" in text
    assert "all, with counts" in text
    assert "MOpt-1" not in text


def test_a_solution_is_run_in_its_own_mapping(optmap, tmp_path: Path) -> None:
    solved = toolkit.solve("C[i,j] += A[i,k]*B[k,j]", extents={"i": 40, "j": 30, "k": 20}, memory="2KiB")
    solved.save(tmp_path / "solved.json")
    run = optmap("run", "solved.json", *QUICK, cwd=tmp_path)
    assert "no peak, prediction or floor: the machine file has no core or clock" in run.out
    document = optmap("run", "solved.json", *QUICK, "--json", cwd=tmp_path).document()
    (layer,) = document["layers"]
    assert layer["mapping"] == solved.to_dict()["mapping"]
    assert (layer["kernel"], layer["peak_gflops"], layer["predicted_seconds"]) == ("plain", None, None)
    assert document["right"]


def test_a_wrong_result_ends_with_five_and_says_where(
    optmap, host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(*given: Any) -> Code:
        return broken(emit_code(*given))

    monkeypatch.setattr("optmap.native.run.layer.emit_code", wrong)
    run = optmap("run", *MATMUL, "--machine", host, "--layout", "nchw", *QUICK, cwd=tmp_path, code=5)
    assert "WRONG" in run.out
    assert "1 wrong of all 1,200 outputs compared; the first of them:\n  [0,17] is " in run.err
    document = optmap("run", *MATMUL, "--machine", host, "--layout", "nchw", *QUICK, "--json", cwd=tmp_path, code=5)
    layer = document.document()["layers"][0]
    assert layer["check"]["places"][0]["index"] == [0, 17]
    assert (layer["best"], layer["measured"]) == (None, None)


def test_one_wrong_mapping_among_right_ones_is_not_kept_and_not_kept_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    workload = toolkit.workload("C[i,j] += A[i,k]*B[k,j]", {"i": 40, "j": 30, "k": 20}, semantics="assign")
    from optmap.kernels.code_options import CodeOptions
    from optmap.native import proposed

    mappings = proposed(workload, AVX512, CodeOptions(), count=2)
    assert len(mappings) == 2
    count = iter((True, False))
    monkeypatch.setattr(
        "optmap.native.run.layer.emit_code", lambda *g: broken(emit_code(*g)) if next(count) else emit_code(*g)
    )
    found = run_layer(workload, AVX512, mappings, seconds=0.01)
    assert (found.best, found.right, found.first_timing) == (1, False, None)
    assert found.tried[0].verdict.wrong == 1


def test_padding_semantics_and_options_are_those_that_are_asked_for(optmap, host: str, tmp_path: Path) -> None:
    (tmp_path / "layer.yaml").write_text("conv2d: {k: 20, c: 4, h: 6, w: 7, r: 3, s: 3}")
    arguments = ("run", "layer.yaml", "--machine", host, *QUICK, "--json")
    plain = optmap(*arguments, cwd=tmp_path).document()
    asked = optmap(
        *(*arguments, "--padding", "stored", "--semantics", "accumulate", "--layout", "blocked", "--weights", "call"),
        cwd=tmp_path,
    ).document()
    assert asked["options"] == {"layout": "blocked", "weights": "call", "stores": "ordinary", "prefetch": True}
    assert " in 1.." in plain["layers"][0]["workload"]["expression"]
    assert " in 1.." not in asked["layers"][0]["workload"]["expression"]
    assert "+=" in asked["layers"][0]["workload"]["expression"]
    assert plain["right"]
    assert asked["right"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("resnet18/R99",), "unknown workload 'resnet18/R99'"),
        (("resnet18/R9", "--extents", "i=3"), "extents belong to a statement"),
        (("C[i,j] += A[i,k]*B[k,j]",), "needs the extents"),
        (("resnet18/R9", "--machine", "eyeriss"), "machine eyeriss has 168 units in meshes"),
        (("nothing.json",), "no such file"),
        (("resnet18/R9", "--seconds", "-1"), "'--seconds': it is '-1'"),
        (("resnet18/R9", "-o", "no/folder.json"), "cannot be written"),
    ],
)
def test_what_cannot_be_run_is_refused(
    optmap, host: str, tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    machine = () if "--machine" in arguments else ("--machine", host)
    run = optmap("run", *arguments, *machine, cwd=tmp_path, code=2)
    assert words in run.err


def test_without_a_compiler_run_says_what_to_install(
    optmap, host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    for machine in (("--machine", host), ()):
        run = optmap("run", *MATMUL, *machine, "--json", cwd=tmp_path, code=2)
        assert "apt install gcc" in run.err
        assert run.document()["error"]["exit"] == 2


def test_run_from_python_on_objects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(
        "optmap.verbs.running.detect", lambda **how: asked.append(how) or SimpleNamespace(machine=AVX512)
    )
    solved = toolkit.solve("C[i,j] += A[i,k]*B[k,j]", extents={"i": 12, "j": 9, "k": 5}, memory="1KiB")
    runs = toolkit.run(solved, solved.workload, machine=None, seconds=0.01, folder=tmp_path, candidates=1)
    assert asked == [{"quick": True}]
    assert [layer.machine.name for layer in runs.layers] == [solved.machine.name, "avx512"]
    assert not runs.wrong
    assert list(tmp_path.iterdir())
    kernel = toolkit.compile(runs.layers[0].chosen.code, folder=tmp_path)
    left, right = np.ones((12, 5), np.float32), np.ones((5, 9), np.float32)
    assert np.array_equal(kernel(left, right), np.full((12, 9), 5, np.float32))
    with pytest.raises(InputError, match="no workload is given"):
        toolkit.run()
