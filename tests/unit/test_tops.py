"""`solve --top`: the best few of what a search prices, each an answer of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

import optmap
from optmap.base.errors import InputError
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


def test_a_method_that_hands_in_one_mapping_says_who_has_more() -> None:
    with pytest.raises(InputError, match="hands in one mapping; leave out --top, or --method mopt"):
        optmap.solve("resnet18/R12", machine="balanced", method="mopt-algorithm1", top=2)
