"""Accelerators from the shell: solve, evaluate, check, compare, networks and sweeps over the numbers of a machine."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import optmap as api
from optmap.base.errors import InputError
from optmap.checker.core.tools import digest
from optmap.checker.nests.explored import TIMES
from optmap.files.library import machine as library_machine
from optmap.sweeps import spec_from
from optmap.sweeps.machine_numbers import variants


def signed(document: dict[str, Any]) -> str:
    """The digest of a document, which leaves out the times."""
    search = {key: value for key, value in document["search"].items() if key not in TIMES}
    return digest({**{key: value for key, value in document.items() if key != "seconds"}, "search": search})


CONVOLUTION = ("O[k,p,q] += I[c,p+r,q+s]*W[k,c,r,s]", "--extents", "k=8,c=4,p=6,q=6,r=3,s=3")
TINY = """
description: two layers
workloads:
  a: {conv2d: {k: 8, c: 4, h: 6, w: 6, r: 3, s: 3}, count: 2}
  b: {matmul: {i: 6, j: 8, k: 4}, count: 1}
"""


@pytest.fixture(scope="module")
def solution(optmap, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("accelerators") / "solution.json"
    run = optmap("solve", *CONVOLUTION, "--machine", "eyeriss", "--objective", "edp", "-o", str(file))
    assert run.code == 0
    assert "optimal, proved" in run.out
    return file


def test_a_proved_mapping_is_solved_saved_evaluated_and_checked(optmap, solution: Path) -> None:
    document = json.loads(solution.read_text())
    assert document["search"]["proved"]
    assert document["search"]["bound"] == pytest.approx(document["cost"]["value"], rel=1e-9)
    assert document["workload"]["semantics"] == "assign"
    assert any("outputs start empty" in note for note in document["notes"])
    evaluated = optmap("evaluate", str(solution), "--json").document()
    assert evaluated["disagreements"] == []
    assert evaluated["levels"] == document["levels"]
    text = optmap("evaluate", str(solution), "--counting", "timeloop").out
    assert "every count of the file holds" in text
    assert "(Spatial-X)" in text
    checked = optmap("check", str(solution))
    assert checked.code == 0
    assert "no schedule on this machine uses less than" in checked.out
    assert "run it again" in checked.out  # of the optimality within the mapspace, which is not re-proved


def test_a_layer_of_the_library_stays_one_as_an_assignment(optmap, tmp_path: Path) -> None:
    file = tmp_path / "layer.json"
    optmap("solve", "resnet50/fc", "--machine", "eyeriss", "--objective", "cycles", "-o", file)
    said = optmap("check", file).out
    assert "this is resnet50/fc of the library, solved as an assignment" in said
    assert "NOT resnet50" not in said
    document = json.loads(file.read_text())
    document["workload"]["name"] = "resnet50/conv1"
    del document["digest"]
    renamed = tmp_path / "renamed.json"
    renamed.write_text(json.dumps({**document, "digest": signed(document)}))
    said = optmap("check", renamed).out
    assert "NOT resnet50/conv1 of the library" in said
    assert "this is resnet50" not in said


def test_a_changed_file_fails_evaluation_and_check(optmap, solution: Path, tmp_path: Path) -> None:
    document = json.loads(solution.read_text())
    document["levels"][0]["energy_pj"] += 1
    changed = tmp_path / "changed.json"
    changed.write_text(json.dumps(document))
    optmap("evaluate", str(changed), code=5)
    optmap("check", str(changed), code=5)


def test_a_limit_has_an_exit_code_of_its_own(optmap) -> None:
    limit = ("--time-limit", "0.000001", "--json")
    optmap("solve", "resnet50/conv2", "--machine", "eyeriss_like", *limit, code=4)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--semantics", "accumulate"), "semantics assign"),
        (("--cores", "2"), "leave out --cores"),
        (("--objective", "bottleneck"), "edp"),
        (("--method", "mopt"), "use --method exact"),
    ],
)
def test_what_has_no_meaning_is_refused(optmap, options: tuple[str, ...], reason: str) -> None:
    run = optmap("solve", *CONVOLUTION, "--machine", "eyeriss", *options, code=2)
    assert reason in run.err


def test_methods_are_compared(optmap) -> None:
    found = optmap(
        "compare", *CONVOLUTION, "--machine", "eyeriss", "--methods", "exact,mopt", "--objective", "energy", "--json"
    ).document()
    assert found["best"] == "exact"
    assert "mopt" in found["left_out"]
    (row,) = found["rows"]
    assert row["energy"]["value"] >= found["bound"]["value"]


def test_a_network_adds_up_every_layer_as_often_as_it_occurs(optmap, tmp_path: Path) -> None:
    file = tmp_path / "tiny.yaml"
    file.write_text(TINY)
    options = ("--machine", "eyeriss", "--objective", "edp", "--jobs", "1", "-o", str(tmp_path / "kept"))
    found = optmap("network", str(file), *options, "--json").document()
    one, other = found["layers"]
    assert (one["count"], other["count"]) == (2, 1)
    energy = 2 * Fraction(one["energy"]["exact"]) + Fraction(other["energy"]["exact"])
    cycles = 2 * one["cycles"] + other["cycles"]
    assert Fraction(found["energy"]["exact"]) == energy
    assert found["cycles"]["value"] == cycles
    assert Fraction(found["edp"]["exact"]) == energy * cycles
    assert Fraction(found["search"]["bound"]["exact"]) <= energy * cycles
    assert Fraction(found["floor"]["edp"]["exact"]) <= Fraction(found["search"]["bound"]["exact"])
    assert found["search"]["proved_layers"] == 2
    text = optmap("network", str(file), *options).out  # from the rows that are kept
    assert "its energy times its cycles" in text
    assert "2 of 2" in text


SPACE: dict[str, Any] = {
    "workloads": ["C[i,j] += A[i,k]*B[k,j]"],
    "extents": {"i": 8, "j": 6, "k": 4},
    "machines": ["eyeriss_like"],
    "machine_numbers": {"GlobalBuffer.fanout.x": [2, 4], "GlobalBuffer.capacity": ["64w", "1KiB"]},
    "options": {"objective": "energy", "counting": "timeloop"},
}


def test_a_sweep_runs_over_numbers_of_a_machine_and_resumes(tmp_path: Path) -> None:
    spec = spec_from(SPACE)
    assert spec.methods == ("exact",)
    assert spec.points == 4
    tally = api.sweep(SPACE, tmp_path, engine="inline")
    assert (tally.done, tally.failed) == (4, 0)
    frame = api.read_sweep(tmp_path)
    assert set(frame["objective"]) == {"energy"}
    assert set(frame["counting"]) == {"timeloop"}
    assert frame["proved"].all()
    for row in frame.to_dict("records"):
        assert row["energy_pj"] * row["cycles"] == pytest.approx(row["edp"])
    assert (frame["search_bound"] <= frame["energy_pj"] * (1 + 1e-9)).all()
    assert (frame["bound"] <= frame["exact"]).all()
    names = set(frame["machine"])
    assert "eyeriss_like, GlobalBuffer.fanout.x=2, GlobalBuffer.capacity=64w" in names
    assert len(names) == 4
    # More children and a larger buffer never cost more.
    energy = {row["machine"]: row["energy_pj"] for row in frame.to_dict("records")}
    assert min(energy.values()) == energy["eyeriss_like, GlobalBuffer.fanout.x=4, GlobalBuffer.capacity=1KiB"]
    assert api.sweep(SPACE, tmp_path, engine="inline").reused == 4
    document = api.sweep_document(tmp_path, frame.iloc[0])
    assert document["schema"] == "optmap.accelerator-solution/1"
    assert api.plan(SPACE, tmp_path).stored == 4


def test_numbers_of_a_machine_are_changed_where_they_stand() -> None:
    numbers = {
        "DRAM.ports.read": [1],
        "RegisterFile.energy_pj.read": [0.5],
        "GlobalBuffer.block": [4],
        "arithmetic.energy_pj": ["1/3"],
    }
    (made,) = variants(library_machine("eyeriss_like"), numbers)
    assert made.outermost is not None
    assert made.outermost.ports.read == 1
    assert made.outermost.ports.write == 4
    assert made.arithmetic.energy_pj == Fraction(1, 3)
    stores = {level.name: level.store for level in made.levels}
    assert stores["RegisterFile"] is not None
    assert stores["RegisterFile"].energy_pj.read == Fraction(1, 2)
    assert stores["RegisterFile"].energy_pj.fill == 1
    assert stores["GlobalBuffer"] is not None
    assert stores["GlobalBuffer"].block == 4
    (wide,) = variants(library_machine("balanced"), {"L2.bandwidth": ["7w"]})
    assert wide.levels[1].bandwidth.words(32) == 7


@pytest.mark.parametrize(
    ("numbers", "reason"),
    [
        ({"Nowhere.capacity": [1]}, "has RegisterFile, GlobalBuffer, DRAM, arithmetic"),
        ({"GlobalBuffer.colour": [1]}, "there are capacity"),
        ({"GlobalBuffer.fanout.z": [1]}, "there are x, y"),
        ({"GlobalBuffer.capacity.amount.more": [1]}, "is no number"),
        ({"GlobalBuffer.fanout.x": [0]}, "GlobalBuffer.fanout.x=0"),
        ({"GlobalBuffer.capacity": ["many"]}, "many"),
        ({"GlobalBuffer.block": [[1]]}, "a list of numbers"),
        ({"GlobalBuffer.block": []}, "a list of numbers"),
        ({"GlobalBuffer.block": list(range(1, 200)), "DRAM.block": list(range(1, 200))}, "too many"),
    ],
)
def test_numbers_that_a_machine_cannot_have_are_refused(numbers: dict[str, Any], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        spec_from({**SPACE, "machine_numbers": numbers})


def test_numbers_without_machines_are_refused() -> None:
    spec = {**SPACE, "capacities": {"from": "8w", "to": "16w", "points": 2}}
    del spec["machines"]
    with pytest.raises(InputError, match="no machines"):
        spec_from(spec)


def test_bounds_come_with_the_mappings_of_accelerators() -> None:
    with pytest.raises(InputError, match="leave bound out"):
        spec_from({**SPACE, "methods": ["bound", "exact"]})


def test_kinds_of_machines_are_not_mixed() -> None:
    spec = {**SPACE, "machines": ["eyeriss", "balanced"], "methods": ["exact"]}
    del spec["machine_numbers"]
    with pytest.raises(InputError, match="sweeps of their own"):
        spec_from(spec)


SEARCHED = (*CONVOLUTION, "--machine", "eyeriss", "--method", "random")


def test_a_search_that_gives_up_has_ended_and_one_out_of_time_reached_a_limit(optmap) -> None:
    ended = optmap("solve", *SEARCHED)
    assert re.search(r"search ended, edp proved within [0-9.]+ % of the floor", ended.out)
    assert "it had nothing more to propose" in ended.out
    bounded = optmap("solve", *SEARCHED, "--evaluations", "100", "--set", "victory=0", "--json")
    search = bounded.document()["search"]
    assert (search["evaluations"], search["ended"]) == (100, "evaluations")
    late = optmap("solve", *SEARCHED, "--set", "victory=0", "--time-limit", "1", code=4)
    assert "a limit was reached; the answer is the best one found so far" in late.err
    assert "energy" in late.out


def test_a_journal_is_gone_on_with_and_another_search_is_refused(optmap, tmp_path: Path) -> None:
    journal = ("--journal", str(tmp_path / "j"), "--set", "victory=0", "--json")
    first = optmap("solve", *SEARCHED, *journal, "--evaluations", "300").document()
    longer = optmap("solve", *SEARCHED, *journal, "--evaluations", "600").document()
    alone = optmap("solve", *SEARCHED, *journal[2:], "--evaluations", "600").document()
    assert longer["digest"] == alone["digest"]
    assert longer["search"]["curve"][0] == first["search"]["curve"][0]
    refused = optmap("solve", *SEARCHED, *journal, "--seed", "1", code=2)
    assert "its seed is 0, not 1" in refused.err
    exact = optmap("solve", *CONVOLUTION, "--machine", "eyeriss", *journal[:2], code=2)
    assert "leave out --journal" in exact.err
