"""Tiles that divide: what levels with imposed tiles cost at least, and the optimum around them."""

import random
from dataclasses import replace
from math import inf

import numpy as np
import pytest

from optmap.base.clock import NO_LIMIT
from optmap.files.library import machine
from optmap.machines.machine import CapacityRule
from optmap.search import ChainCosts, Setting, divisors_around, grid_of, integer_search
from optmap.search.relax.tree import relax
from optmap.search.whole.tile_pairs import _first_multiples
from optmap.symbolic.numbers import divisors_of
from optmap.workloads.builders import conv2d

SHAPES = [(16, 8, 12, 12, 3), (32, 6, 7, 9, 1), (24, 20, 10, 6, 3), (20, 12, 18, 5, 1), (48, 10, 8, 14, 5)]
"""Output and input channels, rows, columns, filter: the imposed tile divides few of them."""


def around_kernel(shape: tuple[int, int, int, int, int], words: int, rate: float) -> Setting:
    """A convolution on the registers of a processor, with their imposed tile, and one cache."""
    k, c, h, w, r = shape
    i7 = machine("i7-9700k")
    cache = replace(i7.levels[1], capacity=replace(i7.levels[1].capacity, amount=4 * words), bandwidth=rate)
    small = replace(i7, levels=(i7.levels[0], cache))
    setting = Setting(workload=conv2d(n=1, k=k, c=c, h=h, w=w, r=r, s=r), machine=small, rule=CapacityRule.TILE)
    assert list(setting.fixed) == [0]
    return setting


def chains_of(setting: Setting, costs: ChainCosts) -> np.ndarray:
    """Every divisor tile that has room for the imposed one, around it."""
    imposed = [setting.fixed[0][0][d] for d in costs.dims]
    outer = grid_of([divisors_of(int(n)) for n in costs.extents])
    outer = outer[(outer >= imposed).all(axis=1)]
    return np.stack([np.broadcast_to(imposed, outer.shape), outer], axis=1)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("words", [800, 2500, 9000])
@pytest.mark.parametrize("rate", [3, 40])
def test_divisors_around_an_imposed_tile_are_optimal(
    shape: tuple[int, int, int, int, int], words: int, rate: float
) -> None:
    setting = around_kernel(shape, words, rate)
    costs = ChainCosts(setting)
    every = costs.evaluate(chains_of(setting, costs))[0]
    fitting = every[(every < inf).all(axis=1)]
    found = divisors_around(setting, costs, 0, clock=NO_LIMIT)
    assert found is not None
    bound, outer = found
    assert outer is not None
    assert bound == pytest.approx(fitting[:, 0].min(), rel=1e-12)
    attained = np.stack([chains_of(setting, costs)[0, 0], outer])[None]
    assert costs.evaluate(attained)[0][0, 0] == pytest.approx(bound, rel=1e-12)
    answer = integer_search(setting, relax(setting), divisors=True)
    assert answer.point.value == pytest.approx(fitting.max(axis=1).min(), rel=1e-12)
    assert answer.bound == pytest.approx(answer.point.value, rel=2e-9)


def test_outer_tiles_that_others_beat_are_those_that_divide_a_cheaper_one() -> None:
    """Looked at pair by pair."""
    rng = random.Random(7)
    for many in (1, 6, 60, 500):
        lists = [divisors_of(n) for n in (48, 1, 30, 7, 16)]
        tiles = np.array(rng.sample(sorted({tuple(map(rng.choice, lists)) for _ in range(2 * many)}), k=many // 2 + 1))
        below = [[(other % own == 0).all() for other in tiles].index(True) for own in tiles]
        assert _first_multiples(tiles).tolist() == below
