"""Words that come as often as another tensor passes: covers of places, schedules, certificates."""

from __future__ import annotations

import copy
import itertools
import json
import random
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import pytest
from bounds_oracles import exact_loads, found_loads, least_memory
from roles_attack import attack, improve, improve_cover, refusal, visited_workload

from optmap.bounds import (
    compulsory_loads,
    halo_proofs,
    least_of_places,
    passes_proofs,
    ranked_proofs,
    shared_columns,
    tap_worths,
    visits_proofs,
)
from optmap.bounds.best import best, certified
from optmap.files import library
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Semantics, Workload


@cache
def cheapest_cover(rows: int, row: int, columns: tuple[int, ...], most: int) -> int:
    """The least price of rows and columns over all ways to do every pair in segments of so many, by all subsets.

    Args:
        rows: how many there are.
        row: price of each.
        columns: price of every column.
        most: pairs per segment.
    """
    cells = list(itertools.product(range(rows), range(len(columns))))
    price = [0] * (1 << len(cells))
    for chosen in range(1, len(price)):
        some = [cell for i, cell in enumerate(cells) if chosen >> i & 1]
        price[chosen] = row * len({r for r, _ in some}) + sum(columns[c] for c in {c for _, c in some})
    least = [0] * len(price)
    for left in range(1, len(least)):
        rest = left & (left - 1)
        part, found = rest, 10**9
        while True:
            if part.bit_count() < most:
                found = min(found, price[left ^ (rest ^ part)] + least[rest ^ part])
            if not part:
                break
            part = (part - 1) & rest
        least[left] = found
    return least[-1]


@pytest.mark.parametrize(("rows", "columns"), [(2, 3), (3, 2), (3, 3), (2, 5), (1, 6), (2, 2), (5, 2)])
@pytest.mark.parametrize("prices", [(1, 1), (2, 1), (1, 3), (4, 1)])
def test_no_cover_of_a_place_is_cheaper(rows: int, columns: int, prices: tuple[int, int]) -> None:
    row, column = prices
    for most in range(1, rows * columns + 1):
        true = cheapest_cover(rows, row, (column,) * columns, most)
        for places in (1, 3, 1000):
            paid = least_of_places({Fraction(): places}, rows * row, columns * column, row * column * most)
            assert 0.8 * places * true - 1 <= paid <= places * true
            if most == rows * columns:
                assert paid == places * true


@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("columns", [(1, 1, 2), (1, 2, 3), (2, 2, 5), (1, 4, 4)])
def test_no_cover_of_a_place_with_dear_columns_is_cheaper(rows: int, columns: tuple[int, ...]) -> None:
    least = min(columns)
    e = Fraction(sum(columns) - least * len(columns))
    for row, most in itertools.product((1, 2, 6), range(1, rows * len(columns) + 1)):
        plain = cheapest_cover(rows, row, (least,) * len(columns), most)
        dear = cheapest_cover(rows, row, columns, most)
        for rim, true in (({e: 1}, dear), ({Fraction(): 3, e: 4}, 3 * plain + 4 * dear)):
            paid = least_of_places(rim, rows * row, least * len(columns), row * least * most)
            assert paid <= true
            assert paid == true or most < rows * len(columns)


@pytest.mark.parametrize(
    ("rows", "columns", "row", "most", "least"), [(3, 3, 2, 3, 15), (2, 5, 2, 4, 16), (2, 3, 1, 2, 9)]
)
def test_no_place_is_crossed_one_way_alone(rows: int, columns: int, row: int, most: int, least: int) -> None:
    """Every segment with all rows lacks columns: by areas and one way at a time these would cost one less."""
    assert cheapest_cover(rows, row, (1,) * columns, most) == least
    assert least_of_places({Fraction(): 1}, rows * row, columns, row * most) == least


def test_no_improved_cover_of_a_place_is_cheaper() -> None:
    rng = random.Random(6)
    ratios = [improve_cover(rng, rounds=150)[1] for _ in range(40)]
    assert 1 <= min(ratios) < 1.01
    assert sorted(ratios)[20] < 1.3


def test_words_of_the_rim_are_dear_wherever_they_come_again() -> None:
    """28 x 28 outputs of 3x3 windows: a pass over all inputs loads 30 x 30 of them, not 28 x 28 and a rim once."""
    workload = library.workload("mobilenet/M5d")
    (proof, *_) = passes_proofs(workload, 65536)
    assert (proof.kept, proof.sliding) == ("Out", "In")
    inputs, weights = 256 * 30 * 30, 256 * 256 * 9
    fourth = 2 * (4096 * 9) ** 0.5 * 2304 / 9  # what three passes leave, in a square
    assert proof.touched_words == pytest.approx(3 * inputs + weights + fourth, abs=100)


WINDOWS = [
    (p, t, s, d)
    for p, t, s, d in itertools.product(range(1, 7), range(1, 6), (1, 2, 3), (1, 2, 3))
    if (s, d) not in {(2, 2), (3, 3)}
]


def test_a_column_is_shared_by_as_many_places_as_are_counted() -> None:
    for p, t, s, d in WINDOWS:
        values = [s * x + d * r for x in range(p) for r in range(t)]
        most = shared_columns(p, t, s, d)
        assert most == max(values.count(v) for v in values)
        worth = [sum(Fraction(most, values.count(s * x + d * r)) for r in range(t)) for x in range(p)]
        assert tap_worths(p, t, s, d) == Counter(worth)
        assert sum(worth) == most * len(set(values))


def others(workload: Workload, memory: int) -> int:
    """The strongest of all other arguments."""
    proofs = [*ranked_proofs(workload, memory), *visits_proofs(workload, memory), *halo_proofs(workload, memory)]
    return max([compulsory_loads(workload), *(proof.loads_words for proof in proofs)])


@pytest.mark.parametrize(
    ("layer", "memory", "loads"),
    [
        ("yolo9000/Y19", 65536, 1_382_355),
        ("resnet18/R1", 4096, 1_271_903),
        ("mobilenet/M4d", 65536, 745_600),
        ("mobilenet/M1d", 4096, 1_441_652),
        ("mobilenet/M3d", 65536, 1_457_213),
        ("mobilenet/M5d", 65536, 1_379_296),
    ],
)
def test_layers_whose_tensors_fit_a_few_times_have_more_to_load(layer: str, memory: int, loads: int) -> None:
    workload = library.workload(layer)
    assert passes_proofs(workload, memory)[0].loads_words == loads > 1.03 * others(workload, memory)
    strongest = best(workload, memory)
    assert strongest.loads_words >= loads
    assert "optmap/bounds/passing/passes.py" in strongest.expression


def test_a_place_that_no_segment_covers_across_touches_its_rows_twice() -> None:
    """Y8 at 65,536 words, price of rows 2, of columns 1: 4.5 segments are no 4.5 squares."""
    workload = library.workload("yolo9000/Y8")
    assert passes_proofs(workload, 65536)[0].loads_words == 3_815_758 > 1.01 * others(workload, 65536)


def test_a_large_matrix_product_loads_twice_its_operations_over_the_root_of_the_memory() -> None:
    workload = parse_workload("C[i,j] += A[i,k] * B[k,j]", dict.fromkeys("ijk", 6400))
    (first, *_) = passes_proofs(workload, 6400)
    assert 0.99 < first.loads_words / (2 * 6400**3 / 80) <= 1


def test_no_schedule_loads_less() -> None:
    rng = random.Random(12)
    assert sum(attack(visited_workload(rng), rng, bound=passes_proofs) for _ in range(25)) > 4_000


def test_no_improved_schedule_loads_less() -> None:
    rng = random.Random(4)
    trials = [improve(visited_workload(rng), rng, rounds=10) for _ in range(5)]
    assert sum(count for count, _ in trials) > 500
    assert 1 <= min(ratio for _, ratio in trials) < 1.4


BITING = [
    ("O[k,x] += I[c,2*x+r] * F[k,c,r]", {"k": 3, "c": 2, "x": 2, "r": 2}, 4),
    ("O[k,x] += I[c,2*x+r] * F[k,c,r]", {"k": 2, "c": 3, "x": 3, "r": 2}, 4),
    ("O[k,x] += I[c,x+r] * F[k,c,r]", {"k": 3, "c": 2, "x": 2, "r": 3}, 5),
]
"""Where no other argument proves as much."""


@pytest.mark.parametrize(("text", "extents", "memory"), BITING)
def test_improved_schedules_come_close_where_it_is_the_strongest(
    text: str, extents: dict[str, int], memory: int
) -> None:
    workload = parse_workload(text, extents)
    proved = passes_proofs(workload, memory)[0].loads_words
    found = found_loads(workload, memory, random.Random(5), 40, 250)
    assert others(workload, memory) < proved <= found < 1.5 * proved


@pytest.mark.parametrize(
    ("text", "extents"),
    [
        ("C[i,j] += A[i,k] * B[k,j]", {"i": 1, "j": 2, "k": 3}),
        ("O[k,x] += I[x+r] * F[k,r]", {"k": 3, "x": 1, "r": 2}),
        ("O[x] += I[2*x+r] * F[r]", {"x": 1, "r": 6}),
        ("C[i,j] = A[i,k] * B[k,j]", {"i": 1, "j": 3, "k": 2}),
        ("C[i,j] = A[i,k] * B[k,j]", {"i": 2, "j": 1, "k": 3}),
        ("O[k,x] = I[x+r] * F[k,r]", {"k": 3, "x": 1, "r": 2}),
    ],
)
def test_no_optimum_is_below(text: str, extents: dict[str, int]) -> None:
    workload = parse_workload(text, extents)
    proofs = passes_proofs(workload, least_memory(workload), beat=0)
    assert proofs
    assert proofs[0].loads_words <= exact_loads(workload, least_memory(workload))


def test_outputs_that_are_created_are_not_loaded_once() -> None:
    """A layer whose filter is kept: the bound of `+=` less its outputs, with a certificate."""
    layer = library.workload("mobilenet/M3d")
    created = replace(layer, semantics=Semantics.ASSIGN)
    outputs = 128 * 56 * 56
    assert passes_proofs(created, 65536)[0].loads_words == passes_proofs(layer, 65536)[0].loads_words - outputs
    found = best(created, 65536)
    assert found.loads_words == best(layer, 65536).loads_words - outputs
    assert "- |Out|, since Ker" in found.expression


def test_what_the_argument_does_not_know_is_left_alone() -> None:
    for text in ("C[i,j] += A[i,k] * A[k,j]", "O[g,x] += I[g,x+r] * F[g,r]", "O[x] += I[x+r+q] * F[r,q]"):
        dims = {c for c in text if c.islower()}
        assert passes_proofs(parse_workload(text, dict.fromkeys(dims, 6)), 4, beat=0) == []
    assert passes_proofs(library.workload("resnet18/R6").with_padding("implicit"), 65536, beat=0) == []
    huge = parse_workload("C[i,j] += A[i,k] * B[k,j]", dict.fromkeys("ijk", 2**40))
    assert passes_proofs(huge, 2**50, beat=0) == []


def made() -> dict[str, Any]:
    workload = parse_workload("O[k,x] += I[c,2*x+r] * F[k,c,r]", {"k": 5, "c": 4, "x": 60, "r": 3})
    document = certified("best", workload, 20, passes_proofs(workload, 20, beat=0)[:1]).certificate
    assert document is not None
    assert "passes" in document
    return json.loads(json.dumps(document))  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    "change",
    [
        {"slack": 0},
        {"slack": 10**6},
        {"slack": 3},
        {"touched_words": 10**6},
        {"touched_words": 1},
        {"loads_words": 10**6},
        {"loads_words": 1},
        {"kept": "I"},
        {"kept": "Z"},
        {"sliding": "O"},
        {"kept": "O"},
        {"taps": {}},
    ],
)
def test_certificates_with_other_passes_are_refused(change: dict[str, Any]) -> None:
    document = made()
    assert refusal(copy.deepcopy(document)) == ""
    document["passes"].update(change)
    assert refusal(document)


def test_certificates_of_another_statement_or_memory_are_refused() -> None:
    for path, value in (
        (("memory_words",), 19),
        (("workload", "semantics"), "assign"),
        (("mu",), "1/2"),
        (("compulsory", "I", "elements"), 400),
        (("visits",), {"kept": "F", "sliding": "I", "slack": 1, "taps": {}, "again_words": 0, "loads_words": 0}),
    ):
        document = made()
        inside = document
        for key in path[:-1]:
            inside = inside[key]
        inside[path[-1]] = value
        assert refusal(document)
