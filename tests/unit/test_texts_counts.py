"""Counts in texts: of one thing there is one, whatever is counted."""

from __future__ import annotations

import re
from typing import Any

import pytest

import optmap as package
from optmap.base.errors import InfeasibleError, InputError
from optmap.base.texts import several

ONES = re.compile(r"(?<![\d.,/-])1 (\w+ )?(words|cores|classes|permutations|layers|rows|points|evaluations|times)\b")


def test_one_is_one_and_others_are_several() -> None:
    assert [several(n, "word") for n in (0, 1, 2000)] == ["0 words", "1 word", "2,000 words"]
    assert [several(n, "row is", "rows are") for n in (1, 2)] == ["1 row is", "2 rows are"]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (lambda: package.bound("O[i] += A[i]", extents={"i": 8}, memory="1w"), "with 1 word of fast memory"),
        (lambda: package.network("resnet18"), ""),
        (lambda: package.classes("O[i] += A[i]", extents={"i": 8}), "1 class no other dominates"),
        (lambda: package.randomized("d=9,m=8,n=7", memory="64w", cost="1/4"), "loads"),
    ],
)
def test_tables_count_one_thing_as_one(asked: Any, said: str) -> None:
    text = str(asked())
    assert said in text
    assert not ONES.search(text)


def test_errors_count_one_thing_as_one() -> None:
    product = {"extents": {"i": 4, "j": 4, "k": 4}, "time_limit": 10}
    for error, asked in (
        (InfeasibleError, {"memory": "2w"}),
        (InputError, {"machine": "balanced", "cores": 9}),
    ):
        with pytest.raises(error) as said:
            package.solve("C[i,j] += A[i,k]*B[k,j]", **product, **asked)
        assert not ONES.search(str(said.value)), str(said.value)
