"""Mapping trees with boxes in closed form, the library's and the checker's, against the literal walk."""

import random

import pytest
import random_trees
from cases import cases, some
from checked_trees import judged, tried
from random_trees import random_boxed_tree

from optmap.count.trees import count_parts, walk_tree
from optmap.files.fields import Fields
from optmap.files.trees import read_tree
from optmap.machines.machine import Level, Machine
from optmap.workloads.amounts import Capacity
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Semantics

PRODUCTS = tuple(text for text in random_trees.FAMILIES if not any(sign in text for sign in ("+p", "+r", " if ", "*h")))
PAIR = "S[m,l] = A[m,k]*B[k,l]; C[m,n] = S[m,l]*D[l,n]"


@pytest.mark.parametrize("block", some([0], range(6)))
def test_random_trees_with_boxes_are_counted_as_they_are_walked(block):
    counted, verified = 0, 0
    for seed in range(cases(50, 500)):
        tree = random_boxed_tree(random.Random(f"boxes {block} {seed}"), PRODUCTS)
        verified += judged(tree) == "counted"
        count = count_parts(tree)
        if count is not None:
            counted += 1
            walk = walk_tree(tree)
            assert count.moved == walk.moved
            assert [(room.part, room.occupancy_words, room.statement) for room in count.rooms] == [
                (room.part, room.occupancy_words, room.statement) for room in walk.rooms
            ]
    assert min(counted, verified) > cases(9, 100)


def tree_of(text, nodes, **extents):
    machine = Machine(name="one", levels=(Level(name="buffer", capacity=Capacity(amount=1000, unit="words")),))
    workload = parse_workload(text, extents, semantics=Semantics.ASSIGN)
    return read_tree(Fields.of({"tree": nodes}, "tree"), workload, machine)


def parted(*branches):
    return [{"keep": "buffer", "tensors": ["A", "C"]}, {"sequence": list(branches)}]


def test_two_parts_of_a_tensor_in_one_statement_are_for_a_walk():
    boxes = [
        [{"box": {"m": one, "n": other}}, {"compute": "C"}]
        for one, other in (([0, 2], [0, 2]), ([0, 2], [2, 4]), ([2, 4], [0, 2]), ([2, 4], [2, 4]))
    ]
    tree = tree_of("C[m,n] = A[m,k]*A[n,k]", parted(*boxes), m=4, n=4, k=2)
    assert count_parts(tree) is None
    assert judged(tree) == "not counted"


@pytest.mark.parametrize(
    "nodes",
    [
        [
            {"loop": "m", "tile": 2},
            *parted([{"box": {"m": [0, 1]}}, {"compute": "C"}], [{"box": {"m": [1, 4]}}, {"compute": "C"}]),
        ],
        parted([{"box": {"k": [0, 1]}}, {"compute": "C"}], [{"box": {"k": [1, 3]}}, {"compute": "C"}]),
        parted(
            [{"box": {"m": [0, 3]}}, {"compute": "C"}],
            [{"box": {"m": [3, 4], "n": [0, 1]}}, {"compute": "C"}],
            [{"box": {"m": [3, 4], "n": [1, 2]}}, {"compute": "C"}],
        ),
    ],
    ids=["a loop outside of its boxes", "a sum over boxes", "boxes of unlike parts"],
)
def test_other_boxes_are_for_a_walk(nodes):
    nodes = [{"keep": "buffer", "tensors": ["B"]}, *nodes]
    tree = tree_of("C[m,n] = A[m,k]*B[k,n]", nodes, m=4, n=2, k=3)
    assert count_parts(tree) is None
    assert judged(tree) == "not counted"


def test_parts_whose_names_others_have_are_for_a_walk():
    boxes = [[{"box": {"m": part}}, {"compute": "C"}] for part in ([0, 1], [1, 4])]
    nodes = [{"keep": "buffer", "tensors": ["A", "C", "A_0_0"]}, {"sequence": boxes}]
    assert count_parts(tree_of("C[m,n] = A[m,k]*A_0_0[k,n]", nodes, m=4, n=2, k=3)) is None


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda nodes: nodes[-1]["sequence"].pop(), "not done"),
        (lambda nodes: nodes[-1]["sequence"][1].insert(0, {"box": {"m": [0, 3]}}), "not counted"),
        (lambda nodes: nodes[-1]["sequence"][1][0].update(box={"m": [2, 4]}), "not counted: boxes of m that overlap"),
        (lambda nodes: nodes[-1]["sequence"][1][0].update(box={"m": [3, 5]}), "malformed"),
        (lambda nodes: nodes[-1]["sequence"][1][0].update(box={"q": [3, 4]}), "malformed"),
        (lambda nodes: nodes[-1]["sequence"].append(nodes[-1]["sequence"][1]), "malformed: two leaves"),
        (lambda nodes: nodes[0]["tensors"].append("A"), "malformed"),
    ],
)
def test_the_checker_refuses_boxes_that_are_no_parts(change, reason):
    workload = parse_workload("C[m,n] = A[m,k]*B[k,n]", {"m": 4, "n": 2, "k": 3}, semantics=Semantics.ASSIGN)
    boxes = [[{"box": {"m": part}}, {"loop": "m", "tile": 1}, {"compute": "C"}] for part in ([0, 1], [1, 3], [3, 4])]
    nodes = [{"keep": "buffer", "tensors": ["A", "B", "C"]}, {"sequence": boxes}]
    assert not isinstance(tried(workload, ["buffer", "Memory"], nodes), str)
    change(nodes)
    assert str(tried(workload, ["buffer", "Memory"], nodes)).startswith(reason)
