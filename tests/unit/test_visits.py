"""Words that come again because one tensor does not fit: schedules, exact optima, the count itself, certificates."""

from __future__ import annotations

import copy
import itertools
import json
import random
from collections import Counter
from typing import Any

import pytest
from bounds_oracles import exact_loads, found_loads, least_memory
from cases import cases
from roles_attack import attack, refusal, visited_workload

from optmap.bounds import taps_met, visits_proofs
from optmap.bounds.best import best, certified
from optmap.files import library
from optmap.workloads.parser import parse_workload


def test_no_schedule_loads_less() -> None:
    rng = random.Random(3)
    assert sum(attack(visited_workload(rng), rng) for _ in range(cases(10, 25))) > cases(1_600, 4_000)


def test_no_improved_schedule_loads_less() -> None:
    rng = random.Random(8)
    tight = 0
    for text, extents in (
        ("C[i,j] += A[i,k] * B[k,j]", {"i": 5, "j": 2, "k": 3}),
        ("O[k,x] += I[c,x+r] * F[k,c,r]", {"k": 2, "c": 2, "x": 6, "r": 2}),
        ("O[k,x] += I[c,2*x+r] * F[k,c,r]", {"k": 2, "c": 2, "x": 4, "r": 3}),
    ):
        workload = parse_workload(text, extents)
        for memory in range(least_memory(workload) + 1, 12):
            proofs = visits_proofs(workload, memory, beat=0)
            if proofs:
                found = found_loads(workload, memory, rng, 30, 100)
                assert proofs[0].loads_words <= found
                tight += found - proofs[0].loads_words < 4
    assert tight


@pytest.mark.parametrize(
    ("text", "extents"),
    [
        ("C[i,j] += A[i,k] * B[k,j]", {"i": 1, "j": 2, "k": 3}),
        ("C[i,j] += A[i,k] * B[k,j]", {"i": 2, "j": 3, "k": 1}),
        ("O[k,x] += I[x+r] * F[k,r]", {"k": 3, "x": 1, "r": 2}),
        ("O[x] += I[2*x+r] * F[r]", {"x": 1, "r": 6}),
        ("C[i,j] = A[i,k] * B[k,j]", {"i": 1, "j": 2, "k": 3}),
        ("O[k,x] = I[x+r] * F[k,r]", {"k": 3, "x": 1, "r": 2}),
    ],
)
def test_no_optimum_is_below(text: str, extents: dict[str, int]) -> None:
    workload = parse_workload(text, extents)
    checked = 0
    for memory in range(3, 5):
        proofs = visits_proofs(workload, memory, beat=0)
        if proofs:
            assert proofs[0].loads_words <= exact_loads(workload, memory)
            checked += 1
    assert checked


def test_the_words_at_a_place_are_counted_right() -> None:
    """x words of A, y of B, the elements of W between them: the least x + y, one by one."""
    for j, k, memory in itertools.product(range(2, 6), range(2, 6), range(3, 14)):
        workload = parse_workload("C[i,j] += A[i,k] * B[k,j]", {"i": 7, "j": j, "k": k})
        for proof in visits_proofs(workload, memory, beat=0):
            if proof.kept == "B":
                lacking = j * k - memory - proof.slack
                pairs = itertools.product(range(j), range(k))
                least = min([j, k, *(x + y for x, y in pairs if x * y >= lacking)]) if lacking > 0 else 0
                assert proof.again_words == 7 * least


def test_taps_are_met_as_counted_one_by_one() -> None:
    for positions, taps, stride, dilation in itertools.product(range(1, 9), range(1, 6), range(1, 4), range(1, 4)):
        for at in range(taps):
            steps = [j for j in range(-taps, taps + 1) if 0 <= at + stride * j < taps]
            each = [sum(0 <= p - dilation * j < positions for j in steps) for p in range(positions)]
            assert taps_met(positions, taps, stride, dilation, at) == Counter(each)


def test_a_filter_that_does_not_fit_by_little_sends_a_pass_over_the_input() -> None:
    found = best(library.workload("yolo9000/Y4"), 65536)
    assert found.loads_words == 4_704_238
    assert "optmap/bounds/passing/visits.py" in found.expression
    assert visits_proofs(library.workload("resnet18/R6"), 65536)[0].loads_words == 394_864


def test_what_the_argument_does_not_know_is_left_alone() -> None:
    for text in (
        "C[i,j] += A[i,k] * A[k,j]",
        "O[g,x] += I[g,x+r] * F[g,r]",
        "O[x,y] += I[x+r,y+r] * F[r]",
        "O[x] += I[x+r+q] * F[r,q]",
        "O[i] += A[i,j]",
    ):
        dims = {c for c in text if c.islower()}
        assert visits_proofs(parse_workload(text, dict.fromkeys(dims, 6)), 4, beat=0) == []
    assert visits_proofs(library.workload("resnet18/R6").with_padding("implicit"), 65536, beat=0) == []
    huge = parse_workload("C[i,j] += A[i,k] * B[k,j]", dict.fromkeys("ijk", 2**40))
    assert visits_proofs(huge, 2**60, beat=0) == []


def made() -> dict[str, Any]:
    workload = parse_workload("O[k,x] += I[c,2*x+r] * F[k,c,r]", {"k": 5, "c": 4, "x": 60, "r": 3})
    document = certified("best", workload, 40, visits_proofs(workload, 40, beat=0)[:1]).certificate
    assert document is not None
    assert "visits" in document
    return json.loads(json.dumps(document))  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    "change",
    [
        {"slack": 0},
        {"slack": 10**6},
        {"again_words": 1},
        {"loads_words": 10**6},
        {"kept": "I"},
        {"sliding": "O"},
        {"sliding": "F"},
        {"kept": "O", "sliding": "F"},
        {"taps": {}},
        {"taps": {"r": 1}},
        {"taps": {"r": 3}},
        {"taps": {"x": 0}},
        {"taps": {"r": 0, "k": 0}},
    ],
)
def test_certificates_with_other_visits_are_refused(change: dict[str, Any]) -> None:
    document = made()
    assert refusal(copy.deepcopy(document)) == ""
    document["visits"].update(change)
    assert refusal(document)


def test_certificates_of_another_statement_or_memory_are_refused() -> None:
    for path, value in ((("memory_words",), 20), (("workload", "semantics"), "assign"), (("mu",), "1/2")):
        document = made()
        inside = document
        for key in path[:-1]:
            inside = inside[key]
        inside[path[-1]] = value
        assert refusal(document)
    document = made()
    document["claims"]["loads_words"] += 1
    assert refusal(document)
