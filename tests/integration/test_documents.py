"""Documents say everything: what is written and read back is what it was."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from strategies import chains

import optmap as package
from optmap.base.errors import InputError
from optmap.base.texts import number
from optmap.files.fields import Fields
from optmap.files.library import list_machines, list_workloads, machine, workload
from optmap.files.machines import machine_document, machine_from
from optmap.files.mappings import mapping_document, read_mapping
from optmap.files.workloads import read_workload, workload_document
from optmap.machines.core import Microkernel
from optmap.machines.machine import Level, LevelKind, Machine
from optmap.mappings.levels import LevelMapping, Mapping
from optmap.report import (
    bands_text,
    doctor_document,
    doctor_table,
    grid,
    machine_table,
    mapping_table,
    workload_table,
)
from optmap.solvers import SolverReport
from optmap.workloads.amounts import Capacity
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Semantics, Workload


def through_json(document: dict[str, object]) -> Fields:
    return Fields.of(json.loads(json.dumps(document, allow_nan=False)), "file.json")


def test_every_library_workload_survives() -> None:
    for name in list_workloads():
        for semantics in Semantics:
            made = replace(workload(name), semantics=semantics)
            assert read_workload(through_json(workload_document(made))) == made


@given(chains())
def test_chains_survive(made: Workload) -> None:
    document = workload_document(made)
    assert read_workload(through_json(document)) == made
    assert ("statements" in document) is not made.is_product
    if not made.is_product:
        other = through_json({**document, "expression": made.alone(made.statements[0].name).expression + " "})
        with pytest.raises(InputError, match="expression is not what its statements say"):
            read_workload(other)


def test_every_library_machine_survives() -> None:
    for name in list_machines():
        made = machine(name)
        assert machine_from(through_json(machine_document(made))) == made


def test_unusual_workload_survives() -> None:
    made = parse_workload(
        "O[2x+3y+1,z] = A[x,y+y]*A[z,0]*B[]",
        {"z": 2, "y": 2**63 - 1, "x": 1},
        name="odd",
        bytes={"O": 8, "A": 2, "B": 4},
    )
    made = replace(made, count=3)
    document = workload_document(made)
    assert document["bytes"] == {"O": 8, "A": 2, "B": 4}
    assert read_workload(through_json(document)) == made


def test_unusual_machine_survives() -> None:
    made = Machine(
        name="odd",
        memory="HBM",
        levels=(
            Level(
                name="RF",
                capacity=Capacity(amount=1, unit="words"),
                bandwidth=0.1,
                energy_pj=0.25,
                microkernel=Microkernel(vector=4, broadcast=2),
            ),
            Level(
                name="GLB",
                capacity=Capacity(amount=10**15),
                bandwidth=1e9,
                kind=LevelKind.CACHE,
                shared=True,
                fanout=12,
                inclusive=False,
            ),
        ),
    )
    assert machine_from(through_json(machine_document(made))) == made
    text = machine_table(made)
    assert "4 x 2" in text
    assert "1,000,000,000,000,000 bytes" in text


def test_mapping_survives_without_trivial_splits() -> None:
    problem = parse_workload("C[i,j] += A[i,k]*B[k,j]", {"i": 9, "j": 8, "k": 7})
    box = Machine(name="box", levels=(Level(name="L1", capacity=Capacity(amount=99, unit="words"), fanout=3),))
    made = Mapping(
        levels=(
            LevelMapping(
                level="L1",
                tile={"i": 9, "j": 4, "k": 1},
                permutation=("k", "i", "j"),
                spatial={"i": 3, "j": 1},
            ),
        )
    )
    document = mapping_document(made)
    read = read_mapping(through_json(document), problem, box)
    assert read.levels[0].spatial == {"i": 3}
    assert replace(read.levels[0], spatial=made.levels[0].spatial) == made.levels[0]
    assert "i/3" in mapping_table(problem, box, made)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"bytes": 0}, ["file.json", "bytes"]),
        ({"bytes": {"Z": 4}}, ["file.json", "Z"]),
        ({"count": 0}, ["count"]),
        ({"extents": []}, ["extents"]),
        ({"extents": {"i": "9"}}, ["extents.i"]),
        ({"name": None}, ["name"]),
        ({"expresion": "x"}, ["expresion", "expression"]),
    ],
)
def test_wrong_workloads_name_file_and_field(change: dict[str, object], words: list[str]) -> None:
    document = workload_document(parse_workload("C[i] += A[i]", {"i": 9}))
    with pytest.raises(InputError) as caught:
        read_workload(through_json({**document, **change}))
    for word in words:
        assert word in str(caught.value)


def test_numbers() -> None:
    assert number(1234567) == "1,234,567"
    assert number(1234567.0) == "1,234,567"
    assert number(1234.56) == "1,234.6"
    assert number(0.123456) == "0.1235"
    assert number(2**70) == f"{2**70:,}"


def test_grid_aligns_and_leaves_no_trailing_space() -> None:
    assert grid(("a", "bb"), "<>", [("xyz", "1"), ("x", "22")]) == "a    bb\n---  --\nxyz   1\nx    22"


def test_bands() -> None:
    assert bands_text([["k", "c"], ["n"], ["w", "h"]]) == "<{k,c},n,{w,h}>"


def test_workload_table_counts_words_of_mixed_sizes() -> None:
    made = parse_workload("C[i] += A[i]", {"i": 1000}, bytes={"C": 8, "A": 2})
    rows = workload_table(made).splitlines()
    assert rows[-2].split() == ["C[i]", "output", "8", "1,000", "4,000"]
    assert rows[-1].split() == ["A[i]", "input", "2", "1,000", "1,000"]


def report(**changes: object) -> SolverReport:
    made = SolverReport(
        name="ipopt",
        title="Ipopt",
        forms=("nlp",),
        available=True,
        version="Ipopt 3.14",
        sample="minimise x",
        expected=1.0,
        value=1.0000000001,
        passed=True,
        message="",
        install="pip install it",
    )
    return replace(made, **changes)


def test_doctor_names_the_install_command_of_what_is_missing() -> None:
    missing = report(available=False, version="", value=None, passed=False, message="No module named 'cyipopt'")
    text = doctor_table([report(name="highs"), missing])
    assert "not installed" in text
    assert "ipopt is missing (No module named 'cyipopt'); install it with: pip install it" in text
    assert "highs is missing" not in text


def test_doctor_marks_a_wrong_sample() -> None:
    wrong = report(value=2.0, passed=False)
    assert doctor_table([wrong]).splitlines()[2].split()[-2:] == ["2", "wrong"]
    document = doctor_document([wrong])
    (entry,) = json.loads(json.dumps(document))["solvers"]
    assert entry["sample"] == {"program": "minimise x", "expected": 1.0, "value": 2.0, "passed": False}


@pytest.mark.parametrize("name", ["mopt", "cores", "timed", "allocation"])
def test_a_recount_writes_numbers_as_the_answer_does(name: str) -> None:
    """What is a whole number in a solution is one in its recount, too."""
    file = Path(__file__).parents[1] / "data" / "documents" / f"{name}.json"
    said = json.loads(file.read_text(encoding="utf-8"))
    counted = json.loads(json.dumps(package.evaluate(file).to_dict()))
    assert {"cost", "exact", "levels", "boundaries"} <= set(said) & set(counted)
    assert list(other_types(said, counted)) == []


def other_types(one: Any, other: Any, where: str = "") -> Iterator[str]:
    if type(one) is not type(other):
        yield f"{where}: {one!r} {other!r}"
    elif isinstance(one, dict):
        for key in one.keys() & other.keys():
            yield from other_types(one[key], other[key], f"{where}.{key}")
    elif isinstance(one, list):
        for number, (mine, own) in enumerate(zip(one, other, strict=False)):  # notes differ
            yield from other_types(mine, own, f"{where}[{number}]")
