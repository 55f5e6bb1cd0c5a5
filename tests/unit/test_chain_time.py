"""The bound in time of chains: multiply-adds and links, its proof, and what is refused."""

import copy
import json
from fractions import Fraction
from pathlib import Path

import pytest
from tree_documents import signed_tree

import optmap
from optmap.bounds import bounds
from optmap.checker import RefusedError, check_document

HOST = Path(__file__).parents[1] / "data" / "hosts" / "desktop.yaml"
CAUSAL = "S[m,l] = 0.5*A[m,k]*B[k,l] if l <= m; P[m,l] = softmax(S[m,l], l) if l <= m; C[m,n] = P[m,l]*D[l,n] if l <= m"
EXTENTS = {"m": 40, "l": 40, "k": 8, "n": 9}


def report(cores=1, caches="warm"):
    return optmap.bound(CAUSAL, extents=EXTENTS, machine=HOST, objective="time", cores=cores, caches=caches)


def test_multiply_adds_are_those_of_products_at_points_that_meet_conditions():
    first = report().time.parts[0]
    assert first.amount == (8 + 9) * 40 * 41 // 2
    assert first.cycles == Fraction(first.amount, 16)  # two on vectors of eight elements


def test_a_product_that_may_be_used_again_is_not_counted():
    text = "S[m,l] = A[m]*B[m]; C[m] = S[m,l]*D[l]"
    found = optmap.bound(text, extents={"m": 8, "l": 4096}, machine=HOST, objective="time")
    assert found.time.parts[0].amount == 8 * 4096
    check_document(json.loads(json.dumps(found.certificate)))


@pytest.mark.parametrize("cores", [1, 4])
def test_links_have_the_words_of_all_memories_in_use_together(cores):
    found = report(cores, "cold")
    level = found.machine.levels[0]
    words = level.capacity.words(found.workload.word_bits)
    together = bounds(found.workload, words * cores, ["best"])[0].loads_words
    assert found.time.parts[1].amount == -(-together // cores)
    assert [part.held for part in found.time.parts] == [0] * 5


@pytest.mark.parametrize("cores", [1, 4])
def test_the_proof_is_verified_and_edited_ones_are_refused(cores):
    document = json.loads(json.dumps(report(cores).certificate))
    check_document(document)
    for path, value in (
        (("parts", 0, "amount"), 1),
        (("parts", 1, "amount"), 10**6),
        (("bound", "value"), 10**6),
        (("threads",), 2),
        (("caches",), "cold"),
        (("certificates", 0, "instances"), 3),
        (("machine", "levels", 0, "bandwidth", "amount"), 3),
        (("workload", "extents", "k"), 9),
    ):
        forged = copy.deepcopy(document)
        inside = forged
        for key in path[:-1]:
            inside = inside[key]
        assert inside[path[-1]] != value
        inside[path[-1]] = value
        with pytest.raises(RefusedError):
            check_document(signed_tree(forged))
