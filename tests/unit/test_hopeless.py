"""What no mapping can meet is refused before any search: at once, by every method, with one reason."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from accelerator_machines import grid_machine
from cases import some
from host_machines import AVX512 as HOST
from spatial_brute_force import best_of_all, mapspace_size, tiny_machine, tiny_workload
from spatial_strategies import COUNTINGS

import optmap
from optmap.base.errors import InfeasibleError
from optmap.count.meshes.policy import NestPolicy
from optmap.files.inputs import machine_of
from optmap.machines.accelerator import ROLES, FactorRule, KeepRule, Store
from optmap.machines.fabric import Fabric, fabric_of
from optmap.machines.machine import Level, Machine, Partition
from optmap.machines.relations import Relation
from optmap.search import METHODS
from optmap.search.accelerators import feasible
from optmap.search.accelerators.feasible import chain_of
from optmap.search.accelerators.infeasible import reason
from optmap.search.timed import method as timed
from optmap.workloads.amounts import Capacity
from optmap.workloads.parser import parse_workload

PRODUCT = parse_workload("C[i,j] = A[i,k]*B[k,j]", {"i": 64, "j": 64, "k": 64}, bytes=2)
ON_ACCELERATORS = [
    name for name, method in METHODS.items() if not method.chains and any(route.meshes for route in method.routes)
]


def with_accumulator(amount: int, **changes: object) -> Machine:
    """An array whose accumulator holds so many bytes, and must keep the output."""
    weights, outputs = Store(keeps=(("weight", KeepRule.KEPT),)), Store(keeps=(("output", KeepRule.KEPT),))
    accumulator = Level(name="Accumulator", capacity=Capacity(amount=amount), store=outputs, inclusive=False)
    levels = (
        Level(name="Register", capacity=Capacity(amount=4), store=weights),
        replace(accumulator, **changes),
        Level(name="Scratchpad", capacity=Capacity(amount=2**19), store=Store(keeps=(("inputs", KeepRule.KEPT),))),
    )
    return Machine(name="small", levels=levels, outermost=Store())


def refused(machine: Machine, method: str = "exact", **options: object) -> str:
    """What is said of a machine without mappings."""
    with pytest.raises(InfeasibleError) as error:
        optmap.solve(PRODUCT, machine=machine, method=method, **options)
    return str(error.value)


@pytest.mark.parametrize("method", ON_ACCELERATORS)
def test_an_output_that_cannot_fit_is_refused_before_any_search(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By every method in the same words: memory, tensor, the bits that are missing, and what would do."""

    def searched(*_: object) -> None:
        raise AssertionError("a search began")

    way = METHODS[method]
    routes = tuple(replace(route, solve=searched) for route in way.routes)
    monkeypatch.setitem(METHODS, method, replace(way, routes=routes))
    assert refused(with_accumulator(1), method) == (
        "no mapping of C[i,j] = A[i,k] * B[k,j] onto small is valid: Accumulator is short by 8 bits: it holds 8, and "
        "one element of C takes 16; give it 2 bytes; or if C may bypass Accumulator there is a mapping"
    )


def test_what_is_said_would_do_does() -> None:
    assert optmap.solve(PRODUCT, machine=with_accumulator(2), method="random", evaluations=200).fits
    twice = refused(with_accumulator(3, buffering=2))
    assert "short by 4 bits: it holds 12 in each of 2 buffers, and one element of C takes 16; give it 4 bytes" in twice
    assert optmap.solve(PRODUCT, machine=with_accumulator(4, buffering=2), method="random", evaluations=200).fits


def test_tensors_share_a_memory_and_parts_do_not() -> None:
    everything = Store(keeps=())
    text = refused(with_accumulator(5, store=everything))
    assert "short by 8 bits: it holds 40, and one element of C, A, B takes 48 (16 + 16 + 16); give it 6 bytes" in text
    parts = (
        Partition(name="sums", tensors=("output",), capacity=Capacity(amount=1)),
        Partition(name="rest", tensors=("inputs",), capacity=Capacity(amount=4)),
    )
    text = refused(with_accumulator(5, store=everything, partitions=parts))
    assert "Accumulator, sums is short by 8 bits: it holds 8, and one element of C takes 16" in text


def test_several_memories_that_are_short_are_all_named() -> None:
    machine = with_accumulator(1)
    tight = replace(machine, levels=(replace(machine.levels[0], capacity=Capacity(amount=1)), *machine.levels[1:]))
    text = refused(tight)
    assert "Register is short by 8 bits: it holds 8, and one element of B takes 16; give it 2 bytes and Acc" in text


@pytest.mark.parametrize("relation", [Relation.EQUAL, Relation.AT_LEAST])
def test_loops_that_the_machine_demands_are_part_of_the_least_tile(relation: Relation) -> None:
    """No element is too large, a tile that must be held is: of i=8 by j=16 sums, of 2 bytes each."""
    factors = (FactorRule(dim="i", relation=relation, value=8), FactorRule(dim="j", relation=relation, value=16))
    store = Store(keeps=(("output", KeepRule.KEPT),), factors=factors)
    text = refused(with_accumulator(200, store=store))
    assert (
        "Accumulator is short by 448 bits: it holds 1,600, and a tile i=8, j=16 of C takes 2,048; give it 256" in text
    )
    assert f"without Accumulator: i{relation}8, Accumulator: j{relation}16 there is a mapping" in text
    tall = FactorRule(dim="i", relation=relation, value=65)
    assert "without Accumulator: i" in refused(with_accumulator(200, store=replace(store, factors=(tall,))))


def test_what_only_padding_makes_valid_is_searched() -> None:
    ragged = parse_workload("C[i,j] = A[i,k]*B[k,j]", {"i": 11, "j": 4, "k": 2})
    rule = FactorRule(dim="i", relation=Relation.EQUAL, value=4)
    machine = grid_machine()
    store = machine.levels[0].store
    assert store is not None
    demanding = replace(
        machine, levels=(replace(machine.levels[0], store=replace(store, factors=(rule,))), machine.levels[1])
    )
    assert optmap.solve(ragged, machine=demanding).count.operations == 12 * 4 * 2
    with pytest.raises(InfeasibleError, match="without Registers: i=4"):
        optmap.solve(ragged, machine=demanding, tiles="divisors")


def demanding_fabric(seed: int) -> tuple[Fabric, NestPolicy]:
    """A tiny accelerator with few words and many rules."""
    draw = random.Random(seed)

    def rules(share: float) -> tuple[FactorRule, ...]:
        relations = [Relation.EQUAL, Relation.AT_LEAST, Relation.AT_MOST]
        dims = draw.sample(ROLES, draw.choice((1, 1, 2))) if draw.random() < share else []
        return tuple(FactorRule(dim=dim, relation=draw.choice(relations), value=draw.randint(1, 4)) for dim in dims)

    while True:
        workload, machine = tiny_workload(draw), tiny_machine(draw)
        levels = tuple(
            replace(
                level,
                store=replace(level.store, factors=rules(0.5)),
                capacity=Capacity(amount=draw.randint(1, 8), unit="words") if not level.partitions else level.capacity,
            )
            for level in machine.levels
            if level.store is not None
        )
        outermost = replace(machine.stores[-1], factors=rules(0.4), keeps=())
        changed = replace(machine, levels=levels, outermost=outermost)
        fabric = fabric_of(workload, changed)
        if mapspace_size(fabric, 8_000) is not None:
            return fabric, draw.choice(COUNTINGS)


@pytest.mark.parametrize("block", some(3, range(6)))
def test_it_is_refused_if_and_only_if_no_mapping_is_valid(block: int) -> None:
    """Against every mapping there is, under random rules."""
    seen = set()
    for seed in range(10 * block, 10 * block + 10):
        fabric, counting = demanding_fabric(seed)
        valid = bool(best_of_all(fabric, counting))
        assert (chain_of(fabric, counting) is not None) == valid, seed
        if not valid:
            assert reason(fabric, counting)
        seen.add(valid)
    assert seen == {True, False}


def test_what_is_not_known_is_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feasible, "MOST", 0)
    assert optmap.solve(PRODUCT, machine=with_accumulator(2), method="random", evaluations=200).fits


@pytest.mark.parametrize("method", ["mopt", "iooub", "gemmini", "gemmini-greedy", "mopt-algorithm1", "tiling-lp"])
def test_one_memory_that_holds_less_than_a_word_of_each_is_refused_at_once(method: str) -> None:
    assert refused(machine_of(None, "1B"), method) == (
        "Fast is short by 40 bits: it holds 8, and one element of C, A, B takes 48 (16 + 16 + 16); give it 6 bytes"
    )


@pytest.mark.parametrize("level", range(4))
def test_where_time_is_predicted_a_level_without_room_for_an_iteration_is_refused_at_once(
    level: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tile that does not fit is no reason, nor is the register tile that a machine imposes."""
    levels = [replace(each, inclusive=False, buffering=2 if each.name == "L2" else 1) for each in HOST.levels]
    least = 6 * levels[level].buffering

    def sized(amount: int) -> Machine:
        changed = replace(levels[level], capacity=Capacity(amount=amount))
        return replace(HOST, levels=(*levels[:level], changed, *levels[level + 1 :]))

    if level:  # registers hold a vector each
        assert optmap.solve(PRODUCT, machine=sized(least), objective="time").prediction is not None

    def searched(*_: object, **__: object) -> None:
        raise AssertionError("a search began")

    monkeypatch.setattr(timed, "rank", searched)
    with pytest.raises(InfeasibleError, match=rf"{levels[level].name} is short by .*; give it {least} bytes"):
        optmap.solve(PRODUCT, machine=sized(least - 1), objective="time")
