"""Fused mappings of two products with a corner of the result that is left for later."""

import copy
import json
import random
from itertools import product

import pytest
from cases import cases, some
from checked_trees import judged
from tree_documents import signed_tree

import optmap
from optmap.checker import RefusedError, check_document
from optmap.count.trees import count_parts, walk_tree
from optmap.machines.machine import Level, Machine
from optmap.mappings.tree import MappingTree
from optmap.search.chains.corner import LateCorner, best_late_corner, late_corner_tree
from optmap.search.chains.pair import pair_of, steps_of
from optmap.search.chains.runs import best_run
from optmap.workloads.amounts import Capacity
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Semantics

PAIR = "S[m,l] = A[m,k]*B[k,l]; C[m,n] = S[m,l]*D[l,n]"
SHAPES = (
    PAIR,
    "S[m,l] = A[m,k]*B[k,l]; P[m,l] = relu(S[m,l]); C[m,n] = P[m,l]*D[l,n]",
    "S[h,m,l] = A[h,m,k]*B[h,l,k]; C[h,m,n] = S[h,m,l]*D[h,l,n]",
    "S[l,m] = B[k,l]*A[m,k]; C[n,m] = D[l,n]*S[l,m]",
)


def tree_of(workload, pair, memory, member):
    machine = Machine(name="one", levels=(Level(name="buffer", capacity=Capacity(amount=memory, unit="words")),))
    nodes = late_corner_tree(workload, pair, member, "buffer", machine.memory)
    return MappingTree(workload=workload, machine=machine, nodes=nodes)


def moved(count, *, stores):
    return sum(row.loads_words + (row.stores_words if stores else 0) for row in count.moved)


@pytest.mark.parametrize("block", some([0], range(5)))
def test_the_best_is_priced_as_it_is_walked_and_counted_and_fits(block):
    found = 0
    for seed in range(cases(60, 600)):
        rng = random.Random(f"corner {block} {seed}")
        text, stores = rng.choice(SHAPES), rng.random() < 0.7
        extents = {d: rng.randint(1, 2 if d == "h" else 6) for d in "hmlkn" if f"{d}," in text or f",{d}" in text}
        sizes = {name: rng.choice((1, 2, 4)) for name in "ABCDS"}
        sizes |= {"P": sizes["S"]} if "P" in text else {}
        workload = parse_workload(
            text, extents, bytes=sizes if rng.random() < 0.4 else 4, semantics=rng.choice(list(Semantics))
        )
        pair, memory = pair_of(workload, *steps_of(workload), stores=stores), rng.randint(3, 120)
        member = best_late_corner(pair, memory, stores=stores)
        if member is not None:
            found += 1
            tree = tree_of(workload, pair, memory, member)
            walk = walk_tree(tree)
            assert not walk.broken
            assert moved(walk, stores=stores) == member.words
            assert count_parts(tree).moved == walk.moved
            assert judged(tree) == "counted"
    assert found > cases(4, 50)


@pytest.mark.parametrize("seed", some([1], range(8)))
def test_no_mapping_with_a_corner_moves_less(seed):
    """None is better than the best of the smallest corners, and of those mappings that need none."""
    rng = random.Random(seed)
    workload = parse_workload(PAIR, {d: rng.randint(2, 5) for d in "mlkn"}, semantics=Semantics.ASSIGN)
    pair, rows, width = pair_of(workload, *steps_of(workload)), workload.extents["m"], workload.extents["n"]
    for memory in rng.sample(range(8, 45), cases(3, 12)):
        steps = steps_of(workload)
        found = [
            each for each in (best_run(workload, steps, memory), best_late_corner(pair, memory)) if each is not None
        ]
        best = min((each.words for each in found), default=None)
        for tile, columns, lines in product(range(1, rows + 1), range(1, width + 1), (True, False)):
            sizes = [min(tile, rows - first) for first in range(0, rows, tile)]
            for left in product(range(tile), repeat=len(sizes)):
                if all(y < size for y, size in zip(left, sizes, strict=True)) and left[0]:
                    member = LateCorner(rows=0, tile=tile, lines=lines, columns=columns, left=left, words=0)
                    count = count_parts(tree_of(workload, pair, memory, member))
                    assert count.broken or best <= moved(count, stores=True)


def test_rows_that_just_do_not_fit_cost_no_pass():
    """Of 512 rows with 128 words each 65,536 words hold all but 129 words: 10 rows times 13 columns are left."""
    workload = parse_workload(PAIR, {"m": 512, "l": 512, "k": 64, "n": 64}, semantics=Semantics.ASSIGN)
    answer = optmap.solve(workload, memory="65536w")
    assert answer.cost == 4 * 512 * 64 + 512 * (13 + 2 * 10)
    assert answer.proved
    assert answer.bound.value == 4 * 512 * 64


@pytest.mark.parametrize(
    "text",
    [
        "S[m,l] = A[m,k]*B[k,l]; P[m,l] = softmax(S[m,l], l); C[m,n] = P[m,l]*D[l,n]",
        "S[m,l] = A[m,k]*B[k,l]; C[m,n,p] = S[m,l]*D[l,n,p]",
    ],
)
def test_of_others_there_is_none(text):
    workload = parse_workload(text, {d: 8 for d in "mlknp" if d in text.replace("exp", "").replace("softmax", "")})
    pair = pair_of(workload, *steps_of(workload))
    assert all(best_late_corner(pair, memory) is None for memory in range(20, 200, 7))


FORGERIES = {
    "a corner less": lambda tree: tree[-1]["sequence"].pop(),
    "a smaller corner": lambda tree: tree[-1]["sequence"][-1][0].update(box={"n": [0, 1]}),
    "the corner first": lambda tree: tree[-1]["sequence"].reverse(),
    "no home": lambda tree: tree.pop(0),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_forged_documents_are_refused(name, tmp_path):
    workload = parse_workload(PAIR, {"m": 64, "l": 64, "k": 32, "n": 32}, semantics=Semantics.ASSIGN)
    answer = optmap.solve(workload, memory="4096w")
    answer.save(tmp_path / "answer.json")
    document = json.loads((tmp_path / "answer.json").read_text())
    assert "box" in str(document["mapping"])
    assert check_document(signed_tree(copy.deepcopy(document)))
    FORGERIES[name](document["mapping"]["tree"])
    with pytest.raises(RefusedError):
        check_document(signed_tree(document))
