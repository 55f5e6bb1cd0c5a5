"""Attack the bound by classes of taps as long as you like: python tests/benchmarks/tap_classes_attack.py 200 7.

Arguments: number of rounds, seed. A round takes a few small strided convolutions (any dilation, groups, padding,
element sizes, both semantics): every subset of the operations of one and long walks of sets of another against what
their words allow, under random exponents and weights; proofs at many memories against the loads of random tiled
orders under optimal replacement.
"""

from __future__ import annotations

import random
import sys
from importlib import import_module
from pathlib import Path

TESTS = Path(__file__).parent.parent
sys.path[:0] = [str(TESTS), str(TESTS / "unit")]
classes = import_module("test_tap_classes")


def subsets(rng: random.Random) -> int:
    """Every subset of the operations of a tiny computation; how many there were."""
    sets = classes.Sets(classes.strided_workload(rng, most=14))
    inside, units = sets.every()
    choice = classes.some_choice(rng, set(sets.shapes))
    weight = inside @ [choice[1][shape] for shape in sets.shapes]
    if (weight > sets.allowed(choice)[units]).any():
        raise SystemExit(f"VIOLATED by a subset: {sets.workload.expression} {sets.workload.extents} {choice}")
    return len(weight)


def main(rounds: int, seed: int) -> int:
    found = [0, 0, 0]
    nearest = 0.0
    for number in range(1, rounds + 1):
        rng = random.Random(f"{seed}/{number}")
        found[0] += subsets(rng)
        sets = classes.Sets(classes.strided_workload(rng, least=20, most=rng.choice((60, 150, 300))))
        nearest = max(nearest, sets.walk(classes.some_choice(rng, set(sets.shapes)), rng, 2000))
        found[1] += 2000
        found[2] += classes.attack(classes.strided_workload(rng, least=16, most=rng.choice((60, 120))), rng, 24)
        if number % 10 == 0 or number == rounds:
            sys.stdout.write(
                f"{number} rounds: {found[0]:,} subsets, {found[1]:,} steps of walks (nearest {nearest:.4f}), "
                f"{found[2]:,} bounds against schedules: 0 violations\n"
            )
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(*(int(a) for a in sys.argv[1:3])))
