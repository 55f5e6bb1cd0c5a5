"""Mappings of an accelerator counted per second of one core: `python tests/benchmarks/batch_counting.py --help`.

Columns of a batch beside the readable counting, on the same random mappings; the script ends with 1 if the two
ever differ.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from itertools import product

import numpy as np

from optmap import api
from optmap.count.meshes.batch import evaluate_batch
from optmap.count.meshes.count import count_nest
from optmap.count.meshes.policy import NestPolicy
from optmap.count.policies import nest_policies
from optmap.machines.fabric import Fabric, fabric_of
from optmap.mappings.nest_batch import NestBatch
from optmap.search import random_nests


def per_second(count: int, work: Callable[[], object], times: int) -> float:
    """The best of some runs, in processor time: what other programs take is left out."""
    best = float("inf")
    for _ in range(times):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return count / best


def different(batch: NestBatch, fabric: Fabric, counting: NestPolicy) -> int:
    """Rows whose numbers are not those of the readable counting."""
    cost = evaluate_batch(batch, fabric, counting)
    found = 0
    for row in range(len(batch)):
        other = count_nest(batch.nest(row), fabric, counting)
        energy = float(other.energy_pj)
        words = [
            sum(getattr(accesses, kind) for memory in other.memories for accesses in memory.accesses)
            for kind in ("reads", "fills", "updates")
        ]
        same = words == [cost.reads[row].sum(), cost.fills[row].sum(), cost.updates[row].sum()]
        same &= abs(cost.energy_pj[row] - energy) <= 1e-12 * energy and cost.cycles[row] == other.cycles
        found += not (same and cost.valid[row] == (not other.broken))
    return found


def measured(batch: NestBatch, fabric: Fabric, counting: NestPolicy, scalar: int) -> tuple[str, int]:
    """Speed of both ways in words, and how many of the first `scalar` mappings they count differently."""
    few = batch[:scalar]
    cost = evaluate_batch(batch, fabric, counting)
    fast = per_second(len(batch), lambda: evaluate_batch(batch, fabric, counting), 3)
    slow = per_second(len(few), lambda: [count_nest(few.nest(row), fabric, counting) for row in range(len(few))], 1)
    bad = different(few, fabric, counting)
    return f"{fast:.0f} {slow:.0f} {fast / slow:.0f} {cost.valid.mean():.2f} {cost.recounted} {bad}", bad


def main() -> int:
    """Prints a row per counting mode."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layers", nargs="+", default=["resnet50/conv2"])
    parser.add_argument("--machines", nargs="+", default=["eyeriss_like"])
    parser.add_argument("--nests", type=int, default=65536, help="mappings per batch")
    parser.add_argument("--scalar", type=int, default=500, help="mappings that are counted one by one")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    wrong = 0
    sys.stdout.write("layer machine drawn/s counting batched/s one_by_one/s ratio valid recounted different\n")
    for layer, machine in product(options.layers, options.machines):
        fabric = fabric_of(api.workload_of(layer), api.machine_of(machine, None))
        start = time.process_time()
        batch = random_nests(fabric, options.nests, np.random.default_rng(options.seed))
        drawn = options.nests / (time.process_time() - start)
        for counting in nest_policies().values():
            text, bad = measured(batch, fabric, counting, options.scalar)
            wrong += bad
            sys.stdout.write(f"{layer} {machine} {drawn:.0f} {counting} {text}\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
