"""Malformed input to every command, in one process: a typed message that helps, never a traceback."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper
from typer.testing import CliRunner

import optmap
from optmap.cli import main
from optmap.cli.app import app

MATMUL = ("C[i,j] += A[i,k]*B[k,j]", "--extents", "i=8,j=8,k=8")
WORKLOAD = 'name: toy\nexpression: "C[i,j] += A[i,k]*B[k,j]"\nextents: {i: 8, j: 8, k: 8}\n'
CONV = "conv2d: {k: 8, c: 8, h: 8, w: 8, r: 3, s: 3"
MACHINE = (
    "name: toy\nlevels:\n  - {name: L1, capacity: 64w, bandwidth: 4w}\n  - {name: L2, capacity: 512w, bandwidth: 2w}\n"
)
SWEEP = "name: s\nworkloads: [resnet18/R9]\nmachines: [balanced]\nmethods: [bound]\n"
LONG = "9" * 5000


def run(*arguments: object) -> tuple[int, str]:
    """Exit code and message; every other exception and every control character fails."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert all(c.isprintable() or c == "\n" for c in result.stderr + result.stdout)
    assert "Traceback" not in result.stderr
    return result.exit_code, result.stderr


WORKLOADS: dict[str, tuple[str | bytes, str]] = {
    "an endless extent": (WORKLOAD.replace("i: 8", f"i: {LONG}"), "thousands of digits"),
    "an endless count": (WORKLOAD + f"count: {LONG}\n", "thousands of digits"),
    "an element of 10^400 bytes": (WORKLOAD + f"bytes: 1{'0' * 400}\n", "bytes"),
    "a third of a byte": (WORKLOAD + "bytes: 0.3\n", "bytes is 0.3"),
    "no bytes": (WORKLOAD + "bytes: 0\n", "bytes"),
    "bytes of no tensor": (WORKLOAD + "bytes: {C: 4, D: 4}\n", "'D'"),
    "a list of bytes": (WORKLOAD + "bytes: []\n", "bytes"),
    "unknown semantics": (WORKLOAD + "semantics: maybe\n", "known are accumulate, assign"),
    "no count": (WORKLOAD + "count: 0\n", "count is 0"),
    "a name of two lines": (WORKLOAD.replace("toy", '"a\\nb"'), "name of a workload"),
    "a name that steers": (WORKLOAD.replace("toy", '"a\\e[2J"'), r"\x1b"),
    "half a character": (WORKLOAD.replace("toy", '"a\\ud800"'), "name of a workload"),
    "no text": (b"\xff\xfe\x00", "cannot be read"),
    "itself": ("a: &a [*a]\n", "x.yaml"),
    "a list as key": ("? [a, b]\n: 1\n", "not valid YAML"),
    "a command": ("!!python/object/apply:os.system ['true']\n", "not valid YAML"),
    "a deep list": ("- " * 1500, "nested too deeply"),
    "stride 0": (CONV + ", stride: 0}\n", "stride"),
    "three strides": (CONV + ", stride: [1, 2, 3]}\n", "stride"),
    "a size that is text": (CONV.replace("k: 8", "k: a") + "}\n", "k"),
    "no builder": ("conv2d: 7\n", "conv2d"),
    "no workloads": ("workloads: []\n", "workloads"),
    "a description that is a list": (WORKLOAD + "description: [a]\n", "description is a list"),
    "a source that is a number": (f"source: 5\nworkloads:\n  a: {{{CONV}}}}}\n", "source is 5"),
}


@pytest.mark.parametrize("name", WORKLOADS)
def test_workload_files(tmp_path: Path, name: str) -> None:
    text, word = WORKLOADS[name]
    file = tmp_path / "x.yaml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    code, message = run("bound", file, "--memory", "64w")
    assert code == 2
    assert "x.yaml" in message
    assert word in message
    assert len(message) < 1000


MACHINES = {
    "an inclusive level that is smaller": (MACHINE.replace("512w", "32w"), "inclusive: false"),
    "10^30 words": (MACHINE.replace("512w", f"1{'0' * 30}w"), "2^63-1"),
    "fanouts and cores": (MACHINE.replace("bandwidth: 4w", "fanout: 4") + "cores: 16\n", "make them agree"),
    "a negative energy": (MACHINE.replace("bandwidth: 4w", "energy_pj: -5"), "energy_pj is -5"),
    "no microkernel": (MACHINE.replace("bandwidth: 4w", "microkernel: {vector: 0, broadcast: 2}"), "vector is 0"),
    "a microkernel in a cache": (
        MACHINE.replace("bandwidth: 2w", "microkernel: {vector: 4, broadcast: 2}"),
        "only the innermost level, L1",
    ),
    "parts that do not add up": (
        MACHINE.replace("bandwidth: 4w", "partitions: [{name: a, tensors: inputs, capacity: 3w}]"),
        "make them agree",
    ),
    "a list of kinds": (MACHINE.replace("bandwidth: 4w", "kind: [cache]"), "scratchpad or cache"),
    "no name": (MACHINE.replace("name: L1", 'name: ""'), "name of a level"),
    "a name of two lines": (MACHINE.replace("name: L1", 'name: "a\\nb"'), r"a\nb"),
    "memory like a level": (MACHINE + "memory: L1\n", "repeat"),
    "an empty description": (MACHINE + "description:\n", "description is empty"),
    "parts that are a zero": (MACHINE.replace("bandwidth: 4w", "partitions: 0"), "partitions is 0"),
    "parts that are false": (MACHINE.replace("bandwidth: 4w", "partitions: false"), "partitions is False"),
    "10^30 children": (MACHINE + f"outermost: {{fanout: 1{'0' * 30}}}\n", "fanout"),
    "10^30 bits": (MACHINE + f"arithmetic: {{word_bits: 1{'0' * 30}}}\n", "word_bits"),
    "bandwidth 10^-320": (MACHINE.replace("bandwidth: 4w", "bandwidth: 1e-320"), "bandwidth"),
}


@pytest.mark.parametrize("name", MACHINES)
def test_machine_files(tmp_path: Path, name: str) -> None:
    text, word = MACHINES[name]
    file = tmp_path / "m.yaml"
    file.write_text(text, encoding="utf-8")
    code, message = run("bound", *MATMUL, "--machine", file)
    assert code == 2
    assert word in message
    assert "m.yaml" in message


ARGUMENTS: list[tuple[tuple[object, ...], str]] = [
    (("solve", *MATMUL, "--memory", "64w", "--seed", "a"), "--seed"),
    (("solve", *MATMUL, "--memory", "64w", "--seed", "-1"), "--seed"),
    (("solve", *MATMUL, "--memory", "64w", "--cores", "1.5"), "--cores"),
    (("solve", *MATMUL, "--memory", "1e3w"), "1e3w"),
    (("solve", *MATMUL, "--memory", f"{LONG}w"), "capacity"),
    (("solve", "C[i] += A[i]\x1b[2J", "--extents", "i=3", "--memory", "64w"), r"\x1b"),
    (("solve", "\u202eC[i] += A[i]", "--extents", "i=3", "--memory", "64w"), r"\u202e"),
    (("solve", "", "--memory", "64w"), "''"),
    (("solve", "O[i] += A[i]", "--extents", f"i={LONG}", "--memory", "64w"), "2^63-1"),
    (("bound", *MATMUL, "--memory", "64w", "--methods", "nosuch"), "nosuch"),
    (("bound", *MATMUL, "--memory", "64w", "--methods", ""), "--methods"),
    (("bound", *MATMUL, "--memory", "64w", "-o", "/"), "folder"),
    (("compare", *MATMUL, "--memory", "64w:16w"), "smaller capacity first"),
    (("compare", *MATMUL, "--memory", "16w:64w", "--points", "1"), "--points"),
    (("compare", *MATMUL, "--memory", "16w:64w", "--methods", "mopt,,iooub"), "mopt,,iooub"),
    (("derive", *MATMUL, "--permutation", ""), "exactly once"),
    (("derive", *MATMUL, "--levels", "9"), "--levels"),
    (("export", *MATMUL, "--memory", "64w", "--format", "word"), "word"),
    (("plot", "/no/such/sweep"), "no sweep"),
    (("network", "nosuch"), "resnet18"),
    (("import", "/"), "/"),
    (("import", "/no/such.onnx"), "no such"),
    (("algorithms", "resnet50/conv99", "--memory", "64w"), "conv99"),
    (("show", "\x1b[2J"), r"\x1b"),
    (("list", "nosuch"), "nosuch"),
    *(((verb, ""), "is empty") for verb in ("check", "evaluate", "import", "plot")),
    (("sweep", ""), "sweep is ''"),
    (("check", "/"), "is a folder"),
    (("solve", "ij,jk", "--extents", "i=8,j=8,k=8", "--memory", "64w"), "ij,jk->ik"),
]


@pytest.mark.parametrize("number", range(len(ARGUMENTS)))
def test_arguments(number: int) -> None:
    arguments, word = ARGUMENTS[number]
    code, message = run(*arguments)
    assert code == 2
    assert word in message


SWEEPS = {
    "nothing": ("", "x.yaml"),
    "an unknown key": (SWEEP + "nosuch: 1\n", "nosuch"),
    "an unknown layer": (SWEEP.replace("R9", "R99"), "R99"),
    "an unknown machine": (SWEEP.replace("balanced", "balancd"), "balanced"),
    "a description that is a list": (SWEEP + "description: [a]\n", "description is a list"),
    "numbers of no level": (SWEEP + "machine_numbers: {L9.capacity: 1KiB}\n", "L9.capacity"),
    "no methods": (SWEEP.replace("[bound]", "[]"), "methods"),
    "half a core": (SWEEP + "options: {cores: 1.5}\n", "cores is 1.5"),
    "capacities without unit": (SWEEP + "capacities: 64\n", "capacities"),
    "a seed below 0": (SWEEP + "seed: -1\n", "seed"),
}


@pytest.mark.parametrize("name", SWEEPS)
def test_sweep_files(tmp_path: Path, name: str) -> None:
    text, word = SWEEPS[name]
    file = tmp_path / "x.yaml"
    file.write_text(text, encoding="utf-8")
    code, message = run("sweep", file, "-o", tmp_path / "out")
    assert code == 2
    assert word in message
    assert "x.yaml" in message


@pytest.fixture(scope="module")
def solution() -> dict[str, Any]:
    result = CliRunner().invoke(app, ["solve", *MATMUL, "--memory", "64w", "--json"])
    return dict(json.loads(result.stdout))


CHANGES: dict[str, tuple[tuple[str | int, ...], Any, str]] = {
    "schema": (("schema",), 5, "schema"),
    "later schema": (("schema",), "optmap.solution/99", "optmap.solution/99"),
    "no mapping": (("mapping",), None, "mapping"),
    "empty held": (("held",), {}, "held"),
    "cost": (("cost",), 7, "cost"),
    "boundaries": (("boundaries",), {}, "boundaries"),
    "extents": (("workload", "extents"), {"i": 8}, "j"),
    "element size": (("workload", "bytes"), 10**400, "bytes"),
    "true bytes": (("workload", "bytes"), True, "bytes"),
    "no statement": (("workload", "expression"), "", "statement"),
    "two lines": (("workload", "name"), "a\nVerified", r"a\nVerified"),
    "surrogate": (("workload", "name"), "\ud800", r"\ud800"),
    "steering statement": (("workload", "expression"), "\x1b[2J\ud800", r"\x1b"),
    "energy": (("machine", "levels", 0, "energy_pj"), -5, "energy_pj"),
    "fanout": (("machine", "levels", 0, "fanout"), True, "fanout"),
    "level name": (("machine", "levels", 0, "name"), "", "name"),
    "capacity": (("machine", "levels", 0, "capacity", "amount"), 10**400, "capacity"),
    "large tile": (("mapping", "levels", 0, "tile", "i"), 9, "tile of i"),
    "loops as text": (("mapping", "levels", 0, "permutation"), "ijk", "permutation"),
    "too many ways": (("mapping", "levels", 0, "spatial"), {"i": 2}, "split 2 ways"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_solution_files(solution: dict[str, Any], tmp_path: Path, name: str) -> None:
    """Bad input for `evaluate`; `check` refuses the same file."""
    path, value, word = CHANGES[name]
    made = json.loads(json.dumps(solution))
    inside = made
    for key in path[:-1]:
        inside = inside[key]
    inside[path[-1]] = value
    file = tmp_path / "s.json"
    file.write_text(json.dumps(made), encoding="utf-8")
    code, message = run("evaluate", file)
    assert code == 2
    assert word in message
    assert len(message) < 1500
    code, message = run("check", file)
    assert code == 5
    assert "refused" in message


@pytest.mark.parametrize(
    "text", [b"\xff\xff", b'{"a":' * 5000, b'{"schema": %s}' % LONG.encode(), b'{"a": NaN}', b"[]", b"null", b""]
)
def test_json_files(tmp_path: Path, text: bytes) -> None:
    file = tmp_path / "s.json"
    file.write_bytes(text)
    for command in ("evaluate", "check"):
        code, message = run(command, file)
        assert code in (2, 5)
        assert "s.json" in message
        assert "set_int_max_str_digits" not in message
        assert "Errno" not in message


def test_a_model_without_workloads(tmp_path: Path) -> None:
    shape = (1, 4)
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"])],
        "relu",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
    )
    file, out = tmp_path / "relu.onnx", tmp_path / "relu.yaml"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), str(file))
    code, message = run("import", file, "-o", out)
    assert code == 2
    assert "nothing is imported" in message
    assert not out.exists()


def test_the_name_of_a_file_may_be_no_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal that takes UTF-8 gets UTF-8 of a name that holds a byte of no character."""
    raw = io.BytesIO(), io.BytesIO()
    for name, stream in zip(("stdout", "stderr"), raw, strict=True):
        monkeypatch.setattr(sys, name, io.TextIOWrapper(stream, encoding="utf-8", errors="strict", write_through=True))
    monkeypatch.setattr(sys, "argv", ["optmap", "check", str(tmp_path / "no\udcff.json"), "--json"])
    assert main() == 2
    assert json.loads(raw[0].getvalue())["error"]["exit"] == 2
    assert rb"\udcff" in raw[1].getvalue()


HUGE = 10**400


def saved_file(folder: Path, answer: Any, *path: str | int, value: Any) -> Path:
    """The document of an answer with another value at one place."""
    document = json.loads(json.dumps(answer.to_dict()))
    inside = document
    for key in path[:-1]:
        inside = inside[key]
    inside[path[-1]] = value
    file = folder / "saved.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    return file


def test_numbers_beyond_floats_are_no_numbers_of_an_answer(tmp_path: Path) -> None:
    product, extents = MATMUL[0], {"i": 8, "j": 8, "k": 8}
    found = optmap.solve(product, extents=extents, machine="eyeriss_like", method="random", evaluations=5)
    for path, word in (
        (("cost", "value"), "cost.value says"),
        (("utilisation",), "utilisation says"),
        (("levels", 0, "accesses", "A", "multicast"), "levels[0].accesses.A.multicast says"),
    ):
        file = saved_file(tmp_path, found, *path, value=HUGE)
        code, message = run("evaluate", file)
        assert code == 5
        assert word in message
        assert run("show", file)[0] == 0
    file = saved_file(tmp_path, found, "mapping", "levels", -1, "tile", "i", value=HUGE)
    code, message = run("evaluate", file)
    assert code == 2
    assert "saved.json: mapping: level DRAM: tile and ways of i must be whole numbers from 1 to 2^63-1" in message
    compared = optmap.compare(product, extents=extents, memory="64w", methods="tiling-lp")
    file = saved_file(tmp_path, compared, "rows", 0, "loads_words", value=HUGE)
    assert run("show", file)[0] == run("show", file, "--json")[0] == 0


@pytest.mark.parametrize(
    ("path", "value", "word"),
    [
        (("mapping", "tree"), [], "mapping: mapping tree, malformed"),
        (("mapping", "tree", 0, "keep"), "x", "which is no level"),
        (("machine",), "nosuch", "machine: unknown machine"),
    ],
)
def test_trees_that_are_refused_name_their_file(tmp_path: Path, path: tuple[Any, ...], value: Any, word: str) -> None:
    chain, extents = "S[m,l] = A[m,k]*B[k,l]; C[m,n] = S[m,l]*D[l,n]", {"m": 8, "l": 8, "k": 2, "n": 3}
    code, message = run(
        "evaluate", saved_file(tmp_path, optmap.solve(chain, extents=extents, memory="40w"), *path, value=value)
    )
    assert code == 2
    assert "saved.json: " in message
    assert word in message


def test_records_with_numbers_beyond_floats_differ(tmp_path: Path) -> None:
    records = json.loads((Path(__file__).parents[1] / "data" / "timeloop_conformance.json").read_text(encoding="utf-8"))
    records[0]["mapping"][0]["temporal"][0][1] = HUGE
    file = tmp_path / "records.json"
    file.write_text(json.dumps(records[:1]), encoding="utf-8")
    code, message = run("conformance", file)
    assert code == 5
    assert "records.json: " in message
