"""How often QuickFlow's choice of loop orders in one shot is not the best of all orders, on random valid mappings.

usage: quickflow_orders.py [--layers III,IV] [--machines eyeriss] [--mappings N] [--most ORDERS] [--weight accesses]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations, product
from math import factorial, prod

import numpy as np

import optmap
from optmap.count.meshes.batch import evaluate_batch
from optmap.count.meshes.count import NEST_EXACT
from optmap.machines.fabric import Fabric, fabric_of
from optmap.mappings.nest_batch import NestBatch
from optmap.questions.options import Merit
from optmap.search import random_nests
from optmap.search.explore.protocol import PruneTally
from optmap.search.quickflow import OneShot, Places, Weight


def ratios(fabric: Fabric, weight: Weight, merit: Merit, mappings: int, most: int) -> Iterator[float]:
    """Per random valid mapping, the merit with the chosen orders over that with the best ones."""
    drawn = random_nests(fabric, mappings, np.random.default_rng(1))
    places = Places(fabric, NEST_EXACT)
    shot = OneShot(fabric, NEST_EXACT, places.orderable, PruneTally(), weight)
    chosen = shot.choose(np.stack([drawn.x, drawn.y, drawn.temporal], axis=2), drawn.keeps)
    mine = evaluate_batch(replace(drawn, order=chosen), fabric)
    for row in np.flatnonzero(mine.valid):
        loops = [np.flatnonzero(trips > 1).tolist() for trips in drawn.temporal[row]]
        if prod(factorial(len(own)) for own in loops[1:]) > most:
            continue
        every = every_order(drawn[np.array([row])], chosen[row], loops)
        cost = evaluate_batch(every, fabric)
        yield float(mine.merit(merit)[row] / cost.merit(merit)[cost.valid].min())


def every_order(one: NestBatch, chosen: np.ndarray, loops: list[list[int]]) -> NestBatch:
    """A mapping with all orders of its loops; the innermost memory's are of no account."""
    dims = range(chosen.shape[1])
    ways = [[tuple(chosen[0])]] + [
        [(*order, *(dim for dim in dims if dim not in own)) for order in permutations(own)] for own in loops[1:]
    ]
    orders = np.array(list(product(*ways)))
    return replace(one[np.zeros(len(orders), np.int64)], order=orders)


def main() -> int:
    """Prints a row per layer and machine, and all together."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layers", default="III,IV,V,XIII", help="of the paper's Table I")
    parser.add_argument("--machines", default="gemmini,eyeriss,simba,tpuv1", help="names of accelerators")
    parser.add_argument("--mappings", type=int, default=200, help="drawn for each")
    parser.add_argument("--most", type=int, default=3000, help="orders of a mapping; those with more are left out")
    parser.add_argument(
        "--weight", choices=list(map(str, Weight)), default="energy", help="what spared accesses are worth"
    )
    parser.add_argument("--merit", choices=list(map(str, Merit)), default="edp", help="what is compared")
    given = parser.parse_args()
    found: list[float] = []
    for layer, machine in product(given.layers.split(","), given.machines.split(",")):
        fabric = fabric_of(optmap.workload(f"quickflow/{layer}"), optmap.machine(machine))
        own = list(ratios(fabric, Weight(given.weight), Merit(given.merit), given.mappings, given.most))
        sys.stdout.write(f"{layer:6} {machine:8} {said(own)}\n")
        found += own
    sys.stdout.write(f"together {said(found)}\n")
    return 0


def said(found: list[float]) -> str:
    """How many are worse than the best."""
    worse = [ratio for ratio in found if ratio > 1 + 1e-9]
    return f"{len(worse)} of {len(found)} mappings have better orders, up to {max(worse, default=1):.4g} times"


if __name__ == "__main__":
    sys.exit(main())
