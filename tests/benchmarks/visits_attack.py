"""Attack the bound by visits for as long as you like: python tests/benchmarks/visits_attack.py 1000 7.

Arguments: number of workloads, seed. Each is a small matrix product or convolution (any stride, dilation, element
sizes); every choice of roles at every memory is held against the loads of random tiled orders under optimal
replacement.
"""

from __future__ import annotations

import random
import sys
from importlib import import_module
from pathlib import Path

TESTS = Path(__file__).parent.parent
sys.path[:0] = [str(TESTS), str(TESTS / "unit")]
visits = import_module("test_visits")


def main(count: int, seed: int) -> int:
    rng, trials = random.Random(seed), 0
    for number in range(1, count + 1):
        workload = visits.visited_workload(rng, most=rng.choice((60, 120, 200)))
        trials += visits.attack(workload, rng, count=rng.choice((24, 60)))
        if number % 100 == 0 or number == count:
            sys.stdout.write(f"{number} workloads, {trials} bounds against schedules: none beaten\n")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(*(int(a) for a in sys.argv[1:3])))
