"""Attack mappings by predicted time for as long as you like: python tests/benchmarks/timed_attack.py 2000 1.

Arguments: number of random kernels, seed. They go round five kinds of host (`tests/data/hosts`); every fourth goes to
one of these with other ports, rates and caches. Each is solved for
objective time; text, document, picture, recount and checker must say the same, nothing may be below a bound, and of
small ones the literal walk must move as many words and ideal replacement no more.
"""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from importlib import import_module
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
timed_attack = import_module("timed_attack_cases")


def main(count: int, seed: int) -> int:
    rng, seen, wrong = random.Random(seed), Counter[str](), 0
    hosts = list(timed_attack.HOSTS.items())
    begun = time.process_time()
    for trial in range(1, count + 1):
        state = rng.getrandbits(64)
        own = random.Random(state)
        name, host = hosts[trial % len(hosts)] if trial % 4 else ("random", timed_attack.random_host(own))
        try:
            seen[timed_attack.attack(own, host, drawn_too=trial % 50 == 1)] += 1
        except Exception as error:  # noqa: BLE001 (whatever is raised is what is looked for)
            wrong += 1
            sys.stdout.write(f"WRONG {name} {state}: {type(error).__name__}: {error}\n")
            sys.stdout.flush()
        if trial % 100 == 0 or trial == count:
            seconds = time.process_time() - begun
            sys.stdout.write(f"{trial} kernels, {wrong} wrong, {seconds:.0f} s: {dict(seen)}\n")
            sys.stdout.flush()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*(int(a) for a in sys.argv[1:3])))
