"""What stands for a workload, a machine, a capacity or names, in Python as in the shell."""

import os
from pathlib import Path

import numpy as np
import pytest

import optmap
from optmap.base.errors import InputError, OptmapError
from optmap.files.inputs import (
    capacities_of,
    capacity_of,
    extents_of,
    is_statement,
    machine_of,
    names_of,
    workload_of,
)
from optmap.sweeps import spec_from
from optmap.workloads.amounts import Capacity
from optmap.workloads.builders import matmul

STATEMENT = "C[i,j] += A[i,k]*B[k,j]"
EXTENTS = {"i": 4, "j": 5, "k": 6}
FILE = "expression: 'C[i,j] += A[i,k]*B[k,j]'\nextents: {i: 4, j: 5, k: 6}\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    folder = tmp_path / "dir[1]"
    folder.mkdir()
    (folder / "w=1.yaml").write_text(FILE)
    return folder / "w=1.yaml"


def test_a_path_with_brackets_is_a_file_for_everyone(file):
    assert not is_statement(str(file))
    assert workload_of(str(file)) == workload_of(file)
    assert optmap.bound(file, memory="9w").workload.extents == EXTENTS
    spec = spec_from({"workloads": [str(file)], "capacities": {"from": "9w", "to": "12w", "points": 2}})
    assert spec.workloads[0].extents == EXTENTS


@pytest.mark.parametrize("text", [STATEMENT, "ij,jk->ik", "C[i] = A[i]"])
def test_statements(text):
    assert is_statement(text)
    with pytest.raises(InputError, match="needs the extents of its dims"):
        workload_of(text)


def test_paths_are_accepted_where_names_are(file, tmp_path):
    machine = tmp_path / "m.yaml"
    machine.write_text((Path(optmap.__file__).parents[1] / "models/machines/balanced.yaml").read_text())
    assert machine_of(machine, None).levels == machine_of("balanced", None).levels
    spec = tmp_path / "s.yaml"
    spec.write_text(f"workloads: ['{file}']\ncapacities: {{from: 9w, to: 12w, points: 2}}\nmethods: [bound]\n")
    assert optmap.sweep(spec, tmp_path / "out", engine="inline").points == 2


def test_integers_of_numpy_are_integers():
    sizes = {dim: np.int64(size) for dim, size in EXTENTS.items()}
    made = workload_of(STATEMENT, sizes)
    assert made == workload_of(STATEMENT, "i=4,j=5,k=6") == workload_of(STATEMENT, EXTENTS)
    assert all(type(size) is int for size in made.extents.values())
    assert workload_of(made, {"k": np.int32(9)}).extents["k"] == 9


@pytest.mark.parametrize("size", [4.0, "4", None, True, np.float64(4), [4]])
def test_other_sizes_are_refused_with_the_dim(size):
    with pytest.raises(InputError, match=r"the extent of k is .*whole number"):
        extents_of({**EXTENTS, "k": size})


@pytest.mark.parametrize("memory", [1024, np.int64(1024)])
def test_a_number_without_unit_says_what_to_write(memory):
    for call in (optmap.bound, optmap.solve, optmap.compare):
        with pytest.raises(InputError, match="'1024w' for words or '1024B' for bytes, or '4KiB'"):
            call(STATEMENT, extents=EXTENTS, memory=memory)


def test_capacities():
    assert capacity_of(Capacity(amount=8)) == Capacity(amount=8)
    assert [c.amount for c in capacities_of(["8w", Capacity(amount=9, unit="words")], 2)] == [8, 9]
    assert len(capacities_of("8w:64w", 3)) == 3
    for wrong in ([], None, 3.5, [8], b"8w"):
        with pytest.raises(InputError, match="memory"):
            capacities_of(wrong, 2)


def test_one_name_is_one_name():
    assert names_of("mopt", "methods") == ("mopt",)
    assert names_of("mopt, iooub,mopt", "methods") == names_of(["mopt", "iooub"], "methods")
    assert names_of(None, "methods") is None
    for wrong in ("", "a,,b", [], [1], 7):
        with pytest.raises(InputError, match="separated by commas"):
            names_of(wrong, "methods")
    assert optmap.compare(STATEMENT, extents=EXTENTS, memory="20w", methods="mopt").methods == ("mopt",)
    report = optmap.bound(STATEMENT, extents=EXTENTS, memory="20w", methods="best")
    assert [bound.method for bound in report.outermost.bounds] == ["best"]


@pytest.mark.parametrize("wrong", [None, 7, b"resnet18/R9", ["resnet18/R9"], object()])
def test_what_names_nothing_is_refused_with_a_type_of_our_own(wrong):
    with pytest.raises(OptmapError, match="workload is"):
        workload_of(wrong)
    if wrong is not None:
        with pytest.raises(OptmapError, match="machine is"):
            machine_of(wrong, None)
    assert workload_of(matmul(i=2, j=2, k=2)).extents == {"i": 2, "j": 2, "k": 2}
    assert not isinstance(wrong, os.PathLike)


SOLVE = {"workload": STATEMENT, "extents": EXTENTS, "memory": "20w"}
MALFORMED = {
    "a time in no unit": (lambda _: optmap.solve(**SOLVE, time_limit="10x"), "is '10x'"),
    "no time": (lambda _: optmap.solve(**SOLVE, time_limit=None), "is None"),
    "a time that is none": (lambda _: optmap.compare(**SOLVE, time_limit=float("nan")), "is nan"),
    "progress that cannot be called": (lambda _: optmap.solve(**SOLVE, progress=3), "progress is 3"),
    "a dim that is a number": (lambda _: optmap.solve(STATEMENT, extents={1: 2}, memory="20w"), "no name of a dim"),
    "a name with a null byte": (lambda _: optmap.solve("a\0b.yaml", memory="20w"), "workload is"),
    "a machine with a null byte": (lambda _: optmap.solve("resnet18/R9", machine="a\0.yaml"), "machine is"),
    "points as text": (
        lambda _: optmap.compare(STATEMENT, extents=EXTENTS, memory="8w:20w", points="x"),
        "points is 'x'",
    ),
    "half a point": (lambda _: optmap.compare(STATEMENT, extents=EXTENTS, memory="8w:20w", points=2.5), "points is"),
    "no file to check": (lambda _: optmap.check(None), "path is None"),
    "a number to check": (lambda _: optmap.check(999), "path is 999"),
    "a result to check": (optmap.check, "path is Answer"),
    "nowhere to save": (lambda result: result.save(None), "path is None"),
    "a file with a null byte": (lambda result: result.save("a\0b.json"), "path is"),
    "a picture with a null byte": (lambda result: result.plot("a\0b.png"), "path is"),
    "a loop order that is a number": (lambda _: optmap.derive("resnet18/R9", permutation=3), "permutation is 3"),
    "no sweep": (lambda _: optmap.read_sweep(None), "directory is None"),
    "no row": (lambda _: optmap.sweep_document("folder", {}), "no row of a sweep"),
}


@pytest.fixture(scope="module")
def result():
    return optmap.solve(**SOLVE)


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_values_in_python_are_refused_by_name(name, result):
    call, message = MALFORMED[name]
    with pytest.raises(InputError, match=message):
        call(result)


def test_no_limit_of_time_is_one():
    assert optmap.solve(**SOLVE, time_limit=float("inf")).proved
    assert optmap.solve(**SOLVE, time_limit=np.float32(60)).proved


@pytest.mark.parametrize("threads", ["2", 0, -1, 1.5])
def test_threads_of_code_are_a_whole_number(threads: object) -> None:
    with pytest.raises(optmap.InputError, match="threads is "):
        optmap.emit("C[i,j] += A[i,k]*B[k,j]", extents={"i": 4, "j": 4, "k": 4}, machine="i7-9700k", threads=threads)
