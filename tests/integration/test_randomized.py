"""`optmap randomized` through the command line, against counts made here."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

import pytest

import optmap as package

PRODUCT = ("randomized", "--extents", "d=1000,m=1000,n=500", "--memory", "4096w", "--cost", "1/10")


def exact(document: dict[str, object]) -> Fraction:
    value = Fraction(str(document["exact"]))
    assert document["value"] == pytest.approx(float(value), rel=1e-12)
    return value


def test_bound_tiling_and_gap(optmap) -> None:
    document = optmap(*PRODUCT, "--json").document()
    assert document["schema"] == "optmap.randomized/1"
    assert exact(document["generation_cost"]) == Fraction(1, 10)
    terms = [exact(term) for term in document["bound"]["terms"]]
    g, created = 1000 * 1000 * 500, 1000 * 500
    assert float(terms[0]) == pytest.approx(2 * g * sqrt(0.1 / 4097) - 1 - created, abs=1e-5)
    assert terms[1] == Fraction(g, 4096) + 100_000 - created
    assert terms[2] == 500_000 + 100_000
    assert exact(document["bound"]["cost"]) == max(terms)
    tiling = document["tiling"]
    rows, columns = tiling["rows"], tiling["columns"]
    assert rows * columns + columns + 1 == tiling["occupancy_words"] <= 4096
    loads = generated = 0
    for row in range(0, 1000, rows):
        for column in range(0, 500, columns):
            loads += 1000 * min(columns, 500 - column)
            generated += 1000 * min(rows, 1000 - row)
    assert (tiling["loads_words"], tiling["generated"]) == (loads, generated)
    assert exact(tiling["cost"]) == loads + Fraction(generated, 10)
    assert document["gap"] == pytest.approx(float(exact(tiling["cost"]) / max(terms)) - 1)
    assert tiling["stores_words"] == document["bound"]["stores_words"] == created


def test_the_table_marks_the_bound(optmap) -> None:
    text = optmap(*PRODUCT).out
    document = optmap(*PRODUCT, "--json").document()
    assert text.count("<- bound") == 1
    assert f"{document['bound']['cost']['value']:,.1f}  <- bound" in text
    assert f"{document['tiling']['loads_words']:,} words" in text
    assert f"{100 * document['gap']:.3f} %" in text


def test_semantics_sizes_in_bytes_and_the_same_in_python(optmap) -> None:
    arguments = ("randomized", "--extents", "d=9,m=8,n=7", "--memory", "256B", "--cost", "0.25", "--json")
    assigned = optmap(*arguments).document()
    loaded = optmap(*arguments, "--semantics", "accumulate").document()
    assert assigned["memory_words"] == 64
    assert assigned["workload"]["semantics"] == "assign"
    assert loaded["tiling"]["loads_words"] - assigned["tiling"]["loads_words"] == 9 * 7
    for cost in (Fraction(1, 4), 0.25, "1/4", "25e-2"):
        found = package.randomized({"d": 9, "m": 8, "n": 7}, memory="64w", cost=cost)
        assert found.to_dict() == assigned
    assert package.randomized("d=9,m=8,n=7", memory="64w", cost=2).problem.cost == 2


@pytest.mark.parametrize(
    ("arguments", "code", "word"),
    [
        (("--extents", "d=9,m=8", "--memory", "64w", "--cost", "1"), 2, "dim n"),
        (("--extents", "d=9,m=8,n=7,k=2", "--memory", "64w", "--cost", "1"), 2, "extent for k"),
        (("--extents", "d=9,m=8,n=7", "--memory", "64", "--cost", "1"), 2, "no unit"),
        (("--extents", "d=9,m=8,n=7", "--memory", "2w", "--cost", "1"), 3, "3 words"),
        *((("--extents", "d=9,m=8,n=7", "--memory", "64w", "--cost", text), 2, "cost is") for text in
          ("0", "1/0", "-1", "nan", "inf", "1e99", "__import__('os')", "1/3/2", "", "9" * 79)),
    ],
)  # fmt: skip
def test_what_is_refused(*, optmap, arguments: tuple[str, ...], code: int, word: str) -> None:
    assert word in optmap("randomized", *arguments, code=code).err


@pytest.mark.parametrize("cost", [True, None, float("nan"), float("inf"), 0, -1, 1j, [1]])
def test_costs_that_are_none(cost: object) -> None:
    with pytest.raises(package.InputError, match="cost is"):
        package.randomized("d=9,m=8,n=7", memory="64w", cost=cost)  # type: ignore[arg-type]
