"""Attack the exact search on random tiny accelerators: against every mapping there is, and against itself.

usage: exact_attack.py [--all TRIALS] [--itself TRIALS] [--seed SEED]
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from spatial_brute_force import best_of_all, tiny_fabric
from spatial_strategies import COUNTINGS, WALKED

from optmap.base.clock import NO_LIMIT
from optmap.questions.options import Merit
from optmap.search.exact import search_nest


def against_all(seed: int) -> list[str]:
    """Every merit and counting of one problem against exhaustive enumeration; of the odd ones element sizes matter."""
    found = []
    fabric = tiny_fabric(seed, most=20_000, sized=bool(seed % 2))
    for counting in WALKED:
        best = best_of_all(fabric, counting)
        for merit in Merit:
            answer = search_nest(fabric, merit=merit, counting=counting, clock=NO_LIMIT)
            right = float(best[merit].value) if best else float("inf")
            if not (answer.value == right or abs(answer.value - right) <= 1e-9 * right) or answer.proved != bool(best):
                found.append(f"seed {seed} {counting} {merit}: {answer.value!r}, every mapping: {right!r}")
    return found


def against_itself(seed: int) -> list[str]:
    """One merit and counting of a larger problem with and without bounds and dominance."""
    fabric = tiny_fabric(seed, most=1_000_000, sized=seed % 3 == 0)
    counting, merit = COUNTINGS[seed % 2], list(Merit)[seed // 2 % 4]
    slow = search_nest(fabric, merit=merit, counting=counting, clock=NO_LIMIT, dominance=False, bounds=False)
    found = []
    for dominance, bounds in ((True, True), (False, True), (True, False)):
        answer = search_nest(fabric, merit=merit, counting=counting, clock=NO_LIMIT, dominance=dominance, bounds=bounds)
        if not (answer.value == slow.value or abs(answer.value - slow.value) <= 1e-9 * slow.value):
            found.append(
                f"seed {seed} {counting} {merit}: {answer.value!r} with dominance {dominance}, bounds {bounds}; "
                f"{slow.value!r} without"
            )
    return found


def main() -> int:
    """Runs both attacks and prints what they found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", type=int, default=200, help="problems that are enumerated")
    parser.add_argument("--itself", type=int, default=500, help="problems that are searched without bounds")
    parser.add_argument("--seed", type=int, default=0, help="of the first problem")
    given = parser.parse_args()
    wrong = 0
    for name, attack, trials in (("every mapping", against_all, given.all), ("itself", against_itself, given.itself)):
        begin, found = time.monotonic(), 0
        for seed in range(given.seed, given.seed + trials):
            for line in attack(seed):
                found += 1
                sys.stdout.write(f"{line}\n")
        seconds = time.monotonic() - begin
        sys.stdout.write(f"against {name}: {trials} problems, {found} wrong, {seconds:.0f} s\n")
        sys.stdout.flush()
        wrong += found
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
