"""QuickFlow, sections IV and V-B: its choice of permutations, and where its search ends beside the proved optimum."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations, product
from math import factorial, prod
from statistics import fmean
from typing import Any

import numpy as np

from optmap.api import solve
from optmap.count.meshes.batch import evaluate_batch
from optmap.count.meshes.count import NEST_EXACT
from optmap.machines.fabric import Fabric
from optmap.mappings.nest_batch import NestBatch
from optmap.papers.items import Amounts, Collected, Rows
from optmap.papers.quickflow.setup import KERNELS, MACHINES, map_space_of
from optmap.papers.rows import ClaimRow, PointAmount, Reason, claimed, held, refuted, unreachable
from optmap.questions.options import Merit
from optmap.search import random_nests
from optmap.search.explore.protocol import PruneTally
from optmap.search.quickflow import OneShot, Places, Weight

SEARCH = Collected()
MOST_ORDERS = 3000
"""Of a mapping; those with more are left out."""
FEW_THOUSAND = 10_000
LEFT_BY_THE_PAPER = 1.007
"""EDP over the best that a search of eight moves found, section V-B."""
OVER, PROVED = "EDP over the optimum", "proved"
SPACES = tuple(f"{kernel} {machine}" for machine in MACHINES for kernel in KERNELS)
QUICK_SPACES = ("XI eyeriss", "XII eyeriss", "IX eyeriss", "XII simba", "XII tpuv1", "X tpuv1", "VIII tpuv1")
STRIDED = ("III eyeriss", "III simba", "X eyeriss", "X simba", "XV eyeriss", "XV simba")
SPEEDS = {
    "I-X": (3255, 2.65, 3.05),
    "XI-XII": (7941, 2.81, 2.73),
    "XIII-XV": (5280, 5.70, 6.48),
    "XVI-XVII": (1359, 2.85, 2.54),
    "XVIII-XX": (1314, 4.21, 4.46),
}
"""Table III by type of kernel: evaluations per second, over Timeloop's and over ZigZag's."""
MODEL = "on a Ryzen 3900XT with eight threads; ours judges batches of mappings, here on one core"


@SEARCH.item(
    "Equation for affine tile sizes",
    "Tiles of strided kernels fit where they are counted with strides",
    where="sections IV-A and V-A",
    points=STRIDED,
    quick=STRIDED[:2],
)
def strided_tiles(point: str) -> Rows:
    """The public code's capacity check takes strides as 1; the mapping that its model ends at is counted with them."""
    kernel, machine = point.split()
    answer = solve(
        f"quickflow/{kernel}", machine=machine, method="quickflow", counting="factorflow", time_limit=60, seed=0
    )
    broken = answer.broken
    yield refuted(
        f"{kernel} on {machine}: the mapping of the published model fits its memories",
        "fits",
        "does not fit" if broken else "fits",
        counterexample=str(broken[0]) if broken else "every tile fits",
        false=bool(broken),
    )


@SEARCH.item("One-shot permutations", "The one-shot choice is always the best by EDP", where="section V-B")
def one_shot() -> Rows:
    """Against all orders of random valid mappings, spared accesses counted alike, as in the paper."""
    for kernel, machine in (("V", "simba"), ("IV", "eyeriss"), ("XIII", "eyeriss")):
        fabric = map_space_of(kernel, machine)
        found = list(_over_the_best(fabric, 60))
        worse = [ratio for ratio in found if ratio > 1 + 1e-9]
        yield refuted(
            f"{kernel} on {machine}: of {len(found)} random mappings, those with better orders",
            0,
            len(worse),
            counterexample=f"a mapping whose orders were all counted: EDP {max(worse, default=1):.4g} times the least",
            false=bool(worse),
        )


def _over_the_best(fabric: Fabric, mappings: int) -> Iterator[float]:
    """Per random valid mapping, its EDP with the chosen orders over that with the best ones."""
    drawn = random_nests(fabric, mappings, np.random.default_rng(1))
    places = Places(fabric, NEST_EXACT)
    shot = OneShot(fabric, NEST_EXACT, places.orderable, PruneTally(), Weight.ACCESSES)
    chosen = shot.choose(np.stack([drawn.x, drawn.y, drawn.temporal], axis=2), drawn.keeps)
    mine = evaluate_batch(replace(drawn, order=chosen), fabric)
    for row in np.flatnonzero(mine.valid):
        loops = [np.flatnonzero(trips > 1).tolist() for trips in drawn.temporal[row]]
        if prod(factorial(len(own)) for own in loops[1:]) > MOST_ORDERS:
            continue
        every = _every_order(drawn[np.array([row])], chosen[row], loops)
        cost = evaluate_batch(every, fabric)
        yield float(mine.merit(Merit.EDP)[row] / cost.merit(Merit.EDP)[cost.valid].min())


def _every_order(one: NestBatch, chosen: np.ndarray, loops: list[list[int]]) -> NestBatch:
    """A mapping with all orders of its loops; the innermost memory's are of no account."""
    dims = range(chosen.shape[1])
    ways = [[tuple(chosen[0])]] + [
        [(*order, *(dim for dim in dims if dim not in own)) for order in permutations(own)] for own in loops[1:]
    ]
    return replace(one[np.zeros(prod(map(len, ways)), np.int64)], order=np.array(list(product(*ways))))


@SEARCH.item("Table III", "Model speed and accuracy", where="section V-A")
def table_3() -> Rows:
    """The speed of our model on a kernel of each type; the authors' machine and tools are not here."""
    for kernel, (kind, (speed, *over)) in zip(("IV", "XII", "XIII", "XVI", "XVIII"), SPEEDS.items(), strict=True):
        yield unreachable(
            f"{kind}: evaluations per second", speed, ours=round(_speed(kernel)), why=MODEL, measured=True
        )
        for tool, ratio in zip(("Timeloop", "ZigZag"), over, strict=True):
            yield unreachable(
                f"{kind}: speed over that of {tool}", ratio, why=f"the model of {tool} would have to run here"
            )
        yield unreachable(
            f"{kind}: accuracy beside Timeloop",
            1.0,
            why="Timeloop's counts of the authors' mappings are not in the text, nor are the mappings",
        )
    every = tuple(SPEEDS)
    for text, kinds, places, average in (
        ("Timeloop, average of the five types", every, (1,), 3.6),
        ("ZigZag, average of the five types", every, (2,), 3.8),
        ("both, average of the five types", every, (1, 2), 3.7),
        ("both, simple, pointwise and transposed", ("I-X", "XI-XII", "XVI-XVII"), (1, 2), 2.8),
        ("both, strided and dilated or batched", ("XIII-XV", "XVIII-XX"), (1, 2), 5.2),
    ):
        mean = fmean(SPEEDS[kind][place] for kind in kinds for place in places)
        yield held(f"speed over that of {text} as printed", average, round(mean, 3), within=0.02)
    yield unreachable(
        "accuracy that is that of Timeloop, percent",
        95,
        why="cited from Timeloop's paper, against chips and simulators",
    )


def _speed(kernel: str) -> float:
    """Mappings of a kernel that are judged in a second, over the three machines."""
    judged, seconds = 0, 0.0
    for machine in MACHINES:
        fabric = map_space_of(kernel, machine)
        drawn = random_nests(fabric, 500, np.random.default_rng(1))
        begun = time.perf_counter()
        evaluate_batch(drawn, fabric)
        judged, seconds = judged + len(drawn), seconds + time.perf_counter() - begun
    return judged / seconds


def _over_spaces(amounts: Amounts) -> Iterator[ClaimRow]:
    """In how many spaces the search ends at the optimum."""
    proved = [own[OVER] for own in amounts.values() if own[PROVED]]
    yield claimed(
        f"spaces of {len(amounts)} whose optimum is proved here",
        "no definitive claim on global optimality",
        len(proved),
        holds=len(proved) == len(amounts),
    )
    optimal = sum(over <= 1 + 1e-9 for over in proved)
    yield claimed(
        f"spaces of {len(proved)} in which the search ends at the optimum",
        "the majority",
        optimal,
        holds=2 * optimal > len(proved),
    )
    within = sum(over <= LEFT_BY_THE_PAPER for over in proved)
    yield claimed("those within 0.7 % of it", "near-optimal", within, holds=within >= optimal)
    yield claimed("largest EDP over the optimum", "near-optimal", round(max(proved), 4), holds=max(proved) < 1.1)


@SEARCH.item(
    "Figure 6",
    "EDP, time and visited mappings beside other mappers",
    where="section V-B",
    points=SPACES,
    quick=QUICK_SPACES,
    total="all spaces",
    totals=_over_spaces,
)
def figure_6(point: str) -> Rows:
    """The search beside the proved optimum of its space, and beside a random one with Timeloop's default limits."""
    kernel, machine = point.split()
    asked: Any = {"machine": machine, "tiles": "divisors"}
    mine = solve(f"quickflow/{kernel}", method="quickflow", time_limit=600, **asked)
    best = solve(f"quickflow/{kernel}", method="exact", time_limit=600, **asked)
    chance = solve(f"quickflow/{kernel}", method="random", time_limit=60, **asked)
    over = round(float(mine.cost / best.cost), 6)
    yield PointAmount(name=OVER, value=over)
    yield PointAmount(name=PROVED, value=int(best.proved))
    yield claimed(
        f"{point}: EDP over " + ("the optimum" if best.proved else "the best that is known, not proved in time"),
        "at most 1.007, the best that eight moves found",
        over,
        holds=over <= LEFT_BY_THE_PAPER,
        because=Reason(
            text="the optimum of the whole space is proved, in which the paper looked at eight moves at most",
            tested=best.proved,
        ),
    )
    beside = float(chance.cost / mine.cost)
    yield claimed(
        f"{point}: EDP of a random search over QuickFlow's", "1.0 to 18,000", round(beside, 3), holds=beside >= 1
    )
    visited = mine.found.evaluations or 0
    yield claimed(
        f"{point}: mappings visited",
        "a few thousand",
        visited,
        holds=visited < FEW_THOUSAND,
        because=None if visited < FEW_THOUSAND else _without_beam(kernel, machine, float(mine.cost)),
    )
    yield unreachable(
        f"{point}: seconds",
        "3.8 on average",
        ours=round(mine.seconds, 1),
        why="measured on a Ryzen 3900XT",
        measured=True,
    )


def _without_beam(kernel: str, machine: str, cost: float) -> Reason:
    """Whether it is the beam that visits more than a few thousand."""
    answer = solve(
        f"quickflow/{kernel}",
        machine=machine,
        tiles="divisors",
        method="quickflow",
        time_limit=600,
        settings={"beam": 0},
    )
    visited = answer.found.evaluations or 0
    return Reason(
        text=f"the beam visits them: without it {visited:,} end at {float(answer.cost) / cost:.4g} times the EDP",
        tested=visited < FEW_THOUSAND,
    )
