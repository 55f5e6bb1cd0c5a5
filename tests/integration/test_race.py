"""Races from the shell: table, document, pictures and refusals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

PRODUCT = ("C[i,j] += A[i,k]*B[k,j]", "--extents", "i=16,j=8,k=16", "--machine", "gemmini", "--budget", "20s")


def test_a_race_from_the_shell(optmap, tmp_path: Path) -> None:
    folder = tmp_path / "figures"
    kept = tmp_path / "kept.race"
    asked = ("race", *PRODUCT, "--methods", "random", "--evaluations", "300", "-o", str(kept))
    run = optmap(*asked, "--plot", str(folder))
    assert "the proved optimum is" in run.out
    assert "one at a time" in run.out
    assert sorted(path.name for path in folder.iterdir()) == ["evaluations.png", "seconds.png"]
    assert json.loads((kept / "race.json").read_text())["reused"] == 0
    again = optmap(*asked, "--json").document()
    assert again["reused"] == 2
    assert again == json.loads((kept / "race.json").read_text())


def test_the_document_of_a_race_holds_every_curve(optmap) -> None:
    document = optmap("race", *PRODUCT, "--methods", "random", "--evaluations", "300", "--json").document()
    assert document["methods"] == ["exact", "random"]
    rows = {row["method"]: row for row in document["layers"][0]["rows"]}
    assert rows["exact"]["over"] == pytest.approx(1)
    assert rows["random"]["evaluations"] == 300
    assert rows["random"]["curve"][-1]["value"] == pytest.approx(rows["random"]["value"]["value"])
    assert 0 < rows["random"]["valid_share"] <= 1
    assert rows["random"]["ended"] == "evaluations"


def test_the_same_seed_is_the_same_race_but_for_the_times(optmap) -> None:
    asked = ("race", *PRODUCT, "--methods", "random", "--evaluations", "300", "--seed", "7", "--json")
    first, second = ([row["value"] for row in optmap(*asked).document()["layers"][0]["rows"]] for _ in range(2))
    assert first == second


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("resnet18/R11",), "--machine"),
        (("resnet18/R11", "--machine", "i7-9700k"), "accelerators"),
        (("resnet18/R11", "--machine", "eyeriss", "--budget", "soon"), "60s"),
        (("resnet18/R11", "--machine", "eyeriss", "--budget", "0s"), "60s"),
        (("resnet18/R11", "--machine", "eyeriss", "--methods", "rando"), "random"),
        (("resnet18/R11", "--machine", "eyeriss", "--set", "victory=0"), "whose"),
    ],
)
def test_what_cannot_be_raced_is_refused(optmap, arguments: tuple[str, ...], text: str) -> None:
    run = optmap("race", *arguments, code=2)
    assert text in run.err
