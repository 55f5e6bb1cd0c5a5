"""The rules of method `sunstone`, each against every mapping there is: what keeps an optimum, and what does not."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from cases import cases, some
from hypothesis import given, settings
from hypothesis import strategies as st
from spatial_brute_force import best_of_all, tiny_fabric
from sunstone_search import OPEN, searched

import optmap
from optmap.base.errors import LimitError, OptmapError
from optmap.count.meshes.batch import evaluate_batch
from optmap.count.meshes.count import NEST_EXACT
from optmap.machines.accelerator import Arithmetic, Mesh, MeshAxis, Prices, Store
from optmap.machines.fabric import Fabric, fabric_of
from optmap.machines.machine import Level, Machine
from optmap.mappings.nest_batch import NestBatch
from optmap.questions.options import Merit
from optmap.search import SunstoneSettings, trie_of
from optmap.search.sunstone.ways_left import WaysLeft
from optmap.workloads.amounts import Capacity
from optmap.workloads.parser import parse_workload

PRODUCT = "C[i,j] += A[i,k]*B[k,j]"


def two_buffers(inner: int, outer: int, mesh: int) -> Machine:
    """A buffer per unit below a shared one and a square mesh; a word costs 1, 6 and 200 pJ."""
    axis = MeshAxis(size=mesh)
    stores = [
        Store(energy_pj=Prices(read=price, fill=price, update=price), mesh=Mesh(x=x, y=x))
        for price, x in ((1, MeshAxis(size=1)), (6, axis), (200, MeshAxis(size=1)))
    ]
    levels = tuple(
        Level(name=name, capacity=Capacity(amount=words, unit="words"), store=store, inclusive=False)
        for name, words, store in zip(("L1", "L2"), (inner, outer), stores, strict=False)
    )
    return Machine(
        name="two buffers",
        levels=levels,
        outermost=stores[2],
        arithmetic=Arithmetic(energy_pj=Fraction(1)),
    )


def edp(machine: Machine, method: str, **chosen: Any) -> float:
    """Of a product of 16 x 16 x 16."""
    asked: dict[str, Any] = {"extents": {"i": 16, "j": 16, "k": 16}, "semantics": "assign", "tiles": "divisors"}
    return float(optmap.solve(PRODUCT, machine=machine, method=method, settings=chosen, **asked).cost)


def least_of_orders(text: str, extents: dict[str, int], tile: dict[str, int]) -> tuple[float, float]:
    """Least energy of a tile over all orders of the loops outside it, and over those that the trie leaves."""
    fabric = fabric_of(parse_workload(text, extents), two_buffers(10**6, 10**6, 1))
    dims = len(fabric.dims)
    inner = [tile[dim] for dim in fabric.dims]
    trips = [extent // size for extent, size in zip(fabric.extents, inner, strict=True)]
    loops = [dim for dim in range(dims) if trips[dim] > 1]
    trie = trie_of(loops, list(enumerate(fabric.operands)), frozenset(d for d in range(dims) if fabric.extents[d] > 1))
    left = [[*(dim for dim in range(dims) if dim not in node.order), *reversed(node.order)] for node in trie.nodes]
    every = [[*(dim for dim in range(dims) if dim not in loops), *order] for order in permutations(loops)]
    return _least(fabric, inner, trips, every), _least(fabric, inner, trips, left)


def _least(fabric: Fabric, inner: list[int], trips: list[int], orders: list[list[int]]) -> float:
    ones = np.ones((len(orders), 3, len(inner)), np.int64)
    temporal, order = ones.copy(), ones * 0 + np.arange(len(inner))
    temporal[:, 0], temporal[:, 2], order[:, 2] = inner, trips, orders
    kept = np.ones((len(orders), 3, len(fabric.operands)), bool)
    batch = NestBatch(x=ones, y=ones, temporal=temporal, order=order, keeps=kept)
    return float(evaluate_batch(batch, fabric).energy_pj.min())


@settings(max_examples=cases(10, 25), deadline=None)
@given(data=st.data())
def test_an_order_that_the_trie_leaves_moves_least_for_every_tile_without_windows(data: st.DataObject) -> None:
    text, dims = data.draw(
        st.sampled_from(
            [
                (PRODUCT, "ijk"),
                ("C[b,i,j] += A[b,i,k]*B[b,k,j]", "bijk"),
                ("M[i,j] += A[i,k,l]*B[k,j]*C[l,j]", "ijkl"),
                ("D[i,j] += S[i,j]*A[i,k]*B[k,j]", "ijk"),
                ("Y[i,l,m] += A[i,j,k]*B[j,l]*C[k,m]", "ijklm"),
            ]
        )
    )
    tile = {dim: data.draw(st.integers(1, 3)) for dim in dims}
    extents = {dim: size * data.draw(st.integers(1, 3)) for dim, size in tile.items()}
    every, left = least_of_orders(text, extents, tile)
    assert left == pytest.approx(every, rel=1e-12)


def test_with_a_window_an_order_that_the_trie_cuts_can_move_less() -> None:
    """A step of p after a sweep of r finds elements of the sweep: reuse of which rule 1 knows nothing."""
    every, left = least_of_orders("O[p] = I[c,p+r] * W[c,r]", {"c": 8, "p": 16, "r": 3}, {"c": 4, "p": 2, "r": 1})
    assert left / every == pytest.approx(1.2055, abs=1e-3)


@pytest.mark.parametrize("seed", some(3, range(6)))
@pytest.mark.parametrize(
    "rule", ["alpha_beta", "look_outside", "unrolling_principle", "further_reuse", "dominated_orders"]
)
def test_rules_that_lose_nothing_here(rule: str, seed: int) -> None:
    fabric = tiny_fabric(seed, 200)
    every = best_of_all(fabric, NEST_EXACT)
    found = searched(fabric, replace(OPEN, **{rule: True}))
    assert found.value == pytest.approx(float(every[Merit.EDP].value) if every else np.inf, rel=1e-12)


def test_the_tiling_principle_loses_where_the_inner_buffer_grows() -> None:
    """The largest tile of a unit leaves no room for all units' tiles: a larger buffer is worse, and then too large."""
    ratios = []
    for words in (48, 96, 192):
        machine = two_buffers(words, 256, 2)
        best = edp(machine, "exact")
        assert edp(machine, "sunstone") == pytest.approx(best)
        ratios.append(edp(machine, "sunstone", look_outside=False) / best)
    assert ratios == [pytest.approx(ratio, abs=1e-3) for ratio in (1, 2.004, 4.013)]


def test_an_inner_buffer_larger_than_the_outer_leaves_nothing_and_says_so() -> None:
    machine = two_buffers(192, 128, 1)
    with pytest.raises(OptmapError, match="none of them valid"):
        edp(machine, "sunstone", look_outside=False)
    assert edp(machine, "sunstone") == pytest.approx(edp(machine, "exact"))


def test_growing_reuse_dims_alone_loses() -> None:
    machine = two_buffers(3, 128, 1)
    best = edp(machine, "exact")
    assert edp(machine, "sunstone", tiling_principle=False) / best == pytest.approx(1.042, abs=1e-3)
    assert edp(machine, "sunstone", tiling_principle=False, reuse_dims=False) == pytest.approx(best)


def test_the_fullest_mesh_is_not_always_the_best() -> None:
    fabric = tiny_fabric(37, 300)
    best = float(best_of_all(fabric, NEST_EXACT)[Merit.EDP].value)
    assert searched(fabric, replace(OPEN, utilisation=1.0)).value > 1.2 * best
    assert searched(fabric, OPEN).value == pytest.approx(best)


def test_where_the_best_leaves_meshes_idle_the_search_is_repeated_and_ends_no_higher() -> None:
    """MTTKRP of netflix has few small factors: tiles and inner meshes take them, and 8 of 1,024 lanes are used."""
    asked: dict[str, Any] = {
        "machine": "sunstone-simba",
        "method": "sunstone",
        "semantics": "assign",
        "tiles": "divisors",
    }
    alone, again = (
        optmap.solve("sunstone/mttkrp_netflix", **asked, settings={"bypass": "on", "starved": part})
        for part in (0, 0.5)
    )
    assert alone.count.memories[0].instances < 0.05 * 1024
    assert again.count.memories[0].instances > 10 * alone.count.memories[0].instances
    assert again.cost < alone.cost / 50


@pytest.mark.parametrize(
    ("extents", "mesh", "most"), [((16, 16, 16), 2, 4), ((3, 5, 7), 4, 3), ((3, 2, 7), 4, 6), ((11, 13, 17), 8, 1)]
)
def test_ways_that_are_left_are_the_most_that_factors_reach(
    extents: tuple[int, int, int], mesh: int, most: int
) -> None:
    fabric = fabric_of(parse_workload(PRODUCT, dict(zip("ijk", extents, strict=True))), two_buffers(64, 256, mesh))
    left = WaysLeft(fabric)
    assert left.most(0, extents) == most
    assert left.most(2, extents) == 1


@pytest.mark.parametrize("seed", some(20, range(100, 160)))
def test_it_is_never_below_the_optimum(seed: int) -> None:
    fabric = tiny_fabric(seed, 150)
    every = best_of_all(fabric, NEST_EXACT)
    direction = "top-down" if seed % 2 else "bottom-up"
    found = searched(fabric, SunstoneSettings(direction=direction, bypass=seed % 3 == 0))
    if found.best is not None:
        assert found.value >= float(every[Merit.EDP].value) * (1 - 1e-12)


def test_more_choices_than_memory_is_for_are_refused_with_the_rules_to_leave_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("optmap.search.sunstone.step.MOST_CHOICES", 3)
    with pytest.raises(LimitError, match=r"more than 3 pairs of a tile and an unrolling for .*leave on more of"):
        searched(tiny_fabric(3, most=20_000), OPEN)
