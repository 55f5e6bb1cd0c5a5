"""Many mappings of an accelerator at once: what columns count is what the readable counting counts, one by one."""

import random
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from cases import cases
from hypothesis import given, settings
from hypothesis import strategies as st
from spatial_brute_force import tiny_machine, tiny_workload
from spatial_strategies import COUNTINGS, WALKED

from optmap.base.errors import InputError
from optmap.count.meshes.batch import BatchCost, evaluate_batch
from optmap.count.meshes.batch_count import LARGEST
from optmap.count.meshes.count import NEST_FACTORFLOW, NEST_TIMELOOP, count_nest
from optmap.count.meshes.policy import NestPolicy
from optmap.interchange import read_records
from optmap.machines.accelerator import Ports, Prices, Store
from optmap.machines.fabric import Fabric, fabric_of
from optmap.machines.machine import Machine
from optmap.mappings.nest_batch import NestBatch, batch_of
from optmap.questions.options import Merit
from optmap.search import random_nests
from optmap.workloads.parser import parse_workload

RECORDS = Path(__file__).parents[1] / "data" / "timeloop_conformance.json"
FLOWS = RECORDS.with_name("factorflow_conformance.json")


def some_fabric(seed: int) -> Fabric:
    """A random small problem."""
    draw = random.Random(seed)
    return fabric_of(tiny_workload(draw), tiny_machine(draw))


def shuffled(batch: NestBatch, fabric: Fabric, rng: np.random.Generator) -> NestBatch:
    """The same loops with other extents, ways and keepers: mappings that break every kind of rule."""
    grown = rng.choice([1, 1, 1, 1, 2, 3], size=batch.temporal.shape)
    split = rng.choice([1] * 12 + [2], size=batch.x.shape)
    kept = batch.keeps ^ (rng.random(batch.keeps.shape) < 0.1)
    return replace(batch, temporal=batch.temporal * grown, x=batch.x * split, keeps=kept)


def assert_same(batch: NestBatch, fabric: Fabric, counting: NestPolicy) -> BatchCost:
    """Every row of a batch against the readable counting."""
    cost = evaluate_batch(batch, fabric, counting)
    names = [operand.name for operand in fabric.operands]
    for row in range(len(batch)):
        found = count_nest(batch.nest(row), fabric, counting)
        assert bool(cost.valid[row]) == (not found.broken), found.broken
        counts = np.zeros((3, *batch.keeps.shape[1:]))
        for number, memory in enumerate(found.memories):
            for accesses in memory.accesses:
                place = names.index(accesses.operand)
                counts[:, number, place] = accesses.reads, accesses.fills, accesses.updates
        assert np.array_equal(counts, [cost.reads[row], cost.fills[row], cost.updates[row]])
        assert cost.port_cycles[row].tolist() == [memory.cycles for memory in found.memories]
        for merit in Merit:
            exact = found.merit(merit)
            assert abs(Fraction(float(cost.merit(merit)[row])) - exact) <= Fraction(1, 10**12) * exact
    return cost


@pytest.mark.parametrize("counting", COUNTINGS, ids=str)
@settings(max_examples=cases(10, 25))
@given(seed=st.integers(0, 10**6))
def test_columns_count_as_one_by_one(counting: NestPolicy, seed: int) -> None:
    fabric, rng = some_fabric(seed), np.random.default_rng(seed)
    batch = random_nests(fabric, 4, rng)
    assert assert_same(batch, fabric, counting).recounted == 0
    assert_same(shuffled(batch, fabric, rng), fabric, counting)


@pytest.mark.parametrize("counting", COUNTINGS, ids=str)
def test_recorded_mappings_and_other_orders_of_their_loops(counting: NestPolicy) -> None:
    rng = np.random.default_rng(0)
    recounted = 0
    for record in read_records(RECORDS):
        batch = batch_of([record.nest] * 2, record.fabric)
        order = rng.permuted(batch.order, axis=2)
        order[0] = batch.order[0]
        cost = assert_same(replace(batch, order=order), record.fabric, counting)
        if counting is NEST_TIMELOOP:
            assert cost.energy_pj[0] == pytest.approx(float(record.energy_pj), rel=1e-9)
        recounted += cost.recounted
    assert recounted == 6, "three records are of the machine whose wires have a price"


def test_recorded_mappings_of_factorflow_and_other_orders_and_keepers() -> None:
    rng = np.random.default_rng(0)
    recounted = 0
    for record in read_records(FLOWS)[::2]:
        batch = batch_of([record.nest] * 4, record.fabric)
        order = rng.permuted(batch.order, axis=2)
        order[0] = batch.order[0]
        batch = replace(batch, order=order)
        recounted += assert_same(batch, record.fabric, NEST_FACTORFLOW).recounted
        assert_same(shuffled(batch, record.fabric, rng), record.fabric, NEST_FACTORFLOW)
    assert recounted == 4, "the record with a window in its output has no columns"


@pytest.mark.parametrize("counting", COUNTINGS, ids=str)
def test_numbers_too_large_for_floats_are_counted_one_by_one(counting: NestPolicy) -> None:
    workload = parse_workload("O[k,p] = I[c,2*p+r] * W[k,c,r]", {"k": 2**20, "p": 2**14, "c": 2**15, "r": 3})
    fabric = fabric_of(workload, tiny_machine(random.Random(3)))
    assert fabric.operations > LARGEST
    batch = random_nests(fabric, 3, np.random.default_rng(0))
    assert assert_same(batch, fabric, counting).recounted == 3


@pytest.mark.parametrize(
    ("rate", "recounted"),
    [("7.1", 0), ("0.333333333", 0), ("1.000000000000001", 6), (Fraction(2**60 + 1, 3), 6), (Fraction(1, 2**60), 6)],
)
def test_rates_of_many_digits(rate: str | Fraction, recounted: int) -> None:
    machine = tiny_machine(random.Random(6))
    ports = Ports(read=Fraction(rate), write=Fraction(rate) * 2)
    levels = tuple(replace(level, store=replace(level.store or Store(), ports=ports)) for level in machine.levels)
    fabric = fabric_of(tiny_workload(random.Random(6)), replace(machine, levels=levels))
    batch = random_nests(fabric, 6, np.random.default_rng(0))
    for counting in COUNTINGS:
        assert assert_same(batch, fabric, counting).recounted == recounted


@pytest.mark.parametrize(
    ("text", "wires"),
    [
        ("O[i] = A[i+j,i] * B[j]", 0),
        ("O[i+j] = A[i,k] * B[k,j]", 0),
        ("O[2*i] = A[i,j] * B[j]", 0),
        ("O[i] = A[i,j] * B[j]", 1),
    ],
)
def test_what_has_no_closed_form_is_counted_one_by_one(text: str, wires: int) -> None:
    machine = tiny_machine(random.Random(1))
    assert machine.outermost is not None
    outermost = replace(machine.outermost, hop_pj=wires)
    machine = replace(machine, outermost=outermost)
    extents = {dim: 4 for dim in "ijk" if dim in text.replace("in", "")}
    fabric = fabric_of(parse_workload(text, extents), machine)
    batch = random_nests(fabric, 8, np.random.default_rng(0))
    for counting in WALKED if ",i]" in text else COUNTINGS:
        assert assert_same(batch, fabric, counting).recounted == 8
    if ",i]" in text:
        with pytest.raises(InputError, match="in two of A"):
            evaluate_batch(batch, fabric, NEST_FACTORFLOW)


def test_many_chunks_are_put_together_in_order() -> None:
    fabric = some_fabric(11)
    batch = random_nests(fabric, 9000, np.random.default_rng(0))
    cost = evaluate_batch(batch, fabric)
    rows = np.array([0, 4095, 4096, 8191, 8192, 8999])
    few = evaluate_batch(batch[rows], fabric)
    assert np.array_equal(cost.energy_pj[rows], few.energy_pj)
    assert np.array_equal(cost.fills[rows], few.fills)
    assert np.array_equal(cost.valid[rows], few.valid)


def test_no_nests_cost_nothing() -> None:
    fabric = some_fabric(0)
    cost = evaluate_batch(random_nests(fabric, 0, np.random.default_rng(0)), fabric)
    assert cost.energy_pj.shape == (0,)
    assert cost.reads.shape == (0, len(fabric.memories), len(fabric.operands))


def test_batches_of_nests_are_the_nests_again() -> None:
    fabric = some_fabric(5)
    batch = random_nests(fabric, 20, np.random.default_rng(1))
    nests = [batch.nest(row) for row in range(len(batch))]
    again = batch_of(nests, fabric)
    assert [again.nest(row) for row in range(len(again))] == nests
    assert [nest.tiles()[-1] for nest in nests] == [fabric.extents] * 20


def test_batches_of_other_shapes_are_refused() -> None:
    batch = random_nests(some_fabric(5), 4, np.random.default_rng(1))
    with pytest.raises(InputError, match="one shape"):
        replace(batch, x=batch.x[:2])
    with pytest.raises(InputError, match="keeps must be"):
        replace(batch, keeps=batch.keeps[:2])
    with pytest.raises(InputError, match="a nest is not one of"):
        batch_of([batch.nest(0)], some_fabric(6))


def test_random_nests_are_mostly_valid_and_all_different_kinds() -> None:
    valid = 0
    for seed in range(40):
        fabric = some_fabric(seed)
        batch = random_nests(fabric, 25, np.random.default_rng(seed))
        assert (batch.temporal.prod(axis=1) * batch.x.prod(axis=1) * batch.y.prod(axis=1) == fabric.extents).all()
        valid += int(evaluate_batch(batch, fabric).valid.sum())
    assert valid > 600


def test_a_machine_without_ports_needs_no_port_cycles() -> None:
    machine = tiny_machine(random.Random(2))
    free = tuple(replace(level, store=Store(energy_pj=Prices(read=1))) for level in machine.levels)
    bare = Machine(name="bare", levels=free, outermost=Store())
    fabric = fabric_of(tiny_workload(random.Random(2)), bare)
    assert not evaluate_batch(random_nests(fabric, 5, np.random.default_rng(0)), fabric).port_cycles.any()
