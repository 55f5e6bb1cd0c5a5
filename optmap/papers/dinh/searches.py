"""Dinh, chapter 6: CoSA beside searches at random, Bayesian search, transfer to another machine, sensitivity."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from itertools import islice, permutations, product
from math import factorial, inf, prod
from pathlib import Path
from statistics import fmean, geometric_mean
from typing import Any

import numpy as np

from optmap.api import solve
from optmap.files import library
from optmap.machines.accelerator import Mesh
from optmap.machines.machine import Machine
from optmap.mappings.nest_batch import NestBatch
from optmap.papers.counting import PRODUCT
from optmap.papers.dinh.convolutions import LAYERS
from optmap.papers.items import Collected, Rows
from optmap.papers.rows import Reason, claimed, held, unreachable
from optmap.search import random_nests
from optmap.search.explore.protocol import Brief, NoSettings, Proposals
from optmap.verbs.exploring import explore, sensitivity
from optmap.workloads.amounts import Capacity

SEARCHES = Collected()
SIZES = {"i": 64, "j": 512, "k": 128}
SEEDS = (1, 2, 3)
"""As many runs as the dissertation averages."""
JUDGED = 20_000
"""Mappings that a search for cycles judges."""
ORDERS = 32
"""Loop orders of one factorization that the hybrid search looks at."""
PRICED = "the sizes and prices of its machine are not in the text"
Curve = tuple[tuple[int, float], ...]
"""Mappings judged, and the energy per operation of the best so far, in pJ."""


@SEARCHES.item("Figure 6.0.1", "EDP in Firesim beside Timeloop", where="chapter 6")
def firesim() -> Rows:
    """Cycles of 2,000 mappings on a simulated circuit; of the model they are had from `evaluate`."""
    yield unreachable(
        "cycles by Timeloop over cycles by Firesim",
        "up to two orders of magnitude apart",
        why="a simulation of Gemmini's circuits on FPGAs, whose records are not published",
    )


def hybrid(brief: Brief[NoSettings]) -> Proposals:
    """Factorizations at random, and around each its loop orders one after the other: only loops that turn differ."""
    while True:
        drawn = random_nests(brief.fabric, 64, brief.rng)
        parts = [_orders(drawn[row : row + 1]) for row in range(len(drawn))]
        yield NestBatch(
            **{key: np.concatenate([part[key] for part in parts]) for key in ("x", "y", "temporal", "order", "keeps")}
        )


def _orders(one: NestBatch) -> dict[str, Any]:
    """A nest under some of its loop orders."""
    every = []
    for trips, order in zip(one.temporal[0], one.order[0], strict=True):
        turning = [int(dim) for dim in order if trips[dim] > 1]
        still = [int(dim) for dim in order if trips[dim] <= 1]
        every.append([(*outside, *still) for outside in islice(permutations(turning), ORDERS)])
    chosen = list(islice(product(*every), ORDERS))
    rows = {key: np.repeat(getattr(one, key), len(chosen), axis=0) for key in ("x", "y", "temporal", "keeps")}
    return {**rows, "order": np.array(chosen, np.int64)}


@SEARCHES.item("Figure 6.1.2", "CoSA beside random and hybrid search", where="section 6.1.3")
def cosa() -> Rows:
    """Cycles of layers of ResNet-50 on Gemmini, where CoSA's fixed shares leave mappings that fit."""
    over: dict[str, list[float]] = {"random": [], "hybrid": []}
    waits, own_seconds, misfits = list[float](), list[float](), 0
    for name in LAYERS:
        workload = f"resnet50/{name}"
        own = solve(workload, machine="gemmini", method="cosa", objective="cycles", time_limit=120)
        misfits += not own.fits
        own_seconds.append(own.seconds)
        for kind, ratios in over.items():
            strategy = {"strategy": hybrid} if kind == "hybrid" else {"method": "random", "settings": {"victory": 0}}
            search = explore(workload, machine="gemmini", objective="cycles", evaluations=JUDGED, seed=1, **strategy)
            search.run()
            ratios.append(float(own.cost) / (search.best.value if search.best is not None else inf))
            if kind == "hybrid":
                waits.append(search.trace.seconds)
    yield claimed("CoSA's mappings that do not fit", 0, misfits, holds=not misfits)
    for kind, ratios in over.items():
        mean = geometric_mean(ratios)
        yield claimed(
            f"cycles of CoSA's mappings over those of the {kind} search, geometric mean of {len(LAYERS)} layers",
            "below 1",
            round(mean, 4),
            holds=mean < 1,
            because=Reason(
                text=f"of {JUDGED:,} mappings that are valid by construction the best is as good on these layers",
                tested=mean < 1.05,
            ),
        )
    yield unreachable(
        "seconds of the hybrid search over those of CoSA",
        90,
        ours=round(geometric_mean(waits) / geometric_mean(own_seconds), 3),
        why="Timeloop's mapper and its model took the time; here mappings are judged by thousands",
        measured=True,
    )


def four_levels(scale: float = 1.0) -> Machine:
    """Gemmini with its prices as section 6.2.2 has it: a register for all tensors, loops and orders free, no mesh.

    Args:
        scale: of the accumulator and the scratchpad.
    """
    gemmini = library.machine("gemmini")
    levels = []
    for level in gemmini.levels:
        store = level.store
        if store is None:
            continue
        innermost = level is gemmini.levels[0]
        words = 64 if innermost else int(level.capacity.amount * scale)
        free = replace(store, factors=(), order=(), mesh=Mesh(), keeps=() if innermost else store.keeps)
        levels.append(replace(level, capacity=Capacity(amount=words, unit="words"), store=free))
    return replace(gemmini, name=f"gemmini, four levels, {scale:g}", levels=tuple(levels))


def curve(machine: Machine, method: str, evaluations: int, seed: int, settings: Mapping[str, Any]) -> Curve:
    """How the best energy falls in a search of the product."""
    search = explore(
        PRODUCT,
        extents=SIZES,
        machine=machine,
        method=method,
        objective="energy",
        evaluations=evaluations,
        seed=seed,
        settings=dict(settings),
    )
    search.run()
    operations = prod(SIZES.values())
    return tuple((each.evaluations, each.value / operations) for each in search.trace.curve)


def best_at(found: Curve, judged: int) -> float:
    """The best energy after so many mappings."""
    return min((value for number, value in found if number <= judged), default=inf)


def reached(found: Curve, energy: float) -> int | None:
    """Mappings after which an energy is reached."""
    return next((number for number, value in found if value <= energy), None)


@cache
def _chance() -> tuple[Curve, ...]:
    return tuple(curve(four_levels(), "random", 4000, seed, {"victory": 0}) for seed in SEEDS)


@SEARCHES.item("Figure 6.2.1", "Energy of the best mapping found, per iteration", where="section 6.2.3")
def convergence() -> Rows:
    """Sizes of the spaces of orders; a product on Gemmini with four levels, three seeds averaged."""
    yield held("orders of a product on four levels, (3!)^4", 1296, factorial(3) ** 4)
    yield held("orders of a convolution on four levels, (7!)^4", 6e14, factorial(7) ** 4, within=0.1)
    chosen = [curve(four_levels(), "bayesian", 100, seed, {"tiles": "filled"}) for seed in SEEDS]
    own, chance = (fmean(best_at(found, 4000) for found in each) for each in (chosen, _chance()))
    twenty = fmean(best_at(found, 20) for found in chosen)
    for what, printed, ours in (
        ("GPTune, 20 runs", 2.98, twenty),
        ("Timeloop, 4,000 runs", 3.56, chance),
    ):
        yield unreachable(
            f"matrix product, {what}: pJ per operation", printed, ours=round(ours, 3), why=PRICED, measured=True
        )
    for count, energy in ((20, twenty), (100, own)):
        title = f"energy of {count} mappings chosen by a Gaussian process over that of 4,000 at random"
        yield claimed(title, "better", round(energy / chance, 4), holds=energy < chance, measured=True)
        yield unreachable(
            f"{title}, percent below it", 16, ours=round(100 * (1 - energy / chance), 1), why=PRICED, measured=True
        )
    still = fmean(found[-1][0] for found in _chance())
    yield unreachable(
        "matrix product: random mappings after which nothing better is found",
        420,
        ours=round(still),
        why=PRICED,
        measured=True,
    )
    for what, orders in (("matrix product", "lower"), ("convolution", "higher")):
        yield unreachable(
            f"{what}: energy with orders as categories beside that with orders by scores",
            orders,
            why="how the surrogate compares categories is GPTune's, and not in the text",
        )
    for what, printed in (
        ("GPTune after 50 mappings, pJ per operation", 5.26),
        ("4,000 random mappings, pJ per operation", 4.32),
        ("random mappings until GPTune's energy is beaten", 627),
        ("energy of 4,000 random mappings below that of GPTune's, percent", 17),
    ):
        yield unreachable(f"convolution, {what}", printed, why="its sizes are not printed")


@SEARCHES.item("Figure 6.2.2", "Transfer to another machine", where="section 6.2.4")
def transfer() -> Rows:
    """From four sizes of accumulator and scratchpad to a fifth, three seeds averaged."""
    target, after, without = four_levels(), list[Curve](), list[Curve]()
    for seed in SEEDS:
        with tempfile.TemporaryDirectory(prefix="optmap-") as folder:
            files = [str(Path(folder) / f"{place}.json") for place in range(4)]
            for scale, path in zip((1 / 16, 1 / 4, 4, 16), files, strict=True):
                curve(four_levels(scale), "bayesian", 40, seed, {"save": path})
            after.append(curve(target, "bayesian", 20, seed, {"transfer": ",".join(files), "batch": 5}))
        without.append(curve(target, "bayesian", 100, seed, {"batch": 5}))
    ten, alone = fmean(best_at(found, 10) for found in after), fmean(best_at(found, 20) for found in without)
    yield unreachable(
        "pJ per operation after 10 mappings, with transfer", 3.81, ours=round(ten, 3), why=PRICED, measured=True
    )
    yield claimed(
        "energy after 10 mappings with transfer over that after 20 without",
        "on par",
        round(ten / alone, 4),
        holds=ten <= 1.01 * alone,
        because=Reason(text="half as many mappings end within a fifth of it", tested=ten < 1.2 * alone),
        measured=True,
    )
    tries = [reached(found, ten) or 4000 for found in _chance()]
    yield unreachable(
        "random mappings until one is as good, 4,000 if none is",
        1600,
        ours=round(fmean(tries)),
        why=PRICED,
        measured=True,
    )
    yield claimed(
        "the same over the 10 with transfer",
        "160 times",
        round(fmean(tries) / 10, 1),
        holds=fmean(tries) > 100,
        measured=True,
    )


@SEARCHES.item("Sensitivity", "Sobol indices of the surrogate", where="section 6.2.5")
def sobol() -> Rows:
    """Of a Gaussian process through 100 mappings of the product, three seeds averaged; free tiles, and orders."""
    totals, tiles, orders = dict[str, float](), 0.0, 0.0
    for seed in SEEDS:
        with tempfile.TemporaryDirectory(prefix="optmap-") as folder:
            path = Path(folder) / "seen.json"
            curve(four_levels(), "bayesian", 100, seed, {"save": str(path), "tiles": "free"})
            found = sensitivity(
                PRODUCT, extents=SIZES, machine=four_levels(), objective="energy", observations=path, tiles="free"
            )
        tiles, orders = tiles + found.kind("size"), orders + found.kind("order")
        for each in found.influences:
            totals[each.axis] = totals.get(each.axis, 0.0) + each.total / len(SEEDS)
    first = sorted(totals, key=lambda axis: -totals[axis])[:3]
    printed = {"Register size k", "Accumulator size k", "Register size j"}
    yield claimed(
        "most important axis of all, by total index",
        "a tile's, with k at the accumulator",
        first[0],
        holds=first[0] == "Accumulator size k",
        measured=True,
    )
    yield unreachable(
        "three most important axes", ", ".join(sorted(printed)), ours=", ".join(first), why=PRICED, measured=True
    )
    ratio = round(tiles / max(orders, 1e-6), 1)
    title = "first-order indices of tiles over those of loop orders, sums"
    yield claimed(title, "tiles matter most", ratio, holds=tiles > 2 * orders, measured=True)
    yield unreachable(title, "several orders of magnitude", ours=ratio, why=PRICED, measured=True)
