"""Method `quickflow`: classes of loop orders, the choice in one shot, adjacency, and where the search ends."""

from __future__ import annotations

from itertools import permutations
from math import factorial
from typing import Any

import numpy as np
import pytest
from spatial_brute_force import best_of_all, tiny_fabric

import optmap
from optmap.problem.fabric import Operand, fabric_of
from optmap.problem.options import Counting, Merit
from optmap.search import AcceleratorResult, Question, Trace, drive
from optmap.search.quickflow import STRATEGY, QuickFlowSettings, reuse_classes, reuse_of

GEMM = "C[i,j] += A[i,k]*B[k,j]"


def explored(fabric: Any, merit: Merit = Merit.EDP, counting: Counting = Counting.EXACT, **settings: Any) -> Trace:
    trace = Trace()
    question = Question(
        fabric=fabric,
        merit=merit,
        counting=counting,
        settings=QuickFlowSettings(**settings),
        rng=np.random.default_rng(0),
    )
    list(drive(STRATEGY, question, trace))
    return trace


def operands_of(text: str, **extents: int) -> tuple[Operand, ...]:
    workload = optmap.workload(text, extents=extents, semantics="assign")
    return fabric_of(workload, optmap.machine("eyeriss_like")).operands


def test_a_convolution_of_six_dims_has_21_classes_of_720_orders() -> None:
    operands = operands_of("O[k,p,q] += I[c,p+r,q+s]*W[k,c,r,s]", k=2, c=2, p=2, q=2, r=2, s=2)
    orders = list(permutations(range(6)))
    kinds = {tuple(reuse_of(order, operand) for operand in operands) for order in orders}
    found = reuse_classes(operands, tuple(range(6)))
    assert len(orders) == factorial(6)
    assert len(kinds) == 21
    assert {tuple(reuse_of(order, operand) for operand in operands) for order in found} == kinds
    assert len(found) == 21


@pytest.mark.parametrize("seed", range(60))
def test_never_below_the_best_of_all_mappings(seed: int) -> None:
    fabric = tiny_fabric(seed, most=1500)
    merit, counting = list(Merit)[seed // 2 % 4], list(Counting)[seed % 2]
    best, trace = best_of_all(fabric, counting), explored(fabric, merit, counting)
    assert (trace.best is not None) == bool(best)
    if best:
        assert trace.value >= float(best[merit].value) * (1 - 1e-12)
        assert trace.valid == trace.evaluations <= 1500


@pytest.mark.parametrize(
    ("machine", "optimum"), [("gemmini", 66.144e12), ("eyeriss", 470.145e12), ("tpuv1", 36.4005e12)]
)
def test_reaches_the_optimum_of_a_layer(machine: str, optimum: float) -> None:
    first, again = (
        optmap.solve("quickflow/IV", machine=machine, method="quickflow", tiles="divisors") for _ in range(2)
    )
    assert isinstance(first, AcceleratorResult)
    assert first.cost <= optimum
    assert first.nest == again.nest
    assert first.search.trace is not None
    assert {cut.rule for cut in first.search.trace.cuts} >= {"equi-reuse", "equi-dataflow", "one shot", "capacity"}
