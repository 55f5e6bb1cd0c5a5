"""The checker's count of mapping trees: against cases of another implementation, and the literal walk."""

from __future__ import annotations

import contextlib
import random
import re
from typing import Any

import pytest
import random_trees
from cases import cases, some
from checked_trees import UNCOUNTED, judged, tried
from mapping_trees import REFERENCE, reference_tree, reference_workload, tree_of
from random_trees import kept_for_some, random_tree, there_for_some

from optmap.base.errors import TreeError
from optmap.checker.trees.tree_counts import CountedTree
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Workload

OTHERS = ("+p", "+r", " if ")
"""In families of trees whose contents are no boxes."""
FAMILIES = (
    *(text for text in random_trees.FAMILIES if not any(part in text for part in OTHERS)),
    "S[m,l] = A[m,k]*B[k,l]; P[m,l] = relu(S[m,l]); R[m,l] = exp(P[m,l]); C[m,n] = R[m,l]*D[l,n]",
    "S[m,l] = A[m,k]*B[k,l]; P[m,l] = relu(S[m,l]); R[m,l] = gelu(S[m,l]); C[m,n] = P[m,l]*D[l,n]",
    "S[h,m,l] = A[h,m,k]*B[h,k,l]; C[h,m,n] = S[h,m,l]*D[h,l,n]",
    "S[m,l] = A[m,k]*B[k,l]; C[m,n] = S[m,l]*D[l,n]; G[m,b] = C[m,n]*E[n,b]",
    "S[m] = A[m,k]*B[k]; C[m,n] = S[m]*D[n]; G[m,n] = C[m,n]*E[m]",
)


def test_reference_trees_are_counted_to_the_word() -> None:
    found = 0
    for case in REFERENCE["cases"]:
        assert reference_tree(case)
        mine = tried(reference_workload(case), [level["name"] for level in case["levels"]], case["tree"])
        rows = {(row["level"], row["from"], row["tensor"]): (row["loads"], row["stores"]) for row in case["boundaries"]}
        if isinstance(mine, CountedTree):
            found += 1
            assert (mine.moved, mine.occupied) == (rows, case["occupancy"]), case["name"]
        else:
            assert mine.startswith(UNCOUNTED), case["name"]
    assert found == 36


KINDS = {"capacity": "", "incomplete": "(incomplete|not counted): "}
"""How the reasons begin; a document says whether what is held fits."""


@pytest.mark.parametrize("case", REFERENCE["invalid"], ids=lambda case: str(case["name"]))
def test_reference_trees_that_mean_nothing_are_refused(case: dict[str, Any]) -> None:
    mine = tried(reference_workload(case), [level["name"] for level in case["levels"]], case["tree"])
    assert re.match(KINDS.get(case["kind"], f"{case['kind']}: "), str(mine)), mine


def _pinned_more(rng: random.Random, nodes: list[Any], workload: Workload) -> list[Any]:
    """The same with pinned parts of more dims, and with more of them."""
    found: list[Any] = []
    for node in nodes:
        if "sequence" in node:
            found.append({"sequence": [_pinned_more(rng, branch, workload) for branch in node["sequence"]]})
            continue
        keeps = "tensors" in node and node["keep"] != "Memory"
        while keeps and rng.random() < 0.4:
            (tensor,) = node["tensors"]
            dims = next(access.dims for access in workload.accesses if access.name == tensor)
            ends = {d: sorted(rng.sample(range(workload.extents[d] + 1), 2)) for d in dims if rng.random() < 0.6}
            found += [{**node, "of": ends}] if ends else []
        found.append(node)
    return found


@pytest.mark.parametrize("block", some(1, range(2)))
def test_trees_with_many_pinned_parts_are_counted_as_they_are_walked(
    block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(random_trees, "FAMILIES", FAMILIES)
    found = []
    for seed in range(cases(40, 900)):
        rng = random.Random(f"pins {block} {seed}")
        tree = random_tree(rng, largest=5, shared=True)
        nodes = _pinned_more(rng, [node.document() for node in tree.nodes], tree.workload)
        with contextlib.suppress(TreeError):  # a part of a part at one level, or of a level without one of its own
            found.append(judged(tree_of(nodes, tree.workload, tree.machine)))
    assert found.count("counted") > 10, found


def test_keeps_for_some_statements_only_are_counted_as_they_are_walked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random_trees, "FAMILIES", FAMILIES)
    found = []
    for seed in range(cases(300, 9000)):
        rng = random.Random(f"only {seed}")
        pair = there_for_some(rng, random_tree(rng, largest=4, shared=True))
        found += [judged(pair[0])] if pair is not None else []
    assert found.count("counted") > 10, found


@pytest.mark.parametrize("block", some(1, range(3)))
def test_keeps_for_some_inside_each_other_are_counted_as_they_are_walked(
    block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(random_trees, "FAMILIES", [text for text in FAMILIES if ";" in text])
    found = []
    for seed in range(cases(50, 2000)):
        rng = random.Random(f"inside {block} {seed}")
        tree = kept_for_some(rng, random_tree(rng, largest=3, shared=True))
        found.append(judged(tree))
    assert found.count("counted") > 10, found


OTHERWISE = (
    "S[m,l] = A[m,k]*B[k,l]; C[m,n] = S[m,l]*A[l,n]",
    "Q[m,k] = X[m,d]*A[d,k]; K[l,k] = X[l,d]*B[d,k]; S[m,l] = Q[m,k]*K[l,k]",
    "S[m,l] = X[m,k]*B[k,l]; P[m,l] = relu(S[m,l]); C[m,n] = P[m,l]*X[l,n]; E[m,p] = C[m,n]*X[n,p]",
    "S[m,l] = A[m,k]*A[l,k]; C[m,n] = S[m,l]*D[l,n]",
    "Q[m,k] = X[m,d]*A[d,k]; S[m,l] = Q[m,k]*Q[l,k]; C[m,n] = S[m,l]*D[l,n]",
    "Q[m,k] = X[m,d]*A[d,k]; P[m,k] = relu(Q[m,k]); S[n,l] = P[n,k]*P[l,k]",
    "Q[m,k] = X[m,d]*A[d,k]; S[m,k] = Q[m,k]*Q[k,m]",
    "S[m,l,n] = A[m,k]*A[l,k]*A[n,k]",
    "O[h,y] = A[h+r]*A[y]*F[r]",
    "S[c,y] = A[d,y+p]*F[c,d,p]; O[k,h] = S[c,h+r]*S[c,h]*G[k,c,r]",
)
"""Tensors that are read with other dims by other statements, or by one statement through several accesses."""


def test_tensors_that_are_read_with_other_dims_are_counted_as_they_are_walked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random_trees, "FAMILIES", OTHERWISE)
    found = []
    for seed in range(cases(120, 6000)):
        found.append(judged(random_tree(random.Random(f"other dims {seed}"), largest=4, shared=seed % 2 > 0)))
    assert found.count("counted") > 20, found


LEFT_OUT = (
    ("S[m,l] = A[m,k]*B[k,l]; P[m,l] = softmax(S[m,l], l); C[m,n] = P[m,l]*P[n,l]", "C reads rows of P by other dims"),
    ("Q[m,k] = X[m,d]*A[d,k]; S[n,l] = Q[n,k]*Q[l,k]", "S does not read all of Q"),
    ("S[m,l] = A[m,k]*A[l,k] if l <= m; C[m,n] = S[m,l]*D[l,n] if l <= m", "A is touched with other dims elsewhere"),
    ("C[m,n] = A[m,m]*A[n,m]", "A has subscripts that are no dims alone"),
)


@pytest.mark.parametrize(("text", "why"), LEFT_OUT)
def test_what_is_read_through_several_accesses_and_not_counted_is_refused_by_name(text: str, why: str) -> None:
    extents = {d: 3 if d == "m" else 2 for d in sorted(set(re.findall(r"\b[a-z]\b", text)))}
    workload = parse_workload(text, extents)
    inner = [*(each.name for each in workload.statements[:-1]), *["P.row"] * ("softmax" in text)]
    branches = [
        [{"keep": "L1", "tensors": sorted({a.name for a in each.accesses} - {*inner})}, {"compute": each.name}]
        for each in workload.statements
    ]
    nodes = [{"keep": "L1", "tensors": inner}, {"sequence": branches}] if inner else branches[0]
    assert tried(workload, ["L1", "Memory"], nodes) == f"not counted: {why}"


PAIR = parse_workload("S[m,l] = A[m,k]*B[k,l]; C[m,n] = S[m,l]*D[l,n]", {"m": 2, "l": 3, "k": 2, "n": 2})


@pytest.mark.parametrize("only", [["C"], [], None, "C", ["S", 1], ["S", "T"], [""]], ids=str)
def test_a_keep_for_none_of_what_touches_it_is_refused(only: Any) -> None:
    inside = [[{"keep": "L1", "tensors": list(t)}, {"compute": name}] for name, t in (("S", "AB"), ("C", "DC"))]
    nodes = [{"keep": "L1", "tensors": ["A"], "only": only}, {"keep": "L1", "tensors": ["S"]}, {"sequence": inside}]
    mine = tried(PAIR, ["L1", "Memory"], nodes)
    assert re.search("only that do not touch it|no statement below|tree.0..only", str(mine)), mine


@pytest.mark.parametrize("block", some(2, range(6)))
def test_random_trees_are_counted_as_they_are_walked(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random_trees, "FAMILIES", FAMILIES)
    seeds = range(cases(60, 900))
    found = [
        judged(random_tree(random.Random(f"{block} {seed}"), largest=2 + block, shared=block > 0)) for seed in seeds
    ]
    assert found.count("counted") > 15, found
