"""Attack the bounds for as long as you like: python tests/benchmarks/bounds_soundness.py 1000000 7.

Arguments: trials (workload, memory), seed. Workload number i is made from seed and i alone, so that a
violation can be walked again. Stops at the first violation; exit code 1.
"""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from bounds_attack import BeatenError, Trials, attack, attacked_workload, window_workload
from bounds_oracles import random_workload, template_workload

MAKERS = (attacked_workload, template_workload, window_workload, random_workload)
EVERY = 50
"""Nests between two lines of output."""


def main(trials: int, seed: int) -> int:
    """Attack until so many trials are done or a bound is beaten."""
    total, i, began = Trials(), 0, time.process_time()
    while total.count < trials:
        rng = random.Random(f"{seed}/{i}")
        try:
            total += attack(MAKERS[i % len(MAKERS)](rng, most=rng.choice((32, 64, 128))), rng)
        except BeatenError as error:
            sys.stdout.write(f"BEATEN {seed}/{i} {error}\n")
            return 1
        i += 1
        if i % EVERY == 0 or total.count >= trials:
            each = 1000 * (time.process_time() - began) / total.count
            sys.stdout.write(
                f"{total.count:,} trials of {i:,} nests, 0 beaten; {total.printed:,} of all methods as printed; "
                f"{total.argued:,} argued above compulsory, {total.met:,} met exactly; {each:.2f} ms a trial\n"
            )
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(*(int(a) for a in sys.argv[1:3])))
