"""Counts in texts: of one thing there is one, whatever is counted."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import optmap as package
from optmap.base.errors import InfeasibleError, InputError
from optmap.base.texts import several

ONES = re.compile(
    r"(?<![\d.,/-])1 (\w+ )?(words|cores|classes|permutations|layers|rows|points|evaluations|times|names|loads|stores|"
    r"ways|bytes|bits|registers|multiply-adds|processes|threads|numbers)\b"
)
MACHINE = """
levels:
  - {name: L1, capacity: 64B, bandwidth: 4B, kind: cache, line_bytes: 1, ways: 1}
core: {registers: 1, vector_bytes: 4, fma_ports: 1, fma_latency: 4, load_ports: 1}
"""


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


def test_files_count_one_thing_as_one(tmp_path: Path) -> None:
    file = tmp_path / "direct.yaml"
    file.write_text(MACHINE, encoding="utf-8")
    shown = str(package.machine(file))
    assert "1 register of 4 bytes; per cycle 1 multiply-add (latency 4) and 1 load" in shown
    assert "lines of 1 byte, 1 way" in shown
    assert not ONES.search(shown)
    file.write_text("{matmul: {i: 4, j: 4, k: 4}, names: [a, b]}", encoding="utf-8")
    with pytest.raises(InputError, match="2 names of a layer that occurs 1 time; give all"):
        package.workload(file)


def test_recounts_count_one_thing_as_one(tmp_path: Path) -> None:
    found = package.solve("O[i] += A[i]", extents={"i": 1}, memory="8w", method="tiling-lp")
    document = {
        key: found.to_dict()[key] for key in ("schema", "workload", "machine", "mapping", "boundaries", "levels")
    }
    file = tmp_path / "one.json"
    file.write_text(json.dumps({**document, "levels": document["levels"] * 2}), encoding="utf-8")
    assert package.evaluate(file).disagreements == ["levels has 2 rows, the machine has 1"]
    document["boundaries"][0]["stores_words"] = 2
    file.write_text(json.dumps(document), encoding="utf-8")
    (said,) = package.evaluate(file).disagreements
    assert said.endswith("counted 1 load and 1 store of O between Fast and Memory")
    file.write_text(json.dumps({**document, "boundaries": document["boundaries"][:1]}), encoding="utf-8")
    assert package.evaluate(file).disagreements == ["boundaries has 1 row, counted 2"]
