"""Gates, as of a gated MLP: the literal walk, the checker, every mapping of tiny ones, what is refused."""

import random
from itertools import permutations, product

import pytest
from cases import cases

import optmap
from optmap.base.errors import InfeasibleError, InputError
from optmap.count.trees import walk_tree
from optmap.count.trees.boxes import count_boxes
from optmap.mappings.tree import MappingTree
from optmap.search.chains import gated
from optmap.search.chains.gate import gate_of
from optmap.search.chains.gate_trees import gate_tree
from optmap.search.chains.gated import GateMapping, Meeting, Together, best_gate, best_together
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


@pytest.mark.parametrize("block", range(3))
def test_random_gates_move_and_hold_what_a_walk_finds_and_are_proved_again(block, tmp_path):
    for seed in range(cases(15, 150)):
        rng = random.Random(f"{block} {seed}")
        workload = random_gate(rng, most=4)
        asked = {"objective": rng.choice(("traffic", "loads")), "method": rng.choice(("fused", "fused", "apart"))}
        try:
            answer = optmap.solve(workload, memory=f"{rng.randint(5, 120)}w", **asked)
        except InfeasibleError:
            continue
        walk = walk_tree(answer.mapping)
        assert not answer.count.walked
        assert answer.count.moved == walk.moved
        assert answer.count.rooms[0].occupancy_words == walk.rooms[0].occupancy_words
        assert answer.bound.value <= answer.cost
        assert answer.proved
        answer.save(tmp_path / f"{seed}.json")
        optmap.check(tmp_path / f"{seed}.json")
        assert not optmap.evaluate(tmp_path / f"{seed}.json").disagreements


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
