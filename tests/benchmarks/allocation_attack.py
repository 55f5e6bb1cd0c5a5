"""The allocation program against every mapping of random tiny problems: `python tests/benchmarks/allocation_attack.py`.

No start is given, so that the program finds the mapping itself; its bound must never be above the optimum.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from spatial_brute_force import best_of_all, tiny_fabric
from spatial_strategies import WALKED

from optmap.base.clock import Clock
from optmap.base.errors import InfeasibleError
from optmap.questions.options import Merit
from optmap.search.allocation.allocation import AllocationAnswer, solve_allocation


def attack(seed: int, most: int, seconds: float) -> list[tuple[str, bool]]:
    """One random problem in both countings, one merit after the other by seed: what was wrong, and whether proved."""
    fabric, merit = tiny_fabric(seed, most), list(Merit)[seed % len(Merit)]
    found = []
    for counting in WALKED:
        best = best_of_all(fabric, counting)
        try:
            clock = Clock(time.monotonic() + seconds)
            answer = solve_allocation(fabric, merit=merit, counting=counting, clock=clock)
        except InfeasibleError:
            found.append(("no mapping claimed" if best else "", True))
            continue
        found.append((_wrong(answer, None if merit not in best else best[merit].value), answer.proved))
    return found


def _wrong(answer: AllocationAnswer, best: object) -> str:
    """What contradicts the enumeration; empty for nothing."""
    if best is None:
        return "a mapping where none is valid" if answer.nest is not None else ""
    if answer.bound > best:
        return f"bound {float(answer.bound)} above the optimum {best}"
    if answer.proved and answer.value != best:
        return f"{answer.value} proved, {best} is the optimum"
    return ""


def main() -> int:
    """Attack, print what is wrong and how many are proved."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--most", type=int, default=3000, help="mappings of a problem at most")
    parser.add_argument("--seconds", type=float, default=20.0, help="per problem")
    options = parser.parse_args()
    bad = proved = count = 0
    for seed in range(options.first, options.first + options.seeds):
        for wrong, done in attack(seed, options.most, options.seconds):
            count, proved, bad = count + 1, proved + done, bad + bool(wrong)
            if wrong:
                sys.stdout.write(f"seed {seed}: {wrong}\n")
    sys.stdout.write(f"{count} problems, {proved} proved equal to the best of all, {bad} contradictions\n")
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
