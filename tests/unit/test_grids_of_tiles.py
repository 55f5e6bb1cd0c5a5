"""Whole grids of tiles, and chains below a ceiling, against the same tiles one by one."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import loop_orders, workloads

from optmap.count.levels.per_level import LevelModel
from optmap.files import library
from optmap.machines.machine import CapacityRule, Level, Machine
from optmap.mappings.reuse import safe_working_set
from optmap.search import ChainCosts, Setting, all_chains, grid_of
from optmap.workloads.amounts import Capacity
from optmap.workloads.parser import parse_workload


@given(st.data())
def test_a_grid_holds_what_its_tiles_hold(data):
    workload = data.draw(workloads(max_extent=5))
    room = safe_working_set(workload, data.draw(loop_orders(workload)))
    some = [data.draw(st.lists(st.integers(1, n), min_size=1, max_size=3)) for _, n in workload.sizes]
    model = LevelModel(workload)
    held = model.grid_occupancy([np.array(values) for values in some], room)
    assert held.shape == tuple(map(len, some))
    assert held.reshape(-1).tolist() == model.safe_occupancy(grid_of(some), room).tolist()


@pytest.mark.parametrize("rule", list(CapacityRule))
def test_a_grid_fits_where_its_tiles_fit(rule):
    setting = Setting(workload=library.workload("resnet18/R12"), machine=library.machine("i7-9700k"), rule=rule)
    costs = ChainCosts(setting)
    rng = np.random.default_rng(5)
    sizes = [np.sort(rng.integers(1, n + 1, size=4)) for n in costs.extents]
    for level in range(costs.depth):
        one_by_one = costs.fits(grid_of([values.tolist() for values in sizes]), level).any(axis=1)
        assert costs.grid_fits(sizes, level).reshape(-1).tolist() == one_by_one.tolist()
        assert costs.fits_somehow(grid_of([values.tolist() for values in sizes]), level).tolist() == one_by_one.tolist()


@pytest.mark.parametrize("levels", [None, (2, 0, 1)])
def test_chains_above_a_ceiling_are_left_out_and_no_others(levels):
    workload = parse_workload("C[i,j] += A[i,k] * B[k,j]", {"i": 5, "j": 4, "k": 3})
    memories = [
        Level(name=f"L{n}", capacity=Capacity(amount=words, unit="words"), bandwidth=2.0 - n / 2)
        for n, words in enumerate((8, 20, 40))
    ]
    costs = ChainCosts(
        Setting(workload=workload, machine=Machine(name="m", levels=tuple(memories)), rule=CapacityRule.TILE)
    )
    chains = all_chains(costs.extents.tolist(), costs.depth)
    prices, orders = costs.evaluate(chains)
    peaks = prices.max(axis=1)
    for ceiling in (*np.quantile(peaks[np.isfinite(peaks)], (0.0, 0.1, 0.7)), inf):
        some, chosen = costs.evaluate(chains, None, levels, ceiling)
        below = peaks <= ceiling
        assert below.any()
        assert (some[below] == prices[below]).all()
        assert (chosen[below] == orders[below]).all()
        assert (some[~below].max(axis=1) == inf).all()
        assert costs.best(chains, ceiling=ceiling, levels=levels).costs == costs.best(chains).costs
    assert costs.best(chains, ceiling=peaks.min() / 2) is None
