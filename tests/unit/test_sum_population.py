"""Sums over levels: variations of chains beside every chain of small problems, and sums that annealing reached."""

from __future__ import annotations

import numpy as np
import pytest

import optmap
from optmap.base.clock import NO_LIMIT, Clock
from optmap.machines.machine import CapacityRule, Level, Machine
from optmap.search import Setting, all_chains
from optmap.search.iooub.sum_over_levels import SumDescent
from optmap.search.iooub.sum_population import Chain
from optmap.workloads.amounts import Capacity
from optmap.workloads.parser import parse_workload

SMALL = [
    ("C[i,j] += A[i,k]*B[k,j]", {"i": 6, "j": 4, "k": 5}),
    ("Out[k,w] += In[c,w+r]*Ker[k,c,r]", {"k": 3, "w": 6, "c": 2, "r": 3}),
    ("F[i] += P[i]*Q[j]", {"i": 12, "j": 10}),
]
MACHINE = Machine(
    name="two",
    levels=(
        Level(name="L1", capacity=Capacity(amount=12, unit="words"), bandwidth=4),
        Level(name="L2", capacity=Capacity(amount=30, unit="words"), bandwidth=1),
    ),
)


def _setting(text: str, extents: dict[str, int]) -> Setting:
    return Setting(workload=parse_workload(text, extents), machine=MACHINE, rule=CapacityRule.TILE)


def _varied(setting: Setting, *, divisors: bool, clock: Clock = NO_LIMIT) -> tuple[SumDescent, Chain]:
    """From single points, and nothing else."""
    descent = SumDescent(setting, divisors=divisors, clock=clock)
    ones = np.ones((descent.costs.depth, len(descent.costs.dims)), np.int64)
    start = float(descent.costs.evaluate(ones[None])[0].sum())
    return descent, descent.varied([(start, ones)], least=0.0)


@pytest.mark.parametrize("divisors", [False, True])
@pytest.mark.parametrize(("text", "extents"), SMALL)
def test_variations_reach_the_best_of_every_chain(text: str, extents: dict[str, int], divisors: bool) -> None:
    descent, (value, chain) = _varied(_setting(text, extents), divisors=divisors)
    costs = descent.costs
    every = all_chains(costs.extents.tolist(), costs.depth, divisors=divisors)
    assert value == costs.evaluate(every)[0].sum(axis=1).min()
    assert value == costs.evaluate(chain[None])[0].sum()
    assert descent.blocks.nests(chain[None], None)[0]


def test_the_same_question_has_the_same_chain_and_no_time_leaves_the_start() -> None:
    setting = _setting(*SMALL[0])
    first, again = (_varied(setting, divisors=False)[1] for _ in range(2))
    assert first[0] == again[0]
    assert (first[1] == again[1]).all()
    late = _varied(setting, divisors=False, clock=Clock(0.0))[1]
    assert (late[1] == 1).all()


@pytest.mark.longer
@pytest.mark.parametrize(
    ("machine", "innermost", "annealed"), [("balanced", None, 2_437_747), ("i7-9700k", "L1", 972_532.7)]
)
def test_sums_are_below_what_annealing_reached_in_over_a_minute(
    machine: str, innermost: str | None, annealed: float
) -> None:
    answer = optmap.solve("yolo9000/Y4", machine=machine, objective="sum", method="mopt", innermost=innermost)
    assert answer.relaxation.value <= answer.cost < annealed
