"""Choices of numbers of tiles, listed dim by dim, against all of them; and what makes that right."""

from __future__ import annotations

import random
from math import inf

import numpy as np
import pytest
from cases import some

from optmap.base.clock import NO_LIMIT
from optmap.base.errors import LimitError
from optmap.machines.machine import CapacityRule, Level, Machine
from optmap.search import ChainCosts, ChoiceLists, PairCosts, Setting, candidates, grid_of, grow
from optmap.search.whole import choices
from optmap.workloads.amounts import Capacity
from optmap.workloads.parser import parse_workload

STATEMENTS = (
    "C[i,j] += A[i,k]*B[k,j]",
    "C[i,j] = A[i,k]*B[k,j]",
    "O[i,j] += A[i,k,l]*B[k,j]*D[l,j]",
    "O[f,x] = I[c,2*x+w]*F[f,c,w]",
    "O[f,x,y] += I[c,x+r,y+s]*F[f,c,r,s]",
    "O[f,x,y] += I[c,2*x+r,3*y+s]*F[f,c,r,s]",
    "O[c,x,y] += I[c,2*x+r,2*y+s]*F[c,r,s]",
)


def posed(seed: int) -> Setting:
    """A random problem on two or three levels, into none of which all of it fits."""
    rng = random.Random(seed)
    text = STATEMENTS[seed % len(STATEMENTS)]
    names = sorted({c for c in text if c.isalpha() and c.islower()})
    extents = {name: rng.randint(2, 4 if name in "rsw" else 14) for name in names}
    workload = parse_workload(text, extents)
    total = sum(tensor.footprint(workload.extents) for tensor in workload.tensors)
    sizes = sorted(rng.randint(len(workload.tensors), total) for _ in range(rng.choice((2, 3))))
    levels = tuple(
        Level(name=f"L{n}", capacity=Capacity(amount=size, unit="words"), bandwidth=rng.choice((1, 2, 5)))
        for n, size in enumerate(sizes)
    )
    return Setting(workload=workload, machine=Machine(name="random", levels=levels), rule=CapacityRule.TILE)


def lists_of(setting: Setting) -> list[list[list[int]]]:
    found = [candidates(setting, level) for level in range(len(setting.machine.levels))]
    return [lists for lists in found if lists is not None]


def rows(tiles: np.ndarray) -> set[tuple[int, ...]]:
    return {tuple(row) for row in tiles.tolist()}


@pytest.mark.parametrize("seed", some(9, range(28)))
def test_no_choice_below_a_ceiling_is_left_out(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choices, "FEW", 3)
    monkeypatch.setattr(choices, "FARTHER", 0.0)
    setting, rng = posed(seed), random.Random(seed)
    costs, lists = ChainCosts(setting), lists_of(setting)
    pairs = PairCosts(setting, costs, clock=NO_LIMIT)
    listing = ChoiceLists(costs, pairs, lists, inf, NO_LIMIT)
    last, inner = listing.last, None
    every = []
    for level, values in enumerate(lists):
        tiles = grid_of(values)
        tiles = tiles[costs.fits_somehow(tiles, level)]
        larger = tiles.copy()
        larger[:, last] = [next((v for v in values[last] if v > size), -1) for size in tiles[:, last]]
        largest = (larger[:, last] < 0) | ~costs.fits_somehow(larger, level)
        every.append(tiles[largest])
    whole = [pairs.alone(tiles, level) for level, tiles in enumerate(every)]
    ceiling = max(float(cost.min()) for cost in whole) * rng.choice((1.05, 1.3, 2.0))
    found = listing.below(ceiling)
    for level, tiles in enumerate(every):
        below = whole[level] < ceiling
        below &= costs.in_whole(tiles, level, clock=NO_LIMIT) < ceiling
        if inner is not None:
            nests = pairs.nests(inner, tiles, but=last)
            below &= ((pairs(inner, tiles, level - 1) < ceiling) & nests).any(axis=0)
        assert rows(tiles[below]) <= rows(found[level].tiles) <= rows(tiles)
        inner = tiles[below]


@pytest.mark.parametrize("seed", some(4, range(14)))
def test_larger_tiles_cost_no_more(seed: int) -> None:
    setting, rng = posed(seed), np.random.default_rng(seed)
    costs = ChainCosts(setting)
    pairs = PairCosts(setting, costs, clock=NO_LIMIT)
    outer = np.stack([rng.integers(1, n + 1, size=300) for n in costs.extents], axis=1)
    own = np.stack([rng.integers(1, column + 1) for column in outer.T], axis=1)
    for d in range(len(costs.extents)):
        grown, around = own.copy(), outer.copy()
        grown[:, d] = rng.integers(own[:, d], outer[:, d] + 1)
        around[:, d] = rng.integers(outer[:, d], costs.extents[d] + 1)
        numbers = [-(-costs.extents // tiles) for tiles in (own, outer, grown, around)]
        cost = pairs.of_numbers(own, numbers[0], outer, numbers[1], 0) * (1 + 1e-12)
        assert (pairs.of_numbers(grown, numbers[2], outer, numbers[1], 0) <= cost).all()
        assert (pairs.of_numbers(own, numbers[0], around, numbers[3], 0) <= cost).all()


@pytest.mark.parametrize("seed", some(3, range(7)))
def test_pairs_in_a_list_cost_what_they_do_in_a_table(seed: int) -> None:
    setting, rng = posed(seed), np.random.default_rng(seed)
    costs = ChainCosts(setting)
    pairs = PairCosts(setting, costs, clock=NO_LIMIT)
    own, outer = (np.stack([rng.integers(1, n + 1, size=60) for n in costs.extents], axis=1) for _ in range(2))
    table = pairs(own, outer, 1)
    inner, beyond = np.nonzero(pairs.nests(own, outer) & (table < inf))
    numbers, around = -(-costs.extents // own), -(-costs.extents // outer)
    cost = pairs.of_numbers(own[inner], numbers[inner], outer[beyond], around[beyond], 1)
    assert len(cost) > 10
    assert cost == pytest.approx(table[inner, beyond], rel=1e-12)


@pytest.mark.parametrize("seed", some(9, range(28)))
def test_a_dim_grows_as_far_as_tiles_fit(seed: int) -> None:
    setting, rng = posed(seed), np.random.default_rng(seed)
    costs = ChainCosts(setting)
    tiles = np.stack([rng.integers(1, n + 1, size=1 + seed % 2 * 50) for n in costs.extents], axis=1)
    before = tiles.copy()
    for last, extent in enumerate(costs.extents.tolist()):
        values = np.unique(rng.integers(1, extent + 1, size=4))
        grown = grow(costs, 0, tiles, last, values, clock=NO_LIMIT)
        options = np.repeat(tiles, len(values), axis=0)
        options[:, last] = np.tile(values, len(tiles))
        fits = costs.fits_somehow(options, 0).reshape(len(tiles), len(values))
        expected = tiles[fits[:, 0]].copy()
        expected[:, last] = values[fits.sum(axis=1)[fits[:, 0]] - 1]
        assert grown.tolist() == expected.tolist()
        assert (tiles == before).all()


def test_too_many_choices_are_not_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    setting = posed(4)
    costs, lists = ChainCosts(setting), lists_of(setting)
    pairs = PairCosts(setting, costs, clock=NO_LIMIT)
    for name in ("LARGEST_GRID", "MOST_PAIRS"):
        with monkeypatch.context() as patch:
            patch.setattr(choices, name, 2)
            patch.setattr(choices, "FEW_PAIRS", 2)
            with pytest.raises(LimitError, match="too many"):
                ChoiceLists(costs, pairs, lists, inf, NO_LIMIT).below(1e18)
