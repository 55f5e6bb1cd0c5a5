"""Chains of products on several levels: the walk, the floor of every boundary, the checker, and what is refused."""

import json
import random
import re
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from cases import some
from tree_documents import signed_tree
from walked_answers import first_answer, hold

import optmap
from optmap.base.errors import InfeasibleError, InputError
from optmap.bounds import bounds
from optmap.checker import RefusedError, check_document
from optmap.machines.core import Core
from optmap.machines.machine import Bandwidth, Level, Machine
from optmap.workloads.amounts import Capacity
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Semantics

PAIR = "S[m,l] = A[m,k]*B[k,l]; C[m,n] = S[m,l]*D[l,n]"
SHAPES = (
    PAIR,
    "S[h,m,l] = Q[h,m,k]*K[h,l,k]; O[h,m,n] = S[h,m,l]*V[h,l,n]",
    "S[m,l] = A[m,k]*B[k,l]; P[m,l] = relu(S[m,l]); R[m,l] = exp(P[m,l]); C[n,l] = D[m,n]*R[m,l]",
    f"{PAIR}; R[m,n] = relu(C[m,n]); E[m,p] = R[m,n]*F[n,p]",
    f"{PAIR}; E[m,p] = C[m,n]*F[n,p]; G[m,q] = E[m,p]*H[p,q]; R[m,q] = G[m,q]+X[m,q]",
    "G[m,l] = X[m,k]*A[k,l]; U[m,l] = X[m,k]*B[k,l]; W[m,l] = silu(G[m,l])*U[m,l]; Y[m,n] = W[m,l]*D[l,n]",
    "Q[m,k] = X[m,d]*A[d,k]; K[l,k] = X[l,d]*B[d,k]; S[m,l] = Q[m,k]*K[l,k]",
)


ROWED = (
    "S[m,l] = A[m,k]*B[k,l]; P[m,l] = softmax(S[m,l], l); C[m,n] = P[m,l]*D[l,n]",
    "S[h,m,l] = Q[h,m,k]*K[h,l,k]; P[h,m,l] = rmsnorm(0.5*S[h,m,l], m); O[h,l,n] = P[h,m,l]*V[h,m,n]",
    "S[m,l] = A[m,k]*B[k,l]; P[m,l] = softmax(S[m,l], l, whole); C[m,n] = P[m,l]*D[l,n]",
    "S[m,l] = A[m,k]*B[k,l]; P[m,l] = layernorm(S[m,l], l); C[m,n] = P[m,l]*D[l,n]; E[m,p] = C[m,n]*F[n,p]",
    f"{PAIR}; N[m,n] = rmsnorm(C[m,n], n); T[m,n] = relu(N[m,n]); E[m,p] = T[m,n]*F[n,p]",
    "S[h,m,l] = Q[h,m,k]*K[h,l,k]; P[h,m,l] = softmax(S[h,m,l], l); O[m,n] = P[h,m,l]*V[h,l,n]; R[m,n] = O[m,n]+X[m,n]",
)
"""With functions of rows."""


def levels(*sizes):
    """A machine with levels of so many words, the outer ones slower."""
    return Machine(
        name="steps",
        levels=tuple(
            Level(
                name=f"L{number}",
                capacity=Capacity(amount=words, unit="words"),
                bandwidth=Bandwidth(amount=8 ** (len(sizes) - number), unit="words"),
            )
            for number, words in enumerate(sizes, 1)
        ),
    )


@pytest.mark.parametrize("seed", some({*range(0, 42, 7), 1, 28, 55}, range(80)))
def test_random_chains_are_counted_as_they_are_walked_and_proved_again(seed, tmp_path):
    rng = random.Random(seed)
    text = ROWED[seed // 7 % len(ROWED)] if seed % 7 == 0 else rng.choice(SHAPES)
    extents = {d: rng.randint(1, 7) for d in sorted(set(re.findall(r"\b[a-z]\b", text)))}
    plain = parse_workload(text, extents, semantics=rng.choice(list(Semantics)))
    widths = {name: rng.choice((1, 2)) for name in sorted(set(plain.stored_as.values()))}
    held = {access.name: widths[plain.stored_as[access.name]] for access in plain.accesses}
    workload = parse_workload(text, extents, semantics=plain.semantics, bytes=held)
    inner = rng.randint(8, 20)
    middle = inner + rng.randint(8, 40)
    sizes = (inner, middle) if rng.random() < 0.5 else (inner, middle, middle + rng.randint(10, 80))
    method, objective = rng.choice(("fused", "fused", "apart")), rng.choice(("bottleneck", "sum"))

    def ask(factor: int) -> Any:
        machine = levels(*(factor * size for size in sizes))
        return optmap.solve(workload, machine=machine, method=method, objective=objective)

    hold(first_answer(ask), tmp_path)


@pytest.mark.parametrize("rows", ["rmsnorm(S[m,l], l, whole)", "layernorm(S[m,l], l)", "softmax(S[m,l], l)"])
@pytest.mark.parametrize("then", some(1, ["softmax(P[m,l], m)", "layernorm(P[m,l], l)", "relu(P[m,l])"]))
@pytest.mark.parametrize("sizes", [(15, 215), (12, 40, 60)])
def test_what_is_done_in_place_after_a_function_of_whole_rows_waits_for_them(rows, then, sizes, tmp_path):
    text = f"S[m,l] = A[m,k]*B[k,l]; P[m,l] = {rows}; T[m,l] = {then}; C[m,n] = T[m,l]*D[l,n]"
    workload = parse_workload(text, {"k": 1, "l": 6, "m": 3, "n": 2}, semantics=Semantics.ASSIGN)
    for method in ("fused", "apart"):
        hold(optmap.solve(workload, machine=levels(*sizes), method=method, objective="bottleneck"), tmp_path)


def test_every_boundary_has_a_floor_and_the_objective_is_formed_of_them():
    machine = levels(64, 512, 4096)
    answer = optmap.solve(PAIR, extents={"m": 64, "l": 64, "k": 16, "n": 16}, machine=machine, objective="sum")
    assert [proof.between for proof in answer.certificates] == list(machine.boundaries)
    best = [bounds(answer.workload, words, ["best"])[0].total_words for words in (64, 512, 4096)]
    assert [proof.words for proof in answer.certificates] == best
    assert answer.bound.value == sum(words / rate for words, rate in zip(best, (64, 8, 1), strict=True))


def test_a_word_is_that_of_the_chain_where_elements_of_a_product_are_larger():
    """All of the first product has 4 bytes, so that its own word is as large as two of the chain."""
    sizes = {"A": 4, "B": 4, "S": 4, "C": 4, "D": 2}
    workload = parse_workload(PAIR, {"m": 8, "l": 8, "k": 4, "n": 4}, bytes=sizes)
    in_bytes = Machine(
        name="bytes",
        levels=tuple(
            Level(
                name=f"L{number}",
                capacity=Capacity(amount=2 * words, unit="bytes"),
                bandwidth=Bandwidth(amount=2 * rate, unit="bytes"),
            )
            for number, (words, rate) in enumerate(((50, 8), (100, 1)), 1)
        ),
    )
    one, other = (optmap.solve(workload, machine=each, method="apart") for each in (levels(50, 100), in_bytes))
    assert one.cost == other.cost
    assert one.boundaries == other.boundaries


CORE = Core(vector_bytes=8, registers=16, fma_ports=1, fma_latency=4, load_ports=2)


@pytest.mark.parametrize(("rate", "limit"), [(1, "multiply-adds"), (64, "link")])
@pytest.mark.parametrize("inner", [(), (64,)])
def test_a_time_is_the_roofline_of_one_core(rate, limit, inner, tmp_path):
    """Two lanes of 4 bytes: half a cycle per multiply-add; the outer link takes `rate` cycles per word."""
    machine = levels(*inner, 1024)
    slow = replace(machine.levels[-1], bandwidth=Bandwidth(amount=Fraction(1, rate), unit="words"))
    machine = replace(machine, levels=(*machine.levels[:-1], slow), core=CORE)
    sizes = dict.fromkeys("ABSCD", 4)
    workload = parse_workload(PAIR, {"m": 64, "l": 64, "k": 16, "n": 16}, bytes=sizes, semantics=Semantics.ASSIGN)
    answer = optmap.solve(workload, machine=machine, objective="time")
    multiplied = Fraction(64 * 64 * (16 + 16), 2)
    loads = sum(row.loads_words for row in answer.boundaries if row.between[1] == machine.memory)
    assert answer.cost == max(multiplied, rate * loads)
    assert (answer.cost == multiplied) == (limit == "multiply-adds")
    least = bounds(workload, 1024, ["best"])[0].loads_words
    assert answer.bound.value == max(multiplied, rate * least)
    assert any("roofline" in note for note in answer.notes)
    answer.save(tmp_path / "answer.json")
    optmap.check(tmp_path / "answer.json")
    assert not optmap.evaluate(tmp_path / "answer.json").disagreements
    document = json.loads((tmp_path / "answer.json").read_text())
    document["machine"]["core"]["fma_ports"] = 2
    document["machine"]["levels"][-1]["bandwidth"]["amount"] = 2
    with pytest.raises(RefusedError):
        check_document(signed_tree(document))


def test_fusing_pays_where_the_outermost_link_is_slow():
    machine = levels(64, 1024)
    asked = {"extents": {"m": 64, "l": 64, "k": 8, "n": 8}, "machine": machine}
    one, other = (optmap.solve(PAIR, method=method, **asked) for method in ("fused", "apart"))
    assert one.cost < other.cost
    moved = {row.tensor for row in one.boundaries if row.between == ("L2", machine.memory)}
    assert moved == {"A", "B", "C", "D"}


def test_neighbours_of_longer_chains_are_fused_where_it_pays():
    """Four products, of which two pairs have narrow results and a wide intermediate each."""
    machine = levels(64, 1024)
    chain = f"{PAIR}; E[m,p] = C[m,n]*F[n,p]; G[m,q] = E[m,p]*H[p,q]"
    asked = {"extents": {"m": 64, "l": 64, "k": 8, "n": 8, "p": 64, "q": 8}, "machine": machine}
    one, other = (optmap.solve(chain, method=method, **asked) for method in ("fused", "apart"))
    assert one.cost < other.cost
    moved = {row.tensor for row in one.boundaries if row.between == ("L2", machine.memory)}
    assert {"S", "E"}.isdisjoint(moved)
    assert "C" in moved


def test_gates_are_fused_where_it_pays():
    machine = levels(64, 1024)
    gate = "G[m,l] = X[m,k]*A[k,l]; U[m,l] = X[m,k]*B[k,l]; W[m,l] = silu(G[m,l])*U[m,l]; Y[m,n] = W[m,l]*D[l,n]"
    answer = optmap.solve(gate, extents={"m": 64, "l": 64, "k": 8, "n": 8}, machine=machine)
    assert {"G", "U", "W"}.isdisjoint(r.tensor for r in answer.boundaries if r.between == ("L2", machine.memory))


def test_without_a_pair_that_can_be_fused_the_reason_is_said():
    """The queries are made of what the keys are made of."""
    chain = "Q[m,k] = X[m,d]*A[d,k]; K[l,k] = X[l,d]*B[d,k]; S[m,l] = Q[m,k]*K[l,k]"
    answer = optmap.solve(chain, extents={"m": 8, "l": 8, "k": 4, "d": 4}, machine=levels(32, 128))
    assert any(note.startswith("nothing is fused: ") for note in answer.notes)


def test_attention_and_an_mlp_are_near_their_floors():
    assert optmap.solve("chains/attention", machine="balanced").gap < 0.7
    assert optmap.solve("chains/mlp", machine="balanced").gap < 0.6


def test_softmax_costs_little_more_than_none():
    plain, rows = (optmap.solve(name, machine="balanced") for name in ("chains/attention", "chains/attention-softmax"))
    assert plain.cost < rows.cost < 1.05 * plain.cost
    assert not any(row.tensor == "P" for row in rows.boundaries if row.between[1] == "DRAM")


@pytest.mark.parametrize(
    ("text", "options", "reason"),
    [
        ("S[m,l] = A[m,k]*B[k,l]; P[m,l] = softmax(S[m,l], l)", {}, "P is an output"),
        ("S[m,l] = A[m,k]*B[k,l] if l <= m; C[m,n] = S[m,l]*D[l,n]", {}, "S .* has a condition"),
        (PAIR, {"objective": "traffic"}, "bottleneck, sum"),
    ],
)
def test_what_has_no_mapping_on_levels_is_refused_by_name(text, options, reason):
    extents = {d: 4 for d in "mlknp" if d in text}
    with pytest.raises(InputError, match=reason):
        optmap.solve(text, extents=extents, **({"machine": levels(64, 512)} | options))


def test_levels_without_room_are_too_small():
    with pytest.raises(InfeasibleError, match="no room"):
        optmap.solve(PAIR, extents={"m": 4, "l": 4, "k": 4, "n": 4}, machine=levels(2, 8))


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A file that holds, as text."""
    answer = optmap.solve(PAIR, extents={"m": 64, "l": 64, "k": 16, "n": 16}, machine=levels(64, 512, 4096))
    path = tmp_path_factory.mktemp("kept") / "answer.json"
    answer.save(path)
    check_document(json.loads(path.read_text()))
    return path.read_text()


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        (("cost", "value"), 1, "cost must be"),
        (("exact", "unit"), "words", "must be"),
        (("bound", "value"), 10_000, "the bound is"),
        (("machine", "levels", 2, "bandwidth", "amount"), 99, "must be"),
        (("objective",), "sum", "must be"),
        (("certificates", 0, "between"), ["L2", "DRAM"], "no such boundary|twice|another capacity"),
        (("gap",), 0.5, "the gap is"),
    ],
)
def test_a_forged_answer_is_refused(path, value, reason, kept):
    inside = document = json.loads(kept)
    for key in path[:-1]:
        inside = inside[key]
    assert inside[path[-1]] != value
    inside[path[-1]] = value
    with pytest.raises(RefusedError, match=reason):
        check_document(signed_tree(document))
