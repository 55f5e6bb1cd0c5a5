"""The code that ran fastest, from the shell: run here, or read from what run and bench wrote."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from broken_code import broken
from host_machines import usable_host
from schemas import hold

import optmap as toolkit
from optmap.base.errors import CheckError, InputError
from optmap.base.writing import to_json
from optmap.files.machines import machine_document
from optmap.native import emit_code
from optmap.native.run import layer as layers

HOST = usable_host()
MATMUL = ("C[i,j] += A[i,k]*B[k,j]", "--extents", "i=40,j=30,k=20")
QUICK = ("--seconds", "0.01", "--candidates", "3", "--time-limit", "1")
NETWORK = """
workloads:
  small: {conv2d: {k: 20, c: 4, h: 6, w: 7, r: 3, s: 3}, count: 3}
  product: {matmul: {i: 16, j: 24, k: 8}}
"""
Change = Callable[[dict[str, Any]], None]


@pytest.fixture(autouse=True, scope="module")
def folder_of_builds(tmp_path_factory: pytest.TempPathFactory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPTMAP_BUILD_DIR", str(tmp_path_factory.mktemp("builds")))
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("fastest")
    (place / "host.yaml").write_text(to_json({**machine_document(HOST)}))
    (place / "net.yaml").write_text(NETWORK)
    return place


def built(place: Path) -> str:
    made = subprocess.run(["make", "-C", str(place), "run"], capture_output=True, text=True, check=True)
    return made.stdout


def test_the_fastest_of_some_mappings_is_written(optmap, folder: Path) -> None:
    run = optmap("emit", *MATMUL, "--machine", "host.yaml", "--fastest", *QUICK, "-o", "here", cwd=folder)
    assert "GFLOPS" in run.out
    assert "the fastest of 3 mappings that were run (this machine, caches warm)" in run.out
    assert "1200 outputs are right" in built(folder / "here")
    found = optmap("emit", *MATMUL, "--machine", "host.yaml", "--fastest", *QUICK, "--json", cwd=folder).document()
    measured = found["measured"]
    assert measured["tried"] == 3
    assert measured["gflops"] == pytest.approx(2e-9 * 24_000 / measured["seconds"])
    plain = optmap("emit", *MATMUL, "--machine", "host.yaml", "--fastest", *QUICK, cwd=folder)
    assert "GFLOPS" in plain.err
    assert plain.out.startswith(("/*", "#"))
    assert optmap("emit", *MATMUL, "--machine", "host.yaml", "--json", cwd=folder).document()["measured"] is None


def test_which_one_is_fastest_is_what_the_clock_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second of three is made the fastest; the code of its mapping is what comes out."""
    seen: list[Any] = []

    def timed(ready: Any, seconds: float) -> Any:
        found = real(ready, seconds)
        seen.append([each.kernel.code.source for each in ready])
        lows = [1e-6 if each.kernel.code.source == seen[0][1] else 1e-3 for each in ready]
        return tuple(replace(timing, low=low, median=low) for timing, low in zip(found, lows, strict=True))

    real = layers.timings
    monkeypatch.setattr(layers, "timings", timed)
    code = toolkit.emit(
        MATMUL[0], extents=MATMUL[2], machine=HOST, fastest=True, candidates=3, seconds=0.01, time_limit=1
    )
    assert code.source == seen[0][1] != seen[0][0]
    assert code.ran is not None
    assert (code.ran.seconds, code.ran.tried) == (1e-6, 3)


def test_wrong_code_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layers, "emit_code", lambda *given: broken(emit_code(*given)))
    with pytest.raises(CheckError, match=r"1 wrong of all 1,200 outputs"):
        toolkit.emit(MATMUL[0], extents=MATMUL[2], machine=HOST, fastest=True, candidates=1, seconds=0.01)


def test_a_document_of_run_is_its_fastest_code(optmap, folder: Path) -> None:
    options = ("--layout", "nchw", "--weights", "call", "--stores", "streaming", "--no-prefetch")
    asked = ("run", *MATMUL, "--machine", "host.yaml", *QUICK, *options, "-o", "run.json", "--json")
    document = optmap(*asked, cwd=folder).document()
    (layer,) = document["layers"]
    run = optmap("emit", "run.json", "-o", "of_run", cwd=folder)
    assert f"{layer['gflops']:.4g} GFLOPS" in run.out
    assert "(optmap run, run.json)" in run.out
    assert "1200 outputs are right" in built(folder / "of_run")
    code = optmap("emit", "run.json", "--json", cwd=folder).document()
    assert code["mapping"] == layer["mapping"] == layer["candidates"][layer["best"] - 1]["mapping"]
    assert (
        code["options"]
        == document["options"]
        == {"layout": "nchw", "weights": "call", "stores": "streaming", "prefetch": False}
    )
    assert code["workload"] == layer["workload"]
    assert code["machine"] == document["machine"]
    assert code["measured"]["gflops"] == layer["gflops"]
    assert toolkit.emit(folder / "run.json", machine=HOST).source == code["source"]


@pytest.mark.longer
def test_one_of_several_workloads_is_named(optmap, folder: Path) -> None:
    optmap("run", "net.yaml", "--machine", "host.yaml", *QUICK, "-o", "net.json", cwd=folder)
    refused = optmap("emit", "net.json", "-o", "of_net", cwd=folder, code=2)
    assert "net.json has 2 workloads: net/small, net/product; name one, as in net.json/net/small" in refused.err
    code = optmap("emit", "net.json/net/product", "--json", cwd=folder).document()
    assert code["workload"]["extents"] == {"i": 16, "j": 24, "k": 8}
    small = optmap("emit", "net.json/net/small", "-o", "of_net", cwd=folder)
    assert "GFLOPS" in small.out
    assert "outputs are right" in built(folder / "of_net")
    assert "did you mean net/small" in optmap("emit", "net.json/net/smal", cwd=folder, code=2).err


def test_a_solution_that_was_run_has_its_own_machine(optmap, folder: Path) -> None:
    arguments = ("solve", *MATMUL, "--semantics", "assign", "--machine", "balanced", "-o", "solved.json")
    optmap(*arguments, cwd=folder)
    optmap("run", "solved.json", *QUICK, "-o", "solved_run.json", cwd=folder)
    code = optmap("emit", "solved_run.json", "--json", cwd=folder).document()
    solution = json.loads((folder / "solved.json").read_text())
    assert (code["mapping"], code["machine"]) == (solution["mapping"], solution["machine"])
    refused = optmap("emit", "solved.json", cwd=folder, code=2)
    assert "a solution is given with --mapping" in refused.err


def test_a_document_of_bench_is_its_fastest_code(optmap, folder: Path) -> None:
    asked = ("bench", *MATMUL, "--machine", "host.yaml", "--rounds", "2", "--candidates", "2", "--against", "onednn")
    layer = optmap(*asked, "--json", "-o", "bench.json", cwd=folder).document()["layers"][0]
    run = optmap("emit", "bench.json", "-o", "of_bench", cwd=folder)
    assert f"{layer['ours']['gflops']:.4g} GFLOPS" in run.out
    assert "1200 outputs are right" in built(folder / "of_bench")
    code = optmap("emit", "bench.json", "--json", cwd=folder).document()
    assert (code["mapping"], code["options"]) == (layer["mapping"], layer["options"])
    assert (code["options"]["layout"], code["threads"]) == (layer["layout"], 1)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: d.update(schema="optmap.comparison/1"), "schema is 'optmap.comparison/1'"),
        (lambda d: d["layers"][0].update(best=None), "no code that is right was timed"),
        (lambda d: d["layers"][0]["mapping"]["levels"].pop(), "level"),
        (lambda d: d["options"].update(layout="chwn"), "unknown layout 'chwn'"),
        (lambda d: d["options"].update(prefetch="no"), "prefetch"),
        (lambda d: d["layers"][0].update(gflops=-1), "gflops"),
        (lambda d: d["layers"][0].pop("workload"), "workload is missing"),
    ],
)
def test_documents_that_say_too_little_are_refused(folder: Path, tmp_path: Path, change: Change, words: str) -> None:
    run = toolkit.run(MATMUL[0], extents=MATMUL[2], machine=HOST, candidates=1, seconds=0.01, time_limit=1)
    document = json.loads(json.dumps(run.to_dict()))
    hold(document)
    change(document)
    path = tmp_path / "run.json"
    path.write_text(json.dumps(document))
    with pytest.raises(InputError, match=words):
        toolkit.emit(path)


def test_the_fastest_layer_of_equal_ones_with_the_threads_that_are_asked_for(tmp_path: Path) -> None:
    run = toolkit.run(MATMUL[0], extents=MATMUL[2], machine=HOST, candidates=1, seconds=0.01, time_limit=1)
    document = json.loads(json.dumps(run.to_dict()))
    (layer,) = document["layers"]
    document["layers"] = [
        {**layer, "gflops": rate, "threads": threads} for rate, threads in ((5.0, 1), (9.0, 2), (7.0, 1))
    ]
    path = tmp_path / "run.json"
    path.write_text(json.dumps(document))
    rates = [toolkit.emit(path, threads=threads).ran for threads in (None, 1)]
    assert [each.gflops for each in rates if each] == [9.0, 7.0]
    with pytest.raises(InputError, match="with 3 threads"):
        toolkit.emit(path, threads=3)


def test_choices_are_those_of_the_document(optmap, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text("{}")
    for arguments in (("--layout", "nhwc"), ("--no-prefetch",), ("--semantics", "assign"), ("--extents", "i=2")):
        refused = optmap("emit", str(tmp_path / "run.json"), *arguments, code=2)
        assert f"leave out {arguments[0]}" in refused.err
    both = optmap("emit", *MATMUL, "--machine", "balanced", "--fastest", "--mapping", "x.json", code=2)
    assert "--mapping says which mapping is written, --fastest looks for one" in both.err


def test_code_for_another_machine_is_not_said_to_have_been_timed(tmp_path: Path) -> None:
    run = toolkit.run(MATMUL[0], extents=MATMUL[2], machine=HOST, candidates=1, seconds=0.01, time_limit=1)
    path = tmp_path / "run.json"
    path.write_text(json.dumps(run.to_dict()))
    own, other = toolkit.emit(path, machine=HOST), toolkit.emit(path, machine=replace(HOST, name="bare", core=None))
    assert own.ran is not None
    assert other.source != own.source
    assert other.ran is None
    assert "written for bare, and is not the code that was timed in run.json" in other.notes[-1]


def test_a_missing_machine_is_asked_for_by_what_emit_takes(optmap) -> None:
    for arguments in ((), ("--fastest",)):
        error = optmap("emit", *MATMUL, *arguments, code=2).err
        assert "--machine" in error
        assert "--memory" not in error
