"""MOpt, section 5: the least of the largest level, level by level, each where it is the largest (Figure 3)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from optmap.api import solve
from optmap.count.levels.cost import evaluate_cost
from optmap.files import library
from optmap.machines.machine import Machine
from optmap.mappings.levels import LevelMapping, Mapping
from optmap.papers.counting import PRODUCT
from optmap.papers.items import Collected, Rows
from optmap.papers.rows import claimed, held
from optmap.symbolic.numbers import divisors_of
from optmap.workloads.amounts import Capacity
from optmap.workloads.parser import parse_workload

REGIONS = Collected()
SIDE = 8
WORDS = (20, 80)
"""Of the two levels."""


def two_levels() -> Machine:
    """The first two levels of the library's machine `balanced`, smaller."""
    machine = library.machine("balanced")
    levels = [
        replace(level, capacity=Capacity(amount=words, unit="words"))
        for level, words in zip(machine.levels, WORDS, strict=False)
    ]
    return replace(machine, levels=tuple(levels))


@REGIONS.item("Figure 3", "The minimum of a maximum, region by region", where="section 5")
def figure_3() -> Rows:
    """Every mapping of a small product on two levels, tiles that divide: each level's least where it is the largest."""
    machine, workload = two_levels(), parse_workload(PRODUCT, dict.fromkeys("ijk", SIDE))
    names = [level.name for level in machine.levels]
    least: dict[str, float] = {}
    whole, seen = float("inf"), 0
    for mapping in _mappings(names):
        report = evaluate_cost(workload, machine, mapping)
        if not report.fits:
            continue
        seen += 1
        cost = {level.level: float(level.cycles) for level in report.levels}
        whole = min(whole, max(cost.values()))
        for name in names:
            if cost[name] == max(cost.values()):
                least[name] = min(least.get(name, float("inf")), cost[name])
    yield held(f"least of the levels' minima over {seen:,} mappings, each in its region", whole, min(least.values()))
    answer = solve(workload, machine=machine, method="mopt", tiles="divisors")
    yield held("bottleneck that one program over all levels at once finds", whole, float(answer.cost))
    yield claimed("that program's answer is proved", "the optimum", str(answer.stop), holds=answer.proved)
    convolution = library.workload("resnet18/R9")
    yield held(
        "tile parameters for L levels, L = 4",
        7 * 4,
        len(convolution.extents) * len(library.machine("i7-9700k").levels),
    )


def _mappings(names: list[str]) -> Iterator[Mapping]:
    """All chains of divisor tiles, each dim innermost at each level: nothing else of an order counts for a product."""
    pairs = [(inner, outer) for outer in divisors_of(SIDE) for inner in divisors_of(outer)]
    orders = [tuple("jki"), tuple("kij"), tuple("ijk")]
    for chosen in product(pairs, repeat=3):
        tiles = [dict(zip("ijk", (pair[place] for pair in chosen), strict=True)) for place in range(2)]
        for order in product(orders, repeat=2):
            yield Mapping(
                levels=tuple(
                    LevelMapping(level=name, tile=tile, permutation=own, spatial={})
                    for name, tile, own in zip(names, tiles, order, strict=True)
                )
            )
