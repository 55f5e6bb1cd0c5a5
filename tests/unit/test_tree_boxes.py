"""Mapping trees in closed form against the literal walk, and what is left to the walk."""

import random
from itertools import pairwise

import pytest
import random_trees
from cases import cases, some
from mapping_trees import REFERENCE, reference_tree
from random_trees import kept_for_some, random_tree, there_for_some

from optmap.base.errors import TreeError
from optmap.count.trees import count_boxes, count_tree, steps, walk_tree
from optmap.files.fields import Fields
from optmap.files.trees import read_tree
from optmap.machines.machine import Level, Machine
from optmap.mappings.nodes import Loop
from optmap.workloads.amounts import Capacity
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Semantics

PRODUCTS = tuple(text for text in random_trees.FAMILIES if not any(sign in text for sign in ("+p", "+r", " if ", "*h")))
CHAIN = "S[m,l] = A[m,k]*B[k,l]; C[m,n] = S[m,l]*D[l,n]"


def alike(count, walk):
    assert count.moved == walk.moved
    assert [(room.part, room.occupancy_words) for room in count.rooms] == [
        (room.part, room.occupancy_words) for room in walk.rooms
    ]


@pytest.mark.parametrize("block", some([0, 3], range(8)))
def test_random_trees_are_counted_as_they_are_walked(block, monkeypatch):
    monkeypatch.setattr(random_trees, "FAMILIES", PRODUCTS)
    counted = 0
    for seed in range(block * 60, block * 60 + 60):
        tree = random_tree(random.Random(seed))
        count = count_boxes(tree)
        if count is not None:  # then a walk refuses nothing, either
            counted += 1
            alike(count, walk_tree(tree))
    assert counted > 5


TWICE = (
    "S[m,l] = A[m,k]*A[l,k]",
    "S[m,n] += A[m,k]*A[k,n]",
    "S[m,k] += A[m,k]*A[k,m]",
    "R[k] += X[m]*X[m+k]",
    "S[b,l,m] = A[b,k]*A[l,k]*A[m,k]",
    "B[b,k] += X[m]*X[m+b]*X[m+k]",
    "Z[m,n] += A[m,k]*A[m+1,k]*W[n]",
    "S[m,l] = A[m,k]*A[l,k]; C[m,k] = S[m,l]*A[l,k]",
    "S[m,l] = A[m,k]*B[k,l]; C[m,n] = S[m,l]*S[n,l]",
    "S[m,l] = A[m,k]*B[l,k]; C[m,l] = S[m,l]*S[l,m]",
    "S[c,h] = I[c,h+r]*F[c,r]*I[c,h]; O[k,h] = S[c,h]*I[k,h]",
)
"""Statements that read a tensor through several accesses."""


@pytest.mark.parametrize("block", some([0], range(8)))
def test_unions_of_boxes_are_counted_as_they_are_walked(block):
    counted = 0
    for seed in range(block * 150, block * 150 + 150):
        tree = random_tree(random.Random(f"twice {seed}"), families=TWICE)
        count = count_boxes(tree)
        if count is not None:
            counted += 1
            alike(count, walk_tree(tree))
    assert counted > 50


def union_tree(text, nodes, **extents):
    machine = Machine(name="one", levels=(Level(name="L", capacity=Capacity(amount=10**15, unit="words")),))
    return read_tree(Fields.of({"tree": nodes}, "tree"), parse_workload(text, extents), machine)


def test_rows_against_rows_of_sixty_thousand_are_counted_at_once():
    rows, tile, depth = 2**16, 32, 64
    nodes = [{"loop": "m", "tile": tile}, {"loop": "l", "tile": 1}, {"keep": "L", "tensors": ["A", "S"]}]
    count = count_tree(union_tree("S[m,l] += A[m,k]*A[l,k]", [*nodes, {"compute": "S"}], m=rows, l=rows, k=depth))
    assert not count.walked
    tiles = rows // tile
    loads = {row.tensor: row.loads_words for row in count.moved}
    assert loads["S"] == rows * rows
    # with every tile all rows come, its own once; but row 0 is there with the second tile, the last row with the last
    assert loads["A"] == depth * (tiles * rows - 2)
    assert count.rooms[0].occupancy_words == depth * (tile + 1) + tile


def test_numbers_of_unions_beyond_64_bits_are_exact():
    size = 10**7
    nodes = [{"loop": "m", "tile": 1}, {"keep": "L", "tensors": ["A", "S"]}, {"compute": "S"}]
    count = count_boxes(union_tree("S[m] += A[m,k]*A[0,k]", nodes, m=4, k=10**18))
    assert {row.tensor: row.loads_words for row in count.moved} == {"S": 4, "A": 4 * 10**18}
    whole = [{"keep": "L", "tensors": ["A", "S"]}, {"compute": "S"}]
    assert count_boxes(union_tree("S[m,l] += A[m,k]*A[l,k]", whole, m=size, l=size, k=10**6)) is not None


def test_a_keep_for_some_statements_only_is_one_above_a_sequence_of_their_own(monkeypatch):
    monkeypatch.setattr(random_trees, "FAMILIES", PRODUCTS)
    counted = 0
    for seed in range(600):
        rng = random.Random(seed)
        pair = there_for_some(rng, random_tree(rng))
        count = None if pair is None else count_boxes(pair[0])
        if count is not None:  # every statement is done in every iteration
            counted += 1
            for tree in pair:
                alike(count, walk_tree(tree))
    assert counted > 10


@pytest.mark.parametrize("block", some([0], range(3)))
def test_keeps_for_some_inside_each_other_are_counted_as_they_are_walked(block, monkeypatch):
    monkeypatch.setattr(random_trees, "FAMILIES", [text for text in PRODUCTS if ";" in text])
    counted = 0
    for seed in range(cases(60, 2000)):
        rng = random.Random(f"inside {block} {seed}")
        tree = kept_for_some(rng, random_tree(rng, largest=3, shared=True))
        count = count_boxes(tree)
        if count is not None:
            counted += 1
            alike(count, walk_tree(tree))
    assert counted > cases(10, 20)


def test_of_steps_the_first_ones_that_lie_otherwise_between_cuts_are_enough():
    rng = random.Random(5)
    for _ in range(300):
        extent, tile = rng.randint(1, 40), rng.randint(1, 12)
        loop = Loop(dim="m", tile=tile, first=rng.randrange(tile))
        first = rng.randrange(extent)
        step = (first, rng.randint(first + 1, extent))
        ends = sorted({0, extent, *(rng.randint(0, extent) for _ in range(rng.randint(0, 3)))})
        cuts = list(pairwise(ends))

        def kinds(intervals, cuts=cuts):
            found = {}
            for start, end in intervals:
                found.setdefault(tuple(max(0, min(end, b) - max(start, a)) for a, b in cuts), (start, end))
            return found

        begins = [first, *range(first + (loop.first or tile), step[1], tile)]
        some_steps = steps.steps(step, loop, cuts)
        assert kinds(some_steps) == kinds(pairwise([*begins, step[1]]))
        assert len(some_steps) <= 2 * len(ends) + 1


def test_reference_trees_are_counted_alike():
    found = [(case, count_boxes(reference_tree(case))) for case in REFERENCE["cases"]]
    for case, count in found:
        if count is not None:
            assert [(row.tensor, row.loads_words, row.stores_words) for row in count.moved] == [
                (row["tensor"], row["loads"], row["stores"]) for row in case["boundaries"]
            ]
            assert {room.level: room.occupancy_words for room in count.rooms} == case["occupancy"]
    assert sum(count is not None for _, count in found) >= 15


@pytest.mark.parametrize("case", REFERENCE["invalid"], ids=lambda case: case["name"])
def test_what_a_walk_refuses_has_no_closed_form(case):
    try:
        tree = reference_tree(case)
    except TreeError:
        return
    assert count_boxes(tree) is None or case["kind"] == "capacity"


def tree_of(nodes, words=10**9, **extents):
    machine = Machine(name="one", levels=(Level(name="buffer", capacity=Capacity(amount=words, unit="words")),))
    return read_tree(
        Fields.of({"tree": nodes}, "tree"), parse_workload(CHAIN, extents, semantics=Semantics.ASSIGN), machine
    )


def row_loop(rows, pinned=0):
    """FlashAttention's loop: some rows of A and C stay, columns of B and rows of D stream; some of these are pinned."""
    part = [{"keep": "buffer", "tensors": ["B", "D"], "of": {"l": [0, pinned]}}] if pinned else []
    return [
        *part,
        {"loop": "m", "tile": rows},
        {"keep": "buffer", "tensors": ["A", "C"]},
        {"loop": "l", "tile": 1},
        {"keep": "buffer", "tensors": ["S"]},
        {
            "sequence": [
                [{"loop": "k", "tile": 1}, {"keep": "buffer", "tensors": ["B"]}, {"compute": "S"}],
                [{"loop": "n", "tile": 1}, {"keep": "buffer", "tensors": ["D"]}, {"compute": "C"}],
            ]
        },
    ]


@pytest.mark.parametrize(("rows", "pinned"), [(127, 0), (4096, 0), (100, 77)])
def test_attention_of_four_thousand_rows_is_counted_at_once(rows, pinned):
    count = count_tree(tree_of(row_loop(rows, pinned), m=4096, l=4096, k=64, n=64))
    assert not count.walked
    visits = -(-4096 // rows)
    loads = {row.tensor: row.loads_words for row in count.moved}
    assert loads["B"] == loads["D"] == 64 * (pinned + (4096 - pinned) * visits)
    assert (loads["A"], loads["C"]) == (4096 * 64, 0)
    assert count.rooms[0].occupancy_words == rows * 128 + pinned * 128 + rows + 1
