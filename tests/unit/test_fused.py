"""Fused mappings of pairs of products: reference words, the literal walk, and what is refused."""

import json
import random
import re
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from cases import cases, some
from walked_answers import hold

import optmap
from optmap.base.errors import InfeasibleError, InputError, LimitError
from optmap.count.trees import walk_tree
from optmap.count.trees.boxes import count_boxes
from optmap.mappings.tree import MappingTree
from optmap.search.chains.family import Fused, smallest_tiles
from optmap.search.chains.pair import pair_of, steps_of
from optmap.search.chains.runs import Part, best_run
from optmap.search.chains.trees import run_tree
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
TARGETS = json.loads((Path(__file__).parents[1] / "data" / "chain_targets.json").read_text())["targets"]


def solved(memory, text=PAIR, **extents):
    return optmap.solve(text, extents=extents, memory=f"{memory}w")


@pytest.mark.parametrize("row", TARGETS, ids=lambda row: f"{row['statements']} {row['memory_words']}")
def test_the_default_moves_no_more_than_the_best_known(row):
    asked = {"memory": f"{row['memory_words']}w", "semantics": "assign", "objective": "traffic"}
    answer = optmap.solve(row["statements"], extents=row["extents"], **asked)
    assert answer.bound.value <= answer.exact <= row["words"]


@pytest.mark.parametrize("row", REFERENCE, ids=lambda row: f"{row['name']} {row['M']}")
def test_attention_and_mlp_move_no_more_than_the_best_known_and_no_less_than_the_floor(row):
    answer = solved(row["M"], m=row["m"], l=row["l"], k=row["K"], n=row["N"])
    assert row["lbt"] <= answer.bound.value <= answer.cost <= row["best"]
    assert not answer.count.walked


@pytest.mark.parametrize("row", REFERENCE[::3], ids=lambda row: f"{row['name']} {row['M']}")
def test_loads_alone_are_no_more_than_the_fewest_known(row):
    answer = optmap.solve(
        PAIR,
        extents={"m": row["m"], "l": row["l"], "k": row["K"], "n": row["N"]},
        memory=f"{row['M']}w",
        objective="loads",
    )
    assert row["lb6"] <= answer.bound.value <= answer.cost <= row["loads"]


def test_functions_in_place_between_products_cost_nothing():
    plain = solved(512, m=64, l=64, k=16, n=16)
    text = "S[m,l] = A[m,k]*B[k,l]; P[m,l] = exp(S[m,l]); R[m,l] = relu(P[m,l]); C[m,n] = R[m,l]*D[l,n]"
    assert (solved(512, text, m=64, l=64, k=16, n=16).cost, plain.cost) == (11_840, 11_840)


@pytest.mark.parametrize("where", [{"memory": "200w"}, {"machine": "balanced"}])
def test_numbers_among_factors_move_nothing(where, tmp_path):
    extents = {"m": 24, "l": 20, "k": 8, "n": 9}
    plain = optmap.solve(PAIR, extents=extents, **where)
    scaled = optmap.solve("S[m,l] = 0.125*A[m,k]*B[k,l]; C[m,n] = S[m,l]*D[l,n]*2", extents=extents, **where)
    assert (scaled.cost, scaled.bound.value) == (plain.cost, plain.bound.value)
    scaled.save(tmp_path / "scaled.json")
    optmap.check(tmp_path / "scaled.json")


def random_chain(rng):
    """Two to five products with heads or without, and functions in place between them."""
    heads, many = rng.choice(("", "", "h,")), rng.randint(2, 5)
    statements, read = [], "T0"
    for number in range(1, many + 1):
        inner, outer = f"d{number - 1}", f"d{number}"
        weight = f"W{number}[{heads}{inner},{outer}]" if rng.random() < 0.5 else f"W{number}[{heads}{outer},{inner}]"
        operands = [f"{read}[{heads}m,{inner}]", weight]
        rng.shuffle(operands)
        read = f"T{number}"
        statements.append(f"{read}[{heads}m,{outer}] = {'*'.join(operands)}")
        for again in range(rng.choice((0, 0, 1, 2)) if number < many else 0):
            name = f"F{number}{again}"
            statements.append(f"{name}[{heads}m,{outer}] = {rng.choice(('relu', 'exp'))}({read}[{heads}m,{outer}])")
            read = name
    dims = ["m", *(f"d{number}" for number in range(many + 1)), *heads.rstrip(",")]
    return "; ".join(statements), {d: rng.randint(1, 5) for d in dims}


@pytest.mark.parametrize("block", some([0], range(2)))
def test_random_chains_move_and_hold_what_a_walk_finds_and_are_proved_again(block, tmp_path):
    for seed in range(block * 10, block * 10 + cases(6, 10)):
        rng = random.Random(seed)
        text, extents = random_chain(rng)
        plain = parse_workload(text, extents, semantics=rng.choice(list(Semantics)))
        widths = {name: rng.choice((1, 2, 4)) for name in sorted(set(plain.stored_as.values()))}
        sizes = {access.name: widths[plain.stored_as[access.name]] for access in plain.accesses}
        workload = parse_workload(text, extents, semantics=plain.semantics, bytes=sizes)
        try:
            answer = optmap.solve(workload, memory=f"{rng.randint(6, 90)}w", objective=rng.choice(("traffic", "loads")))
        except InfeasibleError:
            continue
        hold(answer, tmp_path)


@pytest.mark.parametrize("block", some([0], range(4)))
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
        hold(answer, tmp_path)


def tree_of(workload, run, memory):
    machine = optmap.machine(memory=f"{memory}w")
    nodes = run_tree(workload, steps_of(workload), run, machine.levels[0].name, machine.memory)
    return MappingTree(workload=workload, machine=machine, nodes=nodes)


@pytest.mark.parametrize("block", some([0], range(4)))
def test_runs_are_priced_as_their_trees_are_counted(block):
    for seed in range(300 + block * 10, 310 + block * 10):
        rng = random.Random(seed)
        text, extents = random_chain(rng)
        workload = parse_workload(text, {d: rng.randint(1, 9) for d in extents}, semantics=rng.choice(list(Semantics)))
        memory = rng.randint(6, 90)
        run = best_run(workload, steps_of(workload), memory)
        if run is None:
            continue
        count = count_boxes(tree_of(workload, run, memory))
        words = sum(each.loads_words + each.stores_words for each in count.moved)
        assert count.rooms[0].occupancy_words <= memory
        # a shorter last strip is priced as a whole one
        assert words == run.words or (words < run.words and workload.extents["m"] % run.strip)


@pytest.mark.parametrize("seed", some([2], range(6)))
def test_no_fused_mapping_of_the_family_moves_less(seed):
    rng = random.Random(seed)
    workload = parse_workload(
        PAIR,
        {d: rng.randint(1, 3) for d in "mlkn"},
        bytes={t: rng.choice((1, 2, 4)) for t in "ABCDS"},
        semantics=rng.choice(list(Semantics)),
    )
    memory = rng.randint(10, 24)
    found = best_run(workload, steps_of(workload), memory)
    rows, columns = (side.extent for side in pair_of(workload, *steps_of(workload)).sides)
    for outer, out, inn in ((0, rows, columns), (1, columns, rows)):
        sizes = product(range(1, out + 1), range(1, out + 1), range(1, inn + 1))
        for (tile, block, inner), *how in product(
            sizes, product((False, True), repeat=4), product(range(inn + 1), repeat=2)
        ):
            if block > tile:
                continue
            member = Fused(outer=outer, tile=tile, block=block, inner=inner, stays=how[0], pinned=how[1], words=0)
            run = replace(found, parts=(Part(first=0, member=member),), ways=())
            count = count_boxes(tree_of(workload, run, memory))
            if count.rooms[0].occupancy_words <= memory:
                assert found.words <= sum(each.loads_words + each.stores_words for each in count.moved)


def test_parts_that_are_pinned_are_no_whole_tiles():
    answer = solved(8, m=5, l=3, k=2, n=3)
    assert (answer.cost, answer.proved) == (88, True)


@pytest.mark.parametrize("method", ["apart", "fused"])
def test_what_is_needed_again_next_is_not_loaded_again(method):
    """A product whose third group of dims has one iteration streams past it what it has already."""
    sizes = {"A": 1, "B": 1, "C": 4, "D": 2, "S": 2}
    workload = parse_workload(PAIR, {"m": 1, "l": 3, "k": 2, "n": 3}, bytes=sizes, semantics=Semantics.ASSIGN)
    answer = optmap.solve(workload, memory="11w", objective="traffic", method=method)
    assert (answer.cost, answer.proved) == (58, True)
    assert sum(each.loads_words + each.stores_words for each in walk_tree(answer.mapping).moved) == 58


def test_functions_before_and_behind_a_product_by_itself_are_done_where_it_keeps_its_tensors():
    text = (
        "T[m,a] = X[m,b]*W[b,a]; F[m,a] = relu(T[m,a]); U[m,c] = F[m,a]*V[a,c]; G[m,c] = exp(U[m,c]); "
        "Y[m,d] = G[m,c]*Z[c,d]"
    )
    sizes = {"T": 1, "X": 4, "W": 2, "F": 1, "U": 2, "V": 1, "G": 2, "Y": 2, "Z": 1}
    workload = parse_workload(text, {"m": 4, "a": 1, "b": 2, "c": 3, "d": 4}, bytes=sizes)
    answer = optmap.solve(workload, memory="7w")
    assert answer.count.moved == walk_tree(answer.mapping).moved


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
            "S[m,l] = A[m,k]*B[k,l]; C[m,n] = S[m,l]*D[l,n]; Y[m,n] = relu(C[m,n])",
            {"m": 3, "l": 3, "k": 3, "n": 3},
            "ends with Y, done in place",
        ),
        (
            "S[m,l] = A[m,k,q]*B[k,l]; C[m,n] = S[m,l]*D[l,n]",
            {"m": 3, "l": 3, "k": 3, "n": 3, "q": 2},
            "q subscripts A only",
        ),
        ("S[m,l] = A[m,k]*B[k,l]; C[m,n] = S[m,l]*B[n,l]", {"m": 3, "l": 3, "k": 3, "n": 3}, "same tensor"),
        ("S[m,l] = A[m,k]*B[k,l]; C[m,n] = S[l,m]*D[l,n]", {"m": 3, "l": 3, "k": 3, "n": 3}, "same subscripts"),
    ],
)
def test_of_what_is_no_pair_of_products_it_is_said_why(text, extents, reason):
    """Where every statement has a mapping by itself they are done one after the other."""
    try:
        said = "; ".join(solved(50, text, **extents).notes)
    except InputError as error:
        said = str(error)
    assert re.search(reason, said), said


def test_one_statement_is_not_for_it_and_a_chain_is_not_for_others():
    with pytest.raises(InputError, match="chains of statements"):
        optmap.solve("C[m,n] = A[m,k]*B[k,n]", extents={"m": 3, "n": 3, "k": 3}, memory="50w", method="fused")
    with pytest.raises(InputError, match="2 statements"):
        optmap.solve(PAIR, extents={"m": 3, "l": 3, "k": 3, "n": 3}, memory="50w", method="mopt")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"certificate": "full"}, "leave it out for a chain"),
        ({"objective": "time"}, "does not say what a core computes with"),
        ({"cores": 2}, r"use --cores 1$"),
    ],
)
def test_what_it_cannot_is_refused_and_no_method_of_one_statement_is_offered(options, reason):
    with pytest.raises(InputError, match=reason):
        optmap.solve(PAIR, extents={"m": 3, "l": 3, "k": 3, "n": 3}, memory="50w", **options)


def test_a_bandwidth_that_is_not_a_word_per_cycle_is_refused(tmp_path):
    machine = tmp_path / "one.yaml"
    machine.write_text("name: one\nlevels: [{name: L1, capacity: 64w, bandwidth: 4w}]\n")
    with pytest.raises(InputError, match="compared by words"):
        optmap.solve(PAIR, extents={"m": 3, "l": 3, "k": 3, "n": 3}, machine=machine)


def test_extents_without_end_are_a_limit_and_tens_of_thousands_are_none():
    with pytest.raises(LimitError, match="pairs of tile sizes"):
        solved(64, m=10**8, l=10**8, k=4, n=4)
    answer = solved(65_536, m=32_768, l=32_768, k=64, n=64)
    assert answer.bound.value <= answer.cost


def test_where_the_time_is_over_the_best_so_far_is_not_called_proved():
    answer = optmap.solve(PAIR, extents={"m": 64, "l": 64, "k": 16, "n": 16}, memory="512w", time_limit=1e-6)
    assert (answer.proved, answer.stop.cut_short) == (False, True)
    assert answer.bound.value <= answer.cost


@pytest.mark.parametrize("extent", [1, 2, 3, 7, 12, 97, 100, 101, 4096])
def test_of_every_number_of_tiles_the_smallest_is_there(extent):
    assert smallest_tiles(extent).tolist() == sorted({-(-extent // n) for n in range(1, extent + 1)})


@pytest.mark.parametrize("objective", ["traffic", "bottleneck", "sum"])
def test_names_of_one_number_are_proved_alike(objective, tmp_path):
    answer = optmap.solve(PAIR, extents={"m": 8, "l": 8, "k": 4, "n": 4}, memory="64w", objective=objective)
    assert answer.cost == 168
    answer.save(tmp_path / "it.json")
    optmap.check(tmp_path / "it.json")


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("boundaries", 5, "a list with at least one entry"),
        ("levels", [7], "a mapping"),
        ("cost", {"value": "many", "unit": "words"}, "value"),
    ],
)
def test_an_edited_answer_is_bad_input_where_it_has_another_form(key, value, reason, tmp_path):
    document = solved(64, m=8, l=8, k=4, n=4).to_dict()
    (tmp_path / "it.json").write_text(json.dumps({**document, key: value}))
    with pytest.raises(InputError, match=reason):
        optmap.evaluate(tmp_path / "it.json")


def test_an_edited_cost_is_found_by_evaluate_and_tiles_are_not_read_of_a_tree(tmp_path):
    document = solved(64, m=8, l=8, k=4, n=4).to_dict()
    (tmp_path / "it.json").write_text(json.dumps({**document, "cost": {"value": 160, "unit": "words"}}))
    assert optmap.evaluate(tmp_path / "it.json").disagreements == ["cost: the file says 160.0, counted is 168.0"]
    with pytest.raises(InputError, match="a mapping tree"):
        optmap.run(tmp_path / "it.json")
