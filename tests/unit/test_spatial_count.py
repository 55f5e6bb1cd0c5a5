"""Counting on accelerators: words of tiles, energy, cycles and broken rules, against enumeration and by hand."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spatial_strategies import COUNTINGS, STATEMENTS, WALKED, dims_of, machine, spatial_cases, statement

from optmap.count.meshes.count import NEST_TIMELOOP, count_nest
from optmap.count.meshes.rules import broken_rules
from optmap.count.meshes.words import tile_words
from optmap.machines.accelerator import FactorRule, KeepRule, MeshAxis, Ports
from optmap.machines.fabric import fabric_of
from optmap.machines.relations import Relation
from optmap.mappings.nest import MemoryNest, Nest
from optmap.questions.policy import Footprint
from optmap.workloads.amounts import Capacity


@given(st.sampled_from(sorted(STATEMENTS)), st.data())
def test_words_of_a_tile_are_those_that_its_points_touch(kind, data):
    extents = {d: data.draw(st.integers(1, 4)) for d in dims_of(kind)}
    workload = statement(kind, extents, stride=data.draw(st.integers(1, 3)), dilation=data.draw(st.integers(1, 3)))
    fabric = fabric_of(workload, machine([(1, 1), (1, 1)]))
    for operand in fabric.operands:
        points = itertools.product(*map(range, fabric.extents))
        words = {tuple(sum(c * point[d] for d, c in axis) for axis in operand.axes) for point in points}
        assert tile_words(operand, fabric.extents, Footprint.TOUCHED) == len(words)
        spans = [max(axis) - min(axis) + 1 for axis in zip(*words, strict=True)]
        hull = 1
        for span in spans:
            hull *= span
        assert tile_words(operand, fabric.extents, Footprint.HULL) == hull


@given(spatial_cases())
def test_sums_add_up_and_hulls_hold_no_less(case):
    fabric, nest = case
    shared = any(len(o.dims) < sum(map(len, o.axes)) for o in fabric.operands)
    for counting in WALKED if shared else COUNTINGS:
        cost = count_nest(nest, fabric, counting)
        parts = [memory.energy_pj for memory in cost.memories]
        assert cost.energy_pj == cost.arithmetic_pj + sum(parts)
        assert cost.utilisation == Fraction(cost.operations, fabric.units * cost.cycles)
        assert all(a.reads >= 0 and a.fills >= 0 and a.updates >= 0 for m in cost.memories for a in m.accesses)
        assert cost.broken == ()
    hulls, exact = count_nest(nest, fabric, NEST_TIMELOOP), count_nest(nest, fabric)
    for one, other in zip(hulls.memories, exact.memories, strict=True):
        assert one.occupancy_words >= other.occupancy_words


def bytes_machine(capacity):
    """A level of so many bytes, entries of no size."""
    target = machine([(1, 1), (1, 1)])
    (level,) = target.levels
    return replace(target, levels=(replace(level, capacity=Capacity(amount=capacity, unit="bytes")),))


def test_bytes_without_a_size_of_entries_are_words_of_the_workload():
    even = statement("gemm", {"i": 4, "j": 4, "k": 4})
    inner = MemoryNest(x=(1, 1, 1), y=(1, 1, 1), temporal=((0, 4), (1, 4), (2, 4)), keeps=(True,) * 3)
    nest = Nest(memories=(inner, replace(inner, temporal=())))
    cost = count_nest(nest, fabric_of(even, bytes_machine(192)))  # 48 elements of 4 bytes fill 192
    assert (cost.memories[0].occupancy_words, cost.memories[0].capacity_words) == (48, 48)
    assert cost.broken == ()
    assert count_nest(nest, fabric_of(even, bytes_machine(191))).broken == (
        "L0: the tiles need 48 (O 16 + A 16 + B 16), it holds 47",
    )
    mixed = even.with_accesses([even.output, *(replace(tensor, bits=8) for tensor in even.inputs)])
    cost = count_nest(nest, fabric_of(mixed, bytes_machine(100)))  # words of 1 byte: 64 + 16 + 16
    assert (cost.memories[0].occupancy_words, cost.memories[0].capacity_words) == (96, 100)
    assert cost.broken == ()


def gemm(ports=None, block=1, capacity=10**6, meshes=((1, 1), (2, 2), (1, 1))):
    """8x4x4 (i, j, k) with an inner tile of 2x2x1 per child, two children along x (i) and two along y (k)."""
    target = machine(meshes, ports=ports, block=block, capacity=capacity)
    fabric = fabric_of(statement("gemm", {"i": 8, "j": 4, "k": 4}), target)
    inner = MemoryNest(x=(1, 1, 1), y=(1, 1, 1), temporal=((0, 2), (1, 2)), keeps=(True,) * 3)
    middle = MemoryNest(x=(2, 1, 1), y=(1, 1, 2), temporal=((2, 2),), keeps=(True, False, True))
    outer = MemoryNest(x=(1, 1, 1), y=(1, 1, 1), temporal=((0, 2), (1, 2)), keeps=(True,) * 3)
    return fabric, Nest(memories=(inner, middle, outer))


def accesses(cost, memory, operand):
    (found,) = [a for m in cost.memories if m.name == memory for a in m.accesses if a.operand == operand]
    return found.reads, found.fills, found.updates


def test_a_matrix_product_by_hand():
    fabric, nest = gemm()
    cost = count_nest(nest, fabric)
    assert cost.operations == 128
    assert cost.compute_cycles == 32
    # 4 children; A[i,k] 2x1 is another one at every step of k, i: 2 trips x 2 of k x 2 of j (A starts again)
    assert accesses(cost, "L0", "A") == (128, 4 * 8 * 2, 0)
    assert accesses(cost, "DRAM", "A") == (64, 0, 0)  # bypasses the middle, all four children need others
    assert accesses(cost, "L0", "B") == (128, 4 * 8 * 2, 0)
    assert accesses(cost, "L1", "B") == (32, 32, 0)  # the two children along x need the same; j inside i starts again
    # an output word is updated by both children along y at once; each child holds 16 different words in all
    assert accesses(cost, "L0", "O") == (128 - 4 * 16, 0, 128)
    assert accesses(cost, "L1", "O") == (0, 0, 32)
    assert accesses(cost, "DRAM", "O") == (0, 0, 32)


def test_blocks_are_paid_whole_and_by_every_instance():
    fabric, nest = gemm(block=8)
    cost = count_nest(nest, fabric)
    (found,) = [a for a in cost.memories[1].accesses if a.operand == "B"]
    read, fill = (Fraction(fabric.memories[1].prices.read), Fraction(fabric.memories[1].prices.fill))
    assert found.energy_pj == 4 * read + 4 * fill
    (found,) = [a for a in cost.memories[0].accesses if a.operand == "B"]  # 32 reads and 16 fills of each of 4
    read, fill = (Fraction(fabric.memories[0].prices.read), Fraction(fabric.memories[0].prices.fill))
    assert found.energy_pj == 4 * (4 * read + 2 * fill)


def test_ports_of_one_instance_limit_cycles():
    fabric, nest = gemm(ports=Ports(read=Fraction(1, 2), write=4, shared=1))
    cost = count_nest(nest, fabric)
    dram = cost.memories[2]
    assert {load.port: load.words for load in dram.ports} == {"read": 96, "write": 32, "shared": 128}
    assert dram.cycles == 192
    inner = cost.memories[0]
    assert next(load.words for load in inner.ports if load.port == "read") == Fraction(128 + 128 + 64, 4)
    assert cost.cycles == max(memory.cycles for memory in cost.memories)


def test_a_cluster_is_served_by_one_access():
    fabric, nest = gemm()
    alone = count_nest(nest, fabric).memories[0].energy_pj
    memories = (replace(fabric.memories[0], cluster=4), *fabric.memories[1:])
    assert count_nest(nest, replace(fabric, memories=memories)).memories[0].energy_pj == alone / 4


def test_wires_and_routers_by_hand():
    fabric, nest = gemm()
    bare = count_nest(nest, fabric).memories[1].energy_pj
    priced = changed(fabric, 1, hop_pj=Fraction(10), router_pj=Fraction(1))
    # Children stand in two rows of two, rows are k and columns i. From the middle of the left edge a word of B goes
    # to both columns of a row (1 right, half a row each), one of O to both rows of a column, one of A to one child.
    hops = {"B": 1 + Fraction(2, 2), "O": Fraction(0 + 1, 2) + Fraction(2, 2), "A": Fraction(0 + 1, 2) + Fraction(1, 2)}
    words = {"B": 32, "O": 32, "A": 64}
    wires = sum(words[name] * (hops[name] * 10 + 1 + int(hops[name])) for name in words)
    assert count_nest(nest, priced).memories[1].energy_pj == bare + wires


def changed(fabric, number, **fields):
    memories = [*fabric.memories]
    memories[number] = replace(memories[number], **fields)
    return replace(fabric, memories=tuple(memories))


def test_broken_rules_say_level_dim_and_numbers():
    fabric, nest = gemm()
    assert broken_rules(nest, fabric) == ()
    assert broken_rules(nest, replace(fabric, extents=(9, 4, 4))) == ("i: the loops cover 8 of 9",)
    small, _ = gemm(capacity=7)
    assert broken_rules(nest, small) == (
        "L0: the tiles need 8 (O 4 + A 2 + B 2), it holds 7",
        "L1: the tiles need 16 (O 8 + B 8), it holds 7",
    )
    middle = fabric.memories[1]
    narrow = changed(fabric, 1, x=replace(middle.x, size=1))
    assert broken_rules(nest, narrow) == ("L1, axis x: 2 children are needed (i 2), there are 1",)
    other = changed(fabric, 1, y=replace(middle.y, allowed=(True, True, False)))
    assert broken_rules(nest, other) == ("L1, axis y: k is unrolled 2 times, which is not allowed here",)
    kept = changed(fabric, 1, keeps=(KeepRule.REFUSED, KeepRule.KEPT, KeepRule.FREE))
    assert broken_rules(nest, kept) == (
        "L1: O is kept, but must bypass it",
        "L1: A bypasses it, but must be kept",
    )


def test_rules_for_factors_and_orders():
    target = machine([(1, 1), (2, 2), (1, 1)])
    store = replace(
        target.outermost,
        factors=(FactorRule(dim="i", relation=Relation.AT_MOST, value=1),),
        order=("j", "..."),
    )
    mesh = replace(
        target.levels[1].store.mesh,
        x=MeshAxis(size=2, factors=(FactorRule(dim="i", relation=Relation.AT_LEAST, value=4),)),
    )
    levels = (target.levels[0], replace(target.levels[1], store=replace(target.levels[1].store, mesh=mesh)))
    target = replace(target, levels=levels, outermost=store)
    fabric = fabric_of(statement("gemm", {"i": 8, "j": 4, "k": 4}), target)
    _, nest = gemm()
    assert broken_rules(nest, fabric) == (
        "L1, axis x: i>=4 is asked for, the mapping has 2",
        "DRAM: i<=1 is asked for, the mapping has 2",
        "DRAM: the loops are i,j, outermost first; the order j,... is asked for",
    )


def test_a_tensor_that_no_memory_keeps_is_said():
    fabric, nest = gemm()
    memories = tuple(replace(memory, keeps=(True, True, False)) for memory in nest.memories)
    assert "B is kept by no memory" in broken_rules(Nest(memories=memories), fabric)


@pytest.mark.parametrize("counting", COUNTINGS, ids=str)
def test_capacities_hold_hulls_or_exact_tiles(counting):
    workload = statement("conv1d", {"k": 1, "c": 1, "p": 4, "r": 2}, stride=3, dilation=1)
    target = machine([(1, 1), (1, 1)])
    levels = (replace(target.levels[0], capacity=Capacity(amount=8 + 4 + 2, unit="words")),)
    fabric = fabric_of(workload, replace(target, levels=levels))
    whole = MemoryNest(
        x=(1,) * 4,
        y=(1,) * 4,
        temporal=((workload.dims.index("p"), 4), (workload.dims.index("r"), 2)),
        keeps=(True,) * 3,
    )
    none = MemoryNest(x=(1,) * 4, y=(1,) * 4, temporal=(), keeps=(True,) * 3)
    broken = broken_rules(Nest(memories=(whole, none)), fabric, counting.room)
    # 8 words are touched, the hull has 11, with a stride of 1 there were 5
    assert bool(broken) is (counting is NEST_TIMELOOP)


def test_hulls_of_strided_outputs_leave_out_no_more_reads_than_there_are():
    """Two updates of words 0 and 2: the hull has three words, none of them is read."""
    fabric = fabric_of(statement("outer window", {"p": 2, "r": 1}, stride=2), machine([(1, 1), (1, 1)]))
    alone, everywhere = (1, 1), (True, True, True)
    inner = MemoryNest(x=alone, y=alone, temporal=((fabric.dims.index("p"), 2),), keeps=(False, True, True))
    outer = MemoryNest(x=alone, y=alone, temporal=(), keeps=everywhere)
    cost = count_nest(Nest(memories=(inner, outer)), fabric, NEST_TIMELOOP)
    (output,) = [row for row in cost.memories[1].accesses if row.operand == "O"]
    assert (output.reads, output.fills, output.updates) == (0, 0, 2)
