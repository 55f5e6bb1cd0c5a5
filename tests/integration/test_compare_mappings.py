"""Saved mappings side by side: counted again, with ratios and where their nests differ."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import optmap

from .conftest import Command

NEST = ("C[i,j] += A[i,k]*B[k,j]", "--extents", "i=96,j=85,k=77")
PAIR = ("S[m,l] = A[m,k]*B[k,l]; C[m,n] = S[m,l]*D[l,n]", "--extents", "m=24,l=20,k=6,n=5")


@pytest.fixture(scope="module")
def folder(optmap: Command, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("mappings")
    for name, args in {
        "any": (*NEST, "--machine", "balanced"),
        "divisors": (*NEST, "--machine", "balanced", "--tiles", "divisors"),
        "mesh": (*NEST, "--semantics", "assign", "--machine", "eyeriss_like"),
        "mesh2": (*NEST, "--semantics", "assign", "--machine", "eyeriss_like", "--method", "random"),
        "fused": (*PAIR, "--memory", "100w"),
        "apart": (*PAIR, "--memory", "100w", "--method", "apart"),
    }.items():
        optmap("solve", *args, "-o", f"{name}.json", cwd=made)
    return made


@pytest.mark.parametrize(("one", "other"), [("any", "divisors"), ("mesh", "mesh2"), ("fused", "apart")])
def test_quantities_are_those_of_evaluate_and_differences_lines_of_the_nests(
    optmap: Command, folder: Path, one: str, other: str
) -> None:
    names = [f"{one}.json", f"{other}.json"]
    found = json.loads(optmap("compare", *names, "--json", cwd=folder).out)
    assert [each["file"] for each in found["mappings"]] == names
    values = {each["name"]: each["values"] for each in found["quantities"]}
    for place, name in enumerate(names):
        counted = json.loads(optmap("evaluate", name, "--json", cwd=folder).out)
        words: dict[str, int] = {}
        for row in counted["boundaries"]:
            key = " - ".join(row["between"])
            words[key] = words.get(key, 0) + row["loads_words"] + row["stores_words"]
        assert {key: values[key][place] for key in words} == words
        if "cost" in counted:
            assert values["cost"][place] == counted["cost"]["value"]
    nests = [optmap("show", name, "--nest", cwd=folder).out.splitlines() for name in names]
    lines = found["mappings"][1]["differences"]
    assert lines
    for line in lines:
        assert line[1:] in nests[line[0] == "+"]
    text = optmap("compare", *names, cwd=folder).out
    assert f"What differs: - {names[0]}, + {names[1]}" in text


def test_three_files_have_a_column_each_and_the_same_one_differs_nowhere(optmap: Command, folder: Path) -> None:
    said = optmap("compare", "any.json", "divisors.json", "any.json", cwd=folder).out
    assert "the nests are the same" in said


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("any.json",), "one mapping alone is compared with nothing"),
        (("any.json", "fused.json"), "any.json and fused.json have different statements"),
        (("any.json", "gone.json"), "gone.json: no such file"),
        (("any.json", "divisors.json", "--memory", "100w"), "--memory is for a workload, and these are files"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    optmap: Command, folder: Path, names: tuple[str, ...], message: str
) -> None:
    assert message in optmap("compare", *names, cwd=folder, code=2).err


def test_answers_are_compared_in_python(folder: Path) -> None:
    text, extents = NEST[0], {"i": 96, "j": 85, "k": 77}
    answer = optmap.solve(text, extents=extents, memory="64w")
    found = optmap.compare_mappings(answer, optmap.solve(text, extents=extents, memory="128w"))
    assert [each.name for each in found.mappings] == ["mapping 1", "mapping 2"]
    first, second = found.quantities["Fast - Memory", "words"]
    assert first > second


def test_costs_of_several_objectives_are_several_quantities() -> None:
    text, extents = NEST[0], {"i": 12, "j": 10, "k": 6}
    loads = optmap.solve(text, extents=extents, memory="30w", objective="loads", method="iooub")
    words = optmap.solve(text, extents=extents, memory="30w", method="mopt")
    found = optmap.compare_mappings(loads, words).quantities
    for name in ("cost", "exact"):
        assert found[f"{name} (loads)", "words"] == (loads.cost, None)
        assert found[f"{name} ({words.objective})", "words"] == (None, words.cost)
        assert (name, "words") not in found


def test_amounts_that_are_counted_in_several_ways_are_several_quantities() -> None:
    asked = {"extents": {"i": 12, "j": 10, "k": 6}, "machine": "eyeriss_like", "objective": "energy"}
    answers = [optmap.solve("C[i,j] = A[i,k]*B[k,j]", **asked, counting=each) for each in ("exact", "timeloop")]
    found = optmap.compare_mappings(*answers).quantities
    for place, (answer, counting) in enumerate(zip(answers, ("exact", "timeloop"), strict=True)):
        assert found[f"energy ({counting})", "pJ"][place] == answer.count.energy_pj
        assert found[f"energy ({counting})", "pJ"][1 - place] is None
        assert found["exact", "pJ"][place] == answer.exact_count.energy_pj
