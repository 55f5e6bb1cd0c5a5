"""Chains on machines with meshes: statements in turn, counted, against real sets iteration by iteration."""

import random
from dataclasses import replace

import pytest
from cases import cases
from turn_cases import Case, literal, toy_machine

from optmap.answers.proofs.chain_meshes import turn_floor
from optmap.answers.proofs.floor import least_of
from optmap.base.errors import InputError
from optmap.checker.chains.chain_document import read_chain
from optmap.checker.turns.stated_turns import StatedTurns
from optmap.checker.turns.turn_counts import turn_totals
from optmap.count.meshes.in_turn import count_in_turn
from optmap.files.machines import machine_document
from optmap.files.trees import tree_document
from optmap.files.workloads import workload_document
from optmap.machines.fabric import fabric_of
from optmap.mappings.nodes import Compute, Keep, Sequence
from optmap.mappings.tree import MappingTree
from optmap.questions.options import Merit
from optmap.workloads.amounts import Capacity
from optmap.workloads.parser import parse_workload
from optmap.workloads.single import product_alone
from optmap.workloads.workload import Semantics


@pytest.mark.parametrize("seed", range(cases(60, 300)))
def test_the_count_is_what_iterations_add_up_to(seed):
    case = Case(seed)
    count = count_in_turn(case.tree)
    words, energy, cycles = literal(case)
    counted = {
        (r.memory, r.tensor): {"reads": r.reads, "fills": r.fills, "updates": r.updates}
        for r in count.accesses
        if r.reads or r.fills or r.updates
    }
    kinds = ("reads", "fills", "updates")
    walked = {key: {kind: found.get(kind, 0) for kind in kinds} for key, found in words.items() if any(found.values())}
    assert counted == walked
    assert (count.energy_pj, count.cycles) == (energy, cycles)


def of_checker(case):
    chain = read_chain(workload_document(case.chain))
    machine = machine_document(case.machine)
    return StatedTurns(chain, machine, tree_document(case.tree)["tree"])


@pytest.mark.parametrize("seed", range(cases(200, 300)))
def test_the_checker_counts_the_same(seed):
    case = Case(seed)
    count, turns = count_in_turn(case.tree), of_checker(case)
    for nest in turns.nests:
        nest.loops.check(hulls=False)
    totals = turn_totals(turns, timeloop=False)
    assert not count.broken
    assert (totals.energy, totals.cycles, totals.port_cycles) == (count.energy_pj, count.cycles, count.port_cycles)
    assert {(turns.names[m], t): words for (m, t), words in totals.accesses.items()} == {
        (r.memory, r.tensor): [r.reads, r.fills, r.updates] for r in count.accesses
    }
    assert [totals.held.get(n, 0) for n in range(3)] == [level.occupancy_words for level in count.levels]
    assert {(turns.names[i], turns.names[o], t): w for (i, o, t), w in totals.crossing.items()} == {
        (*r.between, r.tensor): [r.loads_words, r.stores_words] for r in count.boundaries
    }


@pytest.mark.parametrize("seed", range(cases(200, 300)))
def test_no_mapping_is_below_the_floor(seed):
    case = Case(seed)
    count = count_in_turn(case.tree)
    floor, _ = turn_floor(case.chain, case.machine)
    for merit in Merit:
        assert floor.merit(merit) <= count.merit(merit)


@pytest.mark.parametrize("seed", range(cases(20, 100)))
def test_a_room_too_small_by_a_word_is_said(seed):
    case = Case(seed)
    count = count_in_turn(case.tree)
    used = count.levels[1].occupancy_words
    for room, fits in ((used, True), (used - 1, False)):
        levels = tuple(
            replace(level, capacity=Capacity(amount=max(1, room), unit="words")) if level.name == "Buf" else level
            for level in case.machine.levels
        )
        if room < 1:
            continue
        tree = replace(case.tree, machine=replace(case.machine, levels=levels))
        assert (not count_in_turn(tree).broken) is fits


def kept_in_buffer(text, extents, kept, paths, room=10**6):
    """A tree with one sequence under a Keep of the toy machine's buffer; per statement what each level keeps."""
    chain, machine = parse_workload(text, extents, semantics=Semantics.ASSIGN), toy_machine(random.Random(0), room)
    branches = tuple(
        (
            Keep(level="Buf", tensors=buffer),
            Keep(level="Reg", tensors=registers),
            Compute(statement=name),
        )
        for name, (buffer, registers) in paths.items()
    )
    nodes = (Keep(level="Buf", tensors=kept), Sequence(branches=branches))
    return MappingTree(workload=chain, machine=machine, nodes=nodes)


def test_a_tensor_that_is_read_twice_is_brought_once():
    """Both reads of A have what is there once, which no floor may count for each of them."""
    text, paths = "S[m] = A[m,k]*A[m,k]; C[m] = S[m]*A[m,k]", {"S": ((), ()), "C": ((), ("C",))}
    tree = kept_in_buffer(text, {"m": 2, "k": 4}, ("A", "S"), paths, room=10)
    count = count_in_turn(tree)
    assert not count.broken
    assert [row.reads for row in count.accesses if (row.memory, row.tensor) == ("Memory", "A")] == [8]
    assert count.levels[1].occupancy_words == 10
    floor, _ = turn_floor(tree.workload, tree.machine)
    assert all(floor.merit(merit) <= count.merit(merit) for merit in Merit)
    fabric = fabric_of(product_alone(tree.workload, "S"), tree.machine)
    assert floor.statements[0].energy_pj < least_of(fabric, {}).energy_pj <= count.energy_pj + 8 * 100


def test_a_level_that_is_full_to_the_last_word_can_be_passed_by():
    text = "S[m,l] = A[m]*B[l]; C[m,l] = S[m,l]*D[m]"
    paths = {"S": ((), ("A",)), "C": ((), ("D",))}
    for room, fits in ((4, True), (3, False)):
        tree = kept_in_buffer(text, {"m": 2, "l": 2}, ("S",), paths, room=room)
        assert (not count_in_turn(tree).broken) is fits
    paths = {"S": (("A",), ("A",)), "C": ((), ("D",))}
    assert count_in_turn(kept_in_buffer(text, {"m": 2, "l": 2}, ("S",), paths, room=4)).broken


def test_a_diagonal_that_is_brought_is_refused_by_name():
    text, paths = "S[m] = A[m,m]*B[m]; C[m] = S[m]*A[m,m]", {"S": ((), ()), "C": ((), ())}
    tree = kept_in_buffer(text, {"m": 3}, ("A", "S"), paths)
    with pytest.raises(InputError, match="A that stays in Buf: subscripts of it share a dim"):
        count_in_turn(tree)
