"""Chains that no family takes as a whole, in one memory: the walk, the floor, the checker, parts that are taken."""

import random
import re

import pytest
from cases import some
from walked_answers import first_answer, hold

import optmap
from optmap.base.errors import InfeasibleError, InputError
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Semantics

PAIR = "S[m,l] = A[m,k]*B[k,l]; C[m,n] = S[m,l]*D[l,n]"
GATE = "G[m,l] = C[m,n]*E[n,l]; U[m,l] = C[m,n]*F[n,l]; W[m,l] = silu(G[m,l])*U[m,l]; Y[m,p] = W[m,l]*H[l,p]"
OUT = "O[m,n] = S[m,l]*V[l,n]"
SHAPES = (
    f"{PAIR}; R[m,n] = C[m,n]+X[m,n]",
    f"{PAIR}; R[m,n] = C[m,n]+X[m,n]; N[m,n] = relu(R[m,n]); E[m,p] = N[m,n]*F[n,p]; G[m,q] = E[m,p]*H[p,q]",
    f"C[m,n] = A[m,k]*B[k,n]; {GATE}",
    f"C[m,n] = A[m,k]*B[k,n]; {GATE}; Z[m,p] = Y[m,p]+X[m,p]",
    "T[m,c] = X[m,d]*W[d,c]; P[m,c] = relu(T[m,c]); Q[m,e] = P[m,c]*A[c,e]; K[m,f] = P[m,c]*B[c,f]",
    f"Q[m,k] = X[m,d]*A[d,k]; K[l,k] = Z[l,d]*B[d,k]; V[l,n] = Z[l,d]*C[d,n]; S[m,l] = Q[m,k]*K[l,k]; {OUT}",
    f"Q[m,k] = X[m,d]*A[d,k]; K[l,k] = X[l,d]*B[d,k]; S[m,l] = Q[m,k]*K[l,k]; {OUT}",
)
ROWED = (
    "S[m,l] = A[m,k]*B[k,l]; P[m,l] = softmax(S[m,l], l, whole); C[m,n] = P[m,l]*D[l,n]",
    "S[m,l] = A[m,k]*B[k,l]; P[m,l] = layernorm(S[m,l], l); C[m,n] = P[m,l]*D[l,n]; E[m,p] = C[m,n]*F[n,p]",
    f"{PAIR}; R[m,n] = C[m,n]+X[m,n]; N[m,n] = rmsnorm(R[m,n], n); E[m,p] = N[m,n]*F[n,p]; G[m,q] = E[m,p]*H[p,q]",
    "Q[m,k] = X[m,d]*A[d,k]; S[m,l] = Q[m,k]*K[k,l]; P[m,l] = softmax(S[m,l], l); O[m,n] = P[m,l]*V[l,n]",
    "S[h,m,l] = Q[h,m,k]*K[h,l,k]; P[h,m,l] = softmax(S[h,m,l], l); O[m,n] = P[h,m,l]*V[h,l,n]",
)
"""With functions of rows."""


@pytest.mark.parametrize("seed", some(range(0, 120, 13), range(120)))
def test_random_graphs_are_counted_as_they_are_walked_and_proved_again(seed, tmp_path):
    rng = random.Random(seed)
    shapes = (*SHAPES, *ROWED)
    text = shapes[seed % len(shapes)]
    extents = {d: rng.randint(1, 6) for d in sorted(set(re.findall(r"\b[a-z]\b", text)))}
    plain = parse_workload(text, extents, semantics=rng.choice(list(Semantics)))
    widths = {name: rng.choice((1, 2)) for name in sorted(set(plain.stored_as.values()))}
    sizes = {access.name: widths[plain.stored_as[access.name]] for access in plain.accesses}
    workload = parse_workload(text, extents, semantics=plain.semantics, bytes=sizes)
    method, objective = rng.choice(("fused", "fused", "apart")), rng.choice(("traffic", "loads"))
    words = rng.randint(8, 60)
    hold(
        first_answer(lambda f: optmap.solve(workload, memory=f"{f * words}w", method=method, objective=objective)),
        tmp_path,
    )


def test_parts_are_fused_where_it_pays():
    """A pair with a wide intermediate, and a residual that no family takes."""
    asked = {"extents": {"m": 64, "l": 64, "k": 8, "n": 8}, "memory": "512w"}
    one, other = (optmap.solve(SHAPES[0], method=method, **asked) for method in ("fused", "apart"))
    assert one.cost < other.cost
    assert "S" not in {row.tensor for row in one.boundaries}
    alone = optmap.solve(PAIR, **asked)
    assert one.cost == alone.cost + 3 * 64 * 8  # the residual reads both and stores one; C was stored before


def test_more_memory_never_moves_more_words():
    """Rows take room beside the tiles of what reads them: less room for tiles is no other way to look for them."""
    extents = {"m": 3, "k": 7, "l": 9, "n": 6}
    costs = [optmap.solve(ROWED[0], extents=extents, semantics="assign", memory=f"{words}w").cost for words in (7, 8)]
    assert costs[1] <= costs[0] <= 594


def test_gates_and_runs_are_parts():
    extents = {"m": 64, "k": 8, "n": 8, "l": 64, "p": 8}
    answer = optmap.solve(SHAPES[2], extents=extents, memory="1024w")
    assert {"G", "U", "W"}.isdisjoint(row.tensor for row in answer.boundaries)


def test_a_result_that_two_read_is_stored_and_a_function_is_done_where_it_is_complete():
    """No word of T is stored before the function is done: it is stored once."""
    answer = optmap.solve(SHAPES[4], extents={"m": 32, "d": 8, "c": 8, "e": 8, "f": 8}, memory="256w")
    (stored,) = (row.stores_words for row in answer.boundaries if row.tensor == "P")
    assert stored == 32 * 8


def test_the_reason_why_there_is_no_family_is_said_where_a_statement_has_no_mapping_by_itself():
    text = f"{PAIR}; R[m,n] = C[m,n]+X[m,n]; P[m,n] = softmax(R[m,n], n)"
    with pytest.raises(InputError, match=r"R is no product"):
        optmap.solve(text, extents={"m": 4, "l": 4, "k": 4, "n": 4}, memory="64w")


def test_a_function_of_several_tensors_needs_a_word_of_each():
    for chain, words in (
        ("S[m] = A[m,k]*B[k]; Y[m] = S[m] + X[m] + Z[m]", 4),
        ("S[m] = A[m,k]*B[k]; Y[m] = S[m] + X[m] + Z[m] + W[m]", 5),
    ):
        workload = parse_workload(chain, {"m": 3, "k": 4})
        with pytest.raises(InfeasibleError):
            optmap.solve(workload, memory=f"{words - 1}w")
        assert optmap.solve(workload, memory=f"{words}w").count.levels[0].occupancy_words == words


def test_statistics_of_rows_have_room_beside_the_tiles_of_statements_by_themselves(tmp_path):
    text = (
        "S[m,l] = A[m,k]*B[k,l]; P[m,l] = exp(S[m,l]); Q[m,l] = layernorm(P[m,l], l); T[m,l] = tanh(Q[m,l]); "
        "C[m,n] = T[m,l]*D[l,n]"
    )
    answer = optmap.solve(text, extents="k=5,l=5,m=3,n=4", memory="32w", objective="loads")
    hold(answer, tmp_path)
