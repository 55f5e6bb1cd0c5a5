"""Gates, as of a gated MLP: the literal walk, the checker, every mapping of tiny ones, what is refused."""

import random
import re
from itertools import product

import pytest
from cases import cases, some
from walked_answers import hold

import optmap
from optmap.base.errors import InfeasibleError, InputError
from optmap.count.trees.boxes import count_boxes
from optmap.mappings.tree import MappingTree
from optmap.search.chains import gated
from optmap.search.chains.gate import gate_of
from optmap.search.chains.gate_trees import gate_tree
from optmap.search.chains.gated import GateMapping, Meeting, Together, best_gate, best_together
from optmap.search.chains.pins import pinned_parts
from optmap.search.chains.streaming import best_apart, products_of
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Semantics

GATE = "G[m,f] = X[m,d]*W1[d,f]; U[m,f] = X[m,d]*W3[d,f]; A[m,f] = silu(G[m,f])*U[m,f]; Y[m,n] = A[m,f]*W2[f,n]"
SIZES = {"m": 64, "f": 96, "d": 32, "n": 32}


def random_gate(rng, most=5):
    """A gate with heads or without, functions in place between, and everything in any order."""
    heads = rng.choice(("", "", "h,"))
    rows, columns = rng.sample("mf", 2)

    def times(*operands):
        return "*".join(rng.sample(operands, len(operands)))

    summed = rng.choice(("d", "d", "d,e"))
    both = [
        [f"{name}[{heads}m,f] = " + times(f"X[{heads}{rows},{summed}]", f"{weight}[{heads}{summed},{columns}]")]
        for name, weight in (("G", "W1"), ("U", "W3"))
    ]
    names = ["G", "U"]
    for number in (0, 1):
        for again in range(rng.choice((0, 0, 1, 2))):
            name = f"{'HV'[number]}{again}"
            both[number].append(f"{name}[{heads}m,f] = {rng.choice(('silu', 'exp'))}({names[number]}[{heads}m,f])")
            names[number] = name
    rng.shuffle(both)
    made = both[0] + both[1] if rng.random() < 0.7 else [both[0][0], both[1][0], *both[0][1:], *both[1][1:]]
    one, two = rng.sample([f"{name}[{heads}m,f]" for name in names], 2)
    made.append(f"A[{heads}m,f] = " + rng.choice((f"silu({one})*{two}", f"{one}*{two}", f"{one}+{two}")))
    read = "A"
    if rng.random() < 0.3:
        made.append(f"B[{heads}m,f] = relu(A[{heads}m,f])")
        read = "B"
    if rng.random() < 0.5:
        made.append(f"Y[{heads}m,n] = " + times(f"{read}[{heads}m,f]", f"W2[{heads}f,n]"))
    else:
        made.append(f"Y[{heads}n,f] = " + times(f"{read}[{heads}m,f]", f"W2[{heads}m,n]"))
    text = "; ".join(made)
    extents = {d: rng.randint(1, most) for d in ("m", "f", "n", *summed.split(","), *heads.rstrip(","))}
    plain = parse_workload(text, extents, semantics=rng.choice(list(Semantics)))
    widths = {name: rng.choice((1, 2, 4)) for name in sorted(set(plain.stored_as.values()))}
    sizes = {access.name: widths[plain.stored_as[access.name]] for access in plain.accesses}
    return parse_workload(text, extents, semantics=plain.semantics, bytes=sizes if rng.random() < 0.6 else 4)


def tree_of(workload, gate, mapping, memory):
    machine = optmap.machine(memory=f"{memory}w")
    nodes = gate_tree(workload, gate, mapping, machine.levels[0].name, machine.memory)
    return MappingTree(workload=workload, machine=machine, nodes=nodes)


def words_of(count, *, stores):
    return sum(each.loads_words + each.stores_words * stores for each in count.moved)


@pytest.mark.parametrize("block", some([0], range(3)))
def test_random_gates_move_and_hold_what_a_walk_finds_and_are_proved_again(block, tmp_path):
    for seed in range(cases(15, 150)):
        rng = random.Random(f"{block} {seed}")
        workload = random_gate(rng, most=4)
        asked = {"objective": rng.choice(("traffic", "loads")), "method": rng.choice(("fused", "fused", "apart"))}
        try:
            answer = optmap.solve(workload, memory=f"{rng.randint(5, 120)}w", **asked)
        except InfeasibleError:
            continue
        hold(answer, tmp_path)
        assert answer.proved


@pytest.mark.parametrize("meeting", Meeting)
def test_wherever_results_meet_mappings_are_priced_as_they_are_counted(meeting, monkeypatch):
    monkeypatch.setattr(gated, "TOGETHER", [meeting] if meeting in gated.TOGETHER else [])
    monkeypatch.setattr(gated, "APARTS", [] if meeting in gated.TOGETHER else [meeting])
    counted = 0
    for seed in range(cases(40, 1000)):
        rng = random.Random(f"{meeting} {seed}")
        workload, memory, stores = (
            random_gate(rng, most=rng.choice((3, 6, 12))),
            rng.randint(4, 150),
            rng.random() < 0.7,
        )
        gate = gate_of(workload, stores=stores)
        found = best_gate(gate, memory)
        if found is not None:
            counted += 1
            count = count_boxes(tree_of(workload, gate, found, memory))
            assert words_of(count, stores=stores) == found.words
            assert count.rooms[0].occupancy_words <= memory
    assert counted > 10


def members_of(gate, meeting):
    """Every tile, block, choice of what stays, and number of pinned indices."""
    sides = [side.extent for side in gate.pairs[0].sides]
    operands = gate.operands if meeting is Meeting.USED else gate.operands[:3]
    for outer in (0, 1):
        out, inn = sides[outer], sides[1 - outer]
        pins = product(*(range(inn + 1) if each.side != outer else (0,) for each in operands))
        sizes = product(range(1, out + 1), range(1, out + 1), range(1, inn + 1))
        for (tile, block, inner), stays, pinned in product(sizes, product((False, True), repeat=len(operands)), pins):
            if block <= tile:
                yield Together(outer=outer, tile=tile, block=block, inner=inner, stays=stays, pinned=pinned, words=0)


@pytest.mark.parametrize("meeting", gated.TOGETHER)
def test_no_mapping_of_the_family_moves_less(meeting):
    compared = 0
    for seed in range(cases(3, 15)):
        rng = random.Random(f"{seed} {meeting}")
        workload, memory = random_gate(rng, most=3), rng.randint(14, 50)
        gate = gate_of(workload)
        room = memory - (meeting is Meeting.WHOLE) * gate.elements * gate.meeting.words
        last = best_apart(products_of(gate.reader, whole=meeting is Meeting.WHOLE)[1], room)
        found = best_together(gate, room, meeting)
        if found is None or last is None:
            continue
        alone = () if meeting is Meeting.USED else (last,)

        def count(member, gate=gate, workload=workload, memory=memory, alone=alone):
            mapping = GateMapping(meeting=meeting, together=member, alone=alone, words=0)
            return count_boxes(tree_of(workload, gate, mapping, memory))

        least, members = words_of(count(found), stores=True), list(members_of(gate, meeting))
        for member in rng.sample(members, min(len(members), cases(40, 800))):
            counted = count(member)
            if counted.rooms[0].occupancy_words <= memory:
                compared += 1
                assert least <= words_of(counted, stores=True)
    assert compared > 20


def test_parts_of_three_operands_that_are_pinned_save_the_most():
    for seed in range(cases(150, 3000)):
        rng = random.Random(seed)
        costs = [rng.choice((0, rng.randint(1, 9))) for _ in range(3)]
        again, indices, left = [rng.randint(0, 4) for _ in costs], rng.randint(1, 6), rng.randint(0, 60)
        pinned = pinned_parts(left, costs, again, indices)
        saved = [cost * often for cost, often in zip(costs, again, strict=True)]
        every = [
            sum(s * p for s, p in zip(saved, pins, strict=True))
            for pins in product(range(indices + 1), repeat=3)
            if sum(c * p for c, p in zip(costs, pins, strict=True)) <= left
        ]
        assert sum(c * p for c, p in zip(costs, pinned, strict=True)) <= left
        assert sum(s * p for s, p in zip(saved, pinned, strict=True)) == max(every)


@pytest.mark.parametrize(
    ("memory", "fused", "apart"),
    [
        ("64KiB", 1_101_791_232, 1_110_966_272),
        ("512KiB", 421_177_344, 432_449_536),
        ("4MiB", 182_089_216, 194_598_400),
        ("32MiB", 139_460_608, 164_102_144),
    ],
)
def test_the_gated_mlp_of_the_library(memory, fused, apart):
    answers = [optmap.solve("chains/gated-mlp", memory=memory, method=method) for method in ("fused", "apart")]
    assert [answer.cost for answer in answers] == [fused, apart]
    assert all(answer.proved and answer.bound.value <= answer.cost for answer in answers)


def test_the_shared_operand_comes_once_for_both_products():
    answer = optmap.solve(GATE, extents=SIZES, memory="4195w")
    assert (answer.cost, answer.gap) == (13_312, 0)
    assert answer.cost == sum(a * b for a, b in ((64, 32), (32, 96), (32, 96), (96, 32), (64, 32)))


def test_a_curve_of_a_gate_never_rises_and_is_never_below_its_floor():
    points = optmap.curve(GATE, extents={"m": 8, "f": 6, "d": 4, "n": 4}, memory="5w:200w").points
    words = [point.words for point in points]
    assert len(words) > 5
    assert words == sorted(words, reverse=True)
    assert all(point.floor.total_words <= point.words <= point.apart for point in points if point.apart)


def test_a_memory_that_is_too_small_says_what_is_needed():
    with pytest.raises(InfeasibleError, match="needs 3"):
        optmap.solve(GATE, extents=SIZES, memory="2w")
    assert optmap.solve(GATE, extents=SIZES, memory="3w").cost


def test_where_the_time_is_over_the_best_so_far_is_not_called_proved():
    answer = optmap.solve(GATE, extents=SIZES, memory="512w", time_limit=1e-6)
    assert (answer.proved, answer.stop.cut_short) == (False, True)
    assert answer.bound.value <= answer.cost


BOTH = "G[m,f] = X[m,d]*W1[d,f]; U[m,f] = X[m,d]*W3[d,f]; "


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (BOTH + "A[m,f] = silu(G[m,f])*U[m,f]", "one product reads it"),
        (BOTH + "A[m,f] = silu(G[m,f])*U[m,f]; Y[m,n] = A[m,f]*W2[f,n]; Z[m,n] = relu(Y[m,n])", "nothing else is made"),
        (BOTH + "A[m,f] = G[m,f]*U[f,m]; Y[m,n] = A[m,f]*W2[f,n]", r"made as U\[m,f\] and read as U\[f,m\]"),
        (BOTH + "A[m,f] = G[m,f]*U[m,f]; Y[m,n] = A[f,m]*W2[f,n]", r"made as A\[m,f\] and read as A\[f,m\]"),
        (BOTH + "A[m,f] = G[m,f]*U[m,f]; Y[m,n] = silu(A[m,f])*W2[f,n]", "is no product of two tensors"),
        (BOTH + "A[m,f] = G[m,f]*U[m,f]; Y[m,n] = A[m,f]*W1[n,f]", "no other statement reads"),
        (BOTH + "A[m,f] = G[m,f]*U[n,f]; Y[m,n] = A[m,f]*W2[n,f]", "of gates"),
        (BOTH + "A[m,f] = G[m,f]*U[m,f]*G[m,f]; Y[m,n] = A[m,f]*W2[f,n]", "of gates"),
        (BOTH + "S[m,n] = G[m,f]*U[n,f]; Y[m,d] = S[m,n]*W2[n,d]", "of gates"),
        (
            "G[m,f] = X[m,d]*W1[d,f]; U[f] = X[m,d]*W3[d,m,f]; A[m,f] = G[m,f]*U[f]; Y[m,n] = A[m,f]*W2[f,n]",
            r"U\[f\] has other dims than A",
        ),
        (
            "G[m,f] = X[m,d]*W1[d,f]; U[m,f] = Z[m,d]*W3[d,f]; A[m,f] = G[m,f]*U[m,f]; Y[m,n] = A[m,f]*W2[f,n]",
            "must share one operand",
        ),
        (
            "G[m,f] = X[m,d]*W1[d,f]; U[m,f] = X[d,m]*W3[d,f]; A[m,f] = G[m,f]*U[m,f]; Y[m,n] = A[m,f]*W2[f,n]",
            "must share one operand",
        ),
        (
            "G[m,f] = X[m,d]*W1[d,f]; U[m,f] = V[m,f]+W[m,f]; A[m,f] = G[m,f]*U[m,f]; Y[m,n] = A[m,f]*W2[f,n]",
            "U is no product",
        ),
        (
            "G[m,f] = X[m+d]*W1[d,f]; U[m,f] = X[m+d]*W3[d,f]; A[m,f] = G[m,f]*U[m,f]; Y[m,n] = A[m,f]*W2[f,n]",
            "a dim in every subscript",
        ),
    ],
)
def test_of_other_gates_it_is_said_why_no_family_takes_them(text, reason):
    """Where every statement has a mapping by itself they are done one after the other."""
    extents = {d: 3 for d in "mfdn" if f"{d}]" in text or f"[{d}" in text}
    try:
        said = "; ".join(optmap.solve(text, extents=extents, memory="60w").notes)
    except InputError as error:
        said = str(error)
    assert re.search(reason, said), said
