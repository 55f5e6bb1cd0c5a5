"""The integer answer equals exhaustive search: every tile (or chain of tiles), every loop order."""

import random
from itertools import pairwise, permutations, product
from math import inf, prod

import numpy as np
import pytest
from cases import cases, some

from optmap import api
from optmap.base.errors import InfeasibleError
from optmap.count.levels.cost import evaluate_cost
from optmap.count.levels.per_level import LevelModel
from optmap.machines.machine import CapacityRule, Level, LevelKind, Machine
from optmap.mappings.levels import LevelMapping, Mapping
from optmap.mappings.reuse import dataflow, safe_working_set
from optmap.search import Setting, integer_search
from optmap.search.relax.tree import relax
from optmap.search.whole import integers, tile_pairs
from optmap.solvers import Stop
from optmap.workloads.amounts import Capacity
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Semantics

TILES = 2600
"""Largest number of tiles that the oracle looks at."""


def window(rng, position, tap):
    stride, dilation = rng.choice([1, 1, 2, 3]), rng.choice([1, 1, 1, 2, 3])
    return f"{stride}*{position}+{dilation}*{tap}"


def statement(rng):
    kind = rng.choice(["conv2d", "depthwise", "conv1d", "matmul", "contraction", "mttkrp"])
    if kind == "conv2d":
        return f"Out[n,k,h,w] += In[n,c,{window(rng, 'h', 'r')},{window(rng, 'w', 's')}] * Ker[k,c,r,s]"
    if kind == "depthwise":
        return f"Out[c,h,w] += In[c,{window(rng, 'h', 'r')},{window(rng, 'w', 's')}] * Ker[c,r,s]"
    if kind == "conv1d":
        return f"Out[f,x] += Image[c,{window(rng, 'x', 'w')}] * Filter[f,c,w]"
    if kind == "matmul":
        return "C[i,j] += A[i,k] * B[k,j]"
    if kind == "mttkrp":
        return "Out[i,j] += A[i,k,l] * B[k,j] * C[l,j]"
    return rng.choice(
        ["O[a,b,c] += A[b,d,a] * B[d,c]", "O[a,b,c,d] += A[a,e,b] * B[e,c,d]", "O[a,b] += A[a,c,d]*B[d,b,c]"]
    )


def random_workload(rng, most):
    text = statement(rng)
    if rng.random() < 0.4:
        text = text.replace("+=", "=")
    words = parse_dims(text)
    extents, budget = {}, most
    for dim in rng.sample(words, len(words)):
        extents[dim] = rng.randint(1, max(1, min(8, budget)))
        budget //= extents[dim]
    return parse_workload(text, extents, bytes=rng.choice([4, 4, {"A": 8}]) if "A[" in text else 4)


def parse_dims(text):
    inside = "".join(part.split("]")[0] + "," for part in text.split("[")[1:])
    return list(dict.fromkeys(ch for ch in inside if ch.isalpha()))


def flows_of(workload):
    """One loop order per distinct reuse, over all permutations of the dims."""
    found = {}
    for order in permutations(workload.dims):
        found.setdefault(dataflow(workload, order), order)
    return found


def oracle_costs(workload, machine, chains, rule):
    """(B,) least bottleneck of every chain over all loop orders, level by level."""
    model = LevelModel(workload)
    worst = np.zeros(len(chains))
    for level, part in enumerate(machine.levels):
        capacity = part.capacity.words(workload.word_bits)
        best = np.full(len(chains), inf)
        for flow, order in flows_of(workload).items():
            if rule is CapacityRule.SAFE and part.kind is LevelKind.CACHE:
                held = model.safe_occupancy(chains[:, level], safe_working_set(workload, order))
            else:
                held = model.occupancy(chains[:, level])
            words = model.traffic(chains, level, flow).astype(float)
            best = np.minimum(best, np.where(held <= capacity, words, inf))
        worst = np.maximum(worst, best / float(part.bandwidth.words(workload.word_bits)))
    return worst


def every_chain(workload, depth, *, divisors=False):
    per_dim = []
    for _, extent in workload.sizes:
        sizes = [
            c
            for c in product(range(1, extent + 1), repeat=depth)
            if all(a <= b and (not divisors or b % a == 0) for a, b in pairwise((*c, extent)))
        ]
        per_dim.append(sizes)
    return np.array([list(zip(*choice, strict=True)) for choice in product(*per_dim)], dtype=np.int64)


def random_machine(rng, workload, depth, kind):
    model = LevelModel(workload)
    ones = np.ones((1, len(workload.dims)), dtype=np.int64)
    least = int(model.occupancy(ones)[0])
    most = max(least + depth, int(model.occupancy(np.array([[n for _, n in workload.sizes]]))[0]))
    words = sorted(int(least * (most / least) ** rng.random()) + i for i in range(depth))
    return Machine(
        name="random",
        levels=tuple(
            Level(
                name=f"L{i}",
                capacity=Capacity(amount=w * workload.word_bits // 8),
                bandwidth=rng.choice([1, 1, 2, 5, 0.5]) * (depth - i),
                kind=kind,
            )
            for i, w in enumerate(words)
        ),
    )


def search(workload, machine, rule, *, divisors=False):
    setting = Setting(workload=workload, machine=machine, rule=rule)
    setting.check_capacities()
    relaxed = relax(setting)
    return relaxed, integer_search(setting, relaxed, divisors=divisors)


@pytest.mark.parametrize("block", some(1, range(11)))
@pytest.mark.parametrize("enumerating", [True, False])
def test_one_level_is_optimal(block, enumerating, monkeypatch):
    """220 workloads, once by enumeration and once by the search for large problems."""
    if not enumerating:
        monkeypatch.setattr(integers, "EXHAUSTIVE", 0)
    for seed in range(20 * block, 20 * block + 20):
        rng = random.Random(seed)
        workload = random_workload(rng, TILES)
        machine = random_machine(rng, workload, 1, LevelKind.SCRATCHPAD)
        best = oracle_costs(workload, machine, every_chain(workload, 1), CapacityRule.TILE).min()
        relaxed, found = search(workload, machine, CapacityRule.TILE)
        assert found.point.value == pytest.approx(best, rel=1e-12), (seed, workload.expression, workload.sizes)
        assert found.bound <= best * (1 + 1e-9), (seed, workload.expression)
        assert relaxed.bound <= best * (1 + 1e-9), (seed, workload.expression)
        assert found.stop is Stop.OPTIMAL


@pytest.mark.parametrize("block", some(1, range(4)))
def test_one_level_with_room_for_caches_is_optimal(block):
    for seed in range(10 * block, 10 * block + 10):
        rng = random.Random(1000 + seed)
        workload = random_workload(rng, TILES // 2)
        machine = random_machine(rng, workload, 1, LevelKind.CACHE)
        best = oracle_costs(workload, machine, every_chain(workload, 1), CapacityRule.SAFE).min()
        if best == inf:
            with pytest.raises(InfeasibleError, match="short by"):
                search(workload, machine, CapacityRule.SAFE)
            continue
        relaxed, found = search(workload, machine, CapacityRule.SAFE)
        assert found.point.value == pytest.approx(best, rel=1e-12), (seed, workload.expression, workload.sizes)
        assert relaxed.bound <= best * (1 + 1e-9), (seed, workload.expression)


@pytest.mark.parametrize("block", some(2, range(4)))
@pytest.mark.parametrize("enumerating", [True, False])
def test_two_levels(block, enumerating, monkeypatch):
    """Enumeration is optimal; the search for large problems stays between its bound and the optimum."""
    if not enumerating:
        monkeypatch.setattr(integers, "EXHAUSTIVE", 0)
    for seed in range(8 * block, 8 * block + 8):
        rng = random.Random(2000 + seed)
        workload = random_workload(rng, 48)
        machine = random_machine(rng, workload, 2, LevelKind.SCRATCHPAD)
        best = oracle_costs(workload, machine, every_chain(workload, 2), CapacityRule.TILE).min()
        relaxed, found = search(workload, machine, CapacityRule.TILE)
        where = (seed, workload.expression, workload.sizes)
        assert relaxed.bound <= best * (1 + 1e-9), where
        assert found.bound <= best * (1 + 1e-9), where
        assert found.point.value >= best * (1 - 1e-12), where
        if enumerating:
            assert found.point.value == pytest.approx(best, rel=1e-12), where
        else:
            assert found.point.value <= best * 1.25, where


@pytest.mark.parametrize(("depth", "pairs"), [(1, 0), (2, 0), (2, 300_000), (3, 300_000)])
def test_divisor_tiles_are_optimal_and_never_better_than_any(depth, pairs, monkeypatch):
    """Whether tiles are paired from the inside first or from the outside alone."""
    monkeypatch.setattr(integers, "EXHAUSTIVE", 0)
    monkeypatch.setattr(tile_pairs, "FEW_PAIRS", pairs)
    for seed in range(cases(4, 14)):
        rng = random.Random(3000 + 100 * depth + seed)
        workload = random_workload(rng, {1: 2000, 2: 200, 3: 60}[depth])
        machine = random_machine(rng, workload, depth, LevelKind.SCRATCHPAD)
        chains = every_chain(workload, depth, divisors=True)
        best = oracle_costs(workload, machine, chains, CapacityRule.TILE).min()
        _, found = search(workload, machine, CapacityRule.TILE, divisors=True)
        where = (seed, workload.expression, workload.sizes)
        assert found.point.value == pytest.approx(best, rel=1e-12), where
        _, free = search(workload, machine, CapacityRule.TILE)
        assert free.point.value <= found.point.value * (1 + 1e-12), where


def test_the_oracle_agrees_with_evaluation():
    """The oracle prices a chain as `evaluate_cost` prices its best mapping, through another door."""
    for seed in range(cases(5, 12)):
        rng = random.Random(4000 + seed)
        workload = random_workload(rng, 24)
        machine = random_machine(rng, workload, 1, LevelKind.SCRATCHPAD)
        chains = every_chain(workload, 1)
        chain = chains[rng.randrange(len(chains))][None]
        tile = dict(zip(workload.dims, chain[0, 0].tolist(), strict=True))
        costs = [
            report.value
            for order in permutations(workload.dims)
            for report in [
                evaluate_cost(
                    workload,
                    machine,
                    Mapping(levels=(LevelMapping(level="L0", tile=tile, permutation=order, spatial={}),)),
                )
            ]
            if report.fits
        ]
        assert min(costs, default=inf) == oracle_costs(workload, machine, chain, CapacityRule.TILE)[0]


@pytest.mark.parametrize("tiles", ["any", "divisors"])
def test_solve_says_what_the_search_found(tiles):
    for seed in range(8):
        rng = random.Random(5000 + seed)
        workload = random_workload(rng, 200)
        machine = random_machine(rng, workload, 1, LevelKind.SCRATCHPAD)
        chains = every_chain(workload, 1, divisors=tiles == "divisors")
        best = oracle_costs(workload, machine, chains, CapacityRule.TILE).min()
        result = api.solve(workload, machine=machine, tiles=tiles)
        assert result.cost == pytest.approx(best, rel=1e-12)
        assert result.relaxation.proved
        assert result.relaxation.value <= result.integer_bound * (1 + 1e-9)
        assert result.integer_bound <= result.cost
        assert prod(n for _, n in workload.sizes) == workload.operations


def test_workloads_cover_both_semantics_and_gaps():
    drawn = [random_workload(random.Random(seed), TILES) for seed in range(220)]
    assert {w.semantics for w in drawn} == set(Semantics)
    coefficients = {c for w in drawn for t in w.tensors for a in t.axes for _, c in a.terms}
    assert coefficients >= {1, 2, 3}
    assert max(n for w in drawn for _, n in w.sizes) == 8
