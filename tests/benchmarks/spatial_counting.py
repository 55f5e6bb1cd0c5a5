"""Three ways of counting on accelerators against each other: `python tests/benchmarks/spatial_counting.py --help`.

Random small machines, workloads and mappings, valid ones and others; the literal walk, the readable counting and
columns of a batch must agree on every count, the latter two on validity, energy and cycles in both modes, too.
The script ends with 1 after the first disagreement.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from math import prod
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
from spatial_brute_force import tiny_machine, tiny_workload
from spatial_strategies import STATEMENTS, WALKED, dims_of, statement
from spatial_walk import walk_spatial

from optmap.count.meshes.batch import evaluate_batch
from optmap.count.meshes.count import NEST_EXACT, count_nest
from optmap.count.meshes.results import SpatialCost
from optmap.machines.fabric import Fabric, fabric_of
from optmap.mappings.nest_batch import NestBatch
from optmap.search import random_nests
from optmap.workloads.workload import Workload


def workload_of(draw: random.Random, most: int) -> Workload:
    """Common workloads, and as often statements whose subscripts share dims or have three."""
    while True:
        if draw.random() < 0.5:
            found = tiny_workload(draw)
        else:
            kind = draw.choice(sorted(STATEMENTS))
            extents = {dim: draw.choice((1, 2, 3, 4, 4, 6, 8, 9)) for dim in dims_of(kind)}
            found = statement(kind, extents, stride=draw.randint(1, 3), dilation=draw.randint(1, 3))
        if prod(found.extents.values()) <= most:
            return found


def mappings(fabric: Fabric, count: int, rng: np.random.Generator) -> NestBatch:
    """Random mappings, some with keepers that the machine does not allow."""
    batch = random_nests(fabric, count, rng)
    kept = batch.keeps ^ (rng.random(batch.keeps.shape) < rng.choice([0, 0.2]))
    return NestBatch(x=batch.x, y=batch.y, temporal=batch.temporal, order=batch.order, keeps=kept)


def counts(cost: SpatialCost) -> dict[tuple[str, str], tuple[int, int, int]]:
    """Reads, fills and updates per memory and operand."""
    return {(m.name, a.operand): (a.reads, a.fills, a.updates) for m in cost.memories for a in m.accesses}


def disagreement(batch: NestBatch, fabric: Fabric) -> tuple[str, int]:
    """What differs first, empty if nothing does, and how many rows the columns left to the readable counting."""
    names = [operand.name for operand in fabric.operands]
    recounted = 0
    for counting in WALKED:
        cost = evaluate_batch(batch, fabric, counting)
        recounted += cost.recounted
        for row in range(len(batch)):
            nest = batch.nest(row)
            one = count_nest(nest, fabric, counting)
            found = counts(one)
            for (memory, operand), words in found.items():
                at = row, [m.name for m in fabric.memories].index(memory), names.index(operand)
                if words != (cost.reads[at], cost.fills[at], cost.updates[at]):
                    return f"columns, {counting}: {operand} at {memory} of {nest}", recounted
            energy = float(one.energy_pj)
            if (
                cost.valid[row] != (not one.broken)
                or cost.cycles[row] != one.cycles
                or abs(cost.energy_pj[row] - energy) > 1e-12 * abs(energy)
            ):
                return f"columns, {counting}: validity, cycles or energy of {nest}", recounted
            if counting is NEST_EXACT:
                walked = {key: (w.reads, w.fills, w.updates) for key, w in walk_spatial(nest, fabric).items()}
                if walked != found:
                    return f"walk: {walked} is not {found} of {nest}", recounted
    return "", recounted


def main() -> int:
    """Prints what was tried and, if so, what differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=1000, help="machines with a workload each")
    parser.add_argument("--nests", type=int, default=6, help="mappings of each")
    parser.add_argument("--operations", type=int, default=400, help="most that a workload has")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    seen: Counter[str] = Counter()
    start = time.monotonic()
    for seed in range(options.seed, options.seed + options.trials):
        draw = random.Random(seed)
        fabric = fabric_of(workload_of(draw, options.operations), tiny_machine(draw))
        batch = mappings(fabric, options.nests, np.random.default_rng(seed))
        wrong, recounted = disagreement(batch, fabric)
        seen.update(mappings=len(batch), recounted=recounted // 2)
        if wrong:
            sys.stdout.write(f"seed {seed}: {fabric.workload.expression} {fabric.workload.extents}\n{wrong}\n")
            return 1
    seconds = time.monotonic() - start
    sys.stdout.write(f"{options.trials} machines, {dict(seen)}: no disagreement, {seconds:.0f} s\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
