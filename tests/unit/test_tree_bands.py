"""Trees of statements under conditions on two dims, counted in closed form as the literal walk counts them."""

from __future__ import annotations

import contextlib
import random
from itertools import product
from pathlib import Path

import pytest
import random_trees
from cases import cases, some
from checked_trees import tried
from mapping_trees import moved, occupied, scratchpads, tree_of
from random_trees import kept_for_some, random_tree
from walked_answers import first_answer, hold

import optmap
from optmap.base.errors import InputError, TreeError
from optmap.checker.trees.tree_counts import CountedTree
from optmap.count.trees import count_boxes, walk_tree
from optmap.mappings.tree import MappingTree
from optmap.workloads.band import IndexBand, band_of
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Semantics

CONDITIONS = ("l <= m", "l < m", "l <= m + 1", "m + 2 >= l", "l >= m", "l == m", "l <= m and l + 2 > m", "l + 1 < m")
FAMILIES = (
    "C[m,l] = A[m,k]*B[k,l] if ?",
    "C[m] = A[m,l]*B[l] if ?",
    "S[m,l] = A[m,k]*B[k,l] if ?; C[m,n] = S[m,l]*D[l,n] if ?",
    "S[m,l] = A[m,k]*B[k,l] if ?; P[m,l] = relu(S[m,l]) if ?; C[m,n] = P[m,l]*D[l,n] if ?",
    "S[h,m,l] = A[h,m,k]*B[h,k,l] if ?; C[h,m,n] = S[h,m,l]*D[h,l,n] if ?",
    "S[m,l] = A[m,k]*B[k,l] if ?; C[m,l] = S[m,l] + X[m,l] if ?",
    "H[h,b] = X[h,d]*Y[d,b]; C[h,m,l] = A[h,m,k]*B[k,l] if ?",
)


def judged(tree: MappingTree) -> str:
    """Hold the closed form against the walk; what came of it."""
    counted = count_boxes(tree)
    if counted is None:
        return "not counted"
    walk = walk_tree(tree)
    assert counted.moved == walk.moved, tree
    mine, theirs = ([(r.part, r.occupancy_words) for r in each.rooms] for each in (counted, walk))
    assert mine == theirs, tree
    levels = [*(level.name for level in tree.machine.levels), tree.machine.memory]
    checked = tried(tree.workload, levels, [node.document() for node in tree.nodes])
    if isinstance(checked, CountedTree):
        assert checked.moved == moved(walk), tree
        assert checked.occupied == {room.level: room.occupancy_words for room in walk.rooms}, tree
        return "checked"
    assert checked.startswith("not counted"), checked
    return "counted"


@pytest.mark.parametrize("block", some([0, 1], range(4)))
def test_banded_trees_are_counted_as_they_are_walked(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for seed in range(cases(60, 2000)):
        rng = random.Random(f"bands {block} {seed}")
        condition = rng.choice(CONDITIONS)
        monkeypatch.setattr(random_trees, "FAMILIES", tuple(text.replace("?", condition) for text in FAMILIES))
        tree = random_tree(rng, largest=rng.choice((4, 6)), shared=True)
        if block == 3 and len(tree.workload.statements) > 1:
            with contextlib.suppress(TreeError):
                tree = kept_for_some(rng, tree)
        found.append(judged(tree))
    assert found.count("checked") + found.count("counted") > len(found) // 3
    assert found.count("checked") > len(found) // 4


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_band_has_the_points_that_meet_its_conditions(condition: str) -> None:
    with contextlib.suppress(InputError):
        statement = parse_workload(f"C[m,l] = A[m]*B[l] if {condition}", {"m": 5, "l": 6}).statements[0]
        band = band_of(statement.domain)
        assert isinstance(band, IndexBand)
        for a, b in product(((0, 5), (1, 3), (2, 2), (4, 5)), ((0, 6), (2, 5), (5, 6))):
            at = {band.first: b, band.second: a} if band.first == "l" else {band.first: a, band.second: b}
            inside = [
                point
                for point in product(range(*at[band.first]), range(*at[band.second]))
                if band.low <= point[1] - point[0] <= band.high
            ]
            assert band.points(at[band.first], at[band.second]) == len(inside)
            for number, dim in enumerate((band.first, band.second)):
                if inside:
                    low, high = band.left(dim, at[band.first], at[band.second])
                    assert {*range(low, high)} == {point[number] for point in inside}


def test_conditions_save_words() -> None:
    chain = "S[m,l] = A[m,k]*B[k,l] if ?; P[m,l] = relu(S[m,l]) if ?; C[m,n] = P[m,l]*D[l,n] if ?"
    found = []
    for text in (chain.replace("?", "l <= m"), chain.replace(" if ?", "")):
        workload = parse_workload(text, {"m": 24, "l": 24, "k": 4, "n": 4})
        answer = optmap.solve(workload, memory="60w")
        found.append(answer.cost)
    assert found[0] < found[1]


WHOLE = [{"keep": "buffer", "tensors": ["A", "B", "C"]}, {"compute": "C"}]


@pytest.mark.parametrize("extent", [10**9, 2**32, 2**40])
@pytest.mark.parametrize(("condition", "more"), [("l <= m", 0), ("m <= l", 0), ("l < m + 2", 1), ("m <= l + 3", 3)])
def test_numbers_beyond_64_bits_are_exact(extent: int, condition: str, more: int) -> None:
    workload = parse_workload(
        f"C[m,n] = A[m,l]*B[l,n] if {condition}", {"m": extent, "l": extent, "n": 1}, semantics=Semantics.ASSIGN
    )
    tree = tree_of(WHOLE, workload, scratchpads(buffer=2**62))
    count = count_boxes(tree)
    assert count is not None
    pairs = sum(extent - abs(d) for d in range(1, more + 1)) + extent * (extent + 1) // 2
    assert moved(count)["buffer", tree.machine.memory, "A"] == (pairs, 0)
    assert occupied(count) == {"buffer": pairs + 2 * extent}
    checked = tried(workload, ["buffer", tree.machine.memory], WHOLE)
    assert isinstance(checked, CountedTree)
    assert (checked.moved, checked.occupied) == (moved(count), occupied(count))


def test_a_band_of_too_many_places_is_refused_before_they_are_laid_out() -> None:
    workload = parse_workload("C[m,n] = A[m,l]*B[l,n] if l <= m", {"m": 10**12, "l": 10**12, "n": 1})
    nodes = [WHOLE[0], {"loop": "m", "tile": 1}, WHOLE[1]]
    assert count_boxes(tree_of(nodes, workload)) is None
    assert "too many iterations" in str(tried(workload, ["buffer", "Memory"], nodes))


def test_conditions_that_no_point_meets_are_not_counted() -> None:
    workload = parse_workload("C[m,n] = A[m,l]*B[l,n] if m < l + 1 and l < m", {"m": 5, "l": 3, "n": 5})
    tree = tree_of(WHOLE, workload)
    assert moved(walk_tree(tree)) == dict.fromkeys(moved(walk_tree(tree)), (0, 0))
    assert count_boxes(tree) is None
    assert tried(workload, ["buffer", "Memory"], WHOLE) == "not counted: conditions that nothing meets"


CAUSAL = (
    "S[h,m,l] = 0.5*Q[h,m,k]*K[h,l,k] if ?; P[h,m,l] = softmax(S[h,m,l], l) if ?; O[h,m,n] = P[h,m,l]*V[h,l,n] if ?"
)


@pytest.mark.parametrize("seed", some(range(0, 12, 2), range(12)))
def test_causal_attention_is_counted_as_it_is_walked_and_proved_again(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    text = CAUSAL.replace("?", rng.choice(("l <= m", "l < m + 2", "m <= l", "l <= m and m <= l + 3")))
    if rng.random() < 0.4:
        text = text.replace("softmax(S[h,m,l], l)", "relu(S[h,m,l])")
    extents = {"h": rng.randint(1, 2), "k": rng.randint(1, 3), "n": rng.randint(1, 3)}
    workload = parse_workload(text, {"m": rng.randint(2, 8), "l": rng.randint(2, 8), **extents})
    objective, method = rng.choice(("traffic", "loads")), rng.choice(("fused", "fused", "apart"))
    words = rng.randint(10, 70)
    hold(
        first_answer(lambda f: optmap.solve(workload, memory=f"{f * words}w", objective=objective, method=method)),
        tmp_path,
    )
