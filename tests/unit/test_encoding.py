"""Mappings as points of the unit cube: every point is valid, and encode leads back."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from accelerator_machines import grid_machine, small_fabric
from spatial_brute_force import tiny_fabric
from spatial_strategies import machine, statement

import optmap
from optmap.base.errors import InputError, LimitError
from optmap.count.meshes.batch import evaluate_batch
from optmap.count.meshes.count import NEST_EXACT, NEST_FACTORFLOW, NEST_TIMELOOP
from optmap.count.meshes.rules import broken_rules
from optmap.machines.accelerator import FactorRule
from optmap.machines.fabric import Fabric, fabric_of
from optmap.machines.relations import Relation
from optmap.search import Encoding, Orders, Tiles, encoding_of, random_nests
from optmap.workloads.amounts import Capacity

MACHINES = (
    *("eyeriss", "eyeriss_like", "gemmini", "simba", "simba-cosa"),
    *("simba_like", "sunstone-conventional", "sunstone-simba", "tpuv1"),
)
WORKLOADS = ("resnet18/R4", "mobilenet/M3", "quickflow/XVIII", "sunstone/mttkrp_nell2")
MATMUL = "C[i,j] += A[i,k]*B[k,j]"


def library(machine: str, workload: str) -> Fabric:
    return fabric_of(optmap.workload(workload, semantics="assign"), optmap.machine(machine))


def matmul(machine: object = "gemmini", **extents: int) -> Fabric:
    sizes = {"i": 64, "j": 128, "k": 512, **extents}
    return fabric_of(optmap.workload(MATMUL, extents=sizes, semantics="assign"), optmap.machine(machine))


def points(encoding: Encoding, count: int, seed: int = 0) -> np.ndarray:
    """Points inside the cube, and some of its corners."""
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.random((count, encoding.size)), rng.integers(0, 2, (count // 4, encoding.size))])


def assert_sound(encoding: Encoding, drawn: np.ndarray) -> None:
    """Every point is a valid nest; rounded, it is the same nest."""
    batch = encoding.decode_batch(drawn)
    rounded = encoding.encode_batch(batch)
    again = encoding.decode_batch(rounded)
    own = encoding.reached(drawn)
    assert evaluate_batch(batch, encoding.fabric).valid.all()
    assert not broken_rules(batch.nest(0), encoding.fabric)
    for row in range(len(drawn)):
        if own[row]:
            assert again.nest(row) == batch.nest(row)
    assert np.allclose(encoding.encode_batch(again)[own], rounded[own])


@pytest.mark.parametrize("machine", MACHINES)
def test_every_point_is_a_valid_mapping_and_encode_leads_back(machine: str) -> None:
    kinds = product(Orders, Tiles)
    for workload, (orders, tiles) in zip(WORKLOADS, kinds, strict=True):
        try:
            fabric = library(machine, workload)
        except InputError:  # a machine for convolutions alone
            continue
        encoding = encoding_of(fabric, orders=orders, tiles=tiles)
        drawn = points(encoding, 12)
        assert encoding.reached(drawn).all()
        assert_sound(encoding, drawn)


def test_tiny_machines_with_rules_of_all_kinds() -> None:
    draw = random.Random(5)
    looked = own = 0
    for number in range(30):
        fabric = tiny_fabric(draw.randrange(10**6))
        if not evaluate_batch(random_nests(fabric, 64, np.random.default_rng(number)), fabric).valid.any():
            continue
        encoding = encoding_of(fabric, orders=list(Orders)[number % 2], tiles=list(Tiles)[number // 2 % 2])
        drawn = points(encoding, 10, number)
        assert_sound(encoding, drawn)
        looked += 1
        own += int(encoding.reached(drawn).all())
    assert looked > 20
    assert own > 0.8 * looked


def test_hulls_are_what_fits_in_the_counting_of_timeloop() -> None:
    fabric = library("eyeriss_like", "resnet18/R4")
    encoding = encoding_of(fabric, counting=NEST_TIMELOOP)
    batch = encoding.decode_batch(points(encoding, 40))
    for row in range(len(batch)):
        assert not broken_rules(batch.nest(row), fabric, NEST_TIMELOOP.room)


def test_what_is_counted_as_factorflow_does_fits_exactly_too() -> None:
    fabric = library("simba", "resnet18/R4")
    encoding = encoding_of(fabric, counting=NEST_FACTORFLOW)
    batch = encoding.decode_batch(points(encoding, 40))
    for counting in (NEST_EXACT, NEST_FACTORFLOW):
        assert evaluate_batch(batch, fabric, counting).valid.all()


def test_axes_are_named_and_there_is_none_without_a_choice() -> None:
    encoding = encoding_of(matmul())
    assert len(set(encoding.names)) == encoding.size
    assert "Accumulator tile i" in encoding.names
    assert "Scratchpad order k" in encoding.names
    assert not any(name.startswith("Scratchpad x") for name in encoding.names)  # one dim alone may go there
    assert not any("keep" in name for name in encoding.names)
    free = encoding_of(matmul("eyeriss_like", k=1))
    assert "RegisterFile keep A" in free.names
    assert not any(name.endswith(" k") for name in free.names)


def test_a_tile_is_full_and_as_its_ratios_ask() -> None:
    """Room for 256 words of all three: a square output with one word of the inner dim, or long rows."""
    encoding = encoding_of(matmul("eyeriss_like", i=1024, j=1024, k=1024))

    def tile(**keys: float) -> tuple[int, ...]:
        point = np.full(encoding.size, 0.5)
        for place, name in enumerate(encoding.names):
            if name.startswith("RegisterFile tile"):
                point[place] = keys[name[-1]]
        return encoding.decode(point).tiles()[0]

    i, j, k = (encoding.fabric.dims.index(dim) for dim in "ijk")
    square, long = tile(i=1, j=1, k=0), tile(i=1, j=0, k=0)
    assert square[i] in (square[j], 2 * square[j])
    assert square[j] >= 8
    assert long[i] >= 8 * long[j]
    assert square[k] < square[i]
    for size in (square, long):
        words = size[i] * size[j] + size[i] * size[k] + size[k] * size[j]
        assert 128 < words <= 256


def test_factors_that_rules_demand_are_in_every_mapping() -> None:
    plain = optmap.machine("eyeriss_like")
    buffer = plain.levels[1]
    demands = (
        FactorRule(dim="filters", relation=Relation.EQUAL, value=8),
        FactorRule(dim="channels", relation=Relation.AT_LEAST, value=4),
    )
    store = replace(buffer.store, factors=demands)
    strict = replace(plain, levels=(plain.levels[0], replace(buffer, store=store)))
    encoding = encoding_of(matmul(strict))
    drawn = points(encoding, 40)
    assert encoding.reached(drawn).all()
    assert_sound(encoding, drawn)


def test_what_no_point_stands_for_is_refused() -> None:
    encoding = encoding_of(matmul("eyeriss_like", i=16, j=16, k=16))
    nest = encoding.decode(np.full(encoding.size, 0.5))
    outer = nest.memories[-1]
    inner = [
        replace(memory, x=(1, 1, 1), y=(1, 1, 1), temporal=()) for memory in nest.memories[:-1]
    ]  # nothing but the outermost memory has a loop
    slow = replace(nest, memories=(*inner, replace(outer, temporal=((0, 16), (1, 16), (2, 16)))))
    with pytest.raises(InputError, match="no point of the encoding"):
        encoding.encode(slow)
    assert encoding.decode(encoding.encode(nest)) == nest


def test_with_free_tiles_every_mapping_without_a_mesh_is_a_point() -> None:
    workload = statement("conv1d", {"k": 6, "c": 4, "p": 8, "r": 3}, stride=2)
    fabric = fabric_of(workload, machine([(1, 1), (1, 1), (1, 1)], capacity=40))
    encoding = encoding_of(fabric, tiles=Tiles.FREE)
    drawn = random_nests(fabric, 60, np.random.default_rng(2))
    drawn = drawn[evaluate_batch(drawn, fabric).valid]
    assert len(drawn) > 40
    for row in range(len(drawn)):
        nest = drawn.nest(row)
        first, *others = nest.memories
        usual = replace(nest, memories=(replace(first, temporal=tuple(sorted(first.temporal))), *others))
        assert encoding.decode(encoding.encode(usual)) == usual


def test_points_of_another_shape_or_outside_are_refused() -> None:
    encoding = encoding_of(matmul())
    with pytest.raises(InputError, match="points must be"):
        encoding.decode_batch(np.zeros((3, encoding.size + 1)))
    with pytest.raises(InputError, match="outside"):
        encoding.decode(np.full(encoding.size, 1.5))
    with pytest.raises(InputError, match="outside"):
        encoding.decode(np.full(encoding.size, np.nan))


def test_meeting_no_valid_mapping_is_no_proof_that_there_is_none() -> None:
    registers, buffer = grid_machine(free=False).levels
    short = replace(registers, capacity=Capacity(amount=1, unit="words"))
    fabric = small_fabric(replace(grid_machine(), levels=(short, buffer)))
    with pytest.raises(LimitError, match="no valid mapping was met"):
        encoding_of(fabric).decode_batch(np.full((1, encoding_of(fabric).size), 0.5))
