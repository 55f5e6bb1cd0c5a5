"""The bound over numbers of tiles against every chain of whole tiles of small problems."""

from __future__ import annotations

import random
from dataclasses import replace
from math import inf

import numpy as np
import pytest
from cases import cases, some

import optmap
from optmap.base.clock import NO_LIMIT, Clock
from optmap.base.errors import InfeasibleError
from optmap.machines.core import Microkernel
from optmap.machines.machine import CapacityRule, Level, Machine
from optmap.mappings.constraint_texts import constraints_of
from optmap.search import (
    ChainCosts,
    PairCosts,
    Setting,
    SizesLeft,
    aligned_chains,
    all_chains,
    candidates,
    chain_count,
    count_optimum,
    grid_of,
    integer_search,
)
from optmap.search.relax.tree import relax
from optmap.search.whole import counts
from optmap.solvers import Stop
from optmap.workloads.amounts import Capacity
from optmap.workloads.parser import parse_workload

STATEMENTS = (
    "C[i,j] += A[i,k]*B[k,j]",
    "C[i,j] = A[i,k]*B[k,j]",
    "O[i,j] += A[i,k,l]*B[k,j]*D[l,j]",
    "O[a,b,c] += A[b,d,a]*B[d,c]",
    "O[f,x] += I[c,x+w]*F[f,c,w]",
    "O[f,x] = I[c,2*x+w]*F[f,c,w]",
    "O[c,x,y] += I[c,x+r,y+s]*F[c,r,s]",
    "O[k,x,y] += I[x+r,3*y+s]*F[k,r,s]",
    "O[k,x] += I[x+2*r]*F[k,r]",
    "O[i] += A[i,i+j]*B[j]",
)
CHAINS = 40_000
"""Chains of one problem that are all priced."""


def problem(seed: int) -> tuple[Setting, np.ndarray] | None:
    """A random setting of one to three levels and all its chains; None if there are too many."""
    rng = random.Random(seed)
    text = rng.choice(STATEMENTS)
    depth = rng.choice((1, 2, 2, 3))
    names = sorted({c for c in text if c.isalpha() and c.islower()})
    budget, extents = rng.choice((60, 400, 3000)), {}
    for name in rng.sample(names, len(names)):
        extents[name] = rng.randint(1, max(1, min(rng.choice((4, 13)), budget)))
        budget //= extents[name]
    workload = parse_workload(text, extents)
    if chain_count([extents[d] for d in workload.dims], depth) > CHAINS:
        return None
    total = sum(tensor.footprint(workload.extents) for tensor in workload.tensors)
    least = len(workload.tensors)
    sizes = sorted(rng.randint(least, max(least + 1, total)) for _ in range(depth))
    kernel = Microkernel(vector=rng.randint(1, 3), broadcast=rng.randint(1, 3)) if rng.random() < 0.3 else None
    levels = tuple(
        Level(
            name=f"L{number}",
            capacity=Capacity(amount=size, unit="words"),
            bandwidth=rng.choice((1, 2, 3, 5, 8)),
            microkernel=kernel if number == 0 else None,
        )
        for number, size in enumerate(sizes)
    )
    setting = Setting(workload=workload, machine=Machine(name="random", levels=levels), rule=CapacityRule.TILE)
    try:
        setting.check_capacities()
    except InfeasibleError:
        return None
    chains = all_chains([extents[d] for d in workload.dims], depth)
    for level, (tile, _) in setting.fixed.items():
        chains = chains[(chains[:, level] == [tile[d] for d in workload.dims]).all(axis=1)]
    return setting, chains


def least_of(setting: Setting, chains: np.ndarray) -> float:
    best = ChainCosts(setting).best(chains) if len(chains) else None
    return inf if best is None else best.value


def wrong(seed: int) -> str | None:
    """What is wrong about the bound of one random problem; None if nothing, or it is none of this kind."""
    found = problem(seed)
    if found is None:
        return None
    setting, chains = found
    true, costs = least_of(setting, chains), ChainCosts(setting)
    if true == inf:
        return None
    rng = random.Random(seed + 1)
    ceiling, floor = true * rng.choice((1.0, 1.0 + 1e-9, 1.3, 4.0)), true * rng.choice((1e-3, 0.3, 0.9, 1.0))
    answer = count_optimum(setting, costs, floor, ceiling, clock=NO_LIMIT)
    if answer is None:
        return None
    promising, least = answer
    if least > true * (1 + 1e-12) and least > floor:
        return f"seed {seed}: {setting.workload.expression} {setting.workload.extents}: {least} > {true}"
    if len(promising) and any((promising[:, i] > promising[:, i + 1]).any() for i in range(costs.depth - 1)):
        return f"seed {seed}: chains do not nest"
    return None


@pytest.mark.parametrize("block", some(3, range(6)))
def test_no_whole_tiles_cost_less_than_the_bound(block: int) -> None:
    said = [text for seed in range(1000 * block, 1000 * block + cases(25, 60)) if (text := wrong(seed))]
    assert not said


def test_the_bound_is_the_optimum_and_its_chain_attains_it() -> None:
    reached = 0
    for seed in range(500, 500 + cases(30, 140)):
        found = problem(seed)
        true = inf if found is None else least_of(*found)
        if found is None or true == inf:
            continue
        costs = ChainCosts(found[0])
        answer = count_optimum(found[0], costs, 1e-3 * true, 2 * true, clock=NO_LIMIT)
        if answer is None:
            continue
        promising, least = answer
        aligned = aligned_chains(costs.extents, promising)
        point = costs.best(np.concatenate([promising, aligned]))
        assert least == pytest.approx(true, rel=1e-9), f"seed {seed}"
        assert point is not None, f"seed {seed}"
        assert point.value == pytest.approx(true, rel=1e-9), f"seed {seed}"
        reached += 1
    assert reached >= cases(15, 90)


def test_the_bound_is_the_optimum_of_the_tiles_that_constraints_leave() -> None:
    reached = 0
    for seed in range(700, 760):
        found, rng = problem(seed), random.Random(seed)
        if found is None or found[0].fixed:
            continue
        free, depth = found[0], len(found[0].machine.levels)
        kinds = ("<=2", "<=3", ">=2", "%2=0", "%3=0")
        demands = [
            f"L{rng.randrange(depth)}.{rng.choice(free.workload.dims)}{rng.choice(kinds)}"
            for _ in range(rng.randint(1, 3))
        ]
        setting = replace(free, constraints=constraints_of(demands))
        chains = found[1][setting.allowed.hold(found[1])]
        true, costs = least_of(setting, chains), ChainCosts(setting)
        answer = None if true == inf else count_optimum(setting, costs, 0.3 * true, 2 * true, clock=NO_LIMIT)
        if answer is not None:
            assert answer[1] == pytest.approx(true, rel=1e-9), f"seed {seed}"
            reached += 1
    assert reached >= 15


def test_every_size_is_looked_at_where_tiles_do_not_nest_evenly() -> None:
    # 17 rows by tiles of 3 within tiles of 7: tiles within tiles, which no number of tiles alone tells.
    workload = parse_workload("C[i,j] += A[i,k]*B[k,j]", {"i": 17, "j": 13, "k": 5})
    levels = tuple(
        Level(name=f"L{n}", capacity=Capacity(amount=size, unit="words"), bandwidth=rate)
        for n, (size, rate) in enumerate([(13, 3), (41, 1)])
    )
    setting = Setting(workload=workload, machine=Machine(name="small", levels=levels), rule=CapacityRule.TILE)
    costs = ChainCosts(setting)
    true = least_of(setting, all_chains([17, 13, 5], 2))
    lists = [candidates(setting, level) for level in range(2)]
    tiles = [grid_of(values) for values in lists]
    fitting = [own[costs.fits(own, level).any(axis=1)] for level, own in enumerate(tiles)]
    sizes = SizesLeft(costs, PairCosts(setting, costs, clock=NO_LIMIT), lists, last=0)
    point = sizes.best(fitting, inf)
    assert point is not None
    assert point.value == true
    assert sizes.best(fitting, true) is None
    assert sizes.best(fitting, true * (1 + 1e-9)) is not None


def two_levels(extents: dict[str, int]) -> Setting:
    workload = parse_workload("C[i,j] += A[i,k]*B[k,j]", extents)
    levels = tuple(
        Level(name=f"L{n}", capacity=Capacity(amount=size, unit="words"), bandwidth=rate)
        for n, (size, rate) in enumerate([(40, 8), (2000, 3)])
    )
    return Setting(workload=workload, machine=Machine(name="two", levels=levels), rule=CapacityRule.TILE)


def test_what_was_not_looked_for_is_not_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    # Of more than 10^9 words, one less is nearer than chains are looked for: the bound has to say so.
    setting = two_levels({"i": 4000, "j": 4000, "k": 4000})
    ceilings = []

    def nothing(_: Setting, costs: ChainCosts, floor: float, ceiling: float, *, clock: Clock) -> object:
        assert floor < ceiling
        assert not clock.late
        ceilings.append(ceiling)
        return np.zeros((0, costs.depth, len(costs.dims)), dtype=np.int64), ceiling

    monkeypatch.setattr("optmap.search.whole.integers.count_optimum", nothing)
    found = integer_search(setting, relax(setting))
    assert found.stop is Stop.OPTIMAL
    assert ceilings
    assert ceilings[-1] <= found.bound <= ceilings[-1] + 1 / 3
    assert found.bound < found.point.value - 1


def test_bounds_are_raised_to_what_whole_words_cost() -> None:
    costs = ChainCosts(two_levels({"i": 4, "j": 4, "k": 4}))
    assert costs.reachable(10 - 1e-9) == 10.0
    assert costs.reachable(10.0) == 10.0
    assert costs.reachable(10 * (1 + 1e-14)) == 10.0
    assert costs.reachable(10.01) == 10.125  # 81 words at 8 a cycle; at 3 a cycle 31 take longer
    assert costs.reachable(inf) == inf


def test_equal_tiles_cost_what_chains_of_divisors_cost() -> None:
    workload = parse_workload("O[k,x,y] += I[c,x+r,y+s]*F[k,c,r,s]", {"k": 8, "c": 8, "x": 8, "y": 4, "r": 3, "s": 3})
    setting = Setting(workload=workload, machine=optmap.machine("balanced"), rule=CapacityRule.TILE)
    costs = ChainCosts(setting)
    outer = np.array([[8, 4, 3, 8, 4, 3], [4, 8, 3, 4, 4, 3]])
    order = [workload.dims.index(d) for d in "kxyc"] + [workload.dims.index(d) for d in "rs"]
    sizes = dict(zip(order, range(6), strict=True))
    own = np.array([[2, 2, 1, 4, 1, 3], [4, 4, 3, 2, 2, 1]])
    outer, own = (np.array([[row[sizes[d]] for d in range(6)] for row in rows]) for rows in (outer, own))
    outer, own = np.minimum(outer, costs.extents), np.minimum(own, costs.extents)
    priced = PairCosts(setting, costs, clock=NO_LIMIT)(own, outer, 1)
    for a, tile in enumerate(own):
        for b, around in enumerate(outer):
            if (around % tile == 0).all() and (costs.extents % around == 0).all():
                exact = costs.evaluate(np.stack([tile, tile, around])[None], levels=[1])[0][0, 1]
                assert priced[a, b] == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("rule", list(CapacityRule))
@pytest.mark.parametrize("stride", [1, 2])
def test_pairs_priced_together_are_priced_as_pairs(rule: CapacityRule, stride: int) -> None:
    sizes = {"k": 12, "c": 10, "x": 7, "y": 6, "r": 3, "s": 3}
    workload = parse_workload(f"O[k,x,y] += I[c,{stride}*x+r,y+s]*F[k,c,r,s]", sizes)
    setting = Setting(workload=workload, machine=optmap.machine("balanced"), rule=rule)
    costs, rng = ChainCosts(setting), np.random.default_rng(stride)
    pairs = PairCosts(setting, costs, clock=NO_LIMIT)
    own, outer = (np.stack([rng.integers(1, n + 1, size=200) for n in costs.extents], axis=1) for _ in range(2))
    assert pairs.alone(own, 0) == pytest.approx(pairs(own, costs.extents[None], 0)[:, 0], rel=1e-12)
    assert (pairs.alone(own, 0) < inf).any()
    fitting = own[costs.fits_somehow(own, 0)]
    assert pairs.alone(fitting, 0, fitting=True).tolist() == pairs.alone(fitting, 0).tolist()
    cost, last = pairs(own, outer, 0), 1
    reach = rng.uniform(0.5, 1.5, size=len(own)) * np.median(cost[np.isfinite(cost)])
    least = np.where(pairs.nests(own, outer, but=last), np.maximum(cost, reach[:, None]), inf).min(axis=0)
    for ceiling in np.quantile(cost[np.isfinite(cost)], (0.01, 0.1)) * (1 + 1e-9):
        served = pairs.served(own, np.zeros(len(own)), outer, 0, ceiling, but=last)
        below = ((cost < ceiling) & pairs.nests(own, outer, but=last)).any(axis=0)
        assert 0 < below.sum() < len(below)
        assert (served < inf).tolist() == below.tolist()
        reached = np.where(least < ceiling, least, inf)
        assert pairs.served(own, reach, outer, 0, ceiling, but=last) == pytest.approx(reached, rel=1e-12)


def test_aligned_chains_make_as_many_tiles() -> None:
    extents = np.array([56, 17])
    chains = np.array([[[7, 3], [19, 6], [56, 9]]])
    grown = aligned_chains(extents, chains)
    assert grown[0].tolist() == [[7, 3], [21, 6], [56, 11]]
    assert (-(-extents // grown) == -(-extents // chains)).all()


@pytest.mark.parametrize(("layer", "cost"), [("yolo9000/Y9", 265_362.2857), ("resnet18/R4", 71_680.0)])
def test_a_machine_whose_levels_compete_is_proved_optimal(layer: str, cost: float) -> None:
    result = optmap.solve(layer, machine="balanced")
    assert result.stop is Stop.OPTIMAL
    assert result.integer_bound == pytest.approx(result.cost) == pytest.approx(cost)
    assert result.relaxation.value < 0.93 * result.cost


def test_a_deadline_leaves_no_half_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    found = next(each for seed in range(100) if (each := problem(seed)) and len(each[1]) > 1000)
    assert count_optimum(found[0], ChainCosts(found[0]), 1.0, inf, clock=Clock(-inf)) is None


class Ticking(Clock):
    """A clock whose time is over after some looks at it."""

    def __init__(self, looks: int) -> None:
        super().__init__()
        object.__setattr__(self, "looks", iter(range(looks)))

    @property
    def late(self) -> bool:
        return next(self.looks, None) is None  # type: ignore[attr-defined]


def test_a_search_cut_short_anywhere_proves_no_more_than_is_true() -> None:
    parts = 0
    for seed in range(500, 512):
        found = problem(seed)
        true = inf if found is None else least_of(*found)
        if found is None or true == inf:
            continue
        costs, floor = ChainCosts(found[0]), 0.5 * true
        for looks in range(0, 160, 10):
            answer = count_optimum(found[0], costs, floor, 2 * true, clock=Ticking(looks))
            if answer is not None:
                assert floor < answer[1] <= true * (1 + 1e-12), f"seed {seed}, {looks} looks"
                parts += answer[1] < true * (1 - 1e-9)
    assert parts >= 5


def test_pairs_that_cost_too_much_in_a_table_are_in_no_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [each for seed in range(500, 540) if (each := problem(seed)) and len(each[1]) > 100]
    answers = []
    for few in (counts.FEW_PAIRS, 0):
        monkeypatch.setattr(counts, "FEW_PAIRS", few)
        for setting, chains in found:
            true, costs = least_of(setting, chains), ChainCosts(setting)
            answers.append(count_optimum(setting, costs, 0.1 * true, 2 * true, clock=NO_LIMIT))
    bounds = [None if answer is None else answer[1] for answer in answers]
    assert bounds[: len(found)] == bounds[len(found) :]
    assert sum(bound is not None for bound in bounds) >= 10
