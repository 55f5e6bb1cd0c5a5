"""Chains on machines with meshes: statements in turn, counted, against real sets iteration by iteration."""

from dataclasses import replace
from random import Random
from types import SimpleNamespace

import pytest
from cases import cases
from turn_cases import ROWS, Case, literal, toy_machine

from optmap.answers.proofs.chain_meshes import turn_floor
from optmap.base.errors import TreeError
from optmap.checker.chains.chain_document import read_chain
from optmap.checker.turns.stated_turns import StatedTurns
from optmap.checker.turns.turn_counts import turn_totals
from optmap.count.meshes.in_turn import count_in_turn
from optmap.count.trees import walk_tree
from optmap.files.machines import machine_document
from optmap.files.trees import tree_document
from optmap.files.workloads import workload_document
from optmap.mappings.nodes import Compute, Keep, Loop, Sequence
from optmap.mappings.tree import MappingTree
from optmap.questions.options import Merit
from optmap.workloads.amounts import Capacity
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Semantics


@pytest.mark.parametrize("seed", range(cases(10, 300)))
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


@pytest.mark.parametrize("seed", range(cases(20, 300)))
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


@pytest.mark.parametrize("seed", range(cases(20, 300)))
def test_no_mapping_is_below_the_floor(seed):
    case = Case(seed)
    count = count_in_turn(case.tree)
    floor, _ = turn_floor(case.chain, case.machine)
    for merit in Merit:
        assert floor.merit(merit) <= count.merit(merit)


@pytest.mark.parametrize("seed", range(cases(4, 100)))
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


def test_an_intermediate_that_two_statements_read_is_brought_once():
    text = "S[m,l] = A[m,k]*B[k,l]; C[m,n] = S[m,l]*D[l,n]; E[m,j] = S[m,l]*F[l,j]"
    extents = {"m": 8, "l": 4, "k": 3, "n": 2, "j": 5}
    chain, machine = parse_workload(text, extents, semantics=Semantics.ASSIGN), toy_machine(Random(1))

    def path(name, *at_home):
        keeps = [a.name for a in chain.statement(name).accesses if a.name not in at_home]
        return (Keep(level="Buf", tensors=tuple(keeps)), Keep(level="Reg", tensors=()), Compute(statement=name))

    reads = Sequence(branches=(path("C", "S"), path("E", "S")))
    inner = (Loop(dim="m", tile=2), Keep(level="Buf", tensors=("S",)), reads)
    nodes = (Keep(level="Memory", tensors=("S",)), Sequence(branches=(path("S"), inner)))
    case = SimpleNamespace(chain=chain, machine=machine, tree=MappingTree(workload=chain, machine=machine, nodes=nodes))
    count, words = count_in_turn(case.tree), extents["m"] * extents["l"]
    found = {(row.memory, row.tensor): (row.reads, row.fills, row.updates) for row in count.accesses}
    assert found["Memory", "S"] == (words, 0, words)
    assert found["Buf", "S"][1] == words
    assert [(row.name, row.times) for row in count.moving] == [("S", 4)]
    totals = turn_totals(of_checker(case), timeloop=False)
    assert (totals.energy, totals.cycles) == (count.energy_pj, count.cycles)
    floor, _ = turn_floor(chain, machine)
    assert all(floor.merit(merit) <= count.merit(merit) for merit in Merit)


@pytest.mark.parametrize("seed", range(cases(10, 300)))
def test_the_walk_of_the_tree_moves_as_many_words_into_the_buffer(seed):
    case = Case(seed)
    if case.name in {*ROWS, "square", "masked"}:  # a walk has words of statistics, each element once, no masked one
        return
    try:
        walk = walk_tree(case.tree)
    except TreeError as error:  # it puts no partial sums of several children together
        if "not put together" not in str(error):
            raise
        return
    if case.name == "window":  # what neighbouring tiles share stays by another rule
        return
    walked = {
        row.tensor: (row.loads_words, row.stores_words)
        for row in walk.moved
        if row.between == ("Buf", "Memory") and (row.loads_words or row.stores_words)
    }
    counted = {
        row.tensor: (row.loads_words, row.stores_words)
        for row in count_in_turn(case.tree).boundaries
        if row.between == ("Buf", "Memory") and (row.loads_words or row.stores_words)
    }
    assert walked == counted
