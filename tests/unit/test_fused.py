"""Fused mappings of pairs of products: reference words, the literal walk, and what is refused."""

import json
import random
from pathlib import Path

import pytest

import optmap
from optmap.base.errors import InfeasibleError, InputError
from optmap.count.trees import walk_tree
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Semantics

PAIR = "S[m,l] = A[m,k]*B[k,l]; C[m,n] = S[m,l]*D[l,n]"
SHAPES = (
    PAIR,
    "S[h,m,l] = Q[h,m,k]*K[h,l,k]; O[h,m,n] = S[h,m,l]*V[h,l,n]",
    "S[h,m,l] = Q[h,m,k]*K[h,l,k]; O[n,h,l] = V[h,m,n]*S[h,m,l]",
    "S[m,l] = A[m,k,p]*B[k,l,p]; C[m,n] = S[m,l]*D[l,n]",
    "S[m,l] = A[m]*B[l]; C[m,n,p] = S[m,l]*D[l,n,p]",
)
REFERENCE = json.loads((Path(__file__).parents[1] / "data" / "chains.json").read_text())["products"]
# The least words that another mapper or a prototype with pinned parts reaches, one memory, outputs starting empty.
REACHED = {64: 41_984, 256: 20_480, 512: 12_032, 1024: 7_616, 2048: 5_184, 4096: 4_096}


def solved(memory, text=PAIR, **extents):
    return optmap.solve(text, extents=extents, memory=f"{memory}w")


@pytest.mark.parametrize(("memory", "words"), REACHED.items())
def test_a_small_pair_moves_no_more_than_others_reach(memory, words):
    assert solved(memory, m=64, l=64, k=16, n=16).cost <= words


@pytest.mark.parametrize("row", REFERENCE, ids=lambda row: f"{row['name']} {row['M']}")
def test_attention_and_mlp_move_no_more_than_the_best_known_and_no_less_than_the_floor(row):
    answer = solved(row["M"], m=row["m"], l=row["l"], k=row["K"], n=row["N"])
    assert row["lbt"] <= answer.bound.value <= answer.cost <= row["best"]
    assert not answer.count.walked


@pytest.mark.parametrize("block", range(4))
def test_random_pairs_move_and_hold_what_a_walk_finds_and_are_proved_again(block, tmp_path):
    for seed in range(block * 15, block * 15 + 15):
        rng = random.Random(seed)
        text = rng.choice(SHAPES)
        extents = {d: rng.randint(1, 6) for d in sorted({c for c in text if c.islower()})}
        widths = {t: rng.choice((1, 2, 4)) for t in sorted({c for c in text if c.isupper()})}
        workload = parse_workload(
            text, extents, bytes=widths if rng.random() < 0.5 else 4, semantics=rng.choice(list(Semantics))
        )
        try:
            answer = optmap.solve(workload, memory=f"{rng.randint(12, 90)}w")
        except InfeasibleError:
            continue
        walk = walk_tree(answer.mapping)
        assert answer.count.moved == walk.moved
        assert answer.count.rooms[0].occupancy_words == walk.rooms[0].occupancy_words
        assert answer.bound.value <= answer.cost
        answer.save(tmp_path / f"{seed}.json")
        optmap.check(tmp_path / f"{seed}.json")
        assert not optmap.evaluate(tmp_path / f"{seed}.json").disagreements


def test_the_intermediate_stays_whole_where_there_is_room():
    answer = solved(64 * 64 + 200, m=64, l=64, k=512, n=512)
    assert answer.cost == 4 * 64 * 512  # every operand once
    assert answer.proved
    assert answer.gap == 0


def test_a_memory_without_room_for_three_words_is_too_small():
    with pytest.raises(InfeasibleError, match="needs 3"):
        solved(2, m=4, l=4, k=4, n=4)


@pytest.mark.parametrize(
    ("text", "extents", "reason"),
    [
        (
            "S[m,l] = A[m,k]*B[k,l]; T[m,n] = S[m,l]*D[l,n]; C[m,p] = T[m,n]*E[n,p]",
            {"m": 3, "l": 3, "k": 3, "n": 3, "p": 3},
            "3 statements",
        ),
        (
            "S[c,y] = A[d,y+p]*F[c,d,p]; O[k,y] = S[c,y]*G[k,c]",
            {"c": 2, "d": 2, "y": 4, "p": 2, "k": 2},
            "no product of two tensors with a dim in every subscript",
        ),
        ("S[m,l] = A[m,k]*B[k,l]; C[m,n] = S[m,l]*B[n,l]", {"m": 3, "l": 3, "k": 3, "n": 3}, "same tensor"),
        ("S[m,l] = A[m,k]*B[k,l]; C[m,n] = S[l,m]*D[l,n]", {"m": 3, "l": 3, "k": 3, "n": 3}, "same subscripts"),
    ],
)
def test_what_is_no_pair_of_products_is_refused_by_name(text, extents, reason):
    with pytest.raises(InputError, match=reason):
        solved(50, text, **extents)


def test_one_statement_is_not_for_it_and_a_chain_is_not_for_others():
    with pytest.raises(InputError, match="chains of statements"):
        optmap.solve("C[m,n] = A[m,k]*B[k,n]", extents={"m": 3, "n": 3, "k": 3}, memory="50w", method="fused")
    with pytest.raises(InputError, match="2 statements"):
        optmap.solve(PAIR, extents={"m": 3, "l": 3, "k": 3, "n": 3}, memory="50w", method="mopt")
    with pytest.raises(InputError, match="2 statements"):
        optmap.solve(PAIR, extents={"m": 3, "l": 3, "k": 3, "n": 3}, machine="balanced")
