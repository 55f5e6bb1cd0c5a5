"""`solve --top`: the best few of what a search prices, each an answer of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import optmap
from optmap.answers.documents.solution import SHARED, read_solution
from optmap.api import question_of
from optmap.base.errors import InputError
from optmap.checker import RefusedError, check_document
from optmap.cli import main

ASKED = {"machine": "balanced", "method": "mopt"}


def test_the_next_best_follow_in_order_and_differ_in_their_costs() -> None:
    best = optmap.solve("resnet18/R12", **ASKED, top=4)
    every = [best, *best.others]
    assert len(every) == 4
    keys = [(*sorted((float(level.cycles) for level in each.levels), reverse=True),) for each in every]
    assert keys == sorted(keys)
    assert len(set(keys)) == 4
    assert all(each.fits and each.cost >= best.cost for each in every)
    assert best.mapping == optmap.solve("resnet18/R12", **ASKED).mapping
    assert not optmap.solve("resnet18/R12", **ASKED).others


def test_of_few_mappings_all_are_handed_in_and_no_more() -> None:
    best = optmap.solve("C[i,j] += A[i,k]*B[k,j]", extents={"i": 2, "j": 1, "k": 1}, memory="8w", method="mopt", top=9)
    assert 0 <= len(best.others) < 8
    assert all(other.cost > best.cost for other in best.others)


def test_files_are_numbered_and_verified(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "r12.json"
    assert main(["solve", "resnet18/R12", "--machine", "balanced", "--top", "3", "-o", str(target)]) == 0
    assert "The best 3 that were priced" in capsys.readouterr().out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r12-2.json", "r12-3.json", "r12.json"]
    for path in tmp_path.iterdir():
        assert optmap.check(path).verified
    for shell in (["evaluate", str(target)], ["compare", str(target), str(tmp_path / "r12-2.json")]):
        assert main(shell) == 0
        assert "was changed" not in capsys.readouterr().out


def test_the_document_has_the_others_and_each_is_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "r12.json"
    asked = ["solve", "resnet18/R12", "--machine", "balanced", "--top", "3"]
    assert main([*asked, "--json", "-o", str(target)]) == 0
    said = json.loads(capsys.readouterr().out)
    saved, second = (json.loads(path.read_text()) for path in (target, tmp_path / "r12-2.json"))
    assert said == saved
    assert len(said["others"]) == 2
    assert {**{key: said[key] for key in SHARED if key in said}, **said["others"][0]} == second
    assert not said["others"][0].keys() & {*SHARED, "others"}
    assert read_solution(target).mapping.levels
    verified = optmap.check(target).verified
    assert verified[: -len(said["others"])] == optmap.check(_alone(said, tmp_path)).verified
    assert verified[-1].startswith("mapping 3: cost ")
    for forge in (
        lambda other: other["cost"].update(value=other["cost"]["value"] / 2),
        lambda other: other["mapping"]["levels"][0]["tile"].update(k=1),
        lambda other: other.update(method="exact"),
        lambda other: other.pop("digest"),
    ):
        forged = json.loads(json.dumps(said))
        forge(forged["others"][1])
        with pytest.raises(RefusedError):
            check_document(forged)
    for others in ({}, [1], [said]):
        with pytest.raises(RefusedError):
            check_document({**said, "others": others})


def _alone(document: dict[str, Any], folder: Path) -> Path:
    """The answer without what stands beside it, as a file."""
    path = folder / "alone.json"
    path.write_text(json.dumps({key: value for key, value in document.items() if key != "others"}))
    return path


def test_a_method_that_hands_in_one_mapping_says_who_has_more() -> None:
    with pytest.raises(InputError, match="hands in one mapping; leave out --top, or --method mopt"):
        optmap.solve("resnet18/R12", machine="balanced", method="mopt-algorithm1", top=2)


@pytest.mark.parametrize(
    ("options", "why"), [({"top": 2}, "hands in one mapping"), ({"certificate": "full"}, "solves no relaxation")]
)
def test_an_answer_says_if_not_the_usual_method_was_taken(options: dict[str, Any], why: str) -> None:
    asked = {"extents": "i=6,j=6,k=6", "memory": "24w", "objective": "traffic"}
    usual = question_of("C[i,j] += A[i,k]*B[k,j]", **asked)
    other = question_of("C[i,j] += A[i,k]*B[k,j]", **asked, **options)
    assert (usual.method, usual.notes) == ("iooub", ())
    (note,) = other.notes
    assert other.method == "mopt"
    assert note.startswith("method mopt was taken: iooub, the usual one here, " + why)
    assert question_of("C[i,j] += A[i,k]*B[k,j]", **asked, **options, method="mopt").notes == ()
