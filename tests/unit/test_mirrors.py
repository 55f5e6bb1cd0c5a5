"""Loop orders and boxes that mirror each other have the same optimum, and one of each is enough."""

import random

import numpy as np
import pytest

from optmap.machines.machine import CapacityRule, Level, LevelKind, Machine
from optmap.mappings.constraint_texts import constraints_of
from optmap.programs import TileSpace
from optmap.programs.exchanges import exchanges
from optmap.search import TOLERANCE, Bounder, Setting
from optmap.search.relax import mirrors
from optmap.search.relax.layout import Unit
from optmap.search.relax.mirrors import Mirrors
from optmap.search.relax.tree import relax
from optmap.workloads.amounts import Capacity
from optmap.workloads.builders import conv2d, matmul
from optmap.workloads.parser import parse_workload

SQUARE = (
    conv2d(k=16, c=8, h=12, w=12, r=3, s=3),
    conv2d(k=8, c=16, h=9, w=9, r=2, s=2, stride=2),
    conv2d(k=4, c=4, h=20, w=20, r=4, s=4),
    matmul(i=40, j=40, k=30),
    parse_workload("Y[x,y] += A[x,z] * A[z,y]", {"x": 24, "y": 24, "z": 20}),
    parse_workload("O[a,b,c] = A[a,d] * B[b,d] * C[c,d]", {"a": 12, "b": 12, "c": 12, "d": 9}),
    parse_workload("Y[x,y] += A[x+z,y+z] * B[z]", {"x": 20, "y": 20, "z": 5}),
)


def moved(workload):
    """Dims that exchanges move, as text."""
    found = exchanges(TileSpace(workload))
    return {" ".join(f"{a}{b}" for a, b in sorted(each.dims.items()) if a < b) for each in found}


def test_exchanges_are_those_that_leave_every_access_in_its_place():
    assert moved(SQUARE[0]) == {"hw rs"}
    assert moved(conv2d(k=16, c=8, h=12, w=11, r=3, s=3)) == set()
    assert moved(conv2d(k=16, c=8, h=12, w=12, r=3, s=2)) == set()
    assert moved(parse_workload("O[h,w] += I[2*h+r,w+s]*K[r,s]", {"h": 9, "w": 9, "r": 3, "s": 3})) == set()
    assert moved(matmul(i=40, j=40, k=40)) == {"ij"}, "the output stays the output"
    assert moved(SQUARE[5]) == {"ab", "ac", "bc"}
    assert moved(SQUARE[6]) == set(), "z counts in one of the two subscripts only"
    assert exchanges(TileSpace(matmul(i=40, j=40, k=9)))[0].tensors == (0, 2, 1)


def machine(workload, depth, *, kind=LevelKind.SCRATCHPAD):
    words = sum(tensor.footprint(workload.extents) for tensor in workload.tensors)
    least = 2 * len(workload.tensors)
    levels = [
        Level(
            name=f"L{i}",
            capacity=Capacity(amount=round(least * (words / least) ** ((i + 1) / (depth + 1))), unit="words"),
            bandwidth=2.0 ** (depth - i),
            kind=kind,
        )
        for i in range(depth)
    ]
    return Machine(name="some", levels=tuple(levels))


@pytest.mark.parametrize("rule", list(CapacityRule))
@pytest.mark.parametrize("case", range(len(SQUARE)))
def test_mirrored_nodes_have_the_same_optimum(case, rule):
    """Random loop orders and boxes at two levels against their mirror images."""
    rng = random.Random(case)
    workload = SQUARE[case]
    setting = Setting(workload=workload, machine=machine(workload, 2), rule=rule)
    space, images = setting.space, Mirrors(setting)
    pairs = []
    for _ in range(40):
        node = []
        for level in range(2):
            ends = ((rng.randint(1, n), rng.randint(1, n)) for n in (space.extents[d] for d in space.boxed))
            node.append(Unit(rng.choice(setting.orders_at(level)), tuple((min(e), max(e)) for e in ends)))
        for number in range(len(exchanges(space))):
            image = tuple(images.image(number, level, unit) for level, unit in enumerate(node))
            if None not in image:
                pairs.append((tuple(node), image))
    assert pairs or case == 6
    if not pairs:
        return
    own, other = (Bounder(setting).solve([pair[side] for pair in pairs]) for side in (0, 1))
    assert np.array_equal(np.isfinite(own.value), np.isfinite(other.value))
    there = np.isfinite(own.value)
    np.testing.assert_allclose(own.value[there], other.value[there], rtol=1e-6)
    np.testing.assert_allclose(own.bound[there], other.bound[there], rtol=1e-6)


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("case", range(len(SQUARE)))
def test_without_mirror_images_the_optimum_is_the_same(case, depth, monkeypatch):
    workload = SQUARE[case]
    for kind in (LevelKind.SCRATCHPAD, LevelKind.CACHE):
        setting = Setting(workload=workload, machine=machine(workload, depth, kind=kind), rule=CapacityRule.TILE)
        found = relax(setting)
        with monkeypatch.context() as patch:
            patch.setattr(mirrors, "exchanges", lambda space: ())
            whole = relax(setting)
        assert found.proved
        assert whole.proved
        assert found.best.value == pytest.approx(whole.best.value, rel=2 * TOLERANCE)
        assert found.bound == pytest.approx(whole.bound, rel=2 * TOLERANCE)


def test_constraints_on_one_of_two_dims_leave_no_mirror_images():
    workload = SQUARE[0]
    plain = Setting(workload=workload, machine=machine(workload, 2), rule=CapacityRule.TILE)
    units = [Unit(order, plain.space.whole()) for order in plain.orders]
    node = (None, None)
    assert len(Mirrors(plain).distinct(node, 0, units)) < len(units)
    for texts, same in ((["L1.h>=2"], False), (["L1.h>=2", "L1.w>=2"], True), (["L1.order=...,w"], False)):
        limits = constraints_of(texts)
        setting = Setting(workload=workload, machine=plain.machine, rule=CapacityRule.TILE, constraints=limits)
        assert (len(Mirrors(setting).distinct(node, 0, units)) < len(units)) is same


def test_of_two_mirror_images_one_may_meet_another_levels_loop_order(monkeypatch):
    """What the inner level must be tells choices of the outer one apart."""
    workload = SQUARE[5]
    levels = [
        Level(name=f"L{i}", capacity=Capacity(amount=words, unit="words"), bandwidth=rate)
        for i, (words, rate) in enumerate(((67, 5.0), (370, 2.0)))
    ]
    setting = Setting(
        workload=workload,
        machine=Machine(name="two", levels=tuple(levels)),
        rule=CapacityRule.TILE,
        constraints=constraints_of(["L0.order=...,d,a,c"]),
    )
    found = relax(setting)
    monkeypatch.setattr(mirrors, "exchanges", lambda space: ())
    assert found.bound == pytest.approx(relax(setting).bound, rel=2 * TOLERANCE)
