"""Attack held mappings for as long as you like: python tests/benchmarks/held_attack.py 100000 7.

Arguments: number of trials, seed. Each draws a small workload, a mapping and a `held` part, valid or not; every other
one is cut into pieces. The checker must accept exactly what the library accepts; of what both accept, the checker, the
closed form and the literal walk must count the same words and the same occupancy, and neither optimal
replacement on the walked order nor (every fifth trial) the proven bound may be above the claimed loads.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from importlib import import_module
from pathlib import Path

TESTS = Path(__file__).parent.parent
sys.path[:0] = [str(TESTS), str(TESTS / "unit")]
attack = import_module("test_held").attack


def main(count: int, seed: int) -> int:
    rng, seen, wrong = random.Random(seed), Counter[str](), 0
    for trial in range(1, count + 1):
        try:
            seen[attack(rng, most=rng.choice((16, 32, 64)), bounded=trial % 10 < 2, pieces=trial % 2 == 0)] += 1
        except AssertionError as error:
            wrong += 1
            sys.stdout.write(f"WRONG {error}\n")
        if trial % 2000 == 0 or trial == count:
            sys.stdout.write(f"{trial} trials, {wrong} wrong: {dict(seen)}\n")
            sys.stdout.flush()
    return 1 if wrong or any("alone" in outcome for outcome in seen) else 0


if __name__ == "__main__":
    sys.exit(main(*(int(a) for a in sys.argv[1:3])))
