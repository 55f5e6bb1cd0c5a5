"""Plausible mistakes, each answered with what is wrong, where, and what to type: a few lines, exit code 2 or 3."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

import optmap as package
from optmap.base.errors import InputError, WrongKindError
from optmap.files.kinds import KINDS, file_kind, missing_file
from optmap.search import METHODS
from optmap.search.methods import HOMES

MISTAKES = [
    line
    for line in (Path(__file__).parents[1] / "data" / "mistakes.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]
MOST_LINES = 5
WORKLOAD = 'name: toy\nexpression: "C[i,j] += A[i,k]*B[k,j]"\nextents: {i: 8, j: 8, k: 8}\n'
LEVEL = "  - {{name: {}, capacity: {}, bandwidth: 4, kind: cache, inclusive: {}}}\n"
FILES = {
    "w.yaml": WORKLOAD,
    "layer": WORKLOAD,
    "several.yaml": "workloads:\n  one: {matmul: {i: 4, j: 4, k: 4}}\n  two: {matmul: {i: 5, j: 4, k: 4}}\n",
    "m.yaml": "levels:\n  - {name: L1, capacity: 64w, bandwidth: 4}\n  - {name: L2, capacity: 512w, bandwidth: 2}\n",
    "typo.yaml": "levls:\n  - {name: L1, capacity: 64w}\n",
    "swapped.yaml": "levels:\n" + LEVEL.format("L2", "1MiB", "true") + LEVEL.format("L1", "32KiB", "true"),
    "victim.yaml": "levels:\n" + LEVEL.format("L2", "1MiB", "false") + LEVEL.format("L1", "32KiB", "false"),
    "inclusive.yaml": "levels:\n" + LEVEL.format("L1", "1MiB", "true") + LEVEL.format("L2", "32KiB", "true"),
    "sweep.yaml": "workloads: [resnet18/R9]\ncapacities: {values: [64w]}\n",
    "cons.yaml": "constraints:\n  - L1.k=16\n",
    "problem.yaml": "problem:\n  shape: {name: x}\n",
    "arch.yaml": "architecture:\n  subtree: []\n",
    "tagged.yaml": "architecture:\n  nodes:\n  - !Container\n    name: system\n",
    "map.yaml": "mapping:\n  - {target: DRAM, type: temporal}\n",
    "ert.yaml": "ERT:\n  tables: []\n",
    "zigzag.yaml": "- id: 0\n  operator_type: Conv\n  equation: O[b][k]+=W[k]*I[b]\n",
    "zigzag_machine.yaml": "name: x\nmemories: {}\noperational_array: {unit_energy: 1}\n",
    "broken.yaml": "a: b: c\n",
    "binary.yaml": "\0\1",
    "empty.yaml": "",
    "half.json": "{",
    "data.csv": "1,2\n",
    "code.py": "i = 3\n",
    "net.pt": "",
    "model.onnx": "",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("mistakes")
    for name, text in FILES.items():
        (place / name).write_text(text)
    (place / "folder").mkdir()
    package.solve(package.workload(place / "w.yaml"), memory="64w").save(place / "sol.json")
    package.bound(package.workload(place / "w.yaml"), memory="64w").save(place / "cert.json")
    return place


@pytest.fixture(autouse=True)
def registries() -> Iterator[None]:
    before = dict(METHODS), dict(HOMES)
    yield
    assert (dict(METHODS), dict(HOMES)) == before


@pytest.mark.parametrize("line", MISTAKES)
def test_a_mistake_is_answered_with_what_to_type(line: str, optmap, folder: Path) -> None:
    command, _, said = line.partition(" => ")
    words = shlex.split(command)
    run = optmap(*(word.removesuffix("@") for word in words), cwd=folder, code=None)
    assert run.code in (2, 3)
    assert run.out == ""
    assert run.err.count("\n") <= MOST_LINES
    for word in (*(word.removesuffix("@") for word in words if word.endswith("@")), said):
        assert word in run.err


def test_there_are_many() -> None:
    assert len(MISTAKES) >= 150
    assert len(set(MISTAKES)) == len(MISTAKES)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("w.yaml", "workload"),
        ("several.yaml", "workloads"),
        ("m.yaml", "machine"),
        ("sweep.yaml", "sweep"),
        ("cons.yaml", "constraints"),
        ("problem.yaml", "problem"),
        ("arch.yaml", "architecture"),
        ("tagged.yaml", "architecture"),
        ("map.yaml", "nest"),
        ("ert.yaml", "energies"),
        ("sol.json", "solution"),
        ("cert.json", "certificate"),
        ("model.onnx", "onnx"),
        ("absent.onnx", "onnx"),
        ("folder", "folder"),
        ("layer", "workload"),
        ("half.json", ""),
        ("empty.yaml", ""),
        ("broken.yaml", ""),
        ("absent.yaml", ""),
    ],
)
def test_files_are_recognised(name: str, kind: str, folder: Path) -> None:
    assert file_kind(folder / name) == kind
    assert not kind or KINDS[kind].said


def test_library_files_are_what_their_folder_says() -> None:
    from optmap.files.library import models_path

    kinds = {"machines": {"machine"}, "workloads": {"workloads"}, "networks": {"workloads"}, "sweeps": {"sweep"}}
    for name, expected in kinds.items():
        found = {path.name: file_kind(path) for path in (models_path() / name).glob("*.yaml")}
        assert found
        assert set(found.values()) == expected


def test_a_mistake_within_a_file_of_the_right_kind_is_said_as_it_is(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(WORKLOAD.replace("k: 8", "k: 0"))
    with pytest.raises(InputError, match=r"x\.yaml: extents\.k is 0") as caught:
        package.workload(file)
    assert not isinstance(caught.value, WrongKindError)


@pytest.mark.parametrize(
    ("inner", "outer", "inclusive"),
    [("L2", "L3", False), ("L1", "Victim", False), ("Near", "Far", False), ("L1", "L2x", False)],
)
def test_a_smaller_outer_level_is_fine_where_it_can_be(inner: str, outer: str, inclusive: bool, tmp_path: Path) -> None:
    """The part of a shared victim cache that a core has beside a larger one of its own, as `detect` describes it."""
    file = tmp_path / "host.yaml"
    file.write_text("levels:\n" + LEVEL.format(inner, "2MiB", "false") + LEVEL.format(outer, "1920KiB", "false"))
    machine = package.machine(file)
    assert [level.name for level in machine.levels] == [inner, outer]
    assert package.bound("resnet18/R12", machine=machine, methods="compulsory").boundaries


def test_a_missing_file_is_compared_with_its_neighbours(folder: Path) -> None:
    assert str(missing_file(folder / "several.yml")).endswith("did you mean " + str(folder / "several.yaml") + "?")
    assert str(missing_file(folder / "quite_different.yaml")).endswith("no such file")
    assert str(missing_file(Path("no/such/folder.yaml"))) == "no/such/folder.yaml: no such file"
