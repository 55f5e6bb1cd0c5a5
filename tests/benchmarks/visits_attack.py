"""Attack the bounds by visits and by passes for as long as you like: python tests/benchmarks/visits_attack.py 1000 7.

Arguments: number of workloads, seed. Each is a small matrix product or convolution (any stride, dilation, element
sizes); every choice of roles at every memory is held against the loads of random tiled orders under optimal
replacement, and at one memory against orders that are improved step by step; the fewest loads over the bound is told.
What a place pays is held against ways to do its pairs, improved step by step.
"""

from __future__ import annotations

import random
import sys
from importlib import import_module
from pathlib import Path

from optmap.bounds import passes_proofs, visits_proofs

sys.path.insert(0, str(Path(__file__).parent.parent))
roles_attack = import_module("roles_attack")


def main(count: int, seed: int) -> int:
    rng, trials, covers, closest = random.Random(seed), 0, 0, float("inf")
    for number in range(1, count + 1):
        workload = roles_attack.visited_workload(rng, most=rng.choice((60, 120, 200)))
        for bound in (visits_proofs, passes_proofs):
            trials += roles_attack.attack(workload, rng, count=rng.choice((24, 60)), bound=bound)
        more, ratio = roles_attack.improve(workload, rng, rounds=rng.choice((20, 60, 150)))
        trials, closest = trials + more, min(closest, ratio)
        covers += sum(roles_attack.improve_cover(rng, rounds=1000)[0] for _ in range(5))
        if number % 100 == 0 or number == count:
            sys.stdout.write(
                f"{number} workloads, {trials} bounds against schedules: none beaten; closest {closest:.3f}; "
                f"{covers} covers of {5 * number} places: none cheaper\n"
            )
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(*(int(a) for a in sys.argv[1:3])))
